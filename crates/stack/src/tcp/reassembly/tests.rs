use std::{collections::BTreeSet, vec::Vec};

use proptest::prelude::*;

use super::*;

fn block(left: u32, right: u32) -> SackBlock {
    SackBlock { left: Seq(left), right: Seq(right) }
}

fn insert(reassembly: &mut Reassembly, left: u32, right: u32) -> Inserted {
    reassembly.insert(Seq(left), Seq(right))
}

/// What the next acknowledgement says.
fn reported(reassembly: &mut Reassembly) -> Vec<(u32, u32)> {
    let blocks = reassembly.sack_blocks(SACK_BLOCKS_MAX);
    blocks.as_slice().iter().map(|block| (block.left.0, block.right.0)).collect()
}

fn gaps(reassembly: &Reassembly, left: u32, right: u32) -> Vec<(u32, u32)> {
    reassembly.gaps(Seq(left), Seq(right)).map(|(left, right)| (left.0, right.0)).collect()
}

#[derive(Clone, Debug)]
enum Step {
    Insert(u32, u32),
    /// A segment in order.
    Advance(u32),
    Report(usize),
}

fn steps() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (1..400_u32, 0..40_u32).prop_map(|(left, length)| Step::Insert(left, length)),
        1 => (0..60_u32).prop_map(Step::Advance),
        2 => (0..6_usize).prop_map(Step::Report),
    ]
}

/// The same, byte by byte; offsets count from the first RCV.NXT.
#[derive(Default)]
struct Model {
    next: u64,
    early: BTreeSet<u64>,
    last: Option<u64>,
    duplicate: Option<(u64, u64)>,
}

impl Model {
    fn runs(&self) -> Vec<(u64, u64)> {
        let mut runs: Vec<(u64, u64)> = Vec::new();
        for byte in &self.early {
            match runs.last_mut().filter(|run| run.1 == *byte) {
                Some(run) => run.1 += 1,
                None => runs.push((*byte, byte + 1)),
            }
        }
        runs
    }

    /// The first bytes of the range that are there already.
    fn first_present(&self, left: u64, right: u64) -> Option<(u64, u64)> {
        let is_there = |byte: &u64| self.early.contains(byte);
        let first = (left..right).find(is_there)?;
        Some((first, (first..right).take_while(is_there).last()? + 1))
    }
}

proptest! {
    #[test]
    fn does_what_a_set_of_bytes_does(
        begin in prop_oneof![any::<u32>(), Just(u32::MAX - 200), Just((1 << 31) - 200)],
        steps in prop::collection::vec(steps(), 1..100),
    ) {
        let at = |offset: u64| Seq(begin) + offset as u32;
        let mut reassembly = Reassembly::new();
        let mut model = Model::default();
        for step in steps {
            match step {
                Step::Insert(beyond, length) => {
                    let left = model.next + u64::from(beyond);
                    let right = left + u64::from(length);
                    let missing: Vec<u64> =
                        (left..right).filter(|byte| !model.early.contains(byte)).collect();
                    let from_gaps: Vec<Seq> = reassembly
                        .gaps(at(left), at(right))
                        .flat_map(|(left, right)| (0..right.distance(left)).map(move |n| left + n))
                        .collect();
                    let numbers: Vec<Seq> = missing.iter().map(|byte| at(*byte)).collect();
                    prop_assert_eq!(from_gaps, numbers);
                    let expected = match missing.len() {
                        0 => Inserted::Duplicate,
                        new => Inserted::Stored { new: new as u32 },
                    };
                    model.duplicate = model.first_present(left, right).or(model.duplicate);
                    model.early.extend(missing);
                    prop_assert_eq!(reassembly.insert(at(left), at(right)), expected);
                    if length > 0 {
                        model.last = Some(left);
                    }
                }
                Step::Advance(length) => {
                    let next = model.next + u64::from(length);
                    model.duplicate = model.first_present(model.next, next).or(model.duplicate);
                    model.next = next;
                    while model.early.contains(&model.next) {
                        model.next += 1;
                    }
                    model.early = model.early.split_off(&model.next);
                    prop_assert_eq!(reassembly.advance(at(next)), at(model.next));
                }
                Step::Report(max) => {
                    let blocks = reassembly.sack_blocks(max);
                    let mut blocks = blocks.as_slice().to_vec();
                    let runs = model.runs();
                    let duplicate = model.duplicate.take_if(|_| max > 0);
                    let count = runs.len() + usize::from(duplicate.is_some());
                    prop_assert_eq!(blocks.len(), count.min(max).min(SACK_BLOCKS_MAX));
                    if let Some((left, right)) = duplicate {
                        let block = SackBlock { left: at(left), right: at(right) };
                        prop_assert_eq!(blocks.remove(0), block);
                    }
                    let place = |block: &SackBlock| {
                        let ends = (block.left, block.right);
                        runs.iter().position(|run| (at(run.0), at(run.1)) == ends)
                    };
                    let places: Option<BTreeSet<usize>> = blocks.iter().map(place).collect();
                    let different = places.map(|places| places.len());
                    prop_assert_eq!(different, Some(blocks.len()));
                    // RFC 2018, section 4: the first block has the segment that came last.
                    if let Some(last) = model.last.filter(|last| model.early.contains(last))
                        && let Some(first) = blocks.first()
                    {
                        let run = runs.iter().find(|run| (run.0..run.1).contains(&last));
                        prop_assert_eq!(run.map(|run| at(run.0)), Some(first.left));
                    }
                }
            }
            let ranges = model.runs().into_iter()
                .map(|(left, right)| SackBlock { left: at(left), right: at(right) })
                .collect::<Vec<_>>();
            prop_assert_eq!(reassembly.ranges(), ranges);
            prop_assert_eq!(reassembly.is_empty(), model.early.is_empty());
        }
    }
}

