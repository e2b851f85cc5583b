use super::*;
use proptest::prelude::*;

const MSS: u16 = 1_000;
const RTT: Duration = Duration::from_millis(100);

fn at(ms: u64) -> Instant {
    Instant::from_micros(ms * 1_000)
}

/// A round trip in which all of the window is acknowledged by ACKs of two segments.
fn round(congestion: &mut Congestion, now: Instant, limited: bool) {
    let mut left = congestion.window();
    while left > 0 {
        let bytes = left.min(2 * u32::from(MSS));
        congestion.on_acked(bytes, Some(RTT), now, limited);
        left -= bytes;
    }
}

/// Has had a loss with 100 segments in flight.
fn recovered(algorithm: Algorithm) -> Congestion {
    let mut congestion = Congestion::new(algorithm, MSS);
    while congestion.window() < 100_000 {
        let bytes = (100_000 - congestion.window()).min(1_000);
        congestion.on_acked(bytes, Some(RTT), at(0), true);
    }
    congestion.on_loss(100_000, at(0));
    congestion.on_recovered();
    congestion
}

#[test]
fn the_first_window_is_ten_segments() {
    // RFC 6928, section 2.
    for (mss, window) in [(536, 5_360), (1_448, 14_480), (1_460, 14_600), (9_000, 18_000)] {
        assert_eq!(Congestion::new(Algorithm::Cubic, mss).window(), window);
    }
    let mut congestion = Congestion::new(Algorithm::Cubic, MSS);
    congestion.on_syn_loss();
    assert_eq!(congestion.window(), 1_000);
}

#[test]
fn slow_start_doubles_each_round_trip() {
    // RFC 5681, section 3.1.
    let mut congestion = Congestion::new(Algorithm::NewReno, MSS);
    for window in [20_000, 40_000, 80_000] {
        round(&mut congestion, at(0), true);
        assert_eq!(congestion.window(), window);
        assert!(congestion.in_slow_start());
    }
}

#[test]
fn one_ack_of_much_opens_eight_segments() {
    // RFC 9406, section 4.3; after a timeout one, RFC 3465, section 2.3.
    let mut congestion = Congestion::new(Algorithm::NewReno, MSS);
    congestion.on_acked(500_000, Some(RTT), at(0), true);
    assert_eq!(congestion.window(), 18_000);
    congestion.on_timeout(500_000, 0, true);
    congestion.on_acked(500_000, Some(RTT), at(0), true);
    assert_eq!(congestion.window(), 2_000);
}

#[test]
fn newreno_grows_by_a_segment_per_round_trip() {
    // RFC 5681, section 3.1, equations 3 and 4.
    let mut congestion = recovered(Algorithm::NewReno);
    assert_eq!((congestion.window(), congestion.threshold()), (50_000, 50_000));
    for window in [51_000, 52_000, 53_000] {
        round(&mut congestion, at(0), true);
        assert_eq!(congestion.window(), window);
    }
}

#[test]
fn nothing_grows_when_the_window_was_not_used() {
    for algorithm in [Algorithm::NewReno, Algorithm::Cubic] {
        let mut congestion = Congestion::new(algorithm, MSS);
        round(&mut congestion, at(0), false);
        assert_eq!(congestion.window(), 10_000);
        let mut congestion = recovered(algorithm);
        round(&mut congestion, at(0), true);
        let window = congestion.window();
        for second in 0..100 {
            round(&mut congestion, at(second * 1_000), false);
        }
        assert_eq!(congestion.window(), window);
        // RFC 9438, section 5.8: nor is the time made up for afterwards.
        round(&mut congestion, at(100_000), true);
        assert!(congestion.window() <= window + window / 10, "{}", congestion.window());
    }
}

