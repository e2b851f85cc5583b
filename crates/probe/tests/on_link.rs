//! Sweeps of the host's own link: `syn` past the kernel's IP asks for neighbours itself.

mod world;

use std::{
    collections::HashSet,
    net::{IpAddr, SocketAddr, TcpListener},
    process::Command,
    thread,
    time::Duration,
};

use portolan_probe::{Evidence, Finding, Method, Pace, Plan, Session, Verdict};
use portolan_sys::{
    address::Destination,
    datagrams::Outbox,
    packet::{ETHER_TYPE_ARP, PacketSender},
};
use portolan_wire::{arp, ethernet::Address};
use rustix::net::{AddressFamily, SocketType};
use world::{
    Meanwhile, NEAR_MAC, World, in_world, ip, run,
    ways::{Way, check, check_all, v4},
};

const OPEN: (Verdict, Evidence) = (Verdict::Open, Evidence::SynAck);
const CLOSED: (Verdict, Evidence) = (Verdict::Closed, Evidence::Reset);
const SILENT: (Verdict, Evidence) = (Verdict::Filtered, Evidence::Silence);

const ADAPTIVE: Pace = Pace::Adaptive { per_second_max: 500_000.0 };

/// The hardware address of the far end of the link.
const FAR_MAC: Address = Address([2, 0, 0, 0, 0x78, 2]);

/// As in sweep.rs: a twentieth of all packets is dropped.
const LOSS: &str = "4,32 0 0 4294963256,37 1 0 214748364,6 0 0 2,6 0 0 0";

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
        let mut session = Way::PAST_IP.session_at(Plan::new(Duration::from_secs(4), 3), ADAPTIVE);
        sweep(&mut session, 200, 2_000);
        // To reset what is open is left to the kernel, which has to find those for itself.
        let open: HashSet<_> = (1..=200).map(|number| open(number).ip()).collect();
        let asked = asked_by_the_kernel();
        assert!(asked.iter().all(|it| open.contains(it)), "{asked:?}");
    });
}

#[test]
fn a_link_that_loses_one_packet_in_twenty_each_way_loses_no_neighbour() {
    in_world(|world| {
        let _server = on_link(&world);
        world.run(|| {
            run("tc", "qdisc add dev far clsact");
            for way in ["ingress", "egress"] {
                let arguments = format!("filter add dev far {way} bpf da bytecode");
                let mut words: Vec<_> = arguments.split(' ').collect();
                words.push(LOSS);
                world::run_words("tc", &words);
            }
        });
        // Of one question in five, request, reply, SYN or answer is lost: fewer than one run in
        // a thousand misses one with so many.
        let plan = Plan::new(Duration::from_secs(4), 9);
        let mut session = Way::PAST_IP.session_at(plan, ADAPTIVE).insistent();
        sweep(&mut session, 300, 1_500);
        let counts = session.counts();
        assert!((0.08..0.25).contains(&counts.loss()), "ARP's losses show, too: {counts:?}");
    });
}

#[test]
fn a_bridge_is_a_link_like_others() {
    in_world(|world| {
        let _server = on_link(&world);
        ip(&[
            "link add port type veth peer name other",
            "link add bridge type bridge",
            "link set port master bridge",
            "link set bridge up",
            "link set port up",
            "address add 10.84.255.254/16 dev bridge",
        ]);
        let number = world.run(|| rustix::thread::gettid().as_raw_nonzero());
        ip(&[&format!("link set other netns {number}")]);
        world.run(|| {
            ip(&[
                "link set other up",
                "route add local 10.84.0.0/18 dev lo",
                "route add 10.84.255.254 dev other",
            ]);
        });
        let mut session = Way::PAST_IP.session_at(Plan::new(Duration::from_secs(4), 3), ADAPTIVE);
        let networks = [79, 84];
        let targets: Vec<_> = (1..=50)
            .flat_map(|number| networks.map(|it| SocketAddr::new(v4(it, number), 80)))
            .collect();
        for finding in check_all(&mut session, &targets) {
            assert_eq!(said(&finding), OPEN, "{finding:?}");
        }
    });
}

