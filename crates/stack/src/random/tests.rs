use std::{collections::BTreeSet, format};

use super::*;

fn all(keys: &Keys) -> [Key; 7] {
    let Keys { table, isn, timestamp, cookie, ports, fragment, random } = *keys;
    [table, isn, timestamp, cookie, ports, fragment, random]
}

#[test]
fn every_purpose_has_a_key_of_its_own() {
    let halves: BTreeSet<u64> =
        all(&Keys::new([1; 32])).iter().flat_map(|key| [key.0, key.1]).collect();
    assert_eq!(halves.len(), 14);
}

#[test]
fn every_bit_of_the_secret_changes_every_key() {
    let before = all(&Keys::new([0; 32]));
    for bit in 0..256 {
        let mut secret = [0; 32];
        secret[bit / 8] ^= 1 << (bit % 8);
        for (old, new) in before.iter().zip(all(&Keys::new(secret))) {
            assert!(old.0 != new.0 && old.1 != new.1, "bit {bit}");
        }
    }
}

/// The vector of the paper "SipHash: a fast short-input PRF" (2012), appendix A.
#[test]
fn the_hash_is_siphash_2_4() {
    let key = Key::new(0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908);
    let bytes: [u8; 15] = core::array::from_fn(|place| place as u8);
    assert_eq!(key.hash(&bytes), 0xa129_ca61_49be_45e5);
    assert_ne!(key.hash_hidden(&bytes), key.hash(&bytes));
}

#[test]
fn a_key_does_not_show_itself() {
    assert_eq!(format!("{:?}", Key::new(0x1234, 0x1234)), "Key(..)");
}

#[test]
fn numbers_repeat_with_the_same_secret_and_purpose_only() {
    let keys = Keys::new([9; 32]);
    let draw = |keys: &Keys, purpose| Random::new(keys, purpose).next_u64();
    assert_eq!(draw(&keys, 1), draw(&keys, 1));
    assert_ne!(draw(&keys, 1), draw(&keys, 2));
    assert_ne!(draw(&keys, 1), draw(&Keys::new([8; 32]), 1));
}

#[test]
fn numbers_below_a_bound_are_all_alike() {
    let mut random = Random::new(&Keys::new([3; 32]), 0);
    assert_eq!(random.below(0), 0);
    assert_eq!(random.below(1), 0);
    let mut counts = [0_i64; 10];
    for _ in 0..100_000 {
        counts[random.below(10) as usize] += 1;
    }
    // Chi-square with 9 degrees of freedom is below 27.9 in 999 of 1,000 cases; the seed is fixed.
    let chi_square: i64 = counts.iter().map(|count| (count - 10_000) * (count - 10_000)).sum();
    assert!(chi_square < 27_900 * 10, "{counts:?}");
}

#[test]
fn messages_of_both_versions_differ() {
    let four = Message::new().with_address("1.2.3.4".parse().unwrap());
    let six = Message::new().with_address("::ffff:1.2.3.4".parse().unwrap());
    assert_eq!(four.as_bytes(), [1, 2, 3, 4]);
    assert_eq!(six.as_bytes().len(), 16);
}
