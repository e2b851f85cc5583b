use super::*;
use proptest::prelude::*;

#[test]
fn the_root_is_exact() {
    for root in [0, 1, 2, 3, 10, 999, 1_000, 65_535, 2_000_000] {
        assert_eq!(cube_root(root * root * root), root);
        assert_eq!(cube_root(root * root * root + 1), root.max(u64::from(root == 0)));
    }
    assert_eq!(cube_root(u64::MAX), 2_642_245);
}

proptest! {
    #[test]
    fn the_root_is_the_greatest(of in any::<u64>()) {
        let root = u128::from(cube_root(of));
        prop_assert!(root.pow(3) <= u128::from(of) && u128::from(of) < (root + 1).pow(3));
    }

    // RFC 9438, section 4.2, in floating point.
    #[test]
    fn the_curve_is_that_of_floats(
        window in 14_480_u32..50_000_000,
        tenths in 10_u32..=14,
        t_ms in 0_i64..100_000,
    ) {
        let (mss, w_max) = (1_448_u16, window / 10 * tenths);
        let mut cubic = Cubic { w_max, ..Cubic::default() };
        let now = Instant::from_micros(5_000_000);
        let path = Path { window, mss, window_before: w_max, srtt: Duration::ZERO, now };
        cubic.take_up(&path);
        let segments = |bytes: u32| f64::from(bytes) / f64::from(mss);
        let gap = segments(w_max) - segments(window);
        let k = (gap / 0.4).cbrt();
        let curve = 0.4 * (t_ms as f64 / 1_000.0 - k).powi(3) + segments(w_max);
        let ours = cubic.at(t_ms - i64::from(cubic.k_ms), mss) as f64 / f64::from(mss);
        // A millisecond of K, where the curve is steepest.
        let slope = 1.2 * (t_ms as f64 / 1_000.0 - k).powi(2) / 1_000.0;
        prop_assert!((curve - ours).abs() <= slope * 2.0 + 0.01, "{curve} {ours}");
    }
}

#[test]
fn a_pause_and_an_undo_take_the_curve_up_where_it_was() {
    // RFC 9438, sections 4.9 and 5.8: also beyond W_max, where K is negative.
    for window in [70_000, 100_000, 180_000] {
        let mut cubic = Cubic { w_max: 100_000, ..Cubic::default() };
        let now = Instant::from_micros(1_000_000);
        let path = Path { window, mss: 1_000, window_before: 0, srtt: Duration::ZERO, now };
        cubic.take_up(&path);
        let height = cubic.at(-i64::from(cubic.k_ms), 1_000);
        assert!(height.abs_diff(i64::from(window)) < 100, "{window} {height}");
    }
}

#[test]
fn fast_convergence_remembers_less() {
    // RFC 9438, section 4.7.
    let mut cubic = Cubic::default();
    cubic.reduce(100_000);
    assert_eq!(cubic.w_max(), 100_000);
    cubic.reduce(80_000);
    assert_eq!(cubic.w_max(), 68_000);
    cubic.reduce(90_000);
    assert_eq!(cubic.w_max(), 90_000);
}

#[test]
fn it_is_not_slower_than_newreno() {
    // RFC 9438, section 4.3: with short round trips the Reno-friendly region governs.
    let mut cubic = Cubic::default();
    cubic.reduce(20_000);
    let (mut window, mut credit, srtt) = (14_000, 0, Duration::from_millis(1));
    let mut now = Instant::from_micros(1_000_000);
    for _ in 0..60 {
        let path = Path { window, mss: 1_000, window_before: 20_000, srtt, now };
        let acked = window;
        window = cubic.avoid(&path, &mut credit, acked);
        now += srtt;
    }
    // From 14 to 20 segments by 9/17 per round trip, then by 1: about 20 + 60 - 6 * 17/9.
    assert!((60_000..72_000).contains(&window), "{window}");
}