/// Far answers ARP no more, though it has the addresses: who is found open was believed.
#[test]
fn replies_that_nobody_asked_for_are_not_believed() {
    in_world(|world| {
        let _server = on_link(&world);
        world.run(|| world::set("ipv4/conf/far/arp_ignore", "8"));
        let right = arp::Repr {
            operation: arp::Operation::Reply,
            sender_hardware: FAR_MAC,
            sender_protocol: [10, 79, 0, 1].into(),
            target_hardware: Address(NEAR_MAC),
            target_protocol: [10, 79, 255, 254].into(),
        };
        let target = open(1);
        let mut session = Way::PAST_IP.session(Plan::new(Duration::from_secs(1), 2));
        // Before it is asked for.
        drop(say(&world, vec![right]));
        assert_eq!(said(&check(&mut session, target)), SILENT);
        let forged = vec![
            // A request that tells the same; a gratuitous reply, one to somebody else, one about
            // somebody else, and one that makes of him a group.
            arp::Repr { operation: arp::Operation::Request, ..right },
            arp::Repr { target_protocol: right.sender_protocol, ..right },
            arp::Repr { target_protocol: [10, 79, 255, 253].into(), ..right },
            arp::Repr { sender_protocol: [10, 79, 0, 2].into(), ..right },
            arp::Repr { sender_hardware: Address::BROADCAST, ..right },
        ];
        let forger = say(&world, forged.clone());
        assert_eq!(said(&check(&mut session, target)), SILENT);
        drop(forger);
        let _both = say(&world, forged.into_iter().chain([right]).collect());
        assert_eq!(said(&check(&mut session, target)), OPEN, "the right one is");
    });
}

#[test]
fn a_host_that_was_replaced_meanwhile() {
    in_world(|world| {
        let _server = on_link(&world);
        let mut session = Way::PAST_IP.session(Plan::new(Duration::from_secs(20), 4));
        assert_eq!(said(&check(&mut session, open(1))), OPEN);
        world.run(|| ip(&["link set far address 02:00:00:00:78:03"]));
        // So long it is not doubted.
        thread::sleep(Duration::from_millis(1_200));
        let finding = check(&mut session, open(1));
        assert_eq!((said(&finding), finding.attempts), (OPEN, 2));
    });
}

/// Open, closed and absent ones; each is found to be what it is.
///
/// Only some are open, because the kernel has to find those for itself, to reset what is half open:
/// its table of neighbours is one for all namespaces, so that tests would disturb each other.
#[track_caller]
fn sweep(session: &mut Session<Box<dyn Method + Send>>, opens: u16, each: u16) {
    let mut expected: Vec<_> = (1..=opens).map(|number| (open(number), OPEN)).collect();
    let others = |number| [(closed(number), CLOSED), (absent(number), SILENT)];
    expected.extend((1..=each).flat_map(others));
    let targets: Vec<_> = expected.iter().map(|(target, _)| *target).collect();
    for (finding, (target, expected)) in check_all(session, &targets).iter().zip(expected) {
        assert_eq!((finding.target, said(finding)), (target, expected), "{finding:?}");
    }
}

/// Far sends these to near, again and again until it is dropped; all of them at least once.
fn say(world: &World, packets: Vec<arp::Repr>) -> Meanwhile<()> {
    world.run(move || {
        let any = rustix::net::socket(AddressFamily::INET, SocketType::DGRAM, None).unwrap();
        let interface = rustix::net::netdevice::name_to_index(any, "far").unwrap();
        let to = Destination::Link { interface, ether_type: ETHER_TYPE_ARP, address: NEAR_MAC };
        let sender = PacketSender::open().unwrap();
        let send = move || {
            let mut outbox = Outbox::<{ arp::PACKET_BYTES }>::default();
            for packet in &packets {
                outbox.push(&to, |buffer| packet.emit(buffer).map_or(0, |()| packet.header_len()));
            }
            assert_eq!(outbox.send(&sender).unwrap(), packets.len());
        };
        send();
        Meanwhile::start(move |stopped| {
            while !stopped.now() {
                send();
                thread::sleep(Duration::from_millis(1));
            }
        })
    })
}

fn said(finding: &Finding) -> (Verdict, Evidence) {
    (finding.verdict, finding.evidence)
}
