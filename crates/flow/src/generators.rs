//! Random sockets and edges for the property tests.
//!
//! The pools are small on purpose: addresses, ports and owners have to collide.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use proptest::{collection::vec, option, prelude::*, sample::select};

use crate::{
    Counters, End, Flow, Namespace, NetnsId, Observation, Owner, Phase, Pids, Process, Totals,
    Traffic, Transport,
};

/// The names of the namespaces 1 to 4.
const NAMESPACES: [&str; 4] = [Namespace::HOST, "netns:blue", "netns:green", "netns:red"];

/// Addresses of hosts: the same in every namespace, some written as IPv4-mapped IPv6.
const ADDRESSES: [&str; 9] = [
    "127.0.0.1",
    "127.0.0.1",
    "::ffff:127.0.0.1",
    "10.0.0.1",
    "::ffff:10.0.0.1",
    "10.0.0.2",
    "::1",
    "fe80::1",
    "2001:db8::7",
];

const WILDCARDS: [&str; 3] = ["0.0.0.0", "::", "::ffff:0.0.0.0"];

/// Ports that servers use, the last two from the range of the ephemeral ones.
pub(crate) const SERVICE_PORTS: [u16; 5] = [53, 80, 5432, 34197, 50051];

/// Ports that clients use: from the range of the ephemeral ones, but for the first.
const CLIENT_PORTS: [u16; 5] = [1023, 40000, 40001, 45000, 60999];

pub(crate) fn ip(text: &str) -> IpAddr {
    text.parse().expect("a valid address")
}

pub(crate) fn socket(text: &str) -> SocketAddr {
    text.parse().expect("a valid socket address")
}

pub(crate) fn namespace(netns: NetnsId) -> Namespace {
    let at = usize::try_from(netns).expect("a small number") - 1;
    Namespace::new(NAMESPACES[at])
}

pub(crate) fn process(name: &str) -> Owner {
    Owner::Process(Arc::new(Process { name: name.to_owned(), unit: None, container: None }))
}

/// A TCP socket in namespace 1.
pub(crate) fn tcp(local: &str, remote: &str, phase: Phase, owner: Owner) -> Observation {
    Observation {
        transport: Transport::Tcp,
        netns: 1,
        namespace: namespace(1),
        local: socket(local),
        remote: socket(remote),
        phase,
        owner,
        pid: None,
    }
}

/// A TCP listener in namespace 1.
pub(crate) fn listener(local: &str, owner: Owner) -> Observation {
    tcp(local, "0.0.0.0:0", Phase::Listening, owner)
}

impl Observation {
    pub(crate) fn in_netns(self, netns: NetnsId) -> Self {
        Self { netns, namespace: namespace(netns), ..self }
    }

    pub(crate) fn by_pid(self, pid: u32) -> Self {
        Self { pid: Some(pid), ..self }
    }

    pub(crate) fn udp(self) -> Self {
        Self { transport: Transport::Udp, ..self }
    }

    /// The socket at the other end of the same connection.
    pub(crate) fn mirrored(&self, netns: NetnsId, phase: Phase, owner: Owner) -> Self {
        let (local, remote) = (self.remote, self.local);
        Self { local, remote, phase, owner, ..self.clone() }.in_netns(netns)
    }
}

pub(crate) fn transports() -> impl Strategy<Value = Transport> {
    select(&[Transport::Tcp, Transport::Tcp, Transport::Udp])
}

pub(crate) fn netns_ids() -> impl Strategy<Value = NetnsId> {
    1..=3_u64
}

pub(crate) fn addresses() -> impl Strategy<Value = IpAddr> {
    select(&ADDRESSES).prop_map(ip)
}

pub(crate) fn owners() -> impl Strategy<Value = Owner> {
    prop_oneof![
        2 => Just(Owner::Unobserved),
        1 => select(&[0, 1000_u32]).prop_map(|uid| Owner::Hidden { uid }),
        3 => select(&["curl", "nginx", "postgres"]).prop_map(process),
    ]
}

fn ports() -> impl Strategy<Value = u16> {
    prop_oneof![select(&SERVICE_PORTS), select(&CLIENT_PORTS)]
}

pub(crate) fn client_ports() -> impl Strategy<Value = u16> {
    select(&CLIENT_PORTS)
}

fn phases() -> impl Strategy<Value = Phase> {
    select(&[Phase::Opening, Phase::Connected, Phase::Connected, Phase::TimeWait])
}

fn local_and_remote() -> impl Strategy<Value = (SocketAddr, SocketAddr)> {
    let one = (addresses(), ports()).prop_map(SocketAddr::from);
    let other = (addresses(), ports()).prop_map(SocketAddr::from);
    (one, other)
}

