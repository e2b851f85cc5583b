use std::vec::Vec;

use super::*;

const MS: u32 = 1_000;

/// A round of ten segments of 1,000 bytes. Whether slow start is over with its last ACK.
fn round(slow_start: &mut SlowStart, rtt_us: u32) -> bool {
    round_of(slow_start, &[rtt_us; 10])
}

/// A round with these round trips, each of a segment; nothing is on its way behind it.
fn round_of(slow_start: &mut SlowStart, rtts_us: &[u32]) -> bool {
    let count = rtts_us.len();
    let mut is_over = false;
    for (index, rtt_us) in rtts_us.iter().enumerate() {
        assert!(!is_over, "only the last ACK of a round ends it");
        let rtt = Some(Duration::from_micros((*rtt_us).into()));
        let unacknowledged = (count - index - 1) as u32 * 1_000;
        is_over = slow_start.on_ack(&Observed { bytes: 1_000, unacknowledged, rtt });
    }
    is_over
}

/// Has entered Conservative Slow Start by a round trip of 120 ms after one of 100 ms.
fn conservative() -> SlowStart {
    let mut slow_start = SlowStart::new();
    round(&mut slow_start, 100 * MS);
    round(&mut slow_start, 120 * MS);
    assert_eq!(slow_start.growth(8_000), 2_000);
    slow_start
}

/// RFC 9406, section 4.2: RttThresh = max(4 ms, min(lastRoundMinRTT / 8, 16 ms)).
#[test]
fn a_longer_round_trip_makes_it_conservative() {
    let thresholds =
        [(1, 4_000), (20, 4_000), (64, 8_000), (100, 12_500), (128, 16_000), (400, 16_000)];
    for (last, threshold_us) in thresholds {
        for (more_us, growth) in [(threshold_us - 1, 800), (threshold_us, 200)] {
            let mut slow_start = SlowStart::new();
            round(&mut slow_start, last * MS);
            assert_eq!(slow_start.growth(800), 800, "nothing to compare the first round with");
            round(&mut slow_start, last * MS + more_us);
            assert_eq!(slow_start.growth(800), growth, "{last} ms and {more_us} us");
        }
    }
}

/// RFC 9406, section 4.2: the least of a round counts, of at least eight samples.
#[test]
fn few_samples_or_one_short_one_say_nothing() {
    let mut slow_start = SlowStart::new();
    round(&mut slow_start, 20 * MS);
    round_of(&mut slow_start, &[90 * MS; 7]);
    assert_eq!(slow_start.growth(800), 800);
    let mut slow_start = SlowStart::new();
    round(&mut slow_start, 20 * MS);
    // A burst that waits for itself: the first one of it does not.
    let burst: Vec<u32> = (0..30).map(|waited| 20 * MS + waited * MS).collect();
    round_of(&mut slow_start, &burst);
    assert_eq!(slow_start.growth(800), 800);
    // Without samples, as from a peer without timestamps when all was sent again.
    let mut slow_start = SlowStart::new();
    for _ in 0..100 {
        let ack = Observed { bytes: 1_000, unacknowledged: 9_000, rtt: None };
        assert!(!slow_start.on_ack(&ack));
    }
    assert_eq!(slow_start.growth(800), 800);
}

/// RFC 9406, section 4.2: it is noticed with the eighth sample, amid the round.
#[test]
fn it_turns_conservative_amid_a_round() {
    let mut slow_start = SlowStart::new();
    round(&mut slow_start, 20 * MS);
    let rtt = Some(Duration::from_millis(30));
    let ack = Observed { bytes: 1_000, unacknowledged: 10_000, rtt };
    for sample in 1..=8 {
        slow_start.on_ack(&ack);
        assert_eq!(slow_start.growth(800), if sample < 8 { 800 } else { 200 });
    }
}

/// RFC 9406, section 4.2: CSS_ROUNDS = 5; the one in which it began is the first.
#[test]
fn five_conservative_rounds_end_slow_start() {
    let mut slow_start = conservative();
    for _ in 2..5 {
        assert!(!round(&mut slow_start, 125 * MS));
    }
    assert!(round(&mut slow_start, 125 * MS));
}

/// RFC 9406, section 4.2: currentRoundMinRTT < cssBaselineMinRtt, and it was a mistake.
#[test]
fn a_shorter_round_trip_resumes_slow_start() {
    let mut slow_start = conservative();
    assert!(!round(&mut slow_start, 120 * MS));
    assert_eq!(slow_start.growth(8_000), 2_000, "as long is not shorter");
    assert!(!round(&mut slow_start, 119 * MS));
    assert_eq!(slow_start.growth(8_000), 8_000);
    // HyStart++ goes on: with the next rise it begins again, and has all its rounds.
    assert!(!round(&mut slow_start, 140 * MS));
    assert_eq!(slow_start.growth(8_000), 2_000);
    for _ in 2..5 {
        assert!(!round(&mut slow_start, 140 * MS));
    }
    assert!(round(&mut slow_start, 140 * MS));
}

/// RFC 9406, section 4.2: a round ends when windowEnd, SND.NXT at its beginning, is acknowledged.
#[test]
fn a_round_ends_with_what_was_sent_when_it_began() {
    let mut slow_start = SlowStart::new();
    let ack = |bytes, unacknowledged| Observed { bytes, unacknowledged, rtt: None };
    // Ten segments are on their way: one is acknowledged, two leave.
    slow_start.on_ack(&ack(1_000, 9_000));
    assert_eq!(slow_start.round_left, 9_000);
    slow_start.on_ack(&ack(8_000, 12_000));
    assert_eq!(slow_start.round_left, 1_000);
    // One ACK for the end of it and for what is beyond.
    slow_start.on_ack(&ack(3_000, 15_000));
    assert_eq!(slow_start.round_left, 15_000);
}

/// RFC 9406, section 4.3: in pauses of the program round trips get shorter, and slow start goes on.
#[test]
fn a_pause_forgets_what_was_measured() {
    let mut slow_start = conservative();
    slow_start.reset();
    assert_eq!(slow_start.growth(8_000), 8_000);
    round(&mut slow_start, 300 * MS);
    assert_eq!(slow_start.growth(8_000), 8_000);
}
