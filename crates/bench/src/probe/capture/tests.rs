use super::*;

#[test]
fn the_count_is_what_was_captured_unless_something_was_lost() {
    let text = "6000 packets captured\n12000 packets received by filter\n0 packets dropped by \
                kernel\n";
    assert_eq!(captured(text), Ok(6_000));
    let lossy = text.replace("0 packets dropped", "3 packets dropped").replace("12000", "12003");
    assert!(captured(&lossy).unwrap_err().contains("lost 3 packets"));
    assert!(captured("killed").unwrap_err().contains("killed"));
}

#[test]
fn who_cannot_listen_is_quoted() {
    let mut said = &b"tcpdump: lo: You don't have permission\n"[..];
    assert!(wait_until_listening(&mut said).unwrap_err().contains("permission"));
    assert_eq!(wait_until_listening(&mut &b"x\ntcpdump: listening on lo\n1"[..]), Ok(()));
}
