use super::*;

fn message(outbox: &mut Outbox, len: usize, origin: Origin) -> Message {
    let mut bytes = outbox.buffer();
    bytes.resize(len, 0);
    let envelope =
        Envelope::Link { hardware: ethernet::Address::BROADCAST, ethertype: EtherType::ARP };
    Message { envelope, bytes, origin }
}

#[test]
fn programs_leave_room_for_answers() {
    let mut outbox = Outbox::new(16, 16_000);
    let mut fill = |len, origin| {
        let mut count = 0;
        loop {
            let message = message(&mut outbox, len, origin);
            if !outbox.push(message) {
                return count;
            }
            count += 1;
        }
    };
    assert_eq!(fill(10, Origin::Udp), 12);
    assert_eq!(fill(10, Origin::Host), 4);
    let mut outbox = Outbox::new(1_000, 16_000);
    let large = message(&mut outbox, 12_001, Origin::Udp);
    assert!(!outbox.push(large));
    let large = message(&mut outbox, 12_001, Origin::Host);
    assert!(outbox.push(large));
    assert!(outbox.pop().is_some());
    assert_eq!(outbox.bytes, 0);
}

#[test]
fn buffers_are_used_again_unless_they_are_huge() {
    let mut outbox = Outbox::new(16, 1 << 20);
    for len in [100, 2_000, 60_000] {
        let buffer = message(&mut outbox, len, Origin::Host).bytes;
        outbox.recycle(buffer);
    }
    assert_eq!(outbox.spare.len(), 0, "the last one was huge, and the same as before");
    let one = outbox.buffer();
    outbox.recycle(one);
    assert_eq!(outbox.spare.len(), 1);
    assert!(outbox.buffer().is_empty());
}
