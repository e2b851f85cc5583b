use super::*;

fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

#[test]
fn nothing_measured_waits_a_second() {
    // RFC 6298, section 2.1.
    let rtt = Rtt::new();
    assert_eq!((rtt.rto(), rtt.srtt(), rtt.min()), (ms(1_000), None, None));
}

#[test]
fn the_first_sample_sets_both() {
    // RFC 6298, section 2.2: RTO = R + 4 * R / 2.
    let mut rtt = Rtt::new();
    rtt.sample(ms(500), 1, Instant::ZERO);
    assert_eq!((rtt.srtt(), rtt.variation()), (Some(ms(500)), ms(250)));
    assert_eq!(rtt.rto(), ms(1_500));
}

#[test]
fn further_samples_are_smoothed() {
    // RFC 6298, section 2.3: RTTVAR = 3/4 * 250 + 1/4 * 400, SRTT = 7/8 * 500 + 1/8 * 900.
    let mut rtt = Rtt::new();
    rtt.sample(ms(500), 1, Instant::ZERO);
    rtt.sample(ms(900), 1, Instant::ZERO);
    assert_eq!(rtt.srtt(), Some(ms(550)));
    assert_eq!(rtt.variation(), Duration::from_micros(287_500));
    assert_eq!(rtt.rto(), ms(550 + 1_150));
}

#[test]
fn many_samples_per_round_trip_count_less() {
    // RFC 7323, appendix G: ten ACKs of twenty segments move it about as far as one of RFC 6298.
    let mut one = Rtt::new();
    let mut many = Rtt::new();
    one.sample(ms(100), 1, Instant::ZERO);
    many.sample(ms(100), 20, Instant::ZERO);
    one.sample(ms(200), 1, Instant::ZERO);
    (0..10).for_each(|_| many.sample(ms(200), 20, Instant::ZERO));
    let (one, many) = (one.srtt().unwrap(), many.srtt().unwrap());
    assert!(one.abs_diff(many) < ms(2), "{one:?} {many:?}");
}

/// RFC 6298, section 2.4.
#[test]
fn steady_samples_end_at_the_minimum() {
    let mut rtt = Rtt::new();
    (0..100).for_each(|_| rtt.sample(Duration::from_micros(40), 1, Instant::ZERO));
    assert_eq!(rtt.rto(), RTO_MIN);
    assert_eq!(rtt.srtt(), Some(Duration::from_micros(40)));
    let mut quick = Rtt::with_minimum(ms(5));
    (0..100).for_each(|_| quick.sample(Duration::from_micros(40), 1, Instant::ZERO));
    assert_eq!(quick.rto(), ms(5));
}

#[test]
fn back_off_doubles_to_a_limit_until_a_sample() {
    // RFC 6298, sections 5.5 and 2.5.
    let mut rtt = Rtt::new();
    for seconds in [1, 2, 4, 8, 16, 32, 64, 120, 120] {
        assert_eq!(rtt.rto(), Duration::from_secs(seconds));
        rtt.back_off();
    }
    (0..300).for_each(|_| rtt.back_off());
    assert_eq!((rtt.rto(), rtt.back_offs()), (RTO_MAX, u8::MAX));
    rtt.sample(ms(100), 1, Instant::ZERO);
    assert_eq!((rtt.rto(), rtt.back_offs()), (ms(300), 0));
}

#[test]
fn after_a_lost_syn_data_waits_three_seconds() {
    // RFC 6298, section 5.7.
    let mut rtt = Rtt::new();
    rtt.back_off();
    rtt.after_syn_loss();
    assert_eq!(rtt.rto(), ms(3_000));
    rtt.sample(ms(100), 1, Instant::ZERO);
    assert_eq!(rtt.rto(), ms(300));
}

#[test]
fn the_minimum_is_forgotten_in_time() {
    let mut rtt = Rtt::new();
    let at = |seconds: u64| Instant::from_micros(seconds * 1_000_000);
    rtt.sample(ms(10), 1, at(400));
    rtt.sample(ms(50), 1, at(500));
    assert_eq!(rtt.min(), Some(ms(10)));
    rtt.sample(ms(50), 1, at(701));
    assert_eq!(rtt.min(), Some(ms(10)));
    rtt.sample(ms(60), 1, at(1_002));
    assert_eq!(rtt.min(), Some(ms(50)));
    rtt.sample(ms(70), 1, at(9_000));
    assert_eq!(rtt.min(), Some(ms(70)));
}

#[test]
fn extreme_samples_do_not_overflow() {
    let mut rtt = Rtt::new();
    for sample in [Duration::ZERO, Duration::MAX, Duration::ZERO, Duration::MAX] {
        rtt.sample(sample, u32::MAX, Instant::ZERO);
        rtt.sample(sample, 0, Instant::ZERO);
        assert!(rtt.rto() >= RTO_MIN && rtt.rto() <= RTO_MAX);
    }
    assert_eq!(rtt.min(), Some(Duration::from_micros(1)));
}
