use super::*;

#[test]
fn lockdown_mode_is_the_bracketed_word() {
    assert_eq!(parse_lockdown("none [integrity] confidentiality\n"), Some("integrity"));
    assert_eq!(parse_lockdown("[none] integrity confidentiality"), Some("none"));
    assert_eq!(parse_lockdown("none"), None);
    assert_eq!(parse_lockdown("none [integrity"), None);
}

#[test]
fn the_running_kernel_is_linux() {
    assert!(release().starts_with("Linux "));
}
