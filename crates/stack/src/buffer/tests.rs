use std::{collections::VecDeque, vec::Vec};

use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug)]
enum Step {
    Push(usize),
    Write(u32, usize),
    Advance,
    Consume(u32),
    Skip(u32),
    DiscardEarly,
    Clear,
}

fn steps() -> impl Strategy<Value = Step> {
    let length =
        || prop_oneof![0..20_usize, 1_400..1_500_usize, 4_090..4_100_usize, 0..20_000_usize];
    let offset = prop_oneof![0..20_u32, 1_400..1_500_u32, 4_090..4_100_u32, 0..40_000_u32];
    prop_oneof![
        4 => length().prop_map(Step::Push),
        3 => (offset, length()).prop_map(|(offset, length)| Step::Write(offset, length)),
        2 => Just(Step::Advance),
        4 => (0..20_000_u32).prop_map(Step::Consume),
        2 => (0..20_000_u32).prop_map(Step::Skip),
        1 => Just(Step::DiscardEarly),
        1 => Just(Step::Clear),
    ]
}

/// The same as a stream, byte by byte.
#[derive(Default)]
struct Model {
    bytes: VecDeque<Option<u8>>,
    len: usize,
}

impl Model {
    fn write(&mut self, offset: usize, bytes: &[u8]) {
        if !bytes.is_empty() && self.bytes.len() < offset + bytes.len() {
            self.bytes.resize(offset + bytes.len(), None);
        }
        for (place, byte) in self.bytes.iter_mut().skip(offset).zip(bytes) {
            *place = Some(*byte);
        }
    }

    /// How many early bytes follow those in order without a gap.
    fn ready(&self) -> usize {
        self.bytes.iter().skip(self.len).take_while(|byte| byte.is_some()).count()
    }

    fn in_order(&self) -> Vec<u8> {
        self.bytes.iter().take(self.len).map(|byte| byte.expect("no gap")).collect()
    }
}

fn check(stream: &Stream, pool: &Pool, model: &Model) {
    assert_eq!(stream.len() as usize, model.len);
    assert_eq!(stream.is_empty(), model.len == 0);
    assert_eq!(stream.extent() as usize, model.bytes.len());
    assert_eq!(pool.in_use(), stream.blocks());
    assert!(pool.in_use() <= pool.limit());
    if model.bytes.is_empty() {
        assert_eq!(stream.blocks(), 0);
        assert!(stream.blocks.capacity() <= LIST_KEPT_MAX);
    }
    let expected = model.in_order();
    let mut out = std::vec![0; model.len + 3];
    assert_eq!(stream.copy_out(0, &mut out), model.len);
    assert_eq!(out[..model.len], expected);
    assert!(expected.starts_with(stream.front()));
    assert_eq!(stream.front().is_empty(), expected.is_empty());
    let (from, to) = (model.len / 3, model.len / 2 + 1);
    let part = stream.slices(from as u32, (to - from) as u32).collect::<Vec<_>>().concat();
    assert_eq!(part, expected[from..to.min(model.len)]);
}

