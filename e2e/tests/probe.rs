//! `portolan probe`: one check or a few, by every method, with and without privileges.

use std::{collections::BTreeMap, fs, os::unix::process::CommandExt, path::Path, process::Command};

use portolan_e2e::{
    NOBODY, Ran, Running, World,
    probe::{self, METHODS, findings, listeners, summary, verdicts},
    wait_for,
};
use rustix::process::Signal;

fn run(world: &World, args: &str) -> Ran {
    let args: Vec<&str> = args.split(' ').collect();
    world.host.run(world.portolan(&[&["probe"], &args[..]].concat()))
}

fn assert_found(ran: &Ran, expected: &[(&str, &str)]) {
    let expected = expected.iter().map(|&(target, verdict)| (target.into(), verdict.into()));
    assert_eq!(verdicts(&ran.stdout), expected.collect::<BTreeMap<String, String>>(), "{ran}");
}

#[test]
fn the_exit_code_tells_whether_it_is_open() {
    let world = World::new();
    probe::silence(&world);
    let _open = listeners(&world.host, &["127.0.0.1:80", "[::1]:80"]);
    let cases = [
        ("127.0.0.1:80", 0, ["open", "syn-ack"]),
        ("[::1]:80", 0, ["open", "syn-ack"]),
        ("127.0.0.1:81", 1, ["closed", "reset"]),
        ("[::1]:81", 1, ["closed", "reset"]),
        ("10.200.0.9:80", 1, ["filtered", "no-answer"]),
        ("10.201.0.9:80", 1, ["unreachable", "host"]),
        ("10.203.0.9:80", 1, ["unreachable", "no-route"]),
    ];
    for (target, code, words) in cases {
        let ran = run(&world, &format!("{target} --timeout 300ms"));
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(code), ""), "{ran}");
        let lines: Vec<&str> = ran.stdout.lines().collect();
        assert!(lines.len() == 2 && lines[0].starts_with("TARGET  "), "{ran}");
        let told: Vec<&str> = lines[1].split_whitespace().take(3).collect();
        assert_eq!(told, [&[target], &words[..]].concat(), "{ran}");

        let ran = run(&world, &format!("{target} --timeout 300ms --json"));
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(code), ""), "{ran}");
        let finding = &findings(&ran.stdout)[0];
        assert_eq!((&finding["state"], &finding["version"]), (&words[0].into(), &1.into()));
        assert_eq!((&finding["method"], &finding["name"]), (&"syn".into(), &().into()), "{ran}");
        let sum = summary(&ran);
        assert_eq!((&sum["checks"], &sum[words[0]]), (&1.into(), &1.into()), "{ran}");
        assert_eq!(sum["complete"], true, "{ran}");
    }
}

#[test]
fn names_services_and_several_targets_in_one_line() {
    let world = World::new();
    let _open = listeners(&world.host, &["127.0.0.1:80", "127.0.0.1:22", "[::1]:5432"]);
    let ran = run(&world, "-4 localhost:80 localhost:http --json");
    assert_eq!(ran.code, Some(0), "{ran}");
    assert_found(&ran, &[("127.0.0.1:80", "open")]);
    assert_eq!(findings(&ran.stdout)[0]["name"], "localhost", "{ran}");
    assert_eq!(findings(&ran.stdout)[0]["service"], "http", "{ran}");

    let ran = run(&world, "127.0.0.1 [::1]:postgresql -p ssh,http --json");
    assert_eq!(ran.code, Some(0), "{ran}");
    let all = ["127.0.0.1:22", "127.0.0.1:80", "[::1]:5432"].map(|target| (target, "open"));
    assert_found(&ran, &all);
    let ran = run(&world, "127.0.0.1 ::1 -p 5432 --json");
    assert_eq!(ran.code, Some(1), "one of them is closed: {ran}");
    assert_found(&ran, &[("127.0.0.1:5432", "closed"), ("[::1]:5432", "open")]);
}

