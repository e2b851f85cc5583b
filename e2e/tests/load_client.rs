//! `portolan load client`: what it says is what happened, and what goes wrong is counted.

use std::{
    fs,
    io::{Read, Write},
    net::{SocketAddr, TcpListener},
    process::Command,
    thread,
    time::{Duration, Instant},
};

use portolan_e2e::{PATIENCE, Place, Ran, Running, World, peers, portolan, wait_for};
use portolan_load::{Client, ClientOptions, Interval, Mode, Summary, TargetCounts};
use rustix::process::Signal;

const ADDRESS: &str = "127.0.0.1:7000";

fn command(args: &str) -> Command {
    let mut command = Command::new(portolan());
    command.args(args.split(' '));
    command
}

fn server(place: &Place, args: &str) -> Running {
    let mut server = Running::start(place, command(&format!("load server {args} --json")));
    server.wait_for("it listens", |server| server.stdout().contains("\"ready\"").then_some(()));
    server
}

/// The intervals and the summary.
fn read(ran: &Ran) -> (Vec<Interval>, Summary) {
    let mut lines: Vec<&str> = ran.stdout.lines().collect();
    let last = lines.pop().unwrap_or_else(|| panic!("{ran}"));
    let intervals = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    (intervals, serde_json::from_str(last).unwrap_or_else(|error| panic!("{error}: {ran}")))
}

fn client(place: &Place, args: &str) -> (Ran, Vec<Interval>, Summary) {
    let ran = place.run(command(&format!("load client {args} --json")));
    let (intervals, summary) = read(&ran);
    let mut sum = TargetCounts::default();
    for interval in &intervals {
        sum += interval.total;
    }
    assert_eq!(sum, summary.total, "intervals add up to the whole");
    let started: u64 = intervals.iter().map(|interval| interval.started).sum();
    assert_eq!(started, summary.started);
    (ran, intervals, summary)
}

/// A server that is stopped for a while makes every request late that was meant to begin then, also
/// those for which there was no connection: a client that waits with them would see a few.
#[test]
fn a_stall_is_counted_for_every_request_that_was_meant_to_begin_in_it() {
    let world = World::new();
    let server = server(&world.host, &format!("--listen {ADDRESS} --threads 1"));
    let rate = 2_000.0;
    let options = ClientOptions {
        mode: Mode::Request,
        targets: vec![ADDRESS.parse().unwrap()],
        rate: Some(rate),
        connections: 8,
        duration: Some(Duration::from_secs(2)),
        ..ClientOptions::default()
    };
    let (measured, summary, stall) = world.host.enter(|| {
        let client = Client::start(&options).unwrap();
        let waiter = thread::spawn(|| client.wait_with(|_, _| {}).unwrap());
        thread::sleep(Duration::from_millis(500));
        server.signal(Signal::STOP);
        let stopped = Instant::now();
        thread::sleep(Duration::from_millis(200));
        server.signal(Signal::CONT);
        let stall = stopped.elapsed();
        let (summary, measured) = waiter.join().unwrap();
        (measured, summary, stall)
    });
    assert_eq!((summary.total.errors(), summary.completed), (0, summary.started));
    // Of the requests that were meant to begin in the stall, those before its last 50 ms.
    let long = Duration::from_millis(50);
    let late = measured.request.longer_than(long);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let expected = (rate * (stall - long).as_secs_f64()) as u64;
    assert!(
        late >= expected * 8 / 10,
        "{late} late, {expected} expected in {stall:?}: {summary:?}"
    );
    assert!(summary.request_ns.p999 >= 100_000_000, "{summary:?}");
    // What only the time from sending on shows: one for each connection.
    let sent_before = measured.service.longer_than(long);
    assert!(sent_before < late / 2, "{sent_before} of {late}");
}

