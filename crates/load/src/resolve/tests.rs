use super::*;

#[test]
fn names_and_addresses_may_be_mixed() {
    let all = parse_targets("localhost:9000-9001, 127.0.0.2:80,[::1]:81,82").unwrap();
    let text: Vec<String> = all.iter().map(ToString::to_string).collect();
    assert_eq!(text[2..], ["127.0.0.2:80", "[::1]:81", "127.0.0.1:82"]);
    assert!(all[0].ip().is_loopback() && all[0].port() == 9_000 && all[1].port() == 9_001);
}

#[test]
fn what_cannot_be_resolved_or_read_is_said() {
    // Reserved for this, RFC 2606.
    let error = parse_targets("no-such-host.invalid:80").unwrap_err().to_string();
    assert!(error.contains("cannot resolve \"no-such-host.invalid\""), "{error}");
    assert!(matches!(parse_targets("localhost:x"), Err(Error::Addresses { .. })));
    assert!(matches!(parse_targets("a b:80"), Err(Error::Addresses { .. })));
    assert!(matches!(parse_targets("127.0.0:80"), Err(Error::Addresses { .. })));
    assert!(matches!(parse_targets(""), Err(Error::Addresses { .. })));
}