#[test]
fn a_range_is_stored_once() {
    let mut reassembly = Reassembly::new();
    assert_eq!(insert(&mut reassembly, 100, 200), Inserted::Stored { new: 100 });
    assert_eq!(insert(&mut reassembly, 100, 200), Inserted::Duplicate);
    assert_eq!(insert(&mut reassembly, 150, 150), Inserted::Duplicate);
    assert_eq!(insert(&mut reassembly, 300, 400), Inserted::Stored { new: 100 });
    assert_eq!(gaps(&reassembly, 50, 450), [(50, 100), (200, 300), (400, 450)]);
    assert_eq!(gaps(&reassembly, 120, 180), []);
    assert_eq!(insert(&mut reassembly, 50, 450), Inserted::Stored { new: 200 });
    assert_eq!(reassembly.ranges(), [block(50, 450)]);
    assert_eq!(reassembly.advance(Seq(10)), Seq(10));
    assert_eq!(reassembly.advance(Seq(50)), Seq(450));
    assert!(reassembly.is_empty());
}

/// Case 1 and 3 of RFC 2018, section 4: eight segments of 500 bytes from 5,000 on; the first is
/// lost, or every second one.
#[test]
fn rfc_2018_examples() {
    let mut reassembly = Reassembly::new();
    for segment in 1..8_u32 {
        insert(&mut reassembly, 5_000 + segment * 500, 5_500 + segment * 500);
        assert_eq!(reported(&mut reassembly), [(5_500, 5_500 + segment * 500)]);
    }
    let mut reassembly = Reassembly::new();
    insert(&mut reassembly, 5_500, 6_000);
    assert_eq!(reported(&mut reassembly), [(5_500, 6_000)]);
    insert(&mut reassembly, 6_500, 7_000);
    assert_eq!(reported(&mut reassembly), [(6_500, 7_000), (5_500, 6_000)]);
    insert(&mut reassembly, 7_500, 8_000);
    assert_eq!(reported(&mut reassembly), [(7_500, 8_000), (6_500, 7_000), (5_500, 6_000)]);
    insert(&mut reassembly, 8_500, 9_000);
    let four = [(8_500, 9_000), (7_500, 8_000), (6_500, 7_000), (5_500, 6_000)];
    assert_eq!(reported(&mut reassembly), four);
    assert_eq!(
        *reassembly.sack_blocks(3).as_slice(),
        four.map(|(left, right)| block(left, right))[..3]
    );
    // The fourth segment comes: it joins two ranges, and the joined one is reported first.
    insert(&mut reassembly, 6_000, 6_500);
    assert_eq!(reported(&mut reassembly), [(5_500, 7_000), (8_500, 9_000), (7_500, 8_000)]);
    // The second one comes.
    assert_eq!(reassembly.advance(Seq(5_500)), Seq(7_000));
    assert_eq!(reported(&mut reassembly), [(8_500, 9_000), (7_500, 8_000)]);
}

/// RFC 2018, section 4: a range that changed long ago is still reported when others are gone.
#[test]
fn ranges_that_fell_out_of_the_last_four_are_reported_again() {
    let mut reassembly = Reassembly::new();
    for left in [100, 200, 300, 400, 500] {
        insert(&mut reassembly, left, left + 50);
    }
    assert_eq!(reported(&mut reassembly), [(500, 550), (400, 450), (300, 350), (200, 250)]);
    insert(&mut reassembly, 200, 500);
    assert_eq!(reported(&mut reassembly).split_first().unwrap().1, [(200, 550), (100, 150)]);
}