#[test]
fn every_view_is_of_the_same_intervals() {
    let world = World::new();
    let _server = server(&world.host, &format!("--listen {ADDRESS}"));
    let [csv, hdr, report] = ["load.csv", "load.hlog", "load.html"].map(|name| world.file(name));
    let files =
        format!("--csv {} --hdr {} --report {}", csv.display(), hdr.display(), report.display());
    let args = format!(
        "request {ADDRESS} --rate 2000 --ramp 200ms --warm-up 300ms --duration 800ms \
         --interval 200ms --connections 8 --depth 2 --threads 2 {files}"
    );
    let (ran, intervals, summary) = client(&world.host, &args.replace("  ", " "));
    let planned = 2_000 * 7 / 10;
    assert_eq!(summary.planned, Some(planned), "{ran}");
    assert!(summary.started > planned / 2, "{ran}");
    assert_eq!(summary.total.connected, 8);
    assert!(summary.peak_kib > 500 && summary.cpu_us > 0, "{ran}");
    let warm_up = intervals.iter().filter(|interval| interval.is_warm_up).count();
    assert_eq!((warm_up, intervals[2].begin_seconds), (2, 0.3), "{ran}");
    let measured = intervals.iter().filter(|interval| !interval.is_warm_up);
    let count: u64 = measured.map(|interval| interval.request_ns.count).sum();
    assert_eq!(count, summary.request_ns.count, "the warm-up is left out");
    assert!(count < summary.completed);

    let rows = fs::read_to_string(csv).unwrap();
    assert_eq!(rows.lines().count(), intervals.len() + 1);
    let log = fs::read_to_string(hdr).unwrap();
    let with_requests = intervals.iter().filter(|interval| interval.request_ns.count > 0).count();
    let lines = log.lines().filter(|line| line.starts_with("Tag=request,")).count();
    assert_eq!(lines, with_requests);
    assert!(fs::read_to_string(report).unwrap().contains("warm-up is over"));
}

#[test]
fn connections_are_held_by_several_processes_and_prove_to_be_alive() {
    let world = World::new();
    let server = server(&world.host, "--listen 127.0.0.1:7000-7001");
    let args = "hold 127.0.0.1:7000-7001 --connections 600 --duration 300ms --verify-every 100ms \
                --interval 100ms --processes 3 --source 127.0.1.0/30";
    let (ran, intervals, summary) = client(&world.host, args);
    assert_eq!(ran.code, Some(0), "{ran}");
    assert_eq!((summary.held, summary.verified, summary.processes), (600, 600, 3), "{ran}");
    assert_eq!((summary.total.connected, summary.total.closed), (600, 600));
    assert!(summary.total.responses >= 1_200, "also in between: {ran}");
    assert!(intervals.iter().any(|interval| interval.open == 600), "{ran}");
    let ports = summary.source_ports.unwrap();
    assert_eq!(ports.conflicts, 0, "processes do not meet: {ports:?}");
    drop(server);
}

/// What a process may not have in descriptors, further ones have: without being told.
#[test]
fn few_descriptors_are_no_limit() {
    let world = World::new();
    let _server = server(&world.host, &format!("--listen {ADDRESS}"));
    let mut limited = Command::new("prlimit");
    limited.args(["--nofile=164:164"]).arg(portolan());
    limited.args(format!("load client hold {ADDRESS} -c 250 -d 10ms --json").split(' '));
    let ran = world.host.run(limited);
    let (_, summary) = read(&ran);
    assert_eq!((summary.processes, summary.verified), (3, 250), "{ran}");
}

#[test]
fn further_processes_end_with_the_first() {
    let world = World::new();
    let _server = server(&world.host, &format!("--listen {ADDRESS}"));
    let args = format!("load client hold {ADDRESS} -c 30 -d 10m --processes 2 --json");
    let mut parent = Running::start(&world.host, command(&args));
    let all_open = |parent: &Running| parent.stdout().contains("\"open\":30").then_some(());
    parent.wait_for("all are open", all_open);
    let path = format!("/proc/{0}/task/{0}/children", parent.pid());
    let children = fs::read_to_string(path).unwrap();
    let children: Vec<&str> = children.split_whitespace().collect();
    assert_eq!(children.len(), 2);
    parent.signal(Signal::KILL);
    for child in children {
        wait_for(format_args!("the end of {child}"), || {
            let stat = fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
            let state = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
            (state.is_empty() || state.starts_with(['Z', 'X'])).then_some(())
        });
    }
}

