//! Filters and rows, of a few addresses and ports so that they meet.

use std::net::{IpAddr, SocketAddr};

use portolan_flow::Transport;
use proptest::{collection::vec, option, prelude::*, sample::select};

use crate::{
    Filter, Row, State, States,
    filter::expression::{Comparison, End, Expression, Prefix, Term, Version},
};

pub const ADDRESSES: [&str; 12] = [
    "0.0.0.0",
    "127.0.0.1",
    "127.1.2.3",
    "10.1.2.3",
    "255.255.255.255",
    "::",
    "::1",
    "::ffff:127.0.0.1",
    "::ffff:10.1.2.3",
    "::127.0.0.1",
    "2001:db8::1",
    "fe80::1",
];

pub const PORTS: [u16; 10] = [0, 1, 22, 80, 443, 4444, 5555, 40_000, 65_534, 65_535];

pub fn row(local: &str, remote: &str) -> Row {
    Row {
        transport: Transport::Tcp,
        state: State::Established,
        local: local.parse().expect("valid"),
        remote: remote.parse().expect("valid"),
        interface: 0,
        only_v6: None,
        receive_queue: 0,
        send_queue: 0,
        uid: 0,
        inode: 1,
        cookie: 1,
        retransmits: 0,
        timer: 0,
        expires_ms: 0,
        tcp: None,
        memory: None,
    }
}

fn address() -> impl Strategy<Value = IpAddr> {
    let known = select(ADDRESSES.to_vec()).prop_map(|text| text.parse().expect("valid"));
    prop_oneof![9 => known, 1 => any::<IpAddr>()]
}

fn port() -> impl Strategy<Value = u16> {
    prop_oneof![9 => select(PORTS.to_vec()), 1 => any::<u16>()]
}

/// Both ends are of one family, as the kernel's are.
pub fn rows() -> impl Strategy<Value = Row> {
    let ends = (address(), address(), port(), port());
    let others = (0..3_u32, select(vec![0, 1, 65_534_u32]), select(State::ALL.to_vec()));
    (ends, others).prop_map(|((local, remote, sport, dport), (interface, uid, state))| {
        let remote = if local.is_ipv4() == remote.is_ipv4() { remote } else { local };
        let (local, remote) = (SocketAddr::new(local, sport), SocketAddr::new(remote, dport));
        Row { local, remote, interface, uid, state, ..row("0.0.0.0:0", "0.0.0.0:0") }
    })
}

fn prefix() -> impl Strategy<Value = Prefix> {
    (address(), any::<u8>()).prop_map(|(address, bits)| {
        let bits_max = Prefix::bits_max(address);
        // Whole addresses are frequent.
        let bits = if bits > 200 { bits_max } else { bits % (bits_max + 1) };
        Prefix { address, bits }
    })
}

/// Terms; with or without those that the kernel has no operation for.
pub fn terms(with_user: bool) -> impl Strategy<Value = Term> {
    let end = || select(vec![End::Local, End::Remote]);
    let comparison = select(vec![
        Comparison::Equal,
        Comparison::NotEqual,
        Comparison::Less,
        Comparison::LessOrEqual,
        Comparison::Greater,
        Comparison::GreaterOrEqual,
    ]);
    let versions = vec![Version::V4, Version::V6];
    let user = select(vec![0, 1, 65_534_u32]).prop_map(Term::User);
    prop_oneof![
        4 => (end(), option::of(prefix()), option::of(port()))
            .prop_map(|(end, prefix, port)| Term::Address(end, None, prefix, port)),
        // An address is of the version named before it.
        2 => (end(), option::of(prefix()), option::of(port()), select(versions)).prop_map(
            |(end, prefix, port, version)| {
                let version = prefix.map_or(version, |prefix| Version::of(prefix.address));
                Term::Address(end, Some(version), prefix, port)
            }
        ),
        4 => (end(), comparison, port())
            .prop_map(|(end, comparison, port)| Term::Port(end, comparison, port)),
        1 => (0..3_u32).prop_map(Term::Interface),
        u32::from(with_user) => user,
    ]
}

pub fn expressions(with_user: bool) -> impl Strategy<Value = Expression> {
    terms(with_user).prop_map(Expression::Term).prop_recursive(6, 40, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 2..5).prop_map(Expression::All),
            vec(inner.clone(), 2..5).prop_map(Expression::Any),
            inner.prop_map(|inner| Expression::Not(Box::new(inner))),
        ]
    })
}

fn states() -> impl Strategy<Value = States> {
    vec(select(State::ALL.to_vec()), 0..5).prop_map(|states| {
        let states = states.into_iter().filter(|state| *state != State::BoundInactive);
        // As sets are read: half-open is one state.
        states.fold(States::NONE, States::with).union(States::NONE)
    })
}

pub fn filters() -> impl Strategy<Value = Filter> {
    (option::of(states()), option::weighted(0.9, expressions(true)))
        .prop_map(|(states, expression)| Filter::new(states, expression))
}
