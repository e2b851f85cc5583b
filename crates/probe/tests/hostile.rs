//! Answers that nobody who saw the SYN would give are not believed, on either link of `syn`; the
//! right one, among them, is.

mod world;

use std::{net::SocketAddr, time::Duration};

use portolan_probe::{Evidence, Finding, Pace, Plan, Reason, Session, Verdict};
use portolan_wire::tcp::Flags;
use world::{
    forge::{Forge, Forger, Syn},
    in_world,
    ways::{Way, check, turn_until, v4, v6},
};

const SYN_ACK: Flags = Flags(0x12);
const RST_ACK: Flags = Flags(0x14);

/// About the SYN under way, but its sender has not seen it: each is counted.
const FORGED: [(&str, Forge); 9] = [
    ("acknowledges what was not sent yet", |syn| syn.answer(SYN_ACK, 2)),
    ("acknowledges less than the SYN", |syn| syn.answer(SYN_ACK, 0)),
    ("acknowledges something else", |syn| syn.answer(SYN_ACK, 0x8000_0001)),
    ("a reset that acknowledges something else", |syn| syn.answer(RST_ACK, 0)),
    ("a reset that acknowledges nothing", |syn| without_ack(syn, Flags::RST)),
    ("a SYN that acknowledges nothing", |syn| without_ack(syn, Flags::SYN)),
    ("the checksum is wrong", |syn| damaged(syn, 16)),
    ("the segment was damaged on the way", |syn| damaged(syn, 15)),
    ("an error quotes another sequence number", |syn| {
        let mut quoted = syn.packet.clone();
        quoted[syn.header_len() + 7] ^= 1;
        syn.error(&quoted)
    }),
];

/// About something else, or nothing at all.
const FOREIGN: [(&str, Forge); 13] = [
    ("another port answers", |syn| {
        let mut other = seen(syn);
        other.to.set_port(syn.to.port() + 1);
        other.syn_ack()
    }),
    ("another host answers", |syn| {
        let mut other = seen(syn);
        let (of_v4, of_v6) = (v4(77, 0x1234), v6(0xfd77, 0x1234));
        other.to.set_ip(if syn.to.is_ipv4() { of_v4 } else { of_v6 });
        other.syn_ack()
    }),
    ("to another port", |syn| {
        let mut other = seen(syn);
        other.from.set_port(syn.from.port() ^ 1);
        other.syn_ack()
    }),
    ("to a port that is none of ours", |syn| {
        let mut other = seen(syn);
        other.from.set_port(syn.from.port() ^ 0x8000);
        other.syn_ack()
    }),
    ("an acknowledgment without SYN or RST", |syn| syn.answer(Flags::ACK, 1)),
    ("half a TCP header", |syn| cut(syn, 10)),
    ("a TCP header without its last byte", |syn| cut(syn, 19)),
    ("no TCP header at all", |syn| cut(syn, 0)),
    ("a TCP header longer than the packet", |syn| with_offset(syn, 15)),
    ("a TCP header shorter than it can be", |syn| with_offset(syn, 4)),
    ("an error quotes another port", |syn| {
        let mut quoted = syn.packet.clone();
        quoted[syn.header_len() + 3] ^= 1;
        syn.error(&quoted)
    }),
    ("an error quotes less than the ports", |syn| syn.error(&syn.packet[..syn.header_len() + 3])),
    ("an error quotes nothing", |syn| syn.error(&[])),
];

#[test]
fn what_is_forged_is_never_believed_and_is_counted() {
    each_way(|way, target, world| {
        for (what, forge) in FORGED {
            let forger = Forger::new(world, vec![forge]);
            // So long that all of it comes while it can do harm.
            let mut session = way.session(Plan::new(Duration::from_secs(3600), 0));
            assert!(session.add(target, 0));
            turn_until(&mut session, |session| session.method().noise().forged > 0);
            assert_eq!(session.next(), None, "{way} {target}: {what}");
            session.set_plan(Plan::new(Duration::from_millis(1), 0));
            let mut finding = None;
            turn_until(&mut session, |session| {
                finding = session.next();
                finding.is_some()
            });
            assert_silent(&finding.unwrap().1, what);
            assert_eq!(session.method().noise().forged, forger.syns(), "{way} {target}: {what}");
        }
    });
}

#[test]
fn what_is_about_something_else_is_never_believed() {
    each_way(|way, target, world| {
        for (what, forge) in FOREIGN {
            // What is forged, and sent after it, is heard after it.
            let forger = Forger::new(world, vec![forge, FORGED[0].1]);
            let mut session = way.session(Plan::new(Duration::from_secs(3600), 0));
            assert!(session.add(target, 0));
            turn_until(&mut session, |session| session.method().noise().forged > 0);
            session.turn().unwrap();
            assert_eq!(session.next(), None, "{way} {target}: {what}");
            assert_eq!(session.method().noise().forged, forger.syns(), "{way} {target}: {what}");
        }
    });
}