#[test]
fn what_http_servers_answer_is_verified() {
    let world = World::new();
    let locations = "listen 127.0.0.1:80; location = /ok { return 200 hello; } \
                     location = /no { return 404 no; } keepalive_requests 10";
    let _nginx = peers::nginx_on(&world, &world.host, locations);
    let url = "http://127.0.0.1";
    for more in ["", " --no-keepalive", " --depth 2", " --method HEAD"] {
        let args = format!("http {url}/ok {url}:80/ok --count 400 -c 8 --expect-bytes 5{more}");
        let (ran, _, summary) = client(&world.host, &args);
        let total = summary.total;
        // With several under way, those after the tenth of a connection are not answered.
        let dropped = total.request_errors.closed_early;
        assert_eq!(total.errors(), dropped, "{ran}");
        assert_eq!(total.responses + dropped, 400, "{ran}");
        assert!(dropped == 0 || more == " --depth 2", "{ran}");
        let least = if more == " --no-keepalive" { 400 } else { 40 };
        assert!(total.connected >= least, "{ran}");
        assert_eq!((total.lost, total.connected), (0, total.closed), "{ran}");
    }
    let (ran, _, summary) =
        client(&world.host, &format!("http {url}/ok {url}/no --count 100 -c 4"));
    assert_eq!((ran.code, summary.total.request_errors.status), (Some(1), 50), "{ran}");
    let counts = |nth: usize| summary.targets[nth].counts;
    assert_eq!((counts(0).responses, counts(1).request_errors.status), (50, 50), "{ran}");
    let (ran, _, summary) =
        client(&world.host, &format!("http {url}/ok --count 10 -c 1 --expect-bytes 6"));
    assert_eq!((ran.code, summary.total.request_errors.length), (Some(1), 10), "{ran}");
}

/// A server that does the same with every connection.
fn wrong(place: &Place, what: fn(std::net::TcpStream)) -> SocketAddr {
    let listener = place.enter(|| TcpListener::bind("127.0.0.1:0").unwrap());
    let address = listener.local_addr().unwrap();
    // It ends with the test's process.
    thread::spawn(move || listener.incoming().flatten().for_each(what));
    address
}

#[test]
fn what_goes_wrong_is_counted_by_kind_and_ends_in_time() {
    let world = World::new();
    let host = &world.host;
    let half = wrong(host, |mut stream| {
        let _ = stream.read(&mut [0; 512]);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nhalf");
    });
    let garbage = wrong(host, |mut stream| {
        let _ = stream.read(&mut [0; 512]);
        let _ = stream.write_all(b"SSH-2.0-what\r\n");
        thread::sleep(Duration::from_millis(20));
    });
    let silent = wrong(host, std::mem::forget);
    let begin = Instant::now();
    let run = |args: String| {
        let (ran, _, summary) = client(host, &args);
        assert_eq!(ran.code, Some(1), "{ran}");
        let kinds = summary.total.connect_errors.by_kind().into_iter();
        let kinds = kinds.chain(summary.total.request_errors.by_kind());
        kinds.filter(|(_, count)| *count > 0).collect::<Vec<_>>()
    };
    let some = "--count 20 -c 4 --timeout 200ms";
    assert_eq!(run(format!("request 127.0.0.1:1 {some}")), [("refused", 24)]);
    let kinds = run(format!("http http://{half}/ {some}"));
    assert_eq!(kinds.iter().map(|(_, count)| count).sum::<u64>(), 20, "{kinds:?}");
    assert!(kinds.iter().all(|(kind, _)| ["closed_early", "reset"].contains(kind)), "{kinds:?}");
    assert_eq!(run(format!("http http://{garbage}/ {some}")), [("malformed", 20)]);
    assert_eq!(run(format!("connect {silent} {some}")), [("timed_out", 20)]);
    let ports = "hold 127.0.0.1:7009 -c 10 -d 10ms --source-ports 40000-40003 --threads 1";
    let _server = server(host, "--listen 127.0.0.1:7009");
    assert_eq!(run(format!("{ports} --ports explicit")), [("no_source_port", 6)]);
    assert!(begin.elapsed() < PATIENCE, "{:?}", begin.elapsed());
}