#[test]
fn without_ports_those_that_usually_listen_are_asked() {
    let world = World::new();
    let addresses = ["127.0.0.1:22", "127.0.0.1:443", "127.0.0.1:5432", "127.0.0.1:45678"];
    let _open = listeners(&world.host, &addresses);
    let ran = run(&world, "127.0.0.1 --open --json");
    assert_eq!(ran.code, Some(1), "{ran}");
    let usual = ["127.0.0.1:22", "127.0.0.1:443", "127.0.0.1:5432"].map(|it| (it, "open"));
    assert_found(&ran, &usual);
    assert_eq!(summary(&ran)["checks"], 100, "{ran}");
    let ran = run(&world, "127.0.0.1 --top 7 --json");
    assert_eq!(summary(&ran)["checks"], 7, "{ran}");
    let ran = run(&world, "127.0.0.1 -p - --open --json");
    assert_eq!(summary(&ran)["checks"], 65_535, "{ran}");
    assert_found(&ran, &addresses.map(|it| (it, "open")));
}

#[test]
fn link_local_addresses_have_an_interface() {
    let mut world = World::new();
    let inside = world.add_namespace();
    probe::ip(&world.host, "address add fe80::66/64 dev ptl0 nodad");
    probe::ip(&inside, "address add fe80::77/64 dev ptl0 nodad");
    let _open = listeners(&inside, &["[::]:80"]);
    for method in METHODS {
        for target in ["[fe80::77%ptl0]:80", "fe80::77%ptl0 -p 80"] {
            let ran = run(&world, &format!("{target} --json --timeout 20s --method {method}"));
            assert_eq!(ran.code, Some(0), "{ran}");
            let finding = &findings(&ran.stdout)[0];
            assert!(finding["zone"].as_u64().is_some_and(|zone| zone > 1), "{ran}");
            assert_eq!(finding["address"], "fe80::77", "{ran}");
        }
    }
    run(&world, "fe80::77%nothing0 -p 80").assert_failed(2, &["no interface nothing0", "ip link"]);
}

#[test]
fn every_method_gives_the_same_verdicts() {
    let mut world = World::new();
    probe::silence(&world);
    let inside = world.add_namespace();
    let _open = listeners(&world.host, &["127.0.0.1:80", "[::1]:80"]);
    let _far = listeners(&inside, &["0.0.0.0:80"]);
    let (open, closed) = (format!("{}:80", inside.address), format!("{}:81", inside.address));
    let expected = [
        ("127.0.0.1:80", "open"),
        ("127.0.0.1:81", "closed"),
        ("[::1]:80", "open"),
        ("[::1]:81", "closed"),
        (&open, "open"),
        (&closed, "closed"),
        ("10.200.0.9:80", "filtered"),
        ("10.201.0.9:80", "unreachable host"),
        ("10.202.0.9:80", "unreachable prohibited"),
        ("10.203.0.9:80", "unreachable no-route"),
        ("[2001:db8::1]:80", "unreachable no-route"),
    ];
    let targets = expected.map(|(target, _)| target).join(" ");
    // A link that was just made may take a while to carry something.
    let ran = run(&world, &format!("{open} --wait=20s"));
    assert_eq!(ran.code, Some(0), "{ran}");
    for method in METHODS {
        let ran = run(&world, &format!("{targets} --json --method {method}"));
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(1), ""), "{ran}");
        assert_found(&ran, &expected);
        assert!(findings(&ran.stdout).iter().all(|finding| finding["method"] == method), "{ran}");
    }
}

fn as_nobody(world: &World, binary: &Path, arguments: &str) -> Ran {
    let mut command = Command::new(binary);
    command.arg("probe").args(arguments.split(' ')).uid(NOBODY).gid(NOBODY).current_dir("/");
    world.at_home(&mut command);
    world.host.run(command)
}

