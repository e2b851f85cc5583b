use super::*;

#[test]
fn nobody_is_lost_and_the_seed_decides() {
    for round in 0..50 {
        let order = Order { seed: 7 };
        let mut once = order.of_round(round, 9);
        assert_eq!(once, order.of_round(round, 9));
        once.sort_unstable();
        assert_eq!(once, (0..9).collect::<Vec<_>>());
    }
    let first = |seed| (0..20).map(move |round| Order { seed }.of_round(round, 9));
    assert!(first(1).ne(first(2)));
    assert!(first(1).zip(first(1).skip(1)).any(|(one, next)| one != next));
}

#[test]
fn everyone_gets_to_every_place() {
    let order = Order { seed: 1 };
    let first: std::collections::HashSet<usize> =
        (0..60).map(|round| order.of_round(round, 5)[0]).collect();
    assert_eq!(first.len(), 5);
}

#[test]
fn of_nobody_there_is_an_order_too() {
    assert!(Order { seed: 1 }.of_round(5, 0).is_empty());
}
