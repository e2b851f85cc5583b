use std::collections::{HashMap, HashSet};

use portolan_wire::{
    arp::{Operation, Repr},
    ethernet::Address,
};
use proptest::prelude::*;

use super::*;
use crate::syn::{flights::Flights, tests::PORTS};

const OWN: Ipv4Addr = Ipv4Addr::new(10, 0, 255, 254);
const A: [u8; 6] = [2, 0, 0, 0, 0, 0xa];
const B: [u8; 6] = [2, 0, 0, 0, 0, 0xb];

const NOTHING: Sends = Sends { syn_to: None, request: false };
const REQUEST: Sends = Sends { syn_to: None, request: true };

fn syn(to: [u8; 6]) -> Sends {
    Sends { syn_to: Some(to), request: false }
}

fn host(number: u8) -> Ipv4Addr {
    [10, 0, 0, number].into()
}

/// Who is asked about in a test, with a clock.
struct Link {
    neighbours: Neighbours,
    flights: Flights,
    now: Duration,
}

impl Link {
    fn new() -> Self {
        let flights = Flights::new((1, 2), PORTS);
        // A host that has just been started.
        Self { neighbours: Neighbours::default(), flights, now: Duration::ZERO }
    }

    /// Check `id` asks for host `number`, port `id`.
    fn ask(&mut self, id: u32, number: u8, attempt: u8) -> Sends {
        let address = host(number);
        let port = u16::try_from(id % 60_000).unwrap();
        let target = (address, port).into();
        self.flights.land(Id(id));
        let (flight, _) = self.flights.launch(Id(id), target, OWN.into()).unwrap();
        let place = Place { interface: 1, address };
        self.neighbours.ask(place, Waiting { id: Id(id), flight, attempt }, self.now)
    }

    /// The right reply of a host; which checks' SYNs are sent.
    fn reply(&mut self, number: u8, address: [u8; 6]) -> Vec<(u32, u8)> {
        self.hear(1, &right(number, address)).1
    }

    fn hear(&mut self, interface: u32, reply: &Repr) -> (bool, Vec<(u32, u8)>) {
        let mut sent = Vec::new();
        let believed = self.neighbours.handle_reply(interface, reply, self.now, &mut |waiting| {
            sent.push((waiting.id.0, waiting.attempt));
        });
        self.neighbours.check();
        sent.sort_unstable();
        (believed, sent)
    }

    fn forget(&mut self, id: u32) {
        self.neighbours.forget(Id(id));
        self.neighbours.check();
    }

    fn later(&mut self, by: Duration) {
        self.now += by;
    }
}

fn right(number: u8, address: [u8; 6]) -> Repr {
    Repr {
        operation: Operation::Reply,
        sender_hardware: Address(address),
        sender_protocol: host(number),
        target_hardware: Address([2; 6]),
        target_protocol: OWN,
    }
}

impl Neighbours {
    /// Lists and counts agree with each other.
    fn check(&self) {
        let mut listed = HashSet::new();
        for (place, neighbour) in &self.by_place {
            assert!(neighbour.first.is_some() || neighbour.known.is_some(), "no reason to keep it");
            assert!(neighbour.first.is_some() || neighbour.request.is_none(), "who asked?");
            let (mut next, mut before) = (neighbour.first, None);
            while let Some(id) = next {
                let waiter = self.waiters[id as usize].as_ref().expect("it waits");
                assert_eq!((waiter.place, waiter.before), (*place, before));
                assert!(listed.insert(id), "it waits once");
                (before, next) = (Some(id), waiter.after);
            }
        }
        assert_eq!(listed.len(), self.waiters.iter().flatten().count());
        let waited_for = self.by_place.values().filter(|it| it.first.is_some()).count();
        assert_eq!(self.waited_for, waited_for);
    }
}

#[test]
fn who_is_not_known_is_asked_for_and_gets_the_syn_when_he_replies() {
    let mut link = Link::new();
    assert_eq!(link.ask(1, 7, 0), REQUEST);
    assert_eq!(link.reply(7, A), [(1, 0)]);
    // Known from then on.
    assert_eq!(link.ask(2, 7, 0), syn(A));
    assert_eq!(link.ask(1, 7, 1), syn(A));
    assert_eq!(link.reply(7, A), [], "nobody waits any more");
}