#[test]
fn without_privilege_it_asks_quietly_and_says_so_once() {
    let world = World::new();
    let _open = listeners(&world.host, &["127.0.0.1:80"]);
    let binary = world.portolan_for_all();
    for args in ["127.0.0.0/24 -p 80 --json --open", "127.0.0.1:80 --wait=20s --json"] {
        let ran = as_nobody(&world, &binary, args);
        assert_found(&ran, &[("127.0.0.1:80", "open")]);
        assert_eq!(findings(&ran.stdout)[0]["method"], "quiet", "{ran}");
        assert_eq!(ran.stderr.lines().count(), 1, "{ran}");
        for part in ["asking by quiet", "CAP_NET_RAW", "sudo"] {
            assert!(ran.stderr.contains(part), "no {part:?}: {ran}");
        }
    }
    let ran = as_nobody(&world, &binary, "127.0.0.1:80 --count 10 --json");
    assert_eq!((ran.code, ran.stderr.lines().count()), (Some(0), 1), "{ran}");
    for method in ["connect", "linger", "quiet"] {
        let ran = as_nobody(&world, &binary, &format!("127.0.0.1:80 --method {method}"));
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran}");
    }
    let ran = as_nobody(&world, &binary, "127.0.0.1:80 --method syn");
    ran.assert_failed(2, &["CAP_NET_RAW", "sudo", "--method quiet"]);
    assert_eq!(ran.stdout, "", "{ran}");
}

#[test]
fn privileges_are_given_up_before_anybody_is_asked() {
    let world = World::new();
    probe::silence(&world);
    let args = "probe 10.200.1.0/24 -p 80 --method syn --rate 20 --timeout 200ms";
    let args: Vec<&str> = args.split(' ').collect();
    let sweep = Running::start(&world.host, world.portolan(&args));
    wait_for("a question", || (probe::frames_into_silence(&world) > 0).then_some(()));
    let tasks = fs::read_dir(format!("/proc/{}/task", sweep.pid())).expect("threads");
    let tasks: Vec<_> = tasks.flatten().collect();
    assert!(tasks.len() >= 2, "main and signals: {tasks:?}");
    for task in tasks {
        let status = fs::read_to_string(task.path().join("status")).expect("a status");
        for set in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
            let none = format!("{set}:\t0000000000000000");
            assert!(status.lines().any(|line| line == none), "{status}");
        }
    }
    sweep.signal(Signal::INT);
    let ran = sweep.finish();
    assert!(ran.code == Some(1) && ran.stderr.contains("interrupted"), "{ran}");
}

/// The kernel had no room, as when its table of neighbours is full: that is not silence.
#[test]
fn a_question_that_the_kernel_has_no_room_for_is_asked_again() {
    let world = World::new();
    let _open = listeners(&world.host, &["127.0.0.1:80"]);
    let trace = world.file("trace");
    // The first calls are questions about routes, which go by `sendto` too.
    let inject = format!("inject=sendto:error=ENOBUFS:when={}..60", netlink_questions(&world) + 1);
    let ran = world.host.run(traced(&world, &trace, &["-e", &inject]));
    assert!(ran.code == Some(0) && ran.stdout.contains(" open "), "{ran}");
    let trace = fs::read_to_string(trace).expect("a trace");
    let (injected, all) = (trace.matches("INJECTED").count(), trace.matches("sendto(").count());
    assert!(injected > 20 && all > injected, "{trace}");
}

fn netlink_questions(world: &World) -> usize {
    let trace = world.file("before");
    let ran = world.host.run(traced(world, &trace, &[]));
    assert_eq!(ran.code, Some(0), "{ran}");
    let trace = fs::read_to_string(trace).expect("a trace");
    trace.lines().filter(|line| line.contains("nlmsg_type")).count()
}

fn traced(world: &World, trace: &Path, more: &[&str]) -> Command {
    let mut command = Command::new("strace");
    command.args(["-f", "-e", "trace=sendto", "-o"]).arg(trace).args(more);
    let portolan = world.portolan(&["probe", "127.0.0.1:80", "--method", "syn"]);
    command.arg(portolan.get_program()).args(portolan.get_args());
    world.at_home(&mut command);
    command
}
