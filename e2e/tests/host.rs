//! `portolan host` against the kernel at the other end of a TAP, and of a veth pair.

use std::{
    io::{Read, Write},
    mem::MaybeUninit,
    net::{IpAddr, SocketAddr, TcpStream, UdpSocket},
    os::unix::process::CommandExt,
    process::Command,
    thread,
    time::Duration,
};

use portolan_e2e::{NOBODY, Place, Running, World, program, wait_for};
use portolan_load::Summary;
use rustix::{
    net::{self, AddressFamily, RecvFlags, SendFlags, SocketType, ipproto, sockopt},
    process::Signal,
};
use serde_json::Value;

/// Long enough for any machine; what takes longer hangs.
const LONG: Duration = Duration::from_secs(30);

const V4: &str = "192.168.200.10";
const V6: &str = "fd00:200::10";

struct Host {
    place: Place,
    running: Running,
}

impl Host {
    /// On a TAP, whose other end has addresses too.
    fn start(world: &World, args: &[&str]) -> Self {
        let addresses = ["--address", "192.168.200.10/24", "--address", "fd00:200::10/64"];
        let device = ["--nic", "tap:ptl0", "--peer-address", "192.168.200.1/24"];
        let host = Self::with(world, &world.host, &[&device, &addresses, args].concat());
        // Without waiting for an answer by a host that has the same one.
        ip(&world.host, "address add fd00:200::1/64 dev ptl0 nodad");
        host
    }

    fn with(world: &World, place: &Place, args: &[&str]) -> Self {
        let command = world.portolan(&[&["host", "--json", "--interval", "50ms"], args].concat());
        let mut running = Running::start(place, command);
        running.wait_for("the host to answer", |running| {
            running.stdout().contains("\"ready\"").then_some(())
        });
        Self { place: place.clone(), running }
    }

    fn connect(&self, address: &str, port: u16) -> TcpStream {
        let to = SocketAddr::new(address.parse().expect("an address"), port);
        let stream = self.place.enter(|| TcpStream::connect_timeout(&to, LONG));
        let stream = stream.unwrap_or_else(|error| panic!("{to}: {error}"));
        stream.set_read_timeout(Some(LONG)).expect("a timeout");
        stream
    }

    /// Ends it, and says what it counted.
    fn end(self) -> Value {
        self.running.signal(Signal::TERM);
        let ended = self.running.finish();
        assert_eq!(ended.code, Some(0), "{ended}");
        let last = ended.stdout.lines().next_back().unwrap_or_default();
        let record: Value =
            serde_json::from_str(last).unwrap_or_else(|error| panic!("{error}: {ended}"));
        assert_eq!(record["type"], "host", "{ended}");
        // All intervals add up.
        let whole: Vec<Value> =
            ended.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let intervals = whole.iter().filter(|line| line["type"] == "host_interval");
        let frames: u64 = intervals.map(|line| line["frames_in"].as_u64().unwrap_or(0)).sum();
        assert_eq!(record["frames_in"], frames, "{ended}");
        record
    }
}

fn ip(place: &Place, args: &str) {
    let mut command = Command::new(program("ip", "iproute2"));
    command.args(args.split(' '));
    place.succeed(command);
}

fn bytes(count: usize) -> Vec<u8> {
    (0..count).map(|nth| (nth * 7 + nth / 251) as u8).collect()
}

/// RFC 1071.
fn checksum(bytes: &[u8]) -> u16 {
    let words =
        bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !u16::try_from(sum).expect("16 bits")
}