#[test]
fn one_request_serves_all_ports() {
    let mut link = Link::new();
    assert_eq!(link.ask(1, 7, 0), REQUEST);
    for id in 2..=100 {
        assert_eq!(link.ask(id, 7, 0), NOTHING);
    }
    let all: Vec<_> = (1..=100).map(|id| (id, 0)).collect();
    assert_eq!(link.reply(7, A), all);
}

#[test]
fn a_request_is_repeated_with_the_next_question_and_after_a_while() {
    let mut link = Link::new();
    assert_eq!((link.ask(1, 7, 0), link.ask(2, 7, 0)), (REQUEST, NOTHING));
    // Lost, for all that is known.
    assert_eq!((link.ask(1, 7, 1), link.ask(2, 7, 1)), (REQUEST, NOTHING));
    link.later(REQUEST_PAUSE);
    assert_eq!((link.ask(3, 7, 0), link.ask(4, 7, 0)), (REQUEST, NOTHING));
    assert_eq!(link.ask(1, 7, 2), REQUEST);
    assert_eq!(link.reply(7, A), [(1, 2), (2, 1), (3, 0), (4, 0)], "each as the last question");
}

#[test]
fn who_is_forgotten_waits_no_more() {
    for forgotten in [1, 2, 3] {
        let mut link = Link::new();
        for id in 1..=3 {
            link.ask(id, 7, 0);
        }
        link.forget(forgotten);
        link.forget(forgotten);
        let others: Vec<_> = (1..=3).filter(|id| *id != forgotten).map(|id| (id, 0)).collect();
        assert_eq!(link.reply(7, A), others);
    }
}

#[test]
fn a_reply_is_believed_only_while_somebody_waits_for_it() {
    let mut link = Link::new();
    let unasked = (false, vec![]);
    assert_eq!(link.hear(1, &right(7, A)), unasked, "before it is asked for");
    link.ask(1, 7, 0);
    link.forget(1);
    assert_eq!(link.hear(1, &right(7, A)), unasked, "after the check is over");
    assert_eq!(link.ask(1, 7, 0), REQUEST, "nothing was learned");
}

#[test]
fn of_two_replies_the_first_counts() {
    let mut link = Link::new();
    link.ask(1, 7, 0);
    assert_eq!(link.hear(1, &right(7, A)), (true, vec![(1, 0)]));
    assert_eq!(link.hear(1, &right(7, B)), (false, vec![]));
    assert_eq!(link.ask(2, 7, 0), syn(A));
}

#[test]
fn replies_about_something_else_are_not_believed() {
    let mut link = Link::new();
    link.ask(1, 7, 0);
    let good = right(7, A);
    for (interface, bad) in [
        (2, good),
        (1, Repr { operation: Operation::Request, ..good }),
        (1, Repr { sender_protocol: host(8), ..good }),
        (1, Repr { target_protocol: host(7), ..good }),
        (1, Repr { target_protocol: host(8), ..good }),
        (1, Repr { sender_hardware: Address::BROADCAST, ..good }),
        (1, Repr { sender_hardware: Address([1, 0, 0x5e, 0, 0, 1]), ..good }),
        (1, Repr { sender_hardware: Address([0; 6]), ..good }),
    ] {
        assert_eq!(link.hear(interface, &bad), (false, vec![]), "{interface} {bad:?}");
    }
    assert_eq!(link.hear(1, &good), (true, vec![(1, 0)]));
}

#[test]
fn who_is_known_and_silent_is_asked_for_afresh() {
    let mut link = Link::new();
    link.ask(1, 7, 0);
    link.reply(7, A);
    link.later(UNDOUBTED_FOR + Duration::from_millis(1));
    assert_eq!(link.ask(2, 7, 0), syn(A), "no doubt yet");
    let both = Sends { syn_to: Some(A), request: true };
    assert_eq!(link.ask(1, 7, 1), both);
    assert_eq!(link.ask(2, 7, 1), syn(A), "one request is enough");
    assert_eq!(link.reply(7, A), [], "he was there: the SYNs went to him");
    link.later(UNDOUBTED_FOR + Duration::from_millis(1));
    assert_eq!(link.ask(1, 7, 2), both);
    assert_eq!(link.reply(7, B), [(1, 2)], "he was replaced");
    assert_eq!(link.ask(3, 7, 0), syn(B));
}