prop_compose! {
    /// A socket that is not listening.
    pub(crate) fn connections()(
        transport in transports(),
        netns in netns_ids(),
        (local, remote) in local_and_remote(),
        phase in phases(),
        owner in owners(),
        pid in option::of(1..40_u32),
    ) -> Observation {
        let owner = if phase == Phase::TimeWait { Owner::Unobserved } else { owner };
        Observation {
            transport, netns, namespace: namespace(netns), local, remote, phase, owner, pid,
        }
    }
}

prop_compose! {
    /// A listener, often on a wildcard address.
    pub(crate) fn listeners()(
        socket in connections(),
        address in prop_oneof![addresses(), select(&WILDCARDS).prop_map(ip)],
        port in prop_oneof![5 => select(&SERVICE_PORTS), 1 => client_ports()],
    ) -> Observation {
        let local = SocketAddr::new(address, port);
        Observation { local, phase: Phase::Listening, ..socket }
    }
}

/// One to three sockets that have to do with each other.
fn situations() -> impl Strategy<Value = Vec<Observation>> {
    let both_ends =
        (connections(), netns_ids(), phases(), owners()).prop_map(|(one, netns, phase, owner)| {
            let other = one.mirrored(netns, phase, owner);
            vec![one, other]
        });
    let same_tuple = (connections(), phases(), owners(), any::<bool>()).prop_map(
        |(one, phase, owner, same_phase)| {
            let phase = if same_phase { one.phase } else { phase };
            let peer = one.mirrored(one.netns, Phase::Connected, process("peer"));
            vec![Observation { phase, owner, ..one.clone() }, one, peer]
        },
    );
    let to_itself =
        connections().prop_map(|one| vec![Observation { remote: one.local, ..one.clone() }]);
    let accepted = (connections(), listeners(), owners()).prop_map(|(one, listener, owner)| {
        let remote = SocketAddr::new(one.remote.ip(), listener.local.port());
        let one = Observation { remote, transport: listener.transport, ..one };
        let other = one.mirrored(listener.netns, one.phase, owner);
        vec![one, other, listener]
    });
    prop_oneof![
        2 => connections().prop_map(|one| vec![one]),
        2 => listeners().prop_map(|one| vec![one]),
        3 => both_ends,
        1 => same_tuple,
        1 => to_itself,
        3 => accepted,
    ]
}

/// The sockets of one reading.
pub(crate) fn readings() -> impl Strategy<Value = Vec<Observation>> {
    vec(situations(), 0..12).prop_map(|situations| situations.concat())
}

fn counters() -> impl Strategy<Value = Counters> {
    let counts = prop_oneof![2 => Just(0), 3 => 1..6_u64];
    [counts.clone(), counts.clone(), counts]
        .prop_map(|[connections, opening, time_wait]| Counters { connections, opening, time_wait })
}

prop_compose! {
    fn totals()(
        counts in vec(prop_oneof![2 => Just(0), 1 => 1..6_u64], 15),
        nothing in proptest::bool::weighted(0.3),
    ) -> Totals {
        let mut totals = Totals::default();
        for (count, any) in totals.counts_mut().into_iter().zip(counts) {
            *count = if nothing { 0 } else { any };
        }
        totals
    }
}

fn traffic() -> impl Strategy<Value = Option<Box<Traffic>>> {
    let traffic = (1..3_u64, totals(), totals())
        .prop_map(|(span_ms, active, passive)| Box::new(Traffic { span_ms, active, passive }));
    option::of(traffic)
}

prop_compose! {
    fn ends(addresses: &'static [&'static str])(
        address in select(addresses),
        netns in option::of(1..=2_u64),
        owner in owners(),
        pids in vec(1..40_u32, 0..3),
    ) -> End {
        let mut end = End::unobserved(ip(address));
        (end.namespace, end.owner) = (netns.map(namespace), owner);
        for pid in pids {
            end.pids.merge(&Pids::of(pid));
        }
        end
    }
}

prop_compose! {
    fn edges()(
        transport in transports(),
        server_port in select(&[80, 5432_u16]),
        client in ends(&["127.0.0.1", "10.0.0.1"]),
        server in ends(&["127.0.0.1", "10.0.0.2"]),
        active in counters(),
        passive in counters(),
        mut traffic in traffic(),
        side in 0..3_u8,
        is_snapshot: bool,
        guessed: bool,
    ) -> Flow {
        let mut counters = [active, passive];
        if traffic.is_some() && !is_snapshot {
            counters = [Counters::default(); 2];
        }
        let [mut active, mut passive] = counters;
        if side == 1 {
            active = Counters::default();
            traffic.iter_mut().for_each(|traffic| traffic.active = Totals::default());
        } else if side == 2 {
            passive = Counters::default();
            traffic.iter_mut().for_each(|traffic| traffic.passive = Totals::default());
        }
        Flow { transport, server_port, client, server, active, passive, traffic, guessed }
    }
}

/// Records as different methods and hosts hand them in.
pub(crate) fn flow_lists() -> impl Strategy<Value = Vec<Flow>> {
    vec(edges(), 0..16)
}