/// Sends an echo request with so many bytes, and reads the answer.
fn ping(place: &Place, to: &str, payload: &[u8]) {
    let to: IpAddr = to.parse().expect("an address");
    let (family, protocol, request, answer) = match to {
        IpAddr::V4(_) => (AddressFamily::INET, ipproto::ICMP, 8, 0),
        IpAddr::V6(_) => (AddressFamily::INET6, ipproto::ICMPV6, 128, 129),
    };
    let mut message = vec![request, 0, 0, 0, 0x12, 0x34, 0, 1];
    message.extend_from_slice(payload);
    if to.is_ipv4() {
        // Over IPv6 the kernel does it.
        let sum = checksum(&message).to_be_bytes();
        message[2..4].copy_from_slice(&sum);
    }
    place.enter(|| {
        let socket = net::socket(family, SocketType::RAW, Some(protocol)).expect("a raw socket");
        sockopt::set_socket_timeout(&socket, sockopt::Timeout::Recv, Some(LONG))
            .expect("a timeout");
        let address = SocketAddr::new(to, 0);
        net::sendto(&socket, &message, SendFlags::empty(), &address).expect("to send");
        let mut buffer = vec![MaybeUninit::uninit(); 70_000];
        loop {
            let ((received, _), _, source) =
                net::recvfrom(&socket, &mut buffer[..], RecvFlags::empty()).expect("an answer");
            let message = if to.is_ipv4() { &received[20..] } else { &*received };
            let source = source.and_then(|source| SocketAddr::try_from(source).ok());
            // Other messages come to everybody.
            if message[0] == answer && source.is_some_and(|source| source.ip() == to) {
                assert_eq!(&message[4..8], [0x12, 0x34, 0, 1]);
                assert_eq!(&message[8..], payload, "from {to}");
                return;
            }
        }
    });
}

#[test]
fn it_answers_ping_and_refuses_closed_ports_at_once() {
    let world = World::new();
    let host = Host::start(&world, &[]);
    for address in [V4, V6] {
        for count in [0, 56, 1_400, 4_000] {
            ping(&world.host, address, &bytes(count));
        }
        let to = SocketAddr::new(address.parse().expect("an address"), 9);
        let refused = world.host.enter(|| TcpStream::connect_timeout(&to, LONG).unwrap_err());
        assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused, "{address}: {refused}");
        let refused = world.host.enter(|| {
            let any = if to.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
            let socket = UdpSocket::bind(any).expect("a socket");
            socket.set_read_timeout(Some(LONG)).expect("a timeout");
            socket.connect(to).expect("to connect");
            socket.send(b"anybody?").expect("to send");
            socket.recv(&mut [0; 16]).unwrap_err()
        });
        assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused, "{address}: {refused}");
    }
    let counted = host.end();
    assert_eq!(counted["delivered"]["echo"], 8, "{counted}");
    assert_eq!(counted["dropped"]["udp_port"], 2, "{counted}");
}

#[test]
fn ten_megabytes_come_back_as_they_were() {
    let world = World::new();
    let host = Host::start(&world, &["--serve", "echo:7"]);
    let data = bytes(10_000_000);
    for address in [V4, V6] {
        let stream = host.connect(address, 7);
        thread::scope(|scope| {
            scope.spawn(|| {
                (&stream).write_all(&data).expect("to write");
                stream.shutdown(std::net::Shutdown::Write).expect("to finish");
            });
            let mut back = Vec::new();
            (&stream).read_to_end(&mut back).expect("to read");
            assert!(back == data, "{address}: {} bytes came back", back.len());
        });
        world.host.enter(|| {
            let any = if address == V4 { "0.0.0.0:0" } else { "[::]:0" };
            let socket = UdpSocket::bind(any).expect("a socket");
            socket.set_read_timeout(Some(LONG)).expect("a timeout");
            // One that is sent in fragments, too.
            for count in [0, 1, 1_000, 9_000] {
                let to = SocketAddr::new(address.parse().expect("an address"), 7);
                socket.send_to(&data[..count], to).expect("to send");
                let mut buffer = [0; 10_000];
                let (received, from) = socket.recv_from(&mut buffer).expect("an answer");
                assert_eq!((&buffer[..received], from), (&data[..count], to));
            }
        });
    }
    let counted = host.end();
    let total = &counted["total"];
    assert_eq!((&total["accepted"], &total["closed"]), (&2.into(), &2.into()), "{counted}");
    assert_eq!((&total["bytes_received"], &total["errors"]), (&20_020_002.into(), &0.into()));
    assert_eq!((&total["datagrams_received"], &total["datagrams_sent"]), (&8.into(), &8.into()));
}

/// Runs a client of the load generator to its end, in which nothing may fail.
fn load(world: &World, place: &Place, args: &[&str]) -> Summary {
    let ran = place.run(world.portolan(&[&["load", "client", "--json"], args].concat()));
    assert_eq!(ran.code, Some(0), "{ran}");
    let last = ran.stdout.lines().next_back().unwrap_or_default();
    let summary: Summary =
        serde_json::from_str(last).unwrap_or_else(|error| panic!("{error}: {ran}"));
    assert_eq!(summary.total.errors(), 0, "{ran}");
    summary
}

