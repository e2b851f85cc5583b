use super::*;

fn is_refused(text: &str) -> bool {
    ensure_narrow(Some(&Filter::parse(text).expect(text))).is_err()
}

#[test]
fn what_no_connection_of_a_version_fails_is_refused() {
    for text in [
        "dst 0.0.0.0/0",
        "src 10.0.0.0/0",
        "dst [::/0]",
        "dst [::]/0",
        "dst inet:*",
        "dport ge :0",
        "sport le :65535",
        "not sport lt :0",
        "not dport gt :65535",
        "dst 0.0.0.0/0 dport ge :0",
        "dst 0.0.0.0/0 or dst [::/0]",
        "dport = :7 or dst 0.0.0.0/0",
        "state established dst 0.0.0.0/0",
    ] {
        assert!(is_refused(text), "{text}");
    }
}

#[test]
fn what_a_connection_can_fail_is_taken() {
    for text in [
        "dst 10.0.0.0/8",
        "dst 0.0.0.0/0:443",
        "dst 0.0.0.0/0 and sport = :22",
        "uid = 7 and ( dport ge :0 or dport = :1 )",
        "dport ge :1",
        "sport le :65534",
        // Nearly all, but that is what it says.
        "not dst 10.1.1.1",
        "state close-wait dst 0.0.0.0/0",
    ] {
        assert!(!is_refused(text), "{text}");
    }
}
