//! Handles that wait, between two hosts on a link in memory.

mod pair;
mod spread;

use std::{
    io::{self, Read, Write},
    thread,
    time::Duration,
};

use pair::{CLIENT, SERVER, at, config};
use portolan_host::{
    Error, Host,
    blocking::{Connection, Datagrams, Endpoint, Listener},
    nic::mem,
    stack::tcp::{Info, Keepalive, Reason, State},
};
use spread::spread;

/// Long enough for any machine; what takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server with so many queues, and a client with one.
fn endpoints(queues: usize) -> (Endpoint, Endpoint) {
    let options = mem::Options { checksum: true, segment_bytes_max: 65_535, ..Default::default() };
    let (server, client) = mem::pair(&options);
    let server = Endpoint::start(&config(SERVER), spread(server, queues)).unwrap();
    (server, Endpoint::start(&config(CLIENT), vec![client]).unwrap())
}

fn bytes(count: usize) -> Vec<u8> {
    (0..count).map(|nth| (nth * 7 + nth / 251) as u8).collect()
}

/// A connection's two ends: the server's, and the client's.
fn connect(server: &Endpoint, client: &Endpoint, port: u16) -> (Connection, Connection) {
    let listener = server.listen(None, port).unwrap();
    let there = client.connect(at(port)).unwrap();
    let here = listener.accept().unwrap();
    here.set_timeout(Some(PATIENCE));
    there.set_timeout(Some(PATIENCE));
    (here, there)
}

#[test]
fn what_is_written_is_read_in_both_directions_at_once() {
    let (server, client) = endpoints(1);
    let (here, there) = connect(&server, &client, 7);
    let (ours, theirs) = (bytes(5_000_000), bytes(3_000_000));
    thread::scope(|scope| {
        for (end, data) in [(&here, &ours), (&there, &theirs)] {
            scope.spawn(move || {
                let mut end = end;
                end.write_all(data).unwrap();
                end.finish();
            });
        }
        for (mut end, data) in [(&there, &ours), (&here, &theirs)] {
            scope.spawn(move || {
                let mut all = Vec::new();
                end.read_to_end(&mut all).unwrap();
                assert!(all == *data, "{} bytes of {}", all.len(), data.len());
            });
        }
    });
    assert_eq!(here.ends().map(|(own, other)| (other, own)), there.ends());
}

#[test]
fn who_writes_waits_for_who_reads() {
    let (server, client) = endpoints(1);
    let (mut here, mut there) = connect(&server, &client, 7);
    let data = bytes(8 << 20);
    there.set_timeout(Some(Duration::from_millis(200)));
    let mut written = 0;
    let error = loop {
        match there.write(&data[written..]) {
            Ok(count) => written += count,
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    assert!(written < 4 << 20, "{written} bytes are kept in memory");
    there.set_timeout(Some(PATIENCE));
    thread::scope(|scope| {
        scope.spawn(|| {
            there.write_all(&data[written..]).unwrap();
            there.finish();
        });
        let mut all = Vec::new();
        here.read_to_end(&mut all).unwrap();
        assert!(all == data, "{} bytes", all.len());
    });
}

#[test]
fn a_dropped_handle_closes_and_what_was_not_read_resets() {
    let (server, client) = endpoints(1);
    let (mut here, mut there) = connect(&server, &client, 7);
    there.write_all(b"all of it").unwrap();
    drop(there);
    let mut text = String::new();
    here.read_to_string(&mut text).unwrap();
    assert_eq!(text, "all of it");

    let (mut here, mut there) = connect(&server, &client, 8);
    here.write_all(b"one, two").unwrap();
    there.read_exact(&mut [0; 3]).unwrap();
    drop(there);
    assert_eq!(here.read(&mut [0; 8]).unwrap_err().kind(), io::ErrorKind::ConnectionReset);

    let (mut here, there) = connect(&server, &client, 9);
    there.abort();
    assert_eq!(here.read(&mut [0; 8]).unwrap_err().kind(), io::ErrorKind::ConnectionReset);
    assert!(here.write(b"x").is_err());
}

#[test]
fn a_port_is_refused_before_and_after_somebody_listens() {
    let (server, client) = endpoints(1);
    let refused = |port| client.connect(at(port)).unwrap_err().kind();
    assert_eq!(refused(7), io::ErrorKind::ConnectionRefused);
    let listener = server.listen(None, 7).unwrap();
    assert!(client.connect(at(7)).is_ok());
    let twice = server.listen(None, 7).unwrap_err();
    assert!(matches!(twice, Error::Listen { port: 7, .. }), "{twice}");
    let foreign = server.listen(Some("192.0.2.9".parse().unwrap()), 8).unwrap_err();
    assert!(matches!(foreign, Error::NotOwn(_)), "{foreign}");
    drop(listener);
    // The order to close is under way; another one that was answered is behind it.
    drop(server.listen(None, 9).unwrap());
    assert_eq!(refused(7), io::ErrorKind::ConnectionRefused);
}

#[test]
fn datagrams_come_and_go_and_a_closed_port_takes_none() {
    for queues in [1, 3] {
        let (server, client) = endpoints(queues);
        let here = server.bind(None, 53).unwrap();
        here.set_timeout(Some(PATIENCE));
        assert!(matches!(server.bind(None, 53), Err(Error::Bind { port: 53, .. })));
        let there = client.bind(None, 0).unwrap();
        there.set_timeout(Some(PATIENCE));
        let (mut buffer, long) = ([0; 4_000], bytes(3_000));
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut buffer = [0; 4_000];
                for _ in 0..200 {
                    let (count, from) = here.receive_from(&mut buffer).unwrap();
                    here.send_to(&buffer[..count], from).unwrap();
                }
            });
            for nth in 0..200 {
                let sent = &long[..nth * 15];
                there.send_to(sent, at(53)).unwrap();
                let (count, from) = there.receive_from(&mut buffer).unwrap();
                assert_eq!((&buffer[..count], from), (sent, at(53)));
            }
        });
    }
}

