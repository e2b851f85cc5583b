use std::{
    collections::HashSet,
    hash::{BuildHasher, BuildHasherDefault},
};

use super::*;

/// What a table of 2^16 places looks at.
fn places(numbers: impl Iterator<Item = u32>) -> usize {
    let hasher = BuildHasherDefault::<InodeHasher>::default();
    numbers.map(|number| hasher.hash_one(number) & 0xffff).collect::<HashSet<u64>>().len()
}

#[test]
fn numbers_in_any_step_are_spread() {
    for step in [1, 2, 3, 16, 64, 1 << 16] {
        let used = places((0..10_000).map(|at| 5_000_000 + at * step));
        assert!(used > 8_000, "10,000 numbers in steps of {step} fall on {used} places");
    }
}

#[test]
fn what_was_put_in_is_found() {
    let mut holders = Holders::default();
    holders.extend((0..1000).map(|at| (at * 7, at)));
    assert!((0..1000).all(|at| holders.get(&(at * 7)) == Some(&at)));
    assert_eq!(holders.get(&1), None);
}
