use std::sync::Arc;

use portolan_flow::{Namespace, Observation, Phase, Pids, PortRange, Process};

use super::*;

const PORT: u16 = 50051;

fn bound(port: u16) -> Bound {
    (1, Transport::Tcp, SocketAddr::from(([0, 0, 0, 0], port)))
}

fn owner(name: &str) -> Owner {
    Owner::Process(Arc::new(Process { name: name.to_owned(), unit: None, container: None }))
}

fn end(name: &str) -> End {
    End {
        address: [0, 0, 0, 0].into(),
        namespace: Some(Namespace::new(Namespace::HOST)),
        owner: owner(name),
        pids: Pids::default(),
    }
}

/// What a connection that the server accepted comes to: the server's port, if it is proved.
fn proved(memory: &Memory, now: Instant) -> Option<u16> {
    let mut bundler = Bundler::new(PortRange::LINUX);
    bundler.observe(Observation {
        transport: Transport::Tcp,
        netns: 1,
        namespace: Namespace::new(Namespace::HOST),
        local: SocketAddr::from(([10, 0, 0, 1], PORT)),
        remote: SocketAddr::from(([10, 0, 0, 2], 40000)),
        phase: Phase::TimeWait,
        owner: Owner::Unobserved,
        pid: None,
    });
    memory.tell(&mut bundler, now);
    let flow = bundler.finish().flows.remove(0);
    (!flow.guessed).then_some(flow.server_port)
}

fn nothing() -> impl Iterator<Item = Port> {
    std::iter::empty()
}

#[test]
fn a_listener_is_remembered_for_a_while_after_it_was_closed() {
    let (start, mut memory) = (Instant::now(), Memory::default());
    memory.listens(bound(PORT), end("grpc"), start);
    memory.used(nothing(), start);
    assert_eq!(proved(&memory, start), None, "it listens: the reading tells that itself");
    let later = |seconds| start + Duration::from_secs(seconds);
    memory.used(nothing(), later(119));
    assert_eq!(proved(&memory, later(119)), Some(PORT));
    memory.used(nothing(), later(120));
    assert_eq!(proved(&memory, later(120)), None);
}

#[test]
fn connections_keep_a_listener_in_memory() {
    let (start, mut memory) = (Instant::now(), Memory::default());
    memory.listens(bound(PORT), end("grpc"), start);
    let mut now = start;
    for _ in 0..10 {
        now += Duration::from_secs(100);
        memory.used([(1, Transport::Tcp, PORT)].into_iter(), now);
        assert_eq!(proved(&memory, now), Some(PORT));
    }
    for other in [(2, Transport::Tcp, PORT), (1, Transport::Udp, PORT), (1, Transport::Tcp, 1)] {
        now += Duration::from_secs(50);
        memory.used([other].into_iter(), now);
    }
    assert_eq!(proved(&memory, now), None);
}

#[test]
fn a_namespace_that_is_gone_is_forgotten() {
    let (now, mut memory) = (Instant::now(), Memory::default());
    memory.listens(bound(PORT), end("grpc"), now);
    memory.keep_namespaces(|netns| netns == 1);
    assert_eq!(memory.listeners.len(), 1);
    memory.keep_namespaces(|netns| netns == 2);
    assert_eq!(memory.listeners.len(), 0);
}

#[test]
fn the_oldest_are_forgotten_first() {
    let (start, mut memory) = (Instant::now(), Memory::default());
    for port in 1..=5 {
        let now = start + Duration::from_secs(u64::from(port));
        memory.listens(bound(port), end("grpc"), now);
    }
    memory.forget_beyond(6);
    assert_eq!(memory.listeners.len(), 5);
    memory.forget_beyond(2);
    let mut left: Vec<u16> = memory.listeners.keys().map(|(_, _, at)| at.port()).collect();
    left.sort_unstable();
    assert_eq!(left, [4, 5]);
}

#[test]
fn of_several_owners_one_is_remembered_whatever_their_order() {
    let now = Instant::now();
    let hidden = End { owner: Owner::Hidden { uid: 0 }, ..end("") };
    for ends in [[end("a"), end("b"), hidden.clone()], [hidden, end("b"), end("a")]] {
        let mut memory = Memory::default();
        ends.into_iter().for_each(|end| memory.listens(bound(PORT), end, now));
        assert_eq!(memory.listeners[&bound(PORT)].end.owner, owner("a"));
        // What listens now replaces what did.
        memory.listens(bound(PORT), end("z"), now + Duration::from_secs(1));
        assert_eq!(memory.listeners[&bound(PORT)].end.owner, owner("z"));
    }
}
