//! `portolan host` as who runs it sees it: what it says of its connections, and how it ends when
//! something goes wrong.

use std::{
    fs::OpenOptions,
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    os::fd::OwnedFd,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use portolan_e2e::{Place, Running, World, program};
use rustix::process::Signal;
use serde_json::Value;

/// Long enough for any machine; what takes longer hangs.
const LONG: Duration = Duration::from_secs(30);

const TAP: [&str; 8] = [
    "host",
    "--nic",
    "tap:ptl0",
    "--address",
    "192.168.200.10/24",
    "--peer-address",
    "192.168.200.1/24",
    "--json",
];

fn ip(place: &Place, args: &str) {
    let mut command = Command::new(program("ip", "iproute2"));
    command.args(args.split(' '));
    place.succeed(command);
}

fn has_tap(place: &Place) -> bool {
    let mut command = Command::new(program("ip", "iproute2"));
    command.args(["link", "show", "ptl0"]);
    place.run(command).code == Some(0)
}

/// On a TAP, until it answers.
fn start(world: &World, args: &[&str]) -> Running {
    ready(Running::start(&world.host, world.portolan(&[&TAP, args].concat())))
}

fn ready(mut running: Running) -> Running {
    running
        .wait_for("the host to answer", |running| running.stderr().contains("ready").then_some(()));
    running
}

fn connect(world: &World, port: u16) -> TcpStream {
    let to = SocketAddr::new("192.168.200.10".parse().expect("an address"), port);
    let stream = world.host.enter(|| TcpStream::connect_timeout(&to, LONG)).expect("to connect");
    stream.set_read_timeout(Some(LONG)).expect("a timeout");
    stream
}

/// All that was printed of this type.
fn records(running: &Running, kind: &str) -> Vec<Value> {
    let stdout = running.stdout();
    // The last line may not be whole yet.
    let whole = stdout.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    whole.filter(|record| record["type"] == kind).collect()
}

#[test]
fn it_says_how_each_connection_stands() {
    let world = World::new();
    let mut host = start(&world, &["--serve", "echo:7", "--interval", "1h"]);
    let (idle, mut busy) = (connect(&world, 7), connect(&world, 7));
    // Echoed until nothing fits any more, and not read: that is where the memory is.
    busy.set_nonblocking(true).expect("to set");
    let chunk = [7; 65_536];
    let largest = |running: &Running| {
        running.signal(Signal::USR1);
        thread::sleep(Duration::from_millis(20));
        let all = records(running, "host_connection");
        all.into_iter().find(|it| it["unacknowledged"].as_u64() > Some(100_000))
    };
    let found = host.wait_for("an echo that nobody reads", |running| {
        // What finds no room is not needed.
        let _ = busy.write(&chunk);
        largest(running)
    });
    let own = busy.local_addr().expect("an address").to_string();
    assert_eq!((&found["remote"], &found["state"]), (&own.into(), &"ESTABLISHED".into()));
    assert_eq!(found["local"], "192.168.200.10:7");
    assert!(found["round_trip_us"].as_u64() > Some(0), "{found}");
    let all = records(&host, "host_connection");
    let before = &all[..all.iter().position(|it| *it == found).expect("it is there")];
    let is_first = before.iter().all(|it| it["unacknowledged"].as_u64() <= Some(100_000));
    assert!(is_first, "{all:?}");
    let idle = idle.local_addr().expect("an address").to_string();
    assert!(all.iter().any(|it| it["remote"] == idle), "{all:?}");
    host.signal(Signal::TERM);
    assert_eq!(host.finish().code, Some(0));
}

#[test]
fn output_that_cannot_be_written_is_an_error() {
    let world = World::new();
    for args in [&["--interval", "50ms"][..], &["--duration", "100ms"]] {
        let full = OpenOptions::new().write(true).open("/dev/full").expect("a full device");
        let command = world.portolan(&[&TAP, args].concat());
        let ended = Running::start_into(&world.host, command, full).finish();
        ended.assert_failed(2, &["cannot write to standard output", "No space left"]);
        assert!(!has_tap(&world.host));
    }
}

#[test]
fn a_reader_that_stops_keeps_nobody_from_being_served_or_from_the_end() {
    let world = World::new();
    let (reader, writer) = rustix::pipe::pipe().expect("a pipe");
    let full_writer: OwnedFd = writer.try_clone().expect("another one");
    let command =
        world.portolan(&[&TAP[..], &["--serve", "echo:7", "--interval", "10ms"]].concat());
    let host = ready(Running::start_into(&world.host, command, writer));
    // As long as a line more finds room.
    let began = Instant::now();
    let is_full = || {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let mut fds = [PollFd::new(&full_writer, PollFlags::OUT)];
        poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).expect("to poll") == 0
    };
    while !is_full() {
        assert!(began.elapsed() < LONG, "the pipe is not full");
        thread::sleep(Duration::from_millis(10));
    }
    let mut stream = connect(&world, 7);
    stream.write_all(b"hello").expect("to write");
    stream.read_exact(&mut [0; 5]).expect("an answer");
    host.signal(Signal::TERM);
    host.finish().assert_failed(2, &["nobody reads standard output"]);
    assert!(!has_tap(&world.host));
    drop(reader);
}

