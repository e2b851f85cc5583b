use super::*;
use crate::{
    Pids,
    generators::{ip, namespace, process, socket},
};

fn end(address: &str, owner: Owner) -> End {
    End { namespace: Some(namespace(1)), owner, ..End::unobserved(ip(address)) }
}

fn listening(ends: &[End]) -> Listeners {
    let mut listeners = Listeners::default();
    ends.iter().for_each(|end| listeners.insert(1, Transport::Tcp, 80, end.clone()));
    listeners
}

#[test]
fn both_ends_of_the_range_are_ephemeral() {
    for (port, ephemeral) in [(32767, false), (32768, true), (60999, true), (61000, false)] {
        assert_eq!(PortRange::LINUX.contains(port), ephemeral, "{port}");
    }
}

#[test]
fn a_wildcard_accepts_on_every_address_of_its_family() {
    let find = |listeners: &Listeners, at: &str| {
        listeners.accepting(1, Transport::Tcp, socket(at)).map(|end| end.address)
    };
    let v4 = listening(&[end("0.0.0.0", process("a"))]);
    assert_eq!(find(&v4, "10.0.0.1:80"), Some(ip("0.0.0.0")));
    assert_eq!(find(&v4, "[2001:db8::1]:80"), None);
    assert_eq!(find(&v4, "10.0.0.1:81"), None);
    let v6 = listening(&[end("::", process("a"))]);
    assert_eq!(find(&v6, "10.0.0.1:80"), Some(ip("::")));
    assert_eq!(find(&v6, "[2001:db8::1]:80"), Some(ip("::")));
    let both = listening(&[end("::", process("a")), end("0.0.0.0", process("b"))]);
    assert_eq!(find(&both, "10.0.0.1:80"), Some(ip("0.0.0.0")));
    let one = listening(&[end("10.0.0.2", process("a"))]);
    assert_eq!(find(&one, "10.0.0.1:80"), None);
}

#[test]
fn namespaces_and_transports_listen_apart() {
    let listeners = listening(&[end("0.0.0.0", process("a"))]);
    assert_eq!(listeners.accepting(2, Transport::Tcp, socket("10.0.0.1:80")), None);
    assert_eq!(listeners.accepting(1, Transport::Udp, socket("10.0.0.1:80")), None);
}

#[test]
fn a_listener_whose_owner_is_known_is_preferred() {
    let listeners = listening(&[
        end("0.0.0.0", Owner::Unobserved),
        end("0.0.0.0", Owner::Hidden { uid: 0 }),
        end("0.0.0.0", process("nginx")),
    ]);
    let found = listeners.accepting(1, Transport::Tcp, socket("10.0.0.1:80"));
    assert_eq!(found.map(|end| &end.owner), Some(&process("nginx")));
}

#[test]
fn an_address_of_two_namespaces_leads_to_neither() {
    let mut listeners = listening(&[end("0.0.0.0", process("a"))]);
    listeners.learn_local(1, ip("10.0.0.1"));
    listeners.learn_local(1, ip("10.0.0.1"));
    let from =
        |listeners: &Listeners, netns, at: &str| listeners.home(netns, ip("10.9.9.9"), ip(at));
    assert_eq!(from(&listeners, 2, "10.0.0.1"), Some(1));
    assert_eq!(from(&listeners, 2, "10.0.0.2"), None, "an address of nobody");
    assert_eq!(from(&listeners, 2, "127.0.0.1"), Some(2), "loopback stays inside");
    listeners.learn_local(3, ip("10.0.0.1"));
    assert_eq!(from(&listeners, 2, "10.0.0.1"), None);
    assert_eq!(from(&listeners, 1, "10.0.0.1"), Some(1), "its own address");
}

#[test]
fn from_an_address_of_two_namespaces_no_other_is_reached() {
    let mut listeners = listening(&[end("0.0.0.0", process("a"))]);
    listeners.learn_local(1, ip("10.0.0.1"));
    listeners.learn_local(2, ip("10.0.0.2"));
    let reached = |listeners: &Listeners| listeners.home(2, ip("10.0.0.2"), ip("10.0.0.1"));
    assert_eq!(reached(&listeners), Some(1));
    listeners.learn_local(3, ip("10.0.0.2"));
    assert_eq!(reached(&listeners), None);
}

#[test]
fn bound_udp_clients_are_not_listed() {
    let mut listeners = Listeners::default();
    for (transport, port) in [
        (Transport::Udp, 40000),
        (Transport::Udp, 53),
        (Transport::Tcp, 40000),
        (Transport::Tcp, 53),
    ] {
        listeners.insert(1, transport, port, End { pids: Pids::of(1), ..end("::", process("a")) });
    }
    let listed: Vec<_> = listeners
        .into_services(PortRange::LINUX)
        .iter()
        .map(|listener| (listener.transport, listener.port))
        .collect();
    assert_eq!(listed, [(Transport::Tcp, 53), (Transport::Tcp, 40000), (Transport::Udp, 53)]);
}