/// RFC 2018, section 4: what is in order by now makes room for what changed longer ago.
#[test]
fn the_order_of_changes_outlives_ranges_that_are_in_order() {
    let mut reassembly = Reassembly::new();
    for left in [800, 700, 250, 300, 100] {
        insert(&mut reassembly, left, left + 20);
    }
    assert_eq!(reassembly.advance(Seq(110)), Seq(120));
    insert(&mut reassembly, 400, 420);
    let lefts: Vec<u32> = reported(&mut reassembly).iter().map(|block| block.0).collect();
    // First a duplicate, which `advance` found: 100 to 110.
    assert_eq!(lefts, [100, 400, 300, 250]);
    // 100 had taken the place of 700, and gives it back.
    let lefts: Vec<u32> = reported(&mut reassembly).iter().map(|block| block.0).collect();
    assert_eq!(lefts, [400, 300, 250, 700]);
}

/// RFC 2883, section 4.1.1: a duplicate below RCV.NXT.
#[test]
fn rfc_2883_example_1_duplicate_segment() {
    let mut reassembly = Reassembly::new();
    assert_eq!(reassembly.advance(Seq(4_000)), Seq(4_000));
    reassembly.duplicate(block(3_000, 3_500));
    assert!(reassembly.has_duplicate());
    assert!(reassembly.sack_blocks(0).as_slice().is_empty());
    assert_eq!(reported(&mut reassembly), [(3_000, 3_500)]);
    // It is reported once.
    assert_eq!(reported(&mut reassembly), []);
}

/// RFC 2883, section 4.1.2: an out-of-order segment, and a duplicate below RCV.NXT.
#[test]
fn rfc_2883_example_2_out_of_order_segment_and_duplicate() {
    let mut reassembly = Reassembly::new();
    insert(&mut reassembly, 4_500, 5_000);
    assert_eq!(reported(&mut reassembly), [(4_500, 5_000)]);
    reassembly.duplicate(block(3_000, 3_500));
    assert_eq!(reported(&mut reassembly), [(3_000, 3_500), (4_500, 5_000)]);
}

/// RFC 2883, section 4.1.3: the second block is the range that the duplicate is a part of.
#[test]
fn rfc_2883_example_3_duplicate_of_an_out_of_order_segment() {
    let mut reassembly = Reassembly::new();
    insert(&mut reassembly, 4_500, 5_000);
    insert(&mut reassembly, 5_000, 5_500);
    assert_eq!(reported(&mut reassembly), [(4_500, 5_500)]);
    insert(&mut reassembly, 6_000, 6_500);
    assert_eq!(insert(&mut reassembly, 5_000, 5_500), Inserted::Duplicate);
    assert_eq!(reported(&mut reassembly), [(5_000, 5_500), (4_500, 5_500), (6_000, 6_500)]);
}

/// RFC 2883, section 4.2.1: a part of a segment that is in order came before.
#[test]
fn rfc_2883_section_4_2_a_part_is_a_duplicate() {
    let mut reassembly = Reassembly::new();
    insert(&mut reassembly, 1_500, 2_000);
    assert_eq!(reported(&mut reassembly), [(1_500, 2_000)]);
    // 1,000 to 2,499 arrive in one segment, sent again with a larger segment size.
    assert_eq!(reassembly.advance(Seq(2_500)), Seq(2_500));
    assert_eq!(reported(&mut reassembly), [(1_500, 2_000)]);
    // And so within the data behind a hole: first the duplicate, then the range that has it.
    insert(&mut reassembly, 3_500, 4_000);
    insert(&mut reassembly, 3_000, 3_600);
    assert_eq!(reported(&mut reassembly), [(3_500, 3_600), (3_000, 4_000)]);
}

/// RFC 2883, section 4.2.2: of two duplicate parts that do not touch, the first is reported.
#[test]
fn rfc_2883_section_4_2_two_parts_are_duplicates() {
    let mut reassembly = Reassembly::new();
    for left in [1_500, 2_500] {
        insert(&mut reassembly, left, left + 500);
    }
    reported(&mut reassembly);
    assert_eq!(reassembly.advance(Seq(3_500)), Seq(3_500));
    assert_eq!(reported(&mut reassembly), [(1_500, 2_000)]);
}