#[test]
fn who_was_known_long_ago_is_asked_for_again() {
    let mut link = Link::new();
    link.ask(1, 7, 0);
    link.reply(7, A);
    link.later(KNOWN_FOR);
    assert_eq!(link.ask(2, 7, 0), syn(A));
    link.later(Duration::from_millis(1));
    assert_eq!(link.ask(2, 7, 0), REQUEST);
    assert_eq!(link.reply(7, B), [(2, 0)]);
}

#[test]
fn no_more_are_known_than_there_is_room_for() {
    let mut link = Link::new();
    let hosts = 2 * u32::try_from(KNOWN_MAX).unwrap();
    let (flight, _) = link.flights.launch(Id(0), (host(7), 80).into(), OWN.into()).unwrap();
    // One that is waited for all the time.
    link.ask(1, 7, 0);
    for number in 0..hosts {
        let address = Ipv4Addr::from(0x0b00_0000 + number);
        let waiting = Waiting { id: Id(0), flight, attempt: 0 };
        let place = Place { interface: 1, address };
        assert_eq!(link.neighbours.ask(place, waiting, link.now), REQUEST);
        let reply = Repr { sender_protocol: address, ..right(7, A) };
        assert!(link.neighbours.handle_reply(1, &reply, link.now, &mut |_| {}));
        assert!(link.neighbours.by_place.len() <= KNOWN_MAX + 2);
    }
    link.neighbours.check();
    assert_eq!(link.reply(7, A), [(1, 0)]);
}

#[derive(Clone, Debug)]
enum Event {
    Ask { id: u32, number: u8, attempt: u8 },
    Reply { interface: u32, reply: Repr },
    Forget(u32),
    Later(u64),
}

fn event() -> impl Strategy<Value = Event> {
    let reply = (1_u32..=2, 0_u8..4, 0_u8..4, 0_u8..5, any::<bool>()).prop_map(
        |(interface, number, to, mac, is_reply)| {
            let address = [if mac == 4 { 1 } else { 2 }, 0, 0, 0, 0, mac];
            let operation = if is_reply { Operation::Reply } else { Operation::Request };
            let target_protocol = if to == 0 { host(number) } else { OWN };
            let reply = Repr { operation, target_protocol, ..right(number, address) };
            Event::Reply { interface: interface.min(1 + u32::from(to == 1)), reply }
        },
    );
    prop_oneof![
        3 => (0_u32..6, 0_u8..4, 0_u8..3)
            .prop_map(|(id, number, attempt)| Event::Ask { id, number, attempt }),
        3 => reply,
        1 => (0_u32..6).prop_map(Event::Forget),
        1 => (0_u64..2_000).prop_map(Event::Later),
        1 => Just(Event::Later(40_000)),
    ]
}

proptest! {
    /// A SYN goes only to an address that came in reply to a request of ours, to the host that it
    /// is for.
    #[test]
    fn a_syn_goes_only_to_who_replied(events in proptest::collection::vec(event(), 0..200)) {
        let mut link = Link::new();
        // By host: since when a request is unanswered, and all that he has replied to one.
        let mut open: HashSet<Ipv4Addr> = HashSet::new();
        let mut replied: HashMap<Ipv4Addr, HashSet<[u8; 6]>> = HashMap::new();
        let mut of: HashMap<u32, Ipv4Addr> = HashMap::new();
        for event in events {
            match event {
                Event::Ask { id, number, attempt } => {
                    let sends = link.ask(id, number, attempt);
                    link.neighbours.check();
                    of.insert(id, host(number));
                    if let Some(to) = sends.syn_to {
                        prop_assert!(replied[&host(number)].contains(&to));
                    }
                    if sends.request {
                        open.insert(host(number));
                    }
                }
                Event::Reply { interface, reply } => {
                    let from = reply.sender_protocol;
                    let (believed, sent) = link.hear(interface, &reply);
                    prop_assert!(!believed || open.remove(&from), "unasked");
                    let is_right = reply.operation == Operation::Reply
                        && interface == 1
                        && reply.target_protocol == OWN
                        && !reply.sender_hardware.is_multicast();
                    prop_assert!(is_right || !believed);
                    prop_assert!(believed || sent.is_empty());
                    prop_assert!(sent.iter().all(|(id, _)| of.get(id) == Some(&from)));
                    if believed {
                        replied.entry(from).or_default().insert(reply.sender_hardware.0);
                    }
                }
                Event::Forget(id) => {
                    link.forget(id);
                    of.remove(&id);
                }
                Event::Later(ms) => link.later(Duration::from_millis(ms)),
            }
        }
    }
}
