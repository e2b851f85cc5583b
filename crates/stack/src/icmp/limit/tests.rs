use super::*;
use crate::random::Keys;

fn limiter() -> Limiter {
    let keys = Keys::new([1; 32]);
    Limiter::new(Keyed::new(&mut Random::new(&keys, 1)), Random::new(&keys, 2))
}

#[test]
fn one_destination_gets_a_burst_and_then_ten_a_second() {
    let (mut limiter, now) = (limiter(), Instant::from_micros(5_000_000));
    let to = IpAddr::from([192, 0, 2, 1]);
    let burst = (0..1_000).filter(|_| limiter.allow(to, now)).count();
    assert_eq!(burst, 20);
    let mut later = 0;
    for millis in 1..=10_000 {
        later += usize::from(limiter.allow(to, now + Duration::from_millis(millis)));
    }
    assert_eq!(later, 100);
}

#[test]
fn neighbours_of_one_network_share_over_ipv6() {
    let (mut limiter, now) = (limiter(), Instant::from_micros(5_000_000));
    let from = |low: u64| IpAddr::from((0x2001_0db8_u128 << 96 | u128::from(low)).to_be_bytes());
    let burst = (0..1_000).filter(|low| limiter.allow(from(*low), now)).count();
    assert_eq!(burst, 20);
}

#[test]
fn all_destinations_share_a_limit_that_cannot_be_counted_out() {
    let now = Instant::from_micros(5_000_000);
    let count = |seed: u8| {
        let keys = Keys::new([seed; 32]);
        let mut limiter =
            Limiter::new(Keyed::new(&mut Random::new(&keys, 1)), Random::new(&keys, 2));
        let to = |which: u32| IpAddr::from(which.to_be_bytes());
        (0..10_000).filter(|which| limiter.allow(to(*which), now)).count()
    };
    let counts: std::collections::BTreeSet<usize> = (0..20).map(count).collect();
    assert!(counts.iter().all(|count| (34..=100).contains(count)), "{counts:?}");
    assert!(counts.len() > 3, "{counts:?}");
}