proptest! {
    #[test]
    fn does_what_a_queue_of_bytes_does(
        blocks_max in prop_oneof![0..6_usize, Just(1_000)],
        steps in prop::collection::vec(steps(), 1..60),
    ) {
        let mut pool = Pool::new(blocks_max);
        let (mut stream, mut model) = (Stream::new(), Model::default());
        let mut next = 0_u8;
        let mut bytes = |count| -> Vec<u8> {
            (0..count).map(|_| { next = next.wrapping_mul(5).wrapping_add(77); next }).collect()
        };
        for step in steps {
            match step {
                Step::Push(length) => {
                    let bytes = bytes(length);
                    let pushed = stream.push(&mut pool, &bytes);
                    prop_assert!(pushed == length || pool.in_use() == pool.limit());
                    model.write(model.len, &bytes[..pushed]);
                    model.len += pushed;
                }
                Step::Write(beyond, length) => {
                    let bytes = bytes(length);
                    let offset = stream.len() + beyond;
                    let written = stream.write_at(&mut pool, offset, &bytes);
                    prop_assert!(written == length || pool.in_use() == pool.limit());
                    model.write(offset as usize, &bytes[..written]);
                }
                Step::Advance => {
                    let ready = model.ready();
                    stream.advance(ready as u32);
                    model.len += ready;
                }
                Step::Consume(count) => {
                    stream.consume(&mut pool, count);
                    let count = model.len.min(count as usize);
                    model.bytes.drain(..count);
                    model.len -= count;
                }
                Step::Skip(count) => {
                    // Only where nothing is in order; so it is made to be.
                    stream.consume(&mut pool, stream.len());
                    model.bytes.drain(..model.len);
                    model.len = 0;
                    stream.skip(&mut pool, count);
                    model.bytes.drain(..model.bytes.len().min(count as usize));
                }
                Step::DiscardEarly => {
                    stream.discard_early(&mut pool);
                    model.bytes.truncate(model.len);
                }
                Step::Clear => {
                    stream.clear(&mut pool);
                    model = Model::default();
                    prop_assert_eq!(stream.blocks.capacity(), 0);
                }
            }
            check(&stream, &pool, &model);
        }
        stream.clear(&mut pool);
        prop_assert_eq!(pool.in_use(), 0);
    }
}

#[test]
fn sizes_are_as_planned() {
    assert!(size_of::<Stream>() <= 48);
    assert_eq!(size_of::<Option<Block>>(), 8);
}

#[test]
fn early_bytes_wait_behind_a_gap_of_blocks() {
    let mut pool = Pool::new(10);
    let mut stream = Stream::new();
    assert_eq!(stream.push(&mut pool, b"in order "), 9);
    // Across a border of blocks, with two absent blocks before.
    let far = 3 * BLOCK_BYTES as u32 - 2;
    assert_eq!(stream.write_at(&mut pool, far, b"early"), 5);
    assert_eq!(pool.in_use(), 3);
    assert_eq!(stream.front(), b"in order ");
    let hole = std::vec![b'.'; far as usize - 9];
    assert_eq!(stream.push(&mut pool, &hole), hole.len());
    assert_eq!(pool.in_use(), 4);
    stream.advance(5);
    stream.consume(&mut pool, far);
    assert_eq!(stream.slices(0, 9).collect::<Vec<_>>(), [&b"ea"[..], b"rly"]);
    stream.consume(&mut pool, 5);
    assert_eq!((pool.in_use(), stream.len()), (0, 0));
}

#[test]
fn bytes_that_are_in_order_are_never_written_again() {
    let mut pool = Pool::new(1);
    let mut stream = Stream::new();
    stream.push(&mut pool, b"kept");
    assert_eq!(stream.write_at(&mut pool, 3, b"!!"), 0);
    assert_eq!(stream.write_at(&mut pool, 4, b"1"), 1);
    // Early bytes: the last writer wins.
    assert_eq!(stream.write_at(&mut pool, 4, b"2"), 1);
    stream.advance(1);
    assert_eq!(stream.front(), b"kept2");
    stream.clear(&mut pool);
}

/// In-order data that was handed on where it arrived, with early data waiting behind it.
#[test]
fn early_bytes_come_nearer_when_bytes_pass_by() {
    let mut pool = Pool::new(4);
    let mut stream = Stream::new();
    assert_eq!(stream.write_at(&mut pool, 5_000, b"early"), 5);
    stream.skip(&mut pool, 4_999);
    assert_eq!((stream.extent(), pool.in_use()), (6, 1));
    assert_eq!(stream.push(&mut pool, b"."), 1);
    stream.advance(5);
    assert_eq!(stream.front(), b".early");
    stream.consume(&mut pool, 6);
    stream.skip(&mut pool, 1_000_000);
    assert_eq!((stream.extent(), pool.in_use()), (0, 0));
}

