//! Every case of the host against the kernel: each device, role, packet size, IP version, offload,
//! option and damage with each other, some 10 minutes. What CI runs of them is in the other files
//! `host_*.rs`.
//!
//! `cargo test -p portolan-e2e --test host_matrix -- --ignored --nocapture`

use std::panic::{self, AssertUnwindSafe};

use portolan_e2e::{
    case::{Case, Opener},
    link::{Offload, Wire},
};

const SETTINGS: [&[(&str, &str)]; 7] = [
    &[],
    &[("tcp_sack", "0")],
    &[("tcp_timestamps", "0")],
    &[("tcp_window_scaling", "0")],
    &[("tcp_ecn", "0")],
    &[("tcp_ecn", "1")],
    &[("tcp_sack", "0"), ("tcp_timestamps", "0"), ("tcp_window_scaling", "0"), ("tcp_ecn", "0")],
];

const FAULTS: [&str; 2] = ["", "loss=2%,reorder=3%,duplicate=1%,corrupt=0.1%,seed=1"];

const LINKS: [(u16, bool); 5] =
    [(576, false), (1_280, true), (1_500, false), (1_500, true), (9_000, false)];

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for wire in [Wire::Tap, Wire::Veth] {
        for opener in [Opener::Kernel, Opener::Host] {
            for (mtu, v6) in LINKS {
                for offload in [Offload::On, Offload::Off, Offload::Gro] {
                    if wire == Wire::Tap && offload == Offload::Gro {
                        continue;
                    }
                    for settings in SETTINGS {
                        for faults in FAULTS {
                            let bytes = 1 << 20;
                            let case =
                                Case { wire, opener, mtu, offload, v6, settings, faults, bytes };
                            cases.push(case);
                        }
                    }
                }
            }
        }
    }
    cases
}

#[test]
#[ignore = "takes some 10 minutes"]
fn every_case() {
    let cases = cases();
    let mut failed = Vec::new();
    for (nth, case) in cases.iter().enumerate() {
        println!("{nth} of {}: {case:?}", cases.len());
        // The others are of interest too.
        if panic::catch_unwind(AssertUnwindSafe(|| case.run())).is_err() {
            failed.push(case);
        }
    }
    assert!(failed.is_empty(), "{} of {}: {failed:#?}", failed.len(), cases.len());
}