#[test]
fn both_ends_of_a_load_count_the_same() {
    for queues in ["1", "3"] {
        let world = World::new();
        let serve = ["--serve", "rr:9100", "--serve", "http=64:80", "--queues", queues];
        let host = Host::start(&world, &serve);
        let connections = ["--connections", "32"];
        let rr = ["request", "192.168.200.10:9100", "--count", "4000"];
        let rr = load(&world, &world.host, &[&rr[..], &connections].concat());
        let http = ["http", "http://[fd00:200::10]/5000", "--count", "1000"];
        let http = load(&world, &world.host, &[&http[..], &connections].concat());
        let connect = ["connect", "192.168.200.10:9100", "--count", "500", "--connections", "8"];
        let connect = load(&world, &world.host, &connect);
        let counted = host.end();
        let total = &counted["total"];
        let sum = |of: fn(&Summary) -> u64| [&rr, &http, &connect].into_iter().map(of).sum::<u64>();
        assert_eq!(total["requests"], sum(|one| one.total.requests), "{counted}");
        assert_eq!(total["accepted"], sum(|one| one.total.connected), "{counted}");
        assert_eq!(total["bytes_received"], sum(|one| one.total.bytes_sent), "{counted}");
        assert_eq!(total["bytes_sent"], sum(|one| one.total.bytes_received), "{counted}");
        assert_eq!(counted["threads_cpu_us"].as_array().map(Vec::len), queues.parse().ok());
    }
}

#[test]
fn curl_is_served() {
    let world = World::new();
    let host = Host::start(&world, &["--serve", "http=10:80"]);
    for at in ["192.168.200.10", "[fd00:200::10]"] {
        for (path, wanted) in [("/", "200 10"), ("/5000000", "200 5000000"), ("/x", "404 10")] {
            let mut curl = Command::new(program("curl", "curl"));
            curl.args(["--silent", "--show-error", "--max-time", "30", "--output", "/dev/null"]);
            curl.args(["--write-out", "%{http_code} %{size_download}"]);
            curl.arg(format!("http://{at}{path}"));
            assert_eq!(world.host.succeed(curl).stdout, wanted, "{at}{path}");
        }
    }
    host.end();
}

#[test]
fn it_ends_in_order_and_takes_its_interface_along() {
    let world = World::new();
    let host = Host::start(&world, &["--serve", "echo:7"]);
    let mut stream = host.connect(V4, 7);
    stream.write_all(b"hello").expect("to write");
    let mut back = [0; 5];
    stream.read_exact(&mut back).expect("an answer");
    let status = format!("/proc/{}/status", host.running.pid());
    let status = std::fs::read_to_string(status).expect("a status");
    let capabilities = status.lines().find(|line| line.starts_with("CapEff:"));
    assert_eq!(capabilities, Some("CapEff:\t0000000000000000"), "it keeps no privilege");
    thread::scope(|scope| {
        let end = scope.spawn(|| stream.read(&mut [0; 8]).expect("an orderly end"));
        host.end();
        assert_eq!(end.join().expect("to read"), 0);
    });
    let mut show = Command::new(program("ip", "iproute2"));
    show.args(["link", "show", "ptl0"]);
    world.host.run(show).assert_failed(1, &["does not exist"]);
}

#[test]
fn a_device_that_goes_away_is_an_error() {
    let world = World::new();
    let host = Host::start(&world, &[]);
    ip(&world.host, "link delete ptl0");
    host.running.finish().assert_failed(2, &["ptl0 is gone", "open it anew"]);
}

#[test]
fn it_waits_while_the_interface_is_down() {
    let world = World::new();
    let mut host = Host::start(&world, &["--serve", "echo:7"]);
    let mut stream = host.connect(V4, 7);
    ip(&world.host, "link set ptl0 down");
    // It notices when it has something to say.
    ip(&world.host, "link set ptl0 up");
    stream.write_all(b"hello").expect("to write");
    let mut back = [0; 5];
    stream.read_exact(&mut back).expect("an answer");
    assert_eq!(&back, b"hello");
    host.running.wait_for("an interval", |running| running.stdout().lines().nth(1).map(drop));
    host.end();
}