#[test]
fn the_end_of_a_host_wakes_everybody() {
    let (server, client) = endpoints(2);
    let listener = server.listen(None, 7).unwrap();
    let (here, there) = {
        let there = client.connect(at(7)).unwrap();
        (listener.accept().unwrap(), there)
    };
    let port = server.bind(None, 53).unwrap();
    thread::scope(|scope| {
        let kinds = [
            scope.spawn(|| listener.accept().unwrap_err().kind()),
            scope.spawn(|| (&here).read(&mut [0; 8]).unwrap_err().kind()),
            scope.spawn(|| port.receive_from(&mut [0; 8]).unwrap_err().kind()),
        ];
        // Whether they wait already or will, they learn it.
        server.stop().unwrap();
        for kind in kinds {
            assert_eq!(kind.join().unwrap(), io::ErrorKind::NotConnected);
        }
    });
    assert_eq!((&there).read(&mut [0; 8]).unwrap(), 0, "the end was orderly");
    assert!((&here).write(b"x").is_err());
    assert!(matches!(server.listen(None, 9), Err(Error::Ended)));
    assert!(server.connect(at(7)).is_err());
}

#[test]
fn thousands_of_connections_over_several_queues() {
    const THREADS: usize = 4;
    const EACH: usize = 500;
    let (server, client) = endpoints(3);
    let listener = server.listen(None, 7).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            let open: Vec<Connection> =
                (0..THREADS * EACH).map(|_| listener.accept().unwrap()).collect();
            for mut connection in &open {
                let mut request = [0; 4];
                connection.read_exact(&mut request).unwrap();
                connection.write_all(&request).unwrap();
            }
        });
        for thread in 0..THREADS {
            let client = &client;
            scope.spawn(move || {
                let mut open = Vec::new();
                for nth in 0..EACH {
                    let number = (thread * EACH + nth) as u32;
                    let mut connection = client.connect(at(7)).unwrap();
                    connection.set_timeout(Some(PATIENCE));
                    connection.write_all(&number.to_be_bytes()).unwrap();
                    open.push((number, connection));
                }
                for (number, connection) in &mut open {
                    let mut answer = [0; 4];
                    connection.read_exact(&mut answer).unwrap();
                    assert_eq!(u32::from_be_bytes(answer), *number);
                }
            });
        }
    });
    let readings = server.readings();
    assert_eq!(readings.len(), 3);
    drop(server);
}

#[test]
fn connections_from_a_host_with_several_queues_find_back() {
    let (server, client) = endpoints(3);
    let listener = client.listen(None, 80).unwrap();
    let other = std::net::SocketAddr::new("192.0.2.2".parse().unwrap(), 80);
    for nth in 0..9_u8 {
        let mut there = server.connect(other).unwrap();
        there.set_timeout(Some(PATIENCE));
        there.write_all(&[nth]).unwrap();
        let mut here = listener.accept().unwrap();
        here.set_timeout(Some(PATIENCE));
        let mut byte = [0];
        here.read_exact(&mut byte).unwrap();
        here.write_all(&byte).unwrap();
        there.read_exact(&mut byte).unwrap();
        assert_eq!(byte, [nth]);
    }
}

/// Waits until it is so.
fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = std::time::Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "{what} has not come");
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn no_call_waits_longer_than_it_may() {
    let (server, client) = endpoints(1);
    let listener = server.listen(None, 7).unwrap();
    let timed_out = |error: io::Error| assert_eq!(error.kind(), io::ErrorKind::TimedOut, "{error}");
    for longest in [Duration::ZERO, Duration::from_millis(5)] {
        listener.set_timeout(Some(longest));
        timed_out(listener.accept().unwrap_err());
    }
    listener.set_timeout(Some(PATIENCE));
    let (mut there, mut here) = (client.connect(at(7)).unwrap(), listener.accept().unwrap());
    // Each direction has its own, and who waits already keeps his.
    here.set_write_timeout(Some(PATIENCE));
    here.set_read_timeout(Some(Duration::ZERO));
    timed_out(here.read(&mut [0; 8]).unwrap_err());
    here.write_all(b"x").unwrap();
    there.set_timeout(Some(Duration::MAX));
    there.read_exact(&mut [0]).unwrap();
    // No host has this address.
    let nobody = "192.0.2.9:80".parse().unwrap();
    let error = client.connect_timeout(nobody, Duration::from_millis(20)).unwrap_err();
    assert!(error.to_string().contains("cannot connect to 192.0.2.9:80: no answer"), "{error}");
    timed_out(error);
    wait_until("the end of what was given up", || client.connections().len() == 1);
    drop((here, there));
}