#[test]
fn a_pool_without_blocks_takes_what_fits_and_loses_nothing() {
    let mut pool = Pool::new(2);
    let (mut one, mut other) = (Stream::new(), Stream::new());
    let bytes: Vec<u8> = (0..3 * BLOCK_BYTES).map(|place| place as u8).collect();
    assert_eq!(one.push(&mut pool, &bytes[..BLOCK_BYTES]), BLOCK_BYTES);
    assert_eq!(other.push(&mut pool, &bytes), BLOCK_BYTES);
    assert_eq!(other.write_at(&mut pool, 3 * BLOCK_BYTES as u32, b"far"), 0);
    assert_eq!(other.extent() as usize, BLOCK_BYTES);
    assert_eq!(one.push(&mut pool, b"x"), 0);
    // What one gives back, the other gets.
    one.consume(&mut pool, BLOCK_BYTES as u32);
    assert_eq!(other.push(&mut pool, &bytes[BLOCK_BYTES..]), BLOCK_BYTES);
    let mut out = std::vec![0; 2 * BLOCK_BYTES];
    assert_eq!(other.copy_out(0, &mut out), out.len());
    assert_eq!(out, bytes[..2 * BLOCK_BYTES]);
    other.clear(&mut pool);
    assert_eq!(pool.in_use(), 0);
}

#[test]
fn offsets_at_the_end_of_all_numbers_do_not_overflow() {
    let mut pool = Pool::new(0);
    let mut stream = Stream::new();
    assert_eq!(stream.write_at(&mut pool, u32::MAX, b"far"), 0);
    assert_eq!(stream.write_at(&mut pool, u32::MAX - 2 * BLOCK_BYTES as u32, b"far"), 0);
    assert_eq!(stream.copy_out(u32::MAX, &mut [0; 4]), 0);
    assert_eq!(stream.slices(u32::MAX, u32::MAX).count(), 0);
    stream.consume(&mut pool, u32::MAX);
    assert_eq!(stream.blocks.capacity(), 0);
}

#[test]
fn a_pool_keeps_a_bounded_number_of_spare_blocks() {
    let mut pool = Pool::new(usize::MAX);
    let mut stream = Stream::new();
    let bytes = std::vec![0; BLOCK_BYTES * (SPARE_BLOCKS_MAX + 5)];
    assert_eq!(stream.push(&mut pool, &bytes), bytes.len());
    stream.clear(&mut pool);
    assert_eq!((pool.in_use(), pool.spare.len()), (0, SPARE_BLOCKS_MAX));
}

/// Requests and answers, a bulk transfer, and segments out of order.
fn traffic(pool: &mut Pool, stream: &mut Stream) {
    let segment = [7; 1_460];
    stream.push(pool, &segment[..100]);
    stream.consume(pool, 100);
    for _ in 0..40 {
        stream.push(pool, &segment);
    }
    for _ in 0..40 {
        stream.push(pool, &segment);
        stream.consume(pool, 1_460);
    }
    stream.consume(pool, stream.len() - 1_460);
    stream.write_at(pool, 2 * 1_460, &segment);
    stream.push(pool, &segment);
    stream.advance(1_460);
    stream.consume(pool, 3 * 1_460);
    assert_eq!(stream.extent(), 0);
}

#[test]
fn allocates_nothing_in_steady_state() {
    let mut pool = Pool::new(100);
    let mut stream = Stream::new();
    traffic(&mut pool, &mut stream);
    let allocated = allocation_counter::measure(|| {
        for _ in 0..10 {
            traffic(&mut pool, &mut stream);
        }
    });
    assert_eq!(allocated.count_total, 0);
    assert_eq!(pool.in_use(), 0);
}

/// A stream that never runs empty moves through its list without making it longer.
#[test]
fn a_full_stream_allocates_nothing() {
    let mut pool = Pool::new(100);
    let mut stream = Stream::new();
    let window = std::vec![1; 300_000];
    stream.push(&mut pool, &window);
    let mut go_around = || {
        for count in 0..2_000 {
            stream.consume(&mut pool, count);
            stream.push(&mut pool, &window[..count as usize]);
        }
    };
    go_around();
    let allocated = allocation_counter::measure(go_around);
    assert_eq!(allocated.count_total, 0);
    stream.clear(&mut pool);
}
