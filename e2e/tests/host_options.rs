//! The host and the kernel without one of TCP's options each, in both roles: what the kernel does
//! not offer is not used, and all data arrives.

use portolan_e2e::{
    case::{Case, Opener},
    link::{Offload, Wire},
};

const BOTH: [Opener; 2] = [Opener::Kernel, Opener::Host];

#[test]
fn nothing_is_switched_off() {
    for opener in BOTH {
        let seen = Case { opener, ..Case::default() }.run().seen;
        assert_eq!(seen.syns.len(), 4, "two connections: {seen:?}");
        assert!(seen.syns.iter().all(|syn| syn.sack && syn.timestamps && syn.window_scaling));
        assert!(seen.syns.iter().all(|syn| syn.mss == 1_460), "{seen:?}");
    }
}

#[test]
fn without_selective_acknowledgments() {
    for opener in BOTH {
        let case = Case { opener, settings: &[("tcp_sack", "0")], ..Case::default() };
        let seen = case.run().seen;
        assert!(seen.syns.iter().filter(|syn| syn.is_outbound == syn.is_answer).all(|it| !it.sack));
        assert!(seen.syns.iter().all(|syn| syn.timestamps && syn.window_scaling), "{seen:?}");
    }
}
