use super::*;

fn unopened(errors: &[Errno]) -> Vec<String> {
    let mut unopened = Unopened::default();
    for &error in errors {
        unopened.add(Error::system("enter the network namespace", "blue")(error.into()));
    }
    unopened.warnings().collect()
}

#[test]
fn only_what_may_not_be_entered_is_refused() {
    let refused = unopened(&[Errno::PERM, Errno::ACCESS, Errno::NOENT, Errno::SRCH]);
    assert_eq!(refused.len(), 1);
    assert!(refused[0].starts_with("2 other network namespaces"), "{refused:?}");
    assert!(refused[0].ends_with(&Hidden::Namespaces.advice()), "{refused:?}");

    let failed = unopened(&[Errno::MFILE, Errno::NOMEM]);
    assert_eq!(failed.len(), 1);
    assert!(failed[0].starts_with("2 other network namespaces"), "{failed:?}");
    assert!(failed[0].contains("Too many open files"), "{failed:?}");
    assert!(!failed[0].contains(&Hidden::Namespaces.advice()), "{failed:?}");
}

#[test]
fn a_namespace_that_ended_is_no_reason_for_a_warning() {
    assert_eq!(unopened(&[Errno::NOENT, Errno::SRCH]), Vec::<String>::new());
    let mut unopened = Unopened::default();
    let gone = io::Error::from(io::ErrorKind::NotFound);
    unopened.add(Error::system("enter the network namespace", "blue")(gone));
    assert_eq!(unopened.warnings().count(), 0);
}

#[test]
fn a_complete_listing_is_no_reason_for_a_warning() {
    let of = |skipped, torn| of_coverage(Coverage { rows: 9, skipped, torn }).count();
    assert_eq!([of(0, false), of(1, false), of(0, true), of(7, true)], [0, 1, 1, 2]);
    let skipped: Vec<_> = of_coverage(Coverage { skipped: 3, ..Coverage::default() }).collect();
    assert_eq!(skipped, ["some entries of the kernel's socket tables could not be read"]);
}