#[test]
fn cubic_follows_its_curve() {
    // RFC 9293, MAY-18; RFC 9438, section 4.2, against floating point: 100 segments, reduced to 70.
    let mut congestion = recovered(Algorithm::Cubic);
    assert_eq!(congestion.window(), 70_000);
    let k = (30.0_f64 / 0.4).cbrt();
    for step in 0..120_u64 {
        round(&mut congestion, at(step * 100), true);
        let t = step as f64 / 10.0;
        // The RFC aims a round trip ahead; until then it is somewhere between.
        let (now, ahead) = (t - k, t + 0.1 - k);
        let curve = |t: f64| 0.4 * t.powi(3) + 100.0;
        let window = f64::from(congestion.window()) / 1_000.0;
        let low = curve(now).min(curve(now - 0.1)) - 1.0;
        assert!(window >= low, "step {step}: {window} below {low}");
        // NewReno's part: 9/17 per round trip, then 1.
        let reno = 70.0 + step as f64 + 1.0;
        assert!(window <= curve(ahead).max(reno) + 1.0, "step {step}: {window}");
    }
    assert!(congestion.window() > 190_000, "{}", congestion.window());
}

#[test]
fn a_loss_reduces_and_an_undo_restores() {
    for (algorithm, reduced) in [(Algorithm::NewReno, 50_000), (Algorithm::Cubic, 70_000)] {
        let mut congestion = recovered(algorithm);
        assert_eq!((congestion.window(), congestion.threshold()), (reduced, reduced));
        congestion.undo();
        assert_eq!((congestion.window(), congestion.threshold()), (100_000, u32::MAX));
        congestion.undo();
        assert_eq!((congestion.window(), congestion.threshold()), (100_000, u32::MAX));
    }
}

#[test]
fn an_undo_within_recovery_ends_it() {
    let mut congestion = Congestion::new(Algorithm::Cubic, MSS);
    congestion.on_loss(10_000, at(0));
    congestion.on_recovery_ack(1_000, 8_000, false);
    congestion.undo();
    assert!(!congestion.in_recovery());
    assert_eq!((congestion.window(), congestion.threshold()), (10_000, u32::MAX));
}

#[test]
fn a_recovery_right_after_another_counts_from_the_threshold() {
    let mut congestion = Congestion::new(Algorithm::NewReno, MSS);
    congestion.on_loss(40_000, at(0));
    congestion.on_recovery_ack(1_000, 39_000, false);
    assert!(congestion.window() > 20_000);
    congestion.on_loss(18_000, at(0));
    congestion.undo();
    assert_eq!(congestion.window(), 20_000);
}

#[test]
fn a_timeout_starts_with_one_segment_and_reduces_once() {
    // RFC 5681, section 3.1.
    let mut congestion = recovered(Algorithm::NewReno);
    congestion.on_timeout(50_000, 0, true);
    assert_eq!((congestion.window(), congestion.threshold()), (1_000, 25_000));
    congestion.on_timeout(1_000, 0, false);
    assert_eq!((congestion.window(), congestion.threshold()), (1_000, 25_000));
    for _ in 0..5 {
        round(&mut congestion, at(0), true);
    }
    assert!((8_000..=26_000).contains(&congestion.window()), "{}", congestion.window());
    congestion.undo();
    assert_eq!((congestion.window(), congestion.threshold()), (50_000, 50_000));
}

#[test]
fn a_threshold_is_two_segments_at_least() {
    let mut congestion = Congestion::new(Algorithm::Cubic, MSS);
    congestion.on_loss(1_000, at(0));
    assert_eq!(congestion.threshold(), 2_000);
}

#[test]
fn a_mark_reduces_without_recovery_and_for_good() {
    // RFC 3168, section 6.1.2.
    let mut congestion = Congestion::new(Algorithm::NewReno, MSS);
    congestion.on_ecn_echo(10_000, at(0));
    assert_eq!((congestion.window(), congestion.in_recovery()), (5_000, false));
    congestion.undo();
    assert_eq!(congestion.window(), 5_000);
}

