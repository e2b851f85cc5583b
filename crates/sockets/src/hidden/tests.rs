use super::*;

#[test]
fn what_is_advised_is_enough_and_in_words() {
    let sockets = Hidden::Sockets.advice_for(false, false);
    assert_eq!(sockets, "run as root, or grant CAP_DAC_READ_SEARCH and CAP_SYS_PTRACE");
    let both = Hidden::Both.advice_for(false, false);
    for name in ["CAP_DAC_READ_SEARCH, ", "CAP_SYS_PTRACE", "CAP_SYS_ADMIN"] {
        assert!(both.contains(name), "{both}");
    }
    assert!(!Hidden::Namespaces.advice_for(false, false).contains("DAC"));
}

#[test]
fn root_is_not_told_to_become_root() {
    for hidden in [Hidden::Sockets, Hidden::Namespaces, Hidden::Both] {
        let advice = hidden.advice_for(true, true);
        assert!(advice.starts_with("not even root may") && !advice.contains("CAP_"), "{advice}");
        let advice = hidden.advice_for(false, true);
        assert!(advice.starts_with("grant CAP_"), "{advice}");
    }
}

#[test]
fn one_process_is_one() {
    assert_eq!(hidden_processes(1), "1 process cannot be looked into");
    assert_eq!(hidden_processes(7), "7 processes cannot be looked into");
}
