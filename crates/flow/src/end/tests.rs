use std::collections::BTreeSet;

use proptest::{collection::vec, prelude::*};

use super::*;
use crate::generators::{ip, process};

fn set(pids: &[u32]) -> Pids {
    let mut set = Pids::default();
    pids.iter().for_each(|&pid| set.insert(pid));
    set
}

proptest! {
    #[test]
    fn process_ids_are_the_smallest_in_order(pids in vec(0..60_u32, 0..80)) {
        let distinct: BTreeSet<u32> = pids.iter().copied().collect();
        let expected: Vec<u32> = distinct.iter().copied().take(PIDS_MAX).collect();
        let set = set(&pids);
        prop_assert_eq!(set.as_slice(), expected);
        prop_assert_eq!(set.has_more(), distinct.len() > PIDS_MAX);
    }

    #[test]
    fn merging_is_the_same_as_inserting_all(
        one in vec(0..60_u32, 0..40),
        other in vec(0..60_u32, 0..40),
    ) {
        let (mut forth, mut back) = (set(&one), set(&other));
        forth.merge(&set(&other));
        back.merge(&set(&one));
        let all = set(&[one, other].concat());
        prop_assert_eq!(&forth, &all);
        prop_assert_eq!(&back, &all);
    }
}

fn known() -> End {
    End {
        namespace: Some(Namespace::new("netns:blue")),
        owner: process("nginx"),
        pids: Pids::of(1),
        ..End::unobserved(ip("10.0.0.1"))
    }
}

#[test]
fn process_ids_are_not_part_of_the_identity() {
    assert!(known().same_party(&End { pids: Pids::of(2), ..known() }));
    assert!(!known().same_party(&End { owner: process("apache2"), ..known() }));
    assert!(!known().same_party(&End { namespace: None, ..known() }));
    assert!(!known().same_party(&End { address: ip("10.0.0.2"), ..known() }));
}

#[test]
fn an_end_may_be_whatever_it_does_not_deny() {
    let hidden = Owner::Hidden { uid: 0 };
    assert!(End::unobserved(ip("10.0.0.1")).may_be(&known()));
    assert!(End { owner: Owner::Unobserved, ..known() }.may_be(&known()));
    assert!(End { namespace: None, ..known() }.may_be(&known()));
    assert!(!End { owner: hidden, ..known() }.may_be(&known()));
    assert!(!End { namespace: Some(Namespace::new(Namespace::HOST)), ..known() }.may_be(&known()));
    assert!(!End::unobserved(ip("10.0.0.2")).may_be(&known()));
}

#[test]
fn only_the_observers_own_namespace_is_the_host() {
    assert!(Namespace::new("host").is_host());
    assert!(!Namespace::new("netns:host").is_host());
}