#[test]
fn after_a_pause_it_starts_slowly() {
    // RFC 5681, section 4.1.
    let mut congestion = recovered(Algorithm::Cubic);
    congestion.on_idle(Duration::from_millis(100), Duration::from_millis(200));
    assert_eq!(congestion.window(), 70_000);
    congestion.on_idle(Duration::from_secs(1), Duration::from_millis(200));
    assert_eq!((congestion.window(), congestion.threshold()), (10_000, 70_000));
}

/// A round trip of this length: an ACK for each segment of the window.
fn timed_round(congestion: &mut Congestion, rtt_ms: u64) {
    let segments = congestion.window() / u32::from(MSS);
    for left in (0..segments).rev() {
        let acked = Acked {
            bytes: MSS.into(),
            unacknowledged: left * u32::from(MSS),
            rtt: Some(Duration::from_millis(rtt_ms)),
            ..Acked::default()
        };
        congestion.react(&acked, acked.unacknowledged, Some(RTT), at(0), true);
    }
}

/// RFC 9406, section 4.2: after five rounds in which the window grew by a quarter each, the
/// threshold is where it is, with nothing lost.
#[test]
fn a_queue_ends_the_first_slow_start() {
    for algorithm in [Algorithm::NewReno, Algorithm::Cubic] {
        let mut congestion = Congestion::new(algorithm, MSS);
        timed_round(&mut congestion, 100);
        timed_round(&mut congestion, 100);
        assert_eq!(congestion.window(), 40_000);
        // Eight segments until it is noticed, and a quarter of 32.
        timed_round(&mut congestion, 120);
        assert_eq!(congestion.window(), 56_000);
        let mut before = 56_000;
        for round in 1..5 {
            assert!(congestion.in_slow_start());
            timed_round(&mut congestion, 125);
            let grown = congestion.window() - before;
            assert!(grown.abs_diff(before / 4) <= 1_250, "round {round}: {grown} of {before}");
            before = congestion.window();
        }
        assert!(!congestion.in_slow_start());
        assert_eq!(congestion.threshold(), congestion.window());
        // RFC 9438, section 4.10: K = 0, and W_max and cwnd_prior are the window.
        let window = congestion.window();
        timed_round(&mut congestion, 125);
        timed_round(&mut congestion, 125);
        let grown = congestion.window() - window;
        assert!((500..=2 * u32::from(MSS)).contains(&grown), "{algorithm:?}: {grown}");
    }
}

/// RFC 9406, section 4.3: only the first slow start, whose threshold is arbitrarily high; and it
/// is the first one again if what ended it is undone.
#[test]
fn later_slow_starts_go_up_to_the_threshold() {
    let mut congestion = Congestion::new(Algorithm::NewReno, MSS);
    congestion.on_timeout(100_000, 0, true);
    for rtt_ms in [100, 120, 140, 160] {
        timed_round(&mut congestion, rtt_ms);
    }
    assert_eq!(congestion.window(), 16_000);
    congestion.undo();
    assert!(matches!(congestion.capacity, Capacity::Sought(_)));
    assert_eq!(congestion.threshold(), u32::MAX);
}

/// RFC 9406, section 4.3: what the program leaves unused shows no queue.
#[test]
fn round_trips_of_an_unused_window_do_not_count() {
    let mut congestion = Congestion::new(Algorithm::Cubic, MSS);
    timed_round(&mut congestion, 100);
    timed_round(&mut congestion, 120);
    assert!(congestion.window() < 40_000);
    for _ in 0..100 {
        let rtt = Some(Duration::from_millis(130));
        let acked = Acked { bytes: 1_000, rtt, ..Acked::default() };
        congestion.react(&acked, 0, Some(RTT), at(0), false);
    }
    let window = congestion.window();
    assert!(congestion.in_slow_start());
    timed_round(&mut congestion, 130);
    assert_eq!(congestion.window(), 2 * window);
}

