use super::*;

fn figures(opened: f64, bytes: f64, rtt_us: Option<u64>, up: u64) -> Figures {
    Figures { is_traced: true, up, opened, to_client: bytes, rtt_us, ..Figures::default() }
}

#[test]
fn what_is_largest_stands_first() {
    let small = figures(1.0, 900.0, None, 3);
    let large = figures(2.0, 100.0, Some(85), 1);
    for (order, expected) in [
        (Order::Connections, Ordering::Greater),
        (Order::Bytes, Ordering::Less),
        (Order::Rtt, Ordering::Greater),
        (Order::Retransmits, Ordering::Equal),
        (Order::Failures, Ordering::Equal),
        (Order::Up, Ordering::Less),
        (Order::Name, Ordering::Equal),
    ] {
        assert_eq!(order.compare(&small, &large), expected, "{}", order.name());
    }
    let retransmits = Figures { retransmits: 1.0, ..small };
    assert_eq!(Order::Retransmits.compare(&retransmits, &small), Ordering::Less);
    let failures = Figures { failures: [0.0, 1.0, 0.0, 0.0], ..small };
    assert_eq!(Order::Failures.compare(&failures, &small), Ordering::Less);
}

#[test]
fn without_new_connections_bytes_decide() {
    let (quiet, busy) = (figures(0.0, 0.0, None, 1), figures(0.0, 9.0, None, 1));
    assert_eq!(Order::Connections.compare(&busy, &quiet), Ordering::Less);
}

#[test]
fn every_order_has_its_key_and_its_turn() {
    let mut order = Order::Connections;
    for _ in Order::ALL {
        assert_eq!(Order::of_key(order.key()), Some(order));
        order = order.next();
    }
    assert_eq!(order, Order::Connections);
    assert_eq!(Order::of_key('!'), None);
    // Those of the screen itself.
    assert!(Order::ALL.iter().all(|order| !"qs/pjk ".contains(order.key())));
}