#[test]
fn what_cannot_be_begun_says_why() {
    let world = World::new();
    let run = |args: &str| world.host.run(command(&format!("load client {args}")));
    run("request no-such-host.invalid:80").assert_failed(2, &["cannot resolve"]);
    run("http https://127.0.0.1/").assert_failed(2, &["https is not spoken"]);
    run("http 127.0.0.1:80").assert_failed(2, &["URLs"]);
    run("hold 127.0.0.1:80 --depth 2").assert_failed(2, &["persistent"]);
    run("request 127.0.0.1:80 --warm-up 20s").assert_failed(2, &["warm-up"]);
    run("request 127.0.0.1:80 --csv /nowhere/x").assert_failed(2, &["cannot make /nowhere/x"]);
    // A worker without a connection would wait for one for ever.
    run("request 127.0.0.1:80 -c 2 --processes 4 --count 9").assert_failed(2, &["a connection"]);
    run("hold 127.0.0.1:80 -c 2 -d 500000000000years").assert_failed(2, &["a year"]);
    let mut limited = Command::new("prlimit");
    limited.args(["--nofile=65:65"]).arg(portolan());
    limited.args("load client hold 127.0.0.1:80 -c 2000".split(' '));
    world.host.run(limited).assert_failed(2, &["2000 processes", "ulimit -n"]);
}

/// What one view cannot be written to keeps from no other, and says so; a reader that has seen
/// enough is no error.
#[test]
fn a_full_disk_and_a_closed_pipe_cost_only_what_goes_there() {
    let world = World::new();
    let _server = server(&world.host, &format!("--listen {ADDRESS}"));
    let [csv, report] = ["load.csv", "load.html"].map(|name| world.file(name));
    let load = format!(
        "{} load client request {ADDRESS} --count 100 --json --csv {} --report {}",
        portolan().display(),
        csv.display(),
        report.display()
    );
    for (whole, code) in [("exec 1>/dev/full; {}", 2), ("{} | true; exit ${PIPESTATUS[0]}", 0)] {
        let _ = fs::remove_file(&report);
        let mut shell = Command::new("bash");
        shell.args(["-c", &whole.replace("{}", &load)]);
        let ran = world.host.run(shell);
        assert_eq!(ran.code, Some(code), "{ran}");
        assert!(fs::read_to_string(&csv).unwrap().lines().count() >= 2, "{whole}: {ran}");
        assert!(fs::read_to_string(&report).unwrap().contains("</html>"), "{whole}: {ran}");
    }
}

/// `timeout` signals the program, and then its group, in which the program is: that is one wish.
#[test]
fn two_signals_at_once_are_one() {
    let world = World::new();
    let _server = server(&world.host, &format!("--listen {ADDRESS}"));
    let args = format!("load client request {ADDRESS} -c 4 -d 10m --interval 100ms --json");
    let mut client = Running::start(&world.host, command(&args));
    client.wait_for("an interval", |client| client.stdout().contains("\"nth\":1").then_some(()));
    client.signal(Signal::TERM);
    thread::sleep(Duration::from_millis(1));
    client.signal(Signal::INT);
    let ran = client.finish();
    assert!(read(&ran).1.is_interrupted, "{ran}");
    assert_eq!(ran.code, Some(0), "{ran}");
}

#[test]
fn a_signal_ends_all_processes_in_order() {
    let world = World::new();
    let _server = server(&world.host, &format!("--listen {ADDRESS}"));
    for processes in [1, 2] {
        let args = format!(
            "load client request {ADDRESS} --rate 500 -c 4 -d 10m --interval 100ms --json \
             --processes {processes}"
        );
        let mut client = Running::start(&world.host, command(&args));
        client
            .wait_for("an interval", |client| client.stdout().contains("\"nth\":2").then_some(()));
        client.signal(Signal::TERM);
        let ran = client.finish();
        let (intervals, summary) = read(&ran);
        assert!(summary.is_interrupted && summary.total.errors() == 0, "{ran}");
        assert_eq!(summary.started, summary.total.responses, "{ran}");
        assert!(intervals.len() >= 3 && summary.planned == Some(300_000), "{ran}");
    }
}
