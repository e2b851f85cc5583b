//! The host and the kernel over links of every size, with what devices do for them and without.

use portolan_e2e::{
    case::{Case, Opener},
    link::{Offload, Wire},
};

/// Headers of Ethernet do not count.
fn check(case: &Case) {
    let outcome = case.run();
    let seen = &outcome.seen;
    let headers = if case.v6 { 60 } else { 40 };
    assert!(seen.syns.iter().all(|syn| syn.mss == case.mtu - headers), "{case:?}: {seen:?}");
    let mtu = usize::from(case.mtu);
    match case.offload {
        Offload::Off => assert_eq!(seen.packet_bytes_max, [mtu, mtu], "{case:?}"),
        // Both leave the cutting to the device.
        Offload::On | Offload::Gro => {
            assert!(seen.packet_bytes_max.iter().all(|&bytes| bytes > mtu), "{case:?}: {seen:?}");
        }
    }
    assert_eq!(seen.fragments, 0, "{case:?}: {seen:?}");
}

/// All four of device and role, at this size.
fn check_all(mtu: u16, v6: bool, offload: Offload) {
    for wire in [Wire::Tap, Wire::Veth] {
        for opener in [Opener::Kernel, Opener::Host] {
            check(&Case { wire, opener, mtu, v6, offload, bytes: 2 << 20, ..Case::default() });
        }
    }
}

#[test]
fn the_smallest_packets() {
    check_all(576, false, Offload::On);
}

#[test]
fn the_smallest_packets_of_ipv6() {
    check_all(1_280, true, Offload::On);
}

#[test]
fn usual_packets() {
    check_all(1_500, true, Offload::On);
}

#[test]
fn long_packets() {
    check_all(9_000, false, Offload::On);
}

#[test]
fn small_packets_without_offloads() {
    check_all(576, false, Offload::Off);
}

#[test]
fn usual_packets_without_offloads() {
    check_all(1_500, false, Offload::Off);
}

#[test]
fn long_packets_without_offloads() {
    check_all(9_000, true, Offload::Off);
}

#[test]
fn segments_that_arrive_are_joined() {
    for (opener, v6) in [(Opener::Kernel, false), (Opener::Host, true)] {
        let (wire, offload) = (Wire::Veth, Offload::Gro);
        check(&Case { wire, opener, offload, v6, ..Case::default() });
    }
}
