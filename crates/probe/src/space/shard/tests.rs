use std::collections::BTreeSet;

use proptest::prelude::*;

use super::{Order, Shard};
use crate::space::Permutation;

#[test]
fn a_shard_is_one_of_several_from_one() {
    let shard: Shard = "2/5".parse().unwrap();
    assert_eq!((shard.index(), shard.count(), shard.to_string().as_str()), (2, 5, "2/5"));
    assert_eq!("1/1".parse(), Ok(Shard::WHOLE));
    for text in ["0/5", "6/5", "1/0", "0/0", "2", "/5", "2/", "a/b", "-1/5", "1/4294967296", ""] {
        assert!(text.parse::<Shard>().is_err(), "{text}");
    }
    assert_eq!(
        "6/5".parse::<Shard>().unwrap_err().to_string(),
        "shard \"6/5\": not one of several; write 2/5 for the second of five, counting from 1"
    );
}

#[test]
fn a_shard_has_every_nth_position() {
    let order = |shard: &str| Order::new(Permutation::new(7, 1), shard.parse().unwrap());
    let positions = |shard| order(shard).map(|(position, _)| position).collect::<Vec<_>>();
    assert_eq!(positions("1/3"), [0, 3, 6]);
    assert_eq!(positions("2/3"), [1, 4]);
    assert_eq!(positions("8/9"), [] as [u64; 0]);
    assert!("8/9".parse::<Shard>().unwrap().is_empty(7));
    assert_eq!("2/3".parse::<Shard>().unwrap().len(7), 2);
}

#[test]
fn resuming_keeps_to_the_shard_and_to_the_end() {
    let mut order = Order::new(Permutation::new(100, 1), Shard::new(3, 7).unwrap());
    for (asked, expected) in [(0, 2), (2, 2), (3, 9), (9, 9), (94, 100), (100, 100)] {
        order.resume_at(asked);
        assert_eq!(order.position(), expected, "{asked}");
    }
    order.resume_at(u64::MAX);
    assert_eq!((order.position(), order.next(), order.remaining()), (100, None, 0));
    let mut longest = Order::new(Permutation::new(u64::MAX, 1), Shard::new(2, u32::MAX).unwrap());
    longest.resume_at(u64::MAX - 5);
    assert!(longest.by_ref().count() <= 1);
    assert_eq!(longest.position(), u64::MAX);
}

proptest! {
    #[test]
    fn shards_are_disjoint_and_together_everything(
        len in 0_u64..2000,
        seed: u64,
        count in 1_u32..20,
    ) {
        let permutation = Permutation::new(len, seed);
        let (mut seen, mut total) = (BTreeSet::new(), 0);
        for index in 1..=count {
            let shard = Shard::new(index, count).unwrap();
            let order = Order::new(permutation.clone(), shard);
            prop_assert_eq!(order.remaining(), shard.len(len));
            let found: Vec<_> = order.collect();
            prop_assert_eq!(found.len() as u64, shard.len(len));
            for (position, index) in &found {
                prop_assert_eq!(permutation.at(*position), Some(*index));
            }
            total += found.len() as u64;
            seen.extend(found);
        }
        prop_assert_eq!((seen.len() as u64, total), (len, len));
    }

    #[test]
    fn an_order_goes_on_where_it_was(len in 1_u64..500, index in 1_u32..4, after in 0_usize..500) {
        let new = || Order::new(Permutation::new(len, 3), Shard::new(index, 3).unwrap());
        let mut first = new();
        let begun = first.by_ref().take(after).count();
        let mut second = new();
        second.resume_at(first.position());
        prop_assert_eq!(&second, &first);
        prop_assert_eq!(begun + second.count(), new().count());
    }
}