#[test]
fn a_user_has_the_interface_that_root_made() {
    let world = World::new();
    ip(&world.host, &format!("tuntap add dev ptl0 mode tap user {NOBODY}"));
    ip(&world.host, "link set ptl0 up");
    ip(&world.host, "address add 192.168.200.1/24 dev ptl0");
    // The node of the machine may be root's alone; this is how udev makes it.
    let node = world.file("tun");
    let mut make = Command::new(program("mknod", "coreutils"));
    make.arg("--mode=666").arg(&node).args(["c", "10", "200"]);
    world.host.succeed(make);
    let mut command = Command::new(program("unshare", "util-linux"));
    let as_nobody = format!(
        "mount --bind \"$0\" /dev/net/tun && cd / && \
         exec setpriv --reuid={NOBODY} --regid={NOBODY} --clear-groups \"$@\""
    );
    command.args(["--mount", "sh", "-c", &as_nobody]).arg(node).arg(world.portolan_for_all());
    command.args(["host", "--nic", "tap:ptl0", "--address", "192.168.200.10/24", "--json"]);
    let mut running = Running::start(&world.host, command);
    running.wait_for("the host to answer", |running| {
        running.stdout().contains("\"ready\"").then_some(())
    });
    ping(&world.host, V4, b"are you there?");
    running.signal(Signal::TERM);
    let ended = running.finish();
    assert_eq!(ended.code, Some(0), "{ended}");
    assert!(!ended.stderr.contains("goes when this ends"), "{ended}");
    let mut show = Command::new(program("ip", "iproute2"));
    show.args(["link", "show", "ptl0"]);
    world.host.succeed(show);
}

#[test]
fn addresses_are_used_when_nobody_has_answered_for_them() {
    let world = World::new();
    let host = Host::start(&world, &["--serve", "echo:7", "--detect-duplicates"]);
    // RFC 5227 takes some seconds; until then the kernel finds no way.
    let to = SocketAddr::new(V4.parse().expect("an address"), 7);
    let mut stream =
        wait_for("the address", || world.host.enter(|| TcpStream::connect_timeout(&to, LONG)).ok());
    stream.write_all(b"hello").expect("to write");
    stream.read_exact(&mut [0; 5]).expect("an answer");
    let socket = world.host.enter(|| UdpSocket::bind("0.0.0.0:0").expect("a socket"));
    socket.set_read_timeout(Some(LONG)).expect("a timeout");
    socket.send_to(b"hello", (V4, 7)).expect("to send");
    socket.recv(&mut [0; 5]).expect("an answer");
    host.end();
}

#[test]
fn faults_are_mended_and_frames_written_down() {
    let world = World::new();
    let capture = world.file("host.pcapng");
    let capture = capture.to_str().expect("a path");
    let faults = ["--fault", "loss=1%,reorder=1%,corrupt=0.5%,seed=7", "--pcap", capture];
    let host = Host::start(&world, &[&["--serve", "echo:7"], &faults[..]].concat());
    let data = bytes(1_000_000);
    let stream = host.connect(V4, 7);
    thread::scope(|scope| {
        scope.spawn(|| (&stream).write_all(&data).expect("to write"));
        let mut back = vec![0; data.len()];
        (&stream).read_exact(&mut back).expect("to read");
        assert!(back == data);
    });
    host.end();
    let mut tcpdump = Command::new(program("tcpdump", "tcpdump"));
    tcpdump.args(["-n", "-r", capture, "tcp[tcpflags] & tcp-syn != 0"]);
    let shown = world.host.succeed(tcpdump).stdout;
    assert!(shown.contains("192.168.200.10.7: Flags [S]"), "{shown}");
}

#[test]
fn it_serves_the_far_end_of_a_link() {
    let mut world = World::new();
    let far = world.add_namespace();
    // The kernel has no addresses there any more.
    ip(&far, "address flush dev ptl0");
    let address = format!("{}/24", far.address);
    let args = ["--nic", "packet:ptl0", "--address", &address, "--serve", "rr:9100"];
    let host = Host::with(&world, &far, &args);
    ping(&world.host, &far.address, b"are you there?");
    let target = format!("{}:9100", far.address);
    let args = ["request", &target, "--count", "500", "--connections", "8"];
    let client = load(&world, &world.host, &args);
    let counted = host.end();
    assert_eq!(counted["total"]["requests"], client.total.requests, "{counted}");
}

