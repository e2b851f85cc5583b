use super::*;

const SERVICES: &str = "\
# a comment
echo 7/tcp
domain 53/udp nameserver # a comment
domain 5353/tcp
https 444/tcp  secure
https 445/tcp
strange 70000/tcp
sctp-only 9/sctp
half
";

#[test]
fn the_hosts_services_come_first() {
    let names = HostNames::of_services(SERVICES);
    for (name, port) in [
        ("echo", Some(7)),
        ("domain", Some(5353)),
        ("nameserver", Some(53)),
        ("https", Some(444)),
        ("secure", Some(444)),
        ("ssh", Some(22)),
        ("strange", None),
        ("sctp-only", None),
        ("half", None),
        ("#", None),
        ("", None),
    ] {
        assert_eq!(names.port(name), port, "{name}");
    }
}

#[test]
fn interfaces_are_asked_for() {
    let names = HostNames::read();
    assert_eq!(names.interface("lo"), Some(1), "in every namespace");
    for name in ["", "no-such-thing", "a name that is longer than any may be", "l\0o"] {
        assert_eq!(names.interface(name), None, "{name:?}");
    }
    assert_eq!(WellKnown.interface("lo"), None);
}
