//! The host and the kernel over a link that loses, swaps, doubles and damages frames in both
//! directions: all data arrives, nothing is sent again much more often than it was lost, and
//! nothing stands still.

use portolan_e2e::{
    case::{Case, Opener},
    link::{Offload, Wire},
};

const ALL: &str = "loss=2%,reorder=3%,duplicate=1%,corrupt=0.1%,seed=7";

/// Both roles, on a device each.
fn check(faults: &'static str, case: &Case) {
    for (opener, wire) in [(Opener::Kernel, Wire::Tap), (Opener::Host, Wire::Veth)] {
        let outcome = Case { opener, wire, faults, ..case.clone() }.run();
        println!("{faults}, {opener:?} opens:\n{outcome}");
    }
}

#[test]
fn loss() {
    check("loss=2%,seed=1", &Case::default());
}

#[test]
fn loss_of_many_without_offloads() {
    check("loss=5%,seed=2", &Case { offload: Offload::Off, bytes: 2 << 20, ..Case::default() });
}

#[test]
fn reordering() {
    check("reorder=10%,seed=3", &Case { offload: Offload::Off, ..Case::default() });
}

#[test]
fn duplicates() {
    check("duplicate=5%,seed=4", &Case { v6: true, ..Case::default() });
}

#[test]
fn damage() {
    check("corrupt=1%,seed=5", &Case { offload: Offload::Off, ..Case::default() });
    // What the kernel hands over has partial checksums then, which show no damage by themselves.
    check("receive.corrupt=1%,seed=6", &Case { offload: Offload::On, ..Case::default() });
}

#[test]
fn all_at_once() {
    check(ALL, &Case { bytes: 2 << 20, ..Case::default() });
    check(ALL, &Case { bytes: 2 << 20, v6: true, offload: Offload::Off, ..Case::default() });
}

#[test]
fn all_at_once_without_options() {
    let settings = &[("tcp_sack", "0"), ("tcp_timestamps", "0"), ("tcp_window_scaling", "0")];
    let (bytes, offload) = (1 << 20, Offload::Off);
    check(ALL, &Case { settings, bytes, offload, ..Case::default() });
}
