use crate::filter::{Filter, tests::generate::row};

#[test]
fn addresses_and_ports() {
    let v4 = row("10.1.2.3:443", "192.0.2.9:50000");
    let mapped = row("[::ffff:10.1.2.3]:443", "[::ffff:192.0.2.9]:50000");
    let v6 = row("[2001:db8::1]:443", "[2001:db8:1::9]:50000");
    let listener = row("0.0.0.0:443", "0.0.0.0:0");
    let dual = row("[::]:443", "[::]:0");
    // Which of these five, in this order, a filter is true of.
    for (text, expected) in [
        ("", [true, true, true, true, true]),
        ("src 10.0.0.0/8", [true, true, false, false, false]),
        ("src 10.128.0.0/9", [false, false, false, false, false]),
        ("src 10.1.2.3:443", [true, true, false, false, false]),
        ("src 10.1.2.3:444", [false, false, false, false, false]),
        ("src 0.0.0.0/0", [true, true, false, true, false]),
        ("src 0.0.0.0", [false, false, false, true, false]),
        ("src ::/0", [false, true, true, false, true]),
        ("src ::", [false, false, false, false, true]),
        ("src ::ffff:0:0/96", [false, true, false, false, false]),
        ("src *", [true, true, true, true, true]),
        ("dst any", [true, true, true, true, true]),
        ("not dport = :*", [false, false, false, false, false]),
        ("src inet:*", [true, false, false, true, false]),
        ("src inet:10.0.0.0/8", [true, false, false, false, false]),
        ("not src inet:10.0.0.0/8", [false, true, true, true, true]),
        ("dst inet6:*:50000", [false, true, true, false, false]),
        ("src inet6:[::]", [false, false, false, false, true]),
        ("src inet6:[::ffff:0:0/96]", [false, true, false, false, false]),
        ("dst 2001:db8::/33", [false, false, true, false, false]),
        ("dst [2001:db8::/48]:50000", [false, false, false, false, false]),
        ("dst :0", [false, false, false, true, true]),
        ("sport = :https", [true, true, true, true, true]),
        ("sport != 443", [false, false, false, false, false]),
        ("dport > 49999 and dport < 50001", [true, true, true, false, false]),
        ("dport >= 50001 or dport <= 0", [false, false, false, true, true]),
        ("not dport ge 50000", [false, false, false, true, true]),
        ("uid = 0 dev 0", [true, true, true, true, true]),
        ("uid = 1 or dev 1", [false, false, false, false, false]),
    ] {
        let filter = Filter::parse(text).expect(text);
        let matches = [&v4, &mapped, &v6, &listener, &dual].map(|row| filter.matches(row));
        assert_eq!(matches, expected, "{text}");
    }
}
