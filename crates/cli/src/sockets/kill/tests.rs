use super::*;

#[test]
fn only_a_yes_is_a_yes() {
    for yes in ["y\n", "Y\n", "yes\n", " Yes "] {
        assert!(is_yes(yes), "{yes:?}");
    }
    for no in ["", "\n", "n\n", "no\n", "yy\n", "ye\n", "sure\n"] {
        assert!(!is_yes(no), "{no:?}");
    }
}

#[test]
fn what_became_of_them_is_one_sentence() {
    let mut report = Report { closed: 3, ..Report::default() };
    assert_eq!(report.sentence(), "3 closed");
    report.gone = 1;
    report.failed.insert("because".to_owned(), 2);
    assert_eq!(report.sentence(), "3 closed, 1 had ended already, 2 not closed (because)");
}

#[test]
fn a_refusal_says_what_to_do() {
    let advice = |errno: Errno| advise(&errno.into());
    assert!(advice(Errno::PERM).ends_with("run as root, or grant CAP_NET_ADMIN"));
    assert!(advice(Errno::OPNOTSUPP).contains("CONFIG_INET_DIAG_DESTROY"));
    assert!(!advice(Errno::NOMEM).contains("CAP"));
}
