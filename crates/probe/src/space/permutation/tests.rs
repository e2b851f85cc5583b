use std::collections::BTreeSet;

use proptest::prelude::*;

use super::Permutation;

/// A run that was interrupted goes on in the same order, whichever version goes on.
#[test]
fn the_order_is_that_of_the_test_vector() {
    let order = |len, seed| {
        let permutation = Permutation::new(len, seed);
        (0..8).map(|position| permutation.at(position).unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(order(8, 0), VECTOR_8_0);
    assert_eq!(order(1000, 42), VECTOR_1000_42);
    assert_eq!(order(1 << 48, u64::MAX), VECTOR_2_48_MAX);
    assert_eq!(order(u64::MAX, 1), VECTOR_MAX_1);
}

const VECTOR_8_0: [u64; 8] = [1, 4, 0, 3, 2, 6, 7, 5];
const VECTOR_1000_42: [u64; 8] = [483, 679, 861, 163, 890, 665, 914, 935];
const VECTOR_2_48_MAX: [u64; 8] = [
    125_921_842_306_381,
    112_913_802_125_384,
    98_429_823_657_247,
    50_399_053_387_949,
    179_433_531_892_705,
    218_783_850_676_196,
    237_202_103_423_902,
    159_613_957_653_421,
];
const VECTOR_MAX_1: [u64; 8] = [
    4_975_999_105_862_777_433,
    4_489_901_252_852_300_769,
    13_468_071_379_062_903_928,
    10_898_922_439_070_333_883,
    11_411_708_970_281_945_696,
    16_878_650_428_681_599_460,
    5_211_475_473_907_956_869,
    9_155_339_225_934_732_122,
];

#[test]
fn the_smallest_are_permutations_too() {
    let none = Permutation::new(0, 7);
    assert!(none.is_empty() && none.at(0).is_none());
    let one = Permutation::new(1, 7);
    assert_eq!((one.at(0), one.at(1), one.len()), (Some(0), None, 1));
    for len in 2..70 {
        let permutation = Permutation::new(len, 7);
        let seen: BTreeSet<_> = (0..len).filter_map(|position| permutation.at(position)).collect();
        assert_eq!(seen.len() as u64, len);
    }
}

/// Of a /16, the first thousand checks are in nearly as many networks as chance would have it.
#[test]
fn consecutive_positions_are_spread() {
    for seed in 0..50 {
        let permutation = Permutation::new(1 << 16, seed);
        let at = |position| permutation.at(position).unwrap();
        // 256 drawn from 256 networks at random are in 162 of them, give or take six.
        let networks: BTreeSet<u64> = (0..256).map(|position| at(position) >> 8).collect();
        assert!((125..=195).contains(&networks.len()), "{seed}: {}", networks.len());
        let hosts: BTreeSet<u64> = (0..256).map(|position| at(position) & 255).collect();
        assert!((125..=195).contains(&hosts.len()), "{seed}: {}", hosts.len());
        // A third of the square's side is how far two random numbers are apart on average.
        let apart: u64 = (0..4096).map(|position| at(position).abs_diff(at(position + 1))).sum();
        let mean = apart / 4096;
        assert!((20_000..=24_000).contains(&mean), "{seed}: {mean}");
    }
}

proptest! {
    #[test]
    fn every_number_comes_once(len in 0_u64..5000, seed: u64) {
        let permutation = Permutation::new(len, seed);
        let seen: BTreeSet<_> = (0..len).filter_map(|position| permutation.at(position)).collect();
        prop_assert_eq!(seen.len() as u64, len);
        prop_assert!(seen.last().is_none_or(|last| *last < len));
        prop_assert_eq!(permutation.at(len), None);
    }

    #[test]
    fn no_two_of_many_positions_are_the_same(
        len: u64,
        seed: u64,
        positions in prop::collection::btree_set(any::<u64>(), 2..50),
    ) {
        let permutation = Permutation::new(len, seed);
        let seen: Vec<_> =
            positions.into_iter().filter_map(|position| permutation.at(position)).collect();
        prop_assert!(seen.iter().all(|number| *number < len));
        prop_assert_eq!(seen.iter().collect::<BTreeSet<_>>().len(), seen.len());
    }
}
