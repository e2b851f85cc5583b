use portolan_wire::Seq;

use super::*;

#[test]
fn what_figure_5_has_may_be() {
    let both = Cause::FIN.and(Cause::ACK);
    for (from, to, cause) in [
        (Closed, SynSent, Cause::OPEN),
        (SynSent, Established, Cause::SYN.and(Cause::ACK)),
        (SynSent, SynReceived, Cause::SYN),
        (SynReceived, Established, Cause::ACK),
        // Several at once: the last segment of the handshake has FIN; both ends finish.
        (SynReceived, CloseWait, both),
        (FinWait1, TimeWait, both),
        (Established, Closing, Cause::CLOSE.and(Cause::FIN)),
        (Closed, CloseWait, both.and(Cause::COOKIE)),
        (TimeWait, SynReceived, Cause::SYN),
        (FinWait2, Closed, Cause::CLOSE.and(Cause::DATA)),
    ] {
        assert!(is_legal(from, to, cause), "{from:?} to {to:?} by {cause:?}");
    }
}

#[test]
fn what_it_has_not_may_not() {
    let all_segments =
        Cause::SYN.and(Cause::ACK).and(Cause::FIN).and(Cause::DATA).and(Cause::COOKIE);
    for (from, to, cause) in [
        (Closed, SynSent, all_segments),
        (SynSent, Established, Cause::ACK),
        (SynSent, CloseWait, Cause::FIN),
        (SynReceived, Established, Cause::SYN),
        (Established, LastAck, all_segments),
        (Established, FinWait1, all_segments),
        // The own FIN can only have left before that of the peer arrived, or still is to leave.
        (Established, LastAck, Cause::CLOSE.and(Cause::FIN)),
        (Established, Closed, all_segments),
        (Established, TimeWait, Cause::FIN.and(Cause::ACK)),
        (FinWait1, TimeWait, Cause::FIN),
        (FinWait2, Closed, Cause::DATA),
        (FinWait2, Closing, all_segments.and(Cause::CLOSE)),
        (CloseWait, Established, all_segments),
        (TimeWait, Closed, Cause::RST),
        // What is over does not begin again by what has ended it.
        (LastAck, Established, all_segments),
    ] {
        assert!(!is_legal(from, to, cause), "{from:?} to {to:?} by {cause:?}");
    }
}

#[test]
fn fin_and_close_count_for_longer_than_a_step() {
    let mut life = Lifecycle::default();
    let mut step = |state, cause| life.step(Some(at(state, 0)), cause, Instant::ZERO);
    assert!(step(SynReceived, Cause::SYN).is_ok());
    assert!(step(Established, Cause::ACK).is_ok());
    // FIN came before the data before it.
    assert!(step(Established, Cause::FIN.and(Cause::ACK)).is_ok());
    assert!(step(CloseWait, Cause::ACK.and(Cause::DATA)).is_ok());
    assert!(step(CloseWait, Cause::CLOSE).is_ok());
    assert!(step(LastAck, Cause::SENDING).is_ok());
    assert_eq!(step(FinWait2, Cause::ACK).map_err(|broken| broken.0), Err("state"));
}

#[test]
fn numbers_do_not_go_back() {
    let ahead = at(Established, 10);
    let cases = [
        Numbers { snd_una: Seq(9), ..ahead },
        Numbers { snd_nxt: Seq(19), ..ahead },
        Numbers { rcv_nxt: Seq(9), rcv_wnd: 101, ..ahead },
        Numbers { rcv_wnd: 99, ..ahead },
        Numbers { snd_una: Seq(21), ..ahead },
    ];
    for wrong in cases {
        let mut life = Lifecycle::default();
        assert!(life.step(Some(at(SynReceived, 5)), Cause::SYN, Instant::ZERO).is_ok());
        assert!(life.step(Some(ahead), Cause::ACK, Instant::ZERO).is_ok());
        let broken = life.step(Some(wrong), Cause::ACK, Instant::ZERO);
        assert_eq!(broken.map_err(|broken| broken.0), Err("numbers"), "{wrong:?}");
    }
}

fn at(state: State, first: u32) -> Numbers {
    Numbers {
        state,
        snd_una: Seq(first),
        snd_nxt: Seq(first + 10),
        rcv_nxt: Seq(first),
        rcv_wnd: 100,
    }
}
