//! The host and the kernel without one of TCP's options each, in both roles: what the kernel does
//! not offer is not used, and all data arrives.

use portolan_e2e::{
    capture::{Seen, Syn},
    case::{Case, Opener},
    link::Wire,
};
use portolan_host::stack::tcp::EcnUse;

const BOTH: [(Opener, Wire); 2] = [(Opener::Kernel, Wire::Tap), (Opener::Host, Wire::Veth)];

/// Runs the case in both roles, and shows what was seen with the SYNs of the kernel.
fn each(settings: &'static [(&'static str, &'static str)], look: impl Fn(&Seen, &[Syn])) {
    for (opener, wire) in BOTH {
        let seen = Case { opener, wire, settings, ..Case::default() }.run().seen;
        let is_of_kernel = |syn: &&Syn| !syn.is_outbound;
        let of_kernel: Vec<Syn> = seen.syns.iter().filter(is_of_kernel).copied().collect();
        assert_eq!(of_kernel.len(), 2, "of two connections: {seen:?}");
        look(&seen, &of_kernel);
    }
}

/// Whether the host's SYNs have what `wanted` looks for, where they answer one of the kernel's.
fn answers(seen: &Seen, wanted: impl Fn(&Syn) -> bool) -> bool {
    seen.syns.iter().filter(|syn| syn.is_outbound && syn.is_answer).any(wanted)
}

#[test]
fn all_that_there_is() {
    each(&[], |seen, _| {
        assert_eq!(seen.syns.len(), 4, "no SYN was sent again: {seen:?}");
        assert!(seen.syns.iter().all(|syn| syn.sack && syn.timestamps && syn.window_scaling));
        assert!(seen.syns.iter().all(|syn| syn.mss == 1_460), "{seen:?}");
    });
}

#[test]
fn without_selective_acknowledgments() {
    each(&[("tcp_sack", "0")], |seen, of_kernel| {
        assert!(of_kernel.iter().all(|syn| !syn.sack && syn.timestamps), "{seen:?}");
        assert!(!answers(seen, |syn| syn.sack), "{seen:?}");
    });
}

#[test]
fn without_timestamps() {
    each(&[("tcp_timestamps", "0")], |seen, of_kernel| {
        assert!(of_kernel.iter().all(|syn| syn.sack && !syn.timestamps), "{seen:?}");
        assert!(!answers(seen, |syn| syn.timestamps), "{seen:?}");
    });
}

#[test]
fn without_window_scaling() {
    each(&[("tcp_window_scaling", "0")], |seen, of_kernel| {
        assert!(of_kernel.iter().all(|syn| syn.sack && !syn.window_scaling), "{seen:?}");
        assert!(!answers(seen, |syn| syn.window_scaling), "{seen:?}");
    });
}

#[test]
fn without_any() {
    let settings = &[("tcp_sack", "0"), ("tcp_timestamps", "0"), ("tcp_window_scaling", "0")];
    each(settings, |seen, of_kernel| {
        let is_bare = |syn: &Syn| !(syn.sack || syn.timestamps || syn.window_scaling);
        assert!(of_kernel.iter().all(is_bare), "{seen:?}");
    });
}

#[test]
fn congestion_marks_where_both_want_them() {
    // 1: the kernel asks for them too. The host agrees, and asks when it is told to.
    for (opener, wire) in BOTH {
        let case = Case { opener, wire, settings: &[("tcp_ecn", "1")], ..Case::default() };
        let seen = case.run_with(|config| config.tcp.ecn = EcnUse::Active).seen;
        assert!(seen.syns.iter().all(|syn| syn.ecn), "{opener:?}: {seen:?}");
        assert!(seen.marked.iter().all(|&count| count > 0), "{opener:?}: {seen:?}");
    }
}

#[test]
fn no_congestion_marks_where_one_does_not() {
    for (opener, wire) in BOTH {
        let case = Case { opener, wire, settings: &[("tcp_ecn", "0")], ..Case::default() };
        let seen = case.run_with(|config| config.tcp.ecn = EcnUse::Active).seen;
        assert!(seen.syns.iter().filter(|syn| !syn.is_outbound).all(|syn| !syn.ecn), "{seen:?}");
        assert_eq!(seen.marked, [0, 0], "{opener:?}: {seen:?}");
        // The kernel asks, the host does not want it.
        let case = Case { settings: &[("tcp_ecn", "1")], ..case };
        let seen = case.run_with(|config| config.tcp.ecn = EcnUse::Off).seen;
        assert_eq!(seen.marked, [0, 0], "{opener:?}: {seen:?}");
    }
}