/// Flags, and what the message has to say.
const BAD_FLAGS: &[(&[&str], &str)] = &[
    (&[], "--nic"),
    (&["--nic", "ptl0", "--address", "192.0.2.1/24"], "write tap:NAME"),
    (&["--nic", "tap:ptl0"], "--address"),
    (&["--nic", "tap:ptl0", "--address", "192.0.2.1"], "192.168.200.10/24"),
    (&["--nic", "tap:ptl0", "--address", "192.0.2.1/33"], "192.168.200.10/24"),
    (&["--nic", "tap:ptl0", "--address", "224.0.0.1/24"], "no address of a host"),
    (
        &["--nic", "tap:ptl0", "--address", "192.0.2.1/24", "--address", "192.0.2.1/24"],
        "given twice",
    ),
    (&["--nic", "tap:a-name-of-16-byt", "--address", "192.0.2.1/24"], "1 to 15 bytes"),
    (&["--nic", "packet:none", "--address", "192.0.2.1/24"], "no such interface"),
    (&["--nic", "packet:lo", "--address", "192.0.2.1/24", "--peer-address", "::1/8"], "for a TAP"),
];

/// The same, after a device and an address.
const BAD_EXTRAS: &[(&[&str], &str)] = &[
    (&["--serve", "echo"], "a service"),
    (&["--serve", "ftp:21"], "echo, rr, http or sink"),
    (&["--serve", "echo:0"], "needs a port"),
    (&["--serve", "echo:7", "--serve", "rr:7"], "port 7 is given to two services"),
    (&["--serve", "echo:192.0.2.77:7"], "192.0.2.77 is no address of this host"),
    (&["--gateway", "198.51.100.1"], "on no network of this host"),
    (&["--gateway", "192.0.2.1"], "is an address of this host itself"),
    (&["--gateway", "192.0.2.8", "--gateway", "192.0.2.9"], "two gateways lead to 0.0.0.0/0"),
    (&["--peer-address", "192.0.2.1/24"], "is an address of the host itself"),
    (&["--peer-address", "fd00::1/64"], "on no network of --address"),
    (&["--mtu", "100"], "--mtu"),
    (&["--mtu", "9000"], "which is 1500"),
    (&["--mac", "00:00:00:00:00:00"], "is no hardware address"),
    (&["--mac", "01:00:00:00:00:01"], "of a group"),
    (&["--mac", "1"], "write six bytes"),
    (&["--fault", "loss=2"], "is not a share"),
    (&["--queues", "0"], "--queues"),
    (&["--queues", "2", "--pcap", "/dev/null"], "--pcap writes down one queue"),
    (&["--pcap", "/nowhere/at/all"], "/nowhere/at/all"),
    (&["--congestion", "bbr"], "cubic"),
];

#[test]
fn bad_flags_are_errors_that_say_so() {
    let world = World::new();
    let usual = ["--nic", "tap:ptl0", "--address", "192.0.2.1/24"];
    let extras = BAD_EXTRAS.iter().map(|(flags, text)| ([&usual[..], flags].concat(), *text));
    let flags = BAD_FLAGS.iter().map(|(flags, text)| (flags.to_vec(), *text));
    for (flags, message) in flags.chain(extras) {
        let ran = world.host.run(world.portolan(&[&["host"], &flags[..]].concat()));
        ran.assert_failed(2, &[message]);
        assert_eq!(ran.stdout, "", "{ran}");
    }
}

#[test]
fn what_is_missing_or_taken_is_said() {
    let world = World::new();
    let mut command = Command::new(world.portolan_for_all());
    command.args(["host", "--nic", "tap:ptl0", "--address", "192.0.2.1/24"]);
    command.uid(NOBODY).gid(NOBODY).current_dir("/");
    world.host.run(command).assert_failed(2, &["CAP_NET_ADMIN", "sudo", "ip tuntap add"]);
    let host = Host::start(&world, &[]);
    let args = ["host", "--nic", "tap:ptl0", "--address", "192.0.2.1/24"];
    world.host.run(world.portolan(&args)).assert_failed(2, &["another program has it"]);
    host.end();
}
