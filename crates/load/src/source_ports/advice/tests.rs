use super::*;

const FAST: Duration = Duration::from_micros(12);
const SLOW: Duration = Duration::from_micros(1_500);

fn advice(strategy: Strategy, took: impl Fn(u64) -> Duration) -> Vec<(u64, Advice)> {
    let mut watch = Watch::new(strategy);
    (0..9_900).filter_map(|nth| Some((nth, watch.record(took(nth), nth, 10_000)?))).collect()
}

#[test]
fn the_cliff_is_said_before_it_comes_and_when_it_is_there() {
    let said = advice(Strategy::Kernel, |nth| if nth < 5_000 { FAST } else { SLOW });
    assert_eq!(said.len(), 3, "{said:?}");
    assert_eq!(said[0], (4_500, Advice::CliffNear { in_use: 4_500, ports: 10_000 }));
    let (at, Advice::Cliff { before_ns, now_ns, .. }) = said[1] else { panic!("{said:?}") };
    assert!((5_000..5_300).contains(&at), "{at}");
    assert_eq!((before_ns, now_ns), (12_000, 1_500_000));
    assert_eq!(said[2], (9_000, Advice::Crowded { in_use: 9_000, ports: 10_000 }));
    assert!(said[1].1.to_string().contains("took 12 us and now takes 1500 us"), "{}", said[1].1);
}

#[test]
fn a_slow_network_is_no_cliff() {
    let said = advice(Strategy::Explicit, |nth| if nth < 1_000 { SLOW } else { SLOW * 2 });
    assert!(said.iter().all(|(_, it)| matches!(it, Advice::Crowded { .. })), "{said:?}");
    // A target that is slow from somewhere on, while few ports are in use.
    let mut watch = Watch::new(Strategy::Kernel);
    for nth in 0..10_000 {
        assert_eq!(watch.record(if nth < 5_000 { FAST } else { SLOW }, 100, 10_000), None);
    }
}

#[test]
fn single_slow_calls_are_no_cliff() {
    let said = advice(Strategy::Explicit, |nth| if nth % 3 == 0 { SLOW } else { FAST });
    assert!(said.iter().all(|(_, it)| matches!(it, Advice::Crowded { .. })), "{said:?}");
}
