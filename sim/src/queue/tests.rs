use super::*;

#[test]
fn things_happen_in_the_order_of_time_and_then_of_planning() {
    let mut queue = Queue::default();
    for (at, what) in [(5, 'c'), (1, 'a'), (5, 'd'), (3, 'b')] {
        queue.push(Instant::from_micros(at), what);
    }
    assert_eq!(queue.next_at(), Some(Instant::from_micros(1)));
    let order: String = std::iter::from_fn(|| queue.pop().map(|(_, what)| what)).collect();
    assert_eq!(order, "abcd");
}
