use super::*;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

#[test]
fn intervals_begin_anew_after_the_warm_up() {
    let mut cuts = Cuts::new(ms(1_000), ms(2_500));
    let mut all = Vec::new();
    for _ in 0..5 {
        all.push((cuts.nth, cuts.since, cuts.until(), cuts.is_warm_up()));
        cuts.advance();
    }
    let expected = [
        (0, ms(0), ms(1_000), true),
        (1, ms(1_000), ms(2_000), true),
        (2, ms(2_000), ms(2_500), true),
        (3, ms(2_500), ms(3_500), false),
        (4, ms(3_500), ms(4_500), false),
    ];
    assert_eq!(all, expected);
}

#[test]
fn without_a_warm_up_all_are_equal() {
    let mut cuts = Cuts::new(ms(10), Duration::ZERO);
    assert!(!cuts.is_warm_up());
    cuts.advance();
    assert_eq!((cuts.nth, cuts.since, cuts.until()), (1, ms(10), ms(20)));
}
