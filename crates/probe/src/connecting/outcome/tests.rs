use super::*;

fn received(origin: Origin, kind: u8, code: u8) -> Received {
    let errno = Errno::CONNREFUSED.raw_os_error();
    Received { origin, errno, kind, code, destination: None, offender: None, quoted_len: 0 }
}

#[test]
fn a_reset_says_closed_only_while_the_syn_is_unanswered() {
    assert_eq!(of_errno(Errno::CONNREFUSED), (Verdict::Closed, Evidence::Reset));
    assert_eq!(of_errno(Errno::CONNRESET), (Verdict::Open, Evidence::SynAck));
    assert_eq!(of_errno(Errno::PIPE), (Verdict::Open, Evidence::SynAck));
}

#[test]
fn what_this_host_refuses_keeps_its_errno() {
    let cases = [
        (Errno::NETUNREACH, Reason::Network),
        (Errno::HOSTUNREACH, Reason::Host),
        (Errno::HOSTDOWN, Reason::Host),
        (Errno::ACCESS, Reason::Prohibited),
        (Errno::PERM, Reason::Prohibited),
    ];
    for (errno, reason) in cases {
        let evidence = Evidence::Refusal(errno.raw_os_error());
        assert_eq!(of_errno(errno), (Verdict::Unreachable(reason), evidence));
    }
    let odd = Errno::AFNOSUPPORT.raw_os_error();
    assert_eq!(of_errno(Errno::AFNOSUPPORT), (Verdict::Error(odd), Evidence::Refusal(odd)));
    assert_eq!(of_errno(Errno::TIMEDOUT), (Verdict::Filtered, Evidence::Silence));
}

#[test]
fn einval_is_a_blackhole_unless_a_link_is_missing() {
    let verdict = |target: &str| of_refusal(Errno::INVAL, &target.parse().unwrap()).0;
    let blackhole = Verdict::Unreachable(Reason::Prohibited);
    assert_eq!(verdict("192.0.2.1:80"), blackhole);
    assert_eq!(verdict("[2001:db8::1]:80"), blackhole);
    assert_eq!(verdict("[fe80::1%3]:80"), blackhole);
    assert_eq!(verdict("[fe80::1]:80"), Verdict::Error(Errno::INVAL.raw_os_error()));
}

#[test]
fn each_family_has_its_own_icmp() {
    let verdict = |origin, kind, code| of_icmp(&received(origin, kind, code)).map(|it| it.0);
    let port = Some(Verdict::Unreachable(Reason::Port));
    assert_eq!(verdict(Origin::Icmp, 3, 3), port);
    assert_eq!(verdict(Origin::Icmp6, 1, 4), port);
    assert_eq!(verdict(Origin::Icmp6, 3, 3), Some(Verdict::Unreachable(Reason::HopLimit)));
    assert_eq!(verdict(Origin::Icmp, 5, 1), None, "a redirect");
    assert_eq!(verdict(Origin::Local, 3, 3), None);
    assert_eq!(verdict(Origin::Other, 3, 3), None);
    assert_eq!(
        of_icmp(&received(Origin::Icmp, 3, 13)).map(|it| it.1),
        Some(Evidence::Icmp { kind: 3, code: 13 })
    );
}
