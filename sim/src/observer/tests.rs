use std::net::Ipv4Addr;

use portolan_wire::{Seq, tcp};

use super::*;
use crate::{
    frame::{Frame, Way, of_segment},
    host,
};

#[test]
fn an_orderly_connection_breaks_no_rule() {
    let mut wire = Wire::established();
    wire.says(0, Flags::ACK, 101, 501, 100);
    wire.says(1, Flags::ACK, 501, 201, 0);
    wire.says(0, Flags::ACK | Flags::FIN, 201, 501, 0);
    wire.says(1, Flags::ACK | Flags::FIN, 501, 202, 0);
    wire.says(0, Flags::ACK, 202, 502, 0);
    assert_eq!(wire.broken, None);
}

#[test]
fn each_rule_is_watched() {
    let cases: [(&str, &[Said]); 8] = [
        ("sequence", &[(0x10, 102, 501, 10)]),
        ("window", &[(0x10, 101, 501, 1_001)]),
        ("acknowledgment", &[(0x10, 101, 502, 0)]),
        ("acknowledgment", &[(0x10, 101, 500, 0)]),
        ("acknowledgment", &[(0x00, 101, 0, 10)]),
        ("finish", &[(0x11, 101, 501, 0), (0x10, 102, 501, 1)]),
        ("mss", &[(0x10, 101, 501, 537)]),
        ("reset", &[(0x14, 101, 501, 0)]),
    ];
    for (rule, segments) in cases {
        let mut wire = Wire::established();
        for &(flags, sequence, acknowledgment, bytes) in segments {
            wire.says(0, Flags(flags), sequence, acknowledgment, bytes);
        }
        let broken = wire.broken.unwrap_or_else(|| panic!("{rule}: nothing was found"));
        assert_eq!(broken.rule, rule, "{broken}");
    }
}

#[test]
fn a_window_does_not_shrink_but_closes() {
    let mut wire = Wire::established();
    wire.says(0, Flags::ACK, 101, 501, 400);
    wire.window = 600;
    wire.says(1, Flags::ACK, 501, 501, 0);
    assert_eq!(wire.broken, None);
    wire.window = 599;
    wire.says(1, Flags::ACK, 501, 501, 0);
    assert_eq!(wire.broken.expect("its right edge goes back").rule, "window");
}

/// An old duplicate with a cookie begins a connection that has the numbers of one that has ended,
/// and may offer less.
#[test]
fn a_cookie_that_comes_again_begins_anew() {
    let mut wire = Wire::established();
    wire.says(0, Flags::ACK, 101, 501, 400);
    wire.says(1, Flags::ACK, 501, 501, 0);
    let is = Numbers {
        state: State::Established,
        snd_una: Seq(501),
        snd_nxt: Seq(501),
        rcv_nxt: Seq(501),
        rcv_wnd: 900,
    };
    let ends = (socket(1), socket(0));
    wire.window = 900;
    for (numbers, cause) in [(is, Cause::ACK.and(Cause::COOKIE)), (is, Cause::ACK)] {
        wire.observer.moved(1, ends, Some(numbers), (cause, Instant::ZERO)).unwrap();
        wire.says(1, Flags::ACK, 501, 501, 0);
        assert_eq!(wire.broken, None);
    }
    wire.window = 800;
    wire.says(1, Flags::ACK, 501, 501, 0);
    assert_eq!(wire.broken.expect("its right edge goes back").rule, "window");
}

/// RFC 9293, section 3.8.6: no new data beyond a window that the peer has taken back; what was sent
/// before may leave again.
#[test]
fn no_more_is_sent_than_a_window_takes_that_shrank() {
    let mut wire = Wire::established();
    wire.says(0, Flags::ACK, 101, 501, 400);
    wire.loses(0, Flags::ACK, 501, 501, 400);
    wire.window = 100;
    wire.loses_nothing(1, Flags::ACK, 501, 501, 0);
    wire.window = 1_000;
    wire.says(0, Flags::ACK, 501, 501, 400);
    assert_eq!(wire.broken, None);
    wire.says(0, Flags::ACK, 901, 501, 10);
    assert_eq!(wire.broken.expect("beyond the window").rule, "window");
}

#[test]
fn what_was_lost_is_not_acknowledged() {
    let mut wire = Wire::established();
    wire.loses(0, Flags::ACK, 101, 501, 10);
    wire.says(0, Flags::ACK, 111, 501, 10);
    wire.says(1, Flags::ACK, 501, 101, 0);
    assert_eq!(wire.broken, None);
    wire.says(1, Flags::ACK, 501, 121, 0);
    assert_eq!(wire.broken.expect("the first ten never arrived").rule, "acknowledgment");
}

#[test]
fn segments_that_bring_nothing_are_a_storm() {
    let mut wire = Wire::established();
    for _ in 0..WITHOUT_PROGRESS_MAX {
        wire.says(0, Flags::ACK, 101, 501, 0);
        wire.says(1, Flags::ACK, 501, 101, 0);
    }
    assert_eq!(wire.broken.expect("two thousand of them").rule, "storm");
}

/// Flags, sequence number, acknowledgment, bytes.
type Said = (u8, u32, u32, usize);

/// Hosts 0 and 1 talk; host 0 begins with 100, host 1 with 500.
struct Wire {
    observer: Observer,
    window: u16,
    /// The first rule that was broken.
    broken: Option<Violation>,
}

impl Wire {
    fn established() -> Self {
        let observer = Observer::new([1_500; 2], [true; 2]);
        let mut wire = Self { observer, window: 1_000, broken: None };
        wire.says(0, Flags::SYN, 100, 0, 0);
        wire.says(1, Flags::SYN | Flags::ACK, 500, 101, 0);
        wire.says(0, Flags::ACK, 101, 501, 0);
        for (host, other) in [(0, 1), (1, 0)] {
            wire.observer.holds(host, socket(host), socket(other), true);
        }
        wire
    }

    fn says(&mut self, host: usize, flags: Flags, sequence: u32, number: u32, bytes: usize) {
        let frame = self.loses(host, flags, sequence, number, bytes);
        self.observer.arrived(1 - host, &frame, Instant::ZERO);
    }

    /// It arrives, and whether it may be sent is not asked.
    fn loses_nothing(
        &mut self,
        host: usize,
        flags: Flags,
        sequence: u32,
        number: u32,
        bytes: usize,
    ) {
        let broken = self.broken.take();
        self.says(host, flags, sequence, number, bytes);
        self.broken = broken;
    }

    fn loses(
        &mut self,
        host: usize,
        flags: Flags,
        sequence: u32,
        number: u32,
        bytes: usize,
    ) -> Frame {
        let (from, to) = (socket(host), socket(1 - host));
        let header = tcp::Repr {
            source_port: from.port(),
            destination_port: to.port(),
            sequence: Seq(sequence),
            acknowledgment: Seq(number),
            flags,
            window: self.window,
            urgent_pointer: 0,
            options: tcp::Options::default(),
        };
        let way = Way {
            source_mac: host::mac(host),
            destination_mac: host::mac(1 - host),
            source: from.ip(),
            destination: to.ip(),
        };
        let frame = of_segment(way, 0, &header, &vec![1; bytes]);
        let checked = self.observer.sent(host, &frame, Instant::ZERO);
        self.broken = self.broken.take().or(checked.err());
        frame
    }
}

fn socket(host: usize) -> SocketAddr {
    let last = u8::try_from(host + 1).expect("a small number");
    SocketAddr::new(Ipv4Addr::new(198, 51, 100, last).into(), 1_000 + u16::from(last))
}