#[test]
fn prr_comes_down_in_proportion() {
    // RFC 9937, section 6: of 20 segments one is lost; 10 leave for 19 delivered (NewReno).
    let mut congestion = Congestion::new(Algorithm::NewReno, MSS);
    congestion.on_loss(20_000, at(0));
    let (mut in_flight, mut sent) = (19_000_u32, 0);
    for ack in 0..19 {
        in_flight -= 1_000;
        congestion.on_recovery_ack(1_000, in_flight, false);
        while in_flight < congestion.window() {
            congestion.on_sent(1_000);
            (in_flight, sent) = (in_flight + 1_000, sent + 1);
        }
        // The first retransmission leaves with the first ACK.
        assert!(ack > 0 || sent == 1);
    }
    assert!((9..=11).contains(&sent), "{sent}");
    assert!((9_000..=11_000).contains(&in_flight), "{in_flight}");
    congestion.on_recovered();
    assert_eq!(congestion.window(), 10_000);
}

#[test]
fn prr_after_heavy_losses_grows_with_safe_acks_only() {
    // RFC 9937, section 6: PRR-CRB sends what is delivered, PRR-SSRB a segment more.
    let mut congestion = Congestion::new(Algorithm::NewReno, MSS);
    congestion.on_loss(100_000, at(0));
    congestion.on_recovery_ack(1_000, 5_000, false);
    assert_eq!(congestion.window(), 6_000);
    congestion.on_sent(1_000);
    congestion.on_recovery_ack(1_000, 5_000, true);
    assert_eq!(congestion.window(), 7_000);
}

proptest! {
    // RFC 9937, section 5: what leaves in recovery is not more than what was delivered and a
    // segment per ACK, whatever the scoreboard says.
    #[test]
    fn prr_sums_are_bounded(
        acks in prop::collection::vec((0_u32..5_000, 0_u32..120_000, any::<bool>()), 1..60),
    ) {
        let mut congestion = Congestion::new(Algorithm::Cubic, MSS);
        congestion.on_loss(100_000, at(0));
        let (mut delivered, mut sent, mut safe) = (0_u64, 0_u64, 0_u64);
        for (bytes, in_flight, is_safe) in acks {
            congestion.on_recovery_ack(bytes, in_flight, is_safe);
            delivered += u64::from(bytes);
            safe += u64::from(is_safe);
            let room = congestion.window().saturating_sub(in_flight);
            congestion.on_sent(room);
            sent += u64::from(room);
            // Each ACK may bring what itself delivered, so that a pause is not made up for.
            prop_assert!(sent <= 2 * delivered + 1_000 * (safe + 1) + 1_000, "{sent} {delivered}");
        }
    }

    #[test]
    fn nothing_overflows(
        steps in prop::collection::vec((0_u8..11, any::<u32>(), any::<u32>()), 1..100),
        algorithm in prop::sample::select(std::vec![Algorithm::NewReno, Algorithm::Cubic]),
        mss in any::<u16>(),
    ) {
        let mut congestion = Congestion::new(algorithm, mss);
        let mut now = Instant::ZERO;
        for (step, a, b) in steps {
            now += Duration::from_micros(u64::from(b) * 16);
            match step {
                0 => congestion.on_acked(a, Some(Duration::from_micros(b.into())), now, true),
                1 => congestion.on_acked(a, None, now, false),
                2 => congestion.on_loss(a, now),
                3 => congestion.on_recovery_ack(a, b, a % 2 == 0),
                4 => congestion.on_recovered(),
                5 => congestion.on_timeout(a, b, b % 2 == 0),
                6 => congestion.on_ecn_echo(a, now),
                7 => congestion.on_sent(a),
                8 => congestion.pause(),
                9 => {
                    let rtt = Some(Duration::from_micros(u64::from(b % 200_000)));
                    let acked = Acked { bytes: a, unacknowledged: b, rtt, ..Acked::default() };
                    congestion.react(&acked, b, None, now, true);
                }
                _ => congestion.undo(),
            }
            prop_assert!(congestion.window() >= u32::from(mss) && congestion.window() <= 1 << 30);
            prop_assert!(congestion.threshold() >= 2);
        }
    }
}