#[test]
fn what_is_one_range_too_many_is_not_kept() {
    let mut reassembly = Reassembly::new();
    for place in 0..RANGES_MAX as u32 {
        assert_eq!(
            insert(&mut reassembly, place * 2 + 10, place * 2 + 11),
            Inserted::Stored { new: 1 }
        );
    }
    assert_eq!(insert(&mut reassembly, 5_000, 5_001), Inserted::Full);
    assert_eq!(reassembly.ranges().len(), RANGES_MAX);
    // What touches a range, or is in order, comes in.
    assert_eq!(insert(&mut reassembly, 11, 12), Inserted::Stored { new: 1 });
    assert_eq!(insert(&mut reassembly, 5_000, 5_001), Inserted::Stored { new: 1 });
    assert_eq!(reassembly.advance(Seq(10)), Seq(13));
    assert!(reassembly.ranges.capacity() <= RANGES_MAX);
    assert_eq!(reassembly.advance(Seq(6_000)), Seq(6_000));
    assert_eq!(reassembly.ranges.capacity(), 0);
}

/// CVE-2018-5390: the cost of each segment is bounded, whatever came before, and small on average.
#[test]
fn an_adversary_costs_little() {
    let worst = 3 * RANGES_MAX as u64;
    let forwards: Vec<u32> = (0..20_000).map(|place| place * 2 + 1).collect();
    let backwards: Vec<u32> = forwards.iter().rev().copied().collect();
    let one_each_side = forwards.iter().zip(&backwards).flat_map(|(one, other)| [*one, *other]);
    let one_each_side: Vec<u32> = one_each_side.collect();
    for order in [&forwards, &backwards, &one_each_side] {
        let mut reassembly = Reassembly::new();
        for left in order {
            let before = reassembly.steps;
            insert(&mut reassembly, *left, left + 1);
            reassembly.sack_blocks(SACK_BLOCKS_MAX);
            assert!(reassembly.steps - before <= worst);
        }
        // The first 256 find a place and move others; the rest cost no more than a search.
        let most = (RANGES_MAX * RANGES_MAX + 20 * order.len()) as u64;
        assert!(reassembly.steps <= most, "{} steps", reassembly.steps);
        // All holes are filled by one segment after the other from the left.
        let filled = reassembly.steps;
        for next in 1..40_000 {
            reassembly.advance(Seq(next));
        }
        assert!(reassembly.steps - filled <= RANGES_MAX as u64 * RANGES_MAX as u64);
    }
}

#[test]
fn allocates_nothing_for_a_few_holes() {
    let mut reassembly = Reassembly::new();
    let mut next = 0_u32;
    let mut round = |reassembly: &mut Reassembly| {
        for hole in 1..=RANGES_KEPT_MAX as u32 {
            insert(reassembly, next + hole * 100, next + hole * 100 + 50);
            reassembly.sack_blocks(3);
        }
        for _ in 0..=RANGES_KEPT_MAX {
            next = reassembly.advance(Seq(next + 50)).0 + 50;
        }
        assert!(reassembly.is_empty());
    };
    round(&mut reassembly);
    let allocated = allocation_counter::measure(|| (0..100).for_each(|_| round(&mut reassembly)));
    assert_eq!(allocated.count_total, 0);
}

#[test]
fn forgets_all_when_the_bytes_are_dropped() {
    let mut reassembly = Reassembly::new();
    insert(&mut reassembly, 10, 20);
    reassembly.clear();
    assert!(reassembly.is_empty());
    assert_eq!(reported(&mut reassembly), []);
}

/// RFC 2018, section 8, and RFC 2883, section 4: what was dropped is not reported any more, nor a
/// duplicate of it; one of what was in order is.
#[test]
fn what_was_discarded_is_not_reported() {
    let mut reassembly = Reassembly::new();
    let block = |left, right| SackBlock { left: Seq(left), right: Seq(right) };
    reassembly.insert(Seq(20), Seq(30));
    reassembly.insert(Seq(20), Seq(30));
    assert!(reassembly.has_duplicate());
    reassembly.discard(Seq(10));
    assert!(reassembly.is_empty() && !reassembly.has_duplicate());
    assert!(reassembly.sack_blocks(4).as_slice().is_empty());
    assert_eq!(reassembly.insert(Seq(20), Seq(30)), Inserted::Stored { new: 10 });
    reassembly.duplicate(block(5, 10));
    reassembly.discard(Seq(10));
    assert_eq!(reassembly.sack_blocks(4).as_slice(), [block(5, 10)]);
    assert!(reassembly.sack_blocks(4).as_slice().is_empty());
}