#[test]
fn all_of_it_and_then_nothing_is_filtered() {
    each_way(|way, target, world| {
        let all = FORGED.iter().chain(&FOREIGN).map(|(_, forge)| *forge).collect();
        let forger = Forger::new(world, all);
        let mut session = way.session(Plan::new(Duration::from_secs(2), 2));
        let finding = check(&mut session, target);
        assert_silent(&finding, "all of it");
        assert_eq!((finding.attempts, forger.syns()), (3, 3), "{way} {target}");
        let forged = FORGED.len() as u64 * forger.syns();
        assert_eq!(session.method().noise().forged, forged, "{way} {target}");
    });
}

#[test]
fn the_right_answer_is_believed_among_all_of_it() {
    let right: [(Forge, _, _); 3] = [
        (Syn::syn_ack, Verdict::Open, Evidence::SynAck),
        (|syn| syn.answer(RST_ACK, 1), Verdict::Closed, Evidence::Reset),
        (|syn| syn.error(&syn.packet), Verdict::Unreachable(Reason::Port), PORT_V4),
    ];
    each_way(move |way, target, world| {
        for (forge, verdict, evidence) in right {
            let mut all: Vec<_> = FORGED.iter().chain(&FOREIGN).map(|(_, forge)| *forge).collect();
            all.push(forge);
            let _forger = Forger::new(world, all);
            let mut session = way.session(Plan::new(Duration::from_secs(20), 2));
            let finding = check(&mut session, target);
            let is_v6 = evidence == PORT_V4 && target.is_ipv6();
            let evidence = if is_v6 { Evidence::Icmp { kind: 1, code: 4 } } else { evidence };
            assert_eq!((finding.verdict, finding.evidence), (verdict, evidence), "{way} {target}");
        }
    });
}

const PORT_V4: Evidence = Evidence::Icmp { kind: 3, code: 3 };

/// An error that quotes no more of TCP than it must (RFC 792): 8 bytes.
#[test]
fn an_error_that_quotes_eight_bytes_is_believed() {
    each_way(|way, target, world| {
        let _forger =
            Forger::new(world, vec![|syn| syn.error(&syn.packet[..syn.header_len() + 8])]);
        let mut session = way.session(Plan::new(Duration::from_secs(20), 2));
        let finding = check(&mut session, target);
        assert_eq!(finding.verdict, Verdict::Unreachable(Reason::Port), "{way} {target}");
    });
}

/// The answer to one check is nothing to the next one from the same port.
#[test]
fn an_answer_to_an_earlier_check_is_not_believed() {
    each_way(|way, target, world| {
        // All from one port.
        let plan = Plan::new(Duration::from_millis(50), 0);
        let mut session = Session::new(way.open(1), plan, Pace::Unlimited);
        let forger = Forger::new(
            world,
            vec![|syn| {
                // As if it answered the check before.
                syn.answer(SYN_ACK, 0x9e37_79b9_u32.wrapping_neg().wrapping_add(1))
            }],
        );
        for _ in 0..10 {
            assert_silent(&check(&mut session, target), "the number of the check before");
        }
        assert_eq!(forger.syns(), 10, "{way} {target}");
    });
}

/// Both links of `syn`, both families, each against a far kernel that says nothing.
fn each_way(test: impl Fn(Way, SocketAddr, &world::World) + Send + 'static) {
    in_world(move |world| {
        world.swallows();
        for way in [Way::SYN, Way::PAST_IP] {
            for address in [v4(77, 7), v6(0xfd77, 7)] {
                test(way, SocketAddr::new(address, 80), &world);
            }
        }
    });
}

#[track_caller]
fn assert_silent(finding: &Finding, what: &str) {
    let said = (finding.verdict, finding.evidence);
    assert_eq!(said, (Verdict::Filtered, Evidence::Silence), "{what}: {finding:?}");
}

fn seen(syn: &Syn) -> Syn {
    Syn { packet: syn.packet.clone(), from: syn.from, to: syn.to, sequence: syn.sequence }
}

fn without_ack(syn: &Syn, flags: Flags) -> Vec<u8> {
    // The number is right, but no flag says that it means anything.
    syn.answer(flags, 1)
}

/// The right answer with one byte of TCP changed.
fn damaged(syn: &Syn, at: usize) -> Vec<u8> {
    let mut packet = syn.syn_ack();
    packet[syn.header_len() + at] ^= 0x10;
    packet
}

/// The right answer, of which so much of TCP is there.
fn cut(syn: &Syn, len: usize) -> Vec<u8> {
    let segment = &syn.syn_ack()[syn.header_len()..][..len];
    syn.packet(syn.to.ip(), portolan_wire::protocol::TCP, segment)
}

/// The right answer that says of its TCP header that it is so long, in words.
fn with_offset(syn: &Syn, words: u8) -> Vec<u8> {
    let mut packet = syn.syn_ack();
    packet[syn.header_len() + 12] = words << 4;
    packet
}