#[test]
fn errors_of_connecting_name_the_other_end() {
    let (_server, client) = endpoints(1);
    let said = |remote: &str, kind| {
        let error = client.connect(remote.parse().unwrap()).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().starts_with(&format!("cannot connect to {remote}: ")), "{error}");
    };
    said("192.0.2.1:7", io::ErrorKind::ConnectionRefused);
    said("198.51.100.1:7", io::ErrorKind::NetworkUnreachable);
    said("[2001:db8::1]:7", io::ErrorKind::NetworkUnreachable);
    said("192.0.2.1:0", io::ErrorKind::InvalidInput);
    said("192.0.2.2:7", io::ErrorKind::InvalidInput);
}

#[test]
fn connections_have_settings_and_tell_how_they_stand() {
    let options = mem::Options::default();
    let (near, far) = mem::pair(&options);
    let server = Endpoint::start(&config(SERVER), vec![near]).unwrap();
    let mut probing = config(CLIENT);
    let (idle, interval) = (Duration::from_millis(20), Duration::from_millis(20));
    probing.tcp.keepalive = Some(Keepalive { idle, interval, probes: 9 });
    let client = Endpoint::start(&probing, vec![far]).unwrap();
    let (here, there) = connect(&server, &client, 7);
    let (mut asks, mut answers) = (&there, &here);
    asks.write_all(b"x").unwrap();
    answers.read_exact(&mut [0]).unwrap();
    let info = there.info().unwrap();
    assert_eq!(info.state, State::Established);
    assert!(info.round_trip.is_some() && info.congestion_window > 0, "{info:?}");
    assert_eq!(info.flow.remote_port, 7);
    there.set_nodelay(true).unwrap();
    there.set_user_timeout(Some(Duration::from_secs(1))).unwrap();
    there.set_keepalive(true).unwrap();
    wait_until("a probe", || client.readings()[0].tcp.keepalives > 0);
    there.set_keepalive(false).unwrap();
    // After its end, too, as long as the handle is there.
    here.abort();
    assert_eq!(asks.read(&mut [0]).unwrap_err().kind(), io::ErrorKind::ConnectionReset);
    assert_eq!(there.info().unwrap().reason, Some(Reason::Reset));
    client.stop().unwrap();
    assert_eq!(there.info().unwrap_err().kind(), io::ErrorKind::NotConnected);
    assert_eq!(there.set_nodelay(true).unwrap_err().kind(), io::ErrorKind::NotConnected);
}

#[test]
fn all_connections_of_all_queues_are_told() {
    let (server, client) = endpoints(3);
    let listener = server.listen(None, 7).unwrap();
    assert_eq!(listener.local(), (None, 7));
    let open: Vec<_> =
        (0..30).map(|_| (client.connect(at(7)).unwrap(), listener.accept().unwrap())).collect();
    let ports = |infos: Vec<Info>, of: fn(&Info) -> u16| {
        let mut ports: Vec<u16> = infos.iter().map(of).collect();
        ports.sort_unstable();
        ports
    };
    let theirs = ports(client.connections(), |info| info.flow.local_port);
    assert_eq!(theirs.len(), open.len());
    assert_eq!(ports(server.connections(), |info| info.flow.remote_port), theirs);
    server.stop().unwrap();
    assert!(server.connections().is_empty(), "a host that has ended has none");
}

#[test]
fn any_port_of_udp_is_the_same_one_on_all_queues() {
    let (server, client) = endpoints(3);
    let here = server.bind(None, 0).unwrap();
    let (address, port) = here.local();
    assert!(address.is_none() && port != 0);
    here.set_timeout(Some(PATIENCE));
    // From several ports, so that all queues get some.
    for nth in 0..20_u8 {
        let there = client.bind(None, 0).unwrap();
        there.send_to(&[nth], at(port)).unwrap();
        let mut byte = [0];
        let (_, from) = here.receive_from(&mut byte).unwrap();
        assert_eq!((byte, from.port()), ([nth], there.local().1));
    }
    let error = here.send_to(&[0; 65_508], at(9)).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{error}");
}

/// What is used by several threads can be.
#[test]
fn handles_may_be_shared() {
    fn is_shared<T: Send + Sync + std::fmt::Debug + 'static>() {}
    is_shared::<Endpoint>();
    is_shared::<Connection>();
    is_shared::<Listener>();
    is_shared::<Datagrams>();
    is_shared::<Host>();
    is_shared::<Error>();
}
