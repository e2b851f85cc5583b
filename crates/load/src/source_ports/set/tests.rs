use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

#[test]
fn what_is_all_full_or_all_empty_takes_no_memory() {
    let mut set = Set::new(65_536, true);
    let mixed = |set: &Set| set.chunks.iter().filter(|it| matches!(it, Chunk::Mixed(_))).count();
    assert_eq!((set.chunks.len(), mixed(&set)), (32, 0));
    for number in 0..4_096 {
        assert!(set.remove(number));
        assert!(mixed(&set) <= 1);
    }
    assert_eq!(mixed(&set), 0);
    for number in (0..4_096).rev() {
        assert!(set.insert(number));
    }
    assert_eq!((mixed(&set), set.count), (0, 65_536));
    assert!(size_of::<Mixed>() <= 272);
}

#[test]
fn a_last_chunk_that_is_not_whole_becomes_full_again() {
    let mut set = Set::new(2_050, true);
    assert!(set.remove(2_049) && !set.remove(2_049) && !set.contains(2_049));
    assert_eq!(set.next(2_049), Some(0));
    assert!(set.insert(2_049) && !set.insert(2_049));
    assert!(matches!(set.chunks[1], Chunk::Full));
    assert!(!set.insert(2_050), "beyond its size");
    assert_eq!(Set::new(0, true).next(0), None);
}

proptest! {
    #[test]
    fn it_does_what_a_set_does(
        size in 1_u32..70_000,
        is_full: bool,
        steps in prop::collection::vec((0_u8..3, 0_u32..70_000), 1..400),
    ) {
        let mut set = Set::new(size, is_full);
        let size = size.min(65_536);
        let mut plain: BTreeSet<u32> = if is_full { (0..size).collect() } else { BTreeSet::new() };
        for (what, number) in steps {
            match what {
                0 => prop_assert_eq!(set.insert(number), number < size && plain.insert(number)),
                1 => prop_assert_eq!(set.remove(number), plain.remove(&number)),
                _ => {
                    let next = plain.range(number..).next().or_else(|| plain.first()).copied();
                    set.looked_at.set(0);
                    prop_assert_eq!(set.next(number), next);
                    // Twice: a chunk, a word, the next word; the same from the next chunk on.
                    prop_assert!(set.looked_at.get() <= 12, "{}", set.looked_at.get());
                }
            }
            prop_assert_eq!(set.is_empty(), plain.is_empty());
            prop_assert_eq!(set.contains(number), plain.contains(&number));
        }
    }

    #[test]
    fn taking_one_after_the_other_takes_all_in_turns(size in 1_u32..9_000, from in 0_u32..9_000) {
        let mut set = Set::new(size, true);
        let mut taken = Vec::new();
        let mut next = from % size;
        while let Some(number) = set.next(next) {
            set.remove(number);
            taken.push(number);
            next = number + 1;
        }
        let begin = from % size;
        prop_assert!(taken.into_iter().eq((begin..size).chain(0..begin)));
        prop_assert!(set.some == 0);
    }
}
