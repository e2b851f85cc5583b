use super::*;

const TEXT: &str = "\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop
    lo:    1260      21    0    0    0     0          0         0     1261      22    0    0
near:1 2 3 4 5 6 7 8 9 10 11 12
";

#[test]
fn packets_that_were_sent_are_the_tenth_number() {
    assert_eq!(sent(TEXT, "lo"), Some(22));
    assert_eq!(sent(TEXT, "near"), Some(10));
    assert_eq!(sent(TEXT, "far"), None);
}

#[test]
fn loopback_has_counters() {
    assert!(packets_sent("lo").is_ok());
    let said = packets_sent("no-such-device").unwrap_err().to_string();
    assert!(said.contains("no-such-device"), "{said}");
}

#[test]
fn a_command_that_fails_is_quoted() {
    assert!(batch("ip", &[]).is_ok(), "{INSTALL}");
    let said = batch("ip", &["link show dev no-such-device".to_owned()]).unwrap_err().to_string();
    assert!(said.contains("no-such-device"), "{said}");
}
