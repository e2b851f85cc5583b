use super::*;

#[test]
fn rotated_everyone_is_at_every_place_once() {
    let rounds: Vec<_> = (0..3).map(|round| Order::Rotated.of_round(round, 3)).collect();
    assert_eq!(rounds, [[0, 1, 2], [1, 2, 0], [2, 0, 1]]);
    assert_eq!(Order::Rotated.of_round(3, 3), [0, 1, 2]);
}

#[test]
fn shuffled_nobody_is_lost_and_the_seed_decides() {
    for round in 0..50 {
        let order = Order::Shuffled { seed: 7 };
        let mut once = order.of_round(round, 9);
        assert_eq!(once, order.of_round(round, 9));
        once.sort_unstable();
        assert_eq!(once, (0..9).collect::<Vec<_>>());
    }
    let first = |seed| (0..20).map(move |round| Order::Shuffled { seed }.of_round(round, 9));
    assert!(first(1).ne(first(2)));
    assert!(first(1).zip(first(1).skip(1)).any(|(one, next)| one != next));
}

#[test]
fn of_nobody_there_is_an_order_too() {
    assert!(Order::Rotated.of_round(5, 0).is_empty());
    assert!(Order::Shuffled { seed: 1 }.of_round(5, 0).is_empty());
}
