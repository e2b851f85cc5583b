//! Readings at the very moment at which connections end.

use std::{
    env,
    net::{Ipv4Addr, SocketAddr, TcpListener},
    thread,
    time::{Duration, Instant},
};

use portolan_e2e::{
    World,
    traced::{Side, Traced, close, connect, move_bytes},
};
use portolan_flow::Totals;

/// So many connections at a time, each on an edge of its own: another one's bytes would hide what
/// is wrong.
const EDGES: u16 = 200;

/// For how long; `TRACE_RACES_SECONDS` says otherwise.
const SECONDS: u64 = 4;

fn address(number: u16) -> SocketAddr {
    let [high, low] = number.to_be_bytes();
    SocketAddr::from((Ipv4Addr::new(127, 9, high, low), 7200))
}

/// A FIN counts as a byte received until the kernel has noted that it was one: a reading in between
/// must neither count it, nor take a byte back.
#[test]
fn a_reading_while_they_end_counts_no_byte_twice_and_none_less_than_never() {
    let seconds = env::var("TRACE_RACES_SECONDS").ok().and_then(|text| text.parse().ok());
    let until = Instant::now() + Duration::from_secs(seconds.unwrap_or(SECONDS));
    let world = World::new();
    world.host.enter(|| {
        let listener = TcpListener::bind("0.0.0.0:7200").expect("all is ours");
        let mut traced = Traced::open();
        let (mut rounds, mut readings) = (0, 0);
        while Instant::now() < until {
            let pairs: Vec<_> = (0..EDGES)
                .map(|number| {
                    let (client, server) = connect(&listener, address(number));
                    move_bytes(&client, &server, 1);
                    move_bytes(&server, &client, 2);
                    (client, server)
                })
                .collect();
            traced.read();
            let closing = thread::spawn(|| {
                pairs.into_iter().for_each(|(client, server)| close(client, server));
            });
            while !closing.is_finished() {
                traced.read();
                readings += 1;
            }
            closing.join().expect("it ends");
            rounds += 1;
        }
        traced.read();
        let each = Totals { opened: rounds, closed: rounds, ..Totals::default() };
        let mut wrong = Vec::new();
        for number in 0..EDGES {
            let (active, passive) = traced.tcp(address(number));
            let expected = [
                Totals { bytes_sent: rounds, bytes_received: 2 * rounds, ..each },
                Totals { bytes_sent: 2 * rounds, bytes_received: rounds, ..each },
            ];
            if [active, passive] != expected {
                wrong.push((number, active, passive));
            }
        }
        let ends = 2 * rounds * u64::from(EDGES);
        eprintln!("{ends} ends in {readings} readings, {} edges wrong", wrong.len());
        assert!(wrong.is_empty(), "of {rounds} each: {wrong:#?} {:?}", traced.losses);
        assert_eq!(traced.sum(Side::Active, |_| true).up, 0);
    });
}
