//! Sweeps of the host's own link: `syn` past the kernel's IP asks for neighbours itself.

mod world;

use std::{
    net::{IpAddr, SocketAddr, TcpListener},
    process::Command,
    time::Duration,
};

use portolan_probe::{Evidence, Finding, Pace, Plan, Verdict};
use portolan_sys::{
    address::Destination,
    datagrams::Outbox,
    packet::{ETHER_TYPE_ARP, PacketSender},
};
use portolan_wire::{arp, ethernet::Address};
use world::{
    Meanwhile, NEAR_MAC, World, in_world, ip, run,
    ways::{Way, check, check_all, v4},
};

const OPEN: (Verdict, Evidence) = (Verdict::Open, Evidence::SynAck);
const CLOSED: (Verdict, Evidence) = (Verdict::Closed, Evidence::Reset);
const SILENT: (Verdict, Evidence) = (Verdict::Filtered, Evidence::Silence);

const ADAPTIVE: Pace = Pace::Adaptive { per_second_max: 500_000.0 };

/// Two hosts on one link, 10.79.0.0/16: near is the last, and far is each of the first quarter, of
/// which it opens port 80.
fn on_link(world: &World) -> TcpListener {
    ip(&["address add 10.79.255.254/16 dev near"]);
    world.run(|| {
        ip(&["route add local 10.79.0.0/18 dev lo", "route add 10.79.255.254 dev far"]);
    });
    world.listens(80)
}

fn open(number: u16) -> SocketAddr {
    SocketAddr::new(v4(79, number), 80)
}

fn closed(number: u16) -> SocketAddr {
    SocketAddr::new(v4(79, number), 81)
}

/// Nobody answers ARP.
fn absent(number: u16) -> SocketAddr {
    SocketAddr::new(v4(79, 0x4000 + number), 80)
}

/// Addresses of 10.79.0.0/16 that the kernel of this thread's namespace has asked for.
fn asked_by_the_kernel() -> Vec<IpAddr> {
    let ran = Command::new("ip").args("-4 neighbour show dev near nud all".split(' ')).output();
    let said = String::from_utf8(ran.unwrap().stdout).unwrap();
    let all = said.lines().filter_map(|line| line.split(' ').next());
    all.filter(|it| it.starts_with("10.79.")).map(|it| it.parse().unwrap()).collect()
}

#[test]
fn more_neighbours_than_the_kernel_remembers() {
    in_world(|world| {
        let _server = on_link(&world);
        let kinds = [(open as fn(u16) -> SocketAddr, OPEN), (closed, CLOSED), (absent, SILENT)];
        let targets: Vec<_> =
            (1..=2_000).flat_map(|number| kinds.map(|(kind, _)| kind(number))).collect();
        let plan = Plan::new(Duration::from_secs(4), 3);
        let mut session = Way::PAST_IP.session_at(plan, ADAPTIVE);
        let findings = check_all(&mut session, &targets);
        for (at, finding) in findings.iter().enumerate() {
            assert_eq!(said(finding), kinds[at % kinds.len()].1, "{finding:?}");
        }
        let asked = asked_by_the_kernel();
        eprintln!("{} {:?} {:?}", asked.len(), session.counts(), session.method().noise());
    });
}

fn said(finding: &Finding) -> (Verdict, Evidence) {
    (finding.verdict, finding.evidence)
}