#[test]
fn a_capture_that_is_not_whole_is_an_error() {
    let world = World::new();
    let host = start(&world, &["--pcap", "/dev/full"]);
    host.signal(Signal::TERM);
    host.finish().assert_failed(2, &["capture of ptl0 ends early", "not whole"]);
}

#[test]
fn an_interface_that_goes_ends_it_whatever_it_was() {
    let mut world = World::new();
    let far = world.add_namespace();
    ip(&far, "address flush dev ptl0");
    for is_down_first in [false, true] {
        let args = ["host", "--nic", "packet:gone0", "--address", "192.0.2.1/24", "--json"];
        ip(&far, "link add gone0 type veth peer name gone1");
        ip(&far, "link set gone0 up");
        ip(&far, "link set gone1 up");
        let host = ready(Running::start(&far, world.portolan(&args)));
        if is_down_first {
            ip(&far, "link set gone0 down");
            // It may have noticed, or not.
            thread::sleep(Duration::from_millis(100));
        }
        ip(&far, "link delete gone1");
        host.finish().assert_failed(2, &["gone0 is gone", "open it anew"]);
    }
}

#[test]
fn nothing_is_left_after_a_kill() {
    let world = World::new();
    for _ in 0..2 {
        let host = start(&world, &["--serve", "echo:7"]);
        assert!(has_tap(&world.host));
        let mut stream = connect(&world, 7);
        stream.write_all(b"hello").expect("to write");
        stream.read_exact(&mut [0; 5]).expect("an answer");
        host.signal(Signal::KILL);
        assert_eq!(host.finish().code, None);
        assert!(!has_tap(&world.host), "the kernel takes it away with its last descriptor");
    }
}

/// Whoever asks for that gets a thread that does not sleep; whoever does not gets one that does.
#[test]
fn busy_polling_takes_the_time_that_it_is_given_and_serves() {
    let world = World::new();
    let cpu_us = |args: &[&str]| {
        let args = [&["--serve", "echo:7", "--interval", "20ms"][..], args].concat();
        let mut host = start(&world, &args);
        let mut stream = connect(&world, 7);
        for _ in 0..20 {
            stream.write_all(b"hello").expect("to write");
            stream.read_exact(&mut [0; 5]).expect("an answer");
        }
        // From here on it is idle. As many intervals as a busy thread needs, and as many for the
        // other one.
        let intervals = |running: &Running| records(running, "host_interval").len();
        let so_far = intervals(&host);
        host.wait_for("some intervals", |running| (intervals(running) > so_far + 50).then_some(()));
        let all = records(&host, "host_interval");
        let cpu: u64 = all[so_far + 1..].iter().filter_map(|it| it["cpu_us"].as_u64()).sum();
        host.signal(Signal::TERM);
        let ended = host.finish();
        assert_eq!(ended.code, Some(0), "{ended}");
        cpu
    };
    let (sleeping, busy) = (cpu_us(&[]), cpu_us(&["--busy-poll", "1h"]));
    assert!(busy > 50_000 && busy > 10 * sleeping, "busy {busy} us, sleeping {sleeping} us");
}

#[test]
fn a_port_at_one_address_and_at_all_others() {
    let world = World::new();
    let places = ["--serve", "sink:7", "--serve", "echo:192.168.200.10:7", "--interval", "50ms"];
    let host = start(&world, &places);
    let socket = world.host.enter(|| std::net::UdpSocket::bind("0.0.0.0:0")).expect("a socket");
    socket.set_read_timeout(Some(LONG)).expect("a timeout");
    socket.send_to(b"hello", ("192.168.200.10", 7)).expect("to send");
    let mut back = [0; 5];
    socket.recv(&mut back).expect("an echo");
    host.signal(Signal::TERM);
    assert_eq!(host.finish().code, Some(0));
}
