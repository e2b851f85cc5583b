//! What `portolan probe` refuses to do, and how it says so; pipes that close, disks that are full.

use std::{fs, io::pipe, process::Command};

use portolan_e2e::{
    Ran, Running, World, portolan,
    probe::{self, listeners, summary, verdicts},
    program,
};

fn command(world: &World, args: &[&str]) -> Command {
    let mut command = world.portolan(&[&["probe"], args].concat());
    command.env_remove("XDG_CONFIG_HOME");
    command
}

fn run(world: &World, args: &str) -> Ran {
    world.host.run(command(world, &args.split(' ').collect::<Vec<_>>()))
}

/// Arguments, and what the message has to say.
const BAD: &[(&[&str], &[&str])] = &[
    (&[], &["required", "<TARGET>"]),
    (&[""], &["host is missing"]),
    (&["127.0.0.1/33"], &["127.0.0.1/33", "from 0 to 32"]),
    (&["::1/129"], &["::1/129", "from 0 to 128"]),
    (&["127.0.0.256"], &["127.0.0.256", "0 to 255"]),
    (&["127.0.0.9-1"], &["127.0.0.9-1"]),
    (&["127.0.0.1:0"], &["127.0.0.1:0", "port 0"]),
    (&["127.0.0.1:65536"], &["65536", "1 to 65535"]),
    (&["127.0.0.1:nothing-like-it"], &["nothing-like-it", "write its number"]),
    (&["http://127.0.0.1/x"], &["URL", "127.0.0.1:80"]),
    (&["[::1"], &["bracket"]),
    (&["127.0.0.1%lo"], &["127.0.0.1%lo"]),
    (&["no-such-host.invalid"], &["cannot resolve no-such-host.invalid"]),
    (&["127.0.0.1", "80"], &["\"80\"", "separate targets by blanks"]),
    (&["127.0.0.1", "-p", "0"], &["port 0", "begin at 1"]),
    (&["127.0.0.1", "-p", "65536"], &["65536", "1 to 65535"]),
    (&["127.0.0.1", "-p", "90-80"], &["80-90"]),
    (&["127.0.0.1", "-p", ""], &["missing"]),
    (&["127.0.0.1", "-p", "80,,81"], &["missing"]),
    (&["127.0.0.1", "-p", "U:53"], &["only TCP"]),
    (&["127.0.0.1", "-p", "nothing-like-it"], &["nothing-like-it", "write its number"]),
    (&["127.0.0.1", "-p", "80", "--top", "5"], &["cannot be used with"]),
    (&["127.0.0.1", "--top", "0"], &["from 1 to"]),
    (&["127.0.0.1", "--top", "65535"], &["from 1 to"]),
    (&["-i", "/nonexistent"], &["cannot read targets from /nonexistent", "No such file"]),
    (&["-i", "/dev/null"], &["name no targets", "one to a line"]),
    (&["-i", "/"], &["cannot read targets from /", "directory"]),
    (&["127.0.0.1", "--exclude", "127.0.0.1"], &["nothing is left", "--exclude"]),
    (&["127.0.0.1", "--exclude", "127.0.0.1:80"], &["127.0.0.1:80", "without :80"]),
    (&["127.0.0.1", "--exclude", "x/y"], &["x/y"]),
    (&["127.0.0.1", "--exclude-file", "/nonexistent"], &["/nonexistent", "No such file"]),
    (&["127.0.0.1", "-4", "-6"], &["cannot be used with"]),
    (&["127.0.0.1", "--method", "magic"], &["auto, connect, linger, quiet, syn"]),
    (&["127.0.0.1", "--rate", "0"], &["--rate", "0.01 to 100000000"]),
    (&["127.0.0.1", "--rate", "-5"], &["--rate", "0.01 to 100000000"]),
    (&["127.0.0.1", "--rate", "nan"], &["--rate", "0.01 to 100000000"]),
    (&["127.0.0.1", "--rate", "fast"], &["--rate", "not a number"]),
    (&["127.0.0.1", "--max-rate", "-1"], &["--max-rate", "0.01 to 100000000"]),
    (&["127.0.0.1", "--rate", "5", "--max-rate", "5"], &["cannot be used with"]),
    (&["127.0.0.1", "--timeout", "0s"], &["--timeout", "1ms to 1h"]),
    (&["127.0.0.1", "--timeout", "0"], &["--timeout", "1ms to 1h"]),
    (&["127.0.0.1", "--timeout", "5"], &["--timeout", "5sec"]),
    (&["127.0.0.1", "--timeout", "2h"], &["--timeout", "1ms to 1h"]),
    (&["127.0.0.1", "--retries", "12"], &["--retries", "0..=11"]),
    (&["127.0.0.1", "--seed", "1", "--shard", "3/2"], &["3/2", "counting from 1"]),
    (&["127.0.0.1", "--seed", "1", "--shard", "0/2"], &["0/2", "counting from 1"]),
    (&["127.0.0.1", "--shard", "1/2"], &["--seed"]),
    (&["127.0.0.1:80", "--count", "0"], &["--count"]),
    (&["127.0.0.1:80", "--count", "2", "--wait"], &["cannot be used with"]),
    (&["127.0.0.1:80", "--count", "2", "--rate", "5"], &["cannot be used with"]),
    (&["127.0.0.1:80", "--count", "2", "-oX", "/dev/null"], &["cannot be used with"]),
    (&["127.0.0.1:80", "--wait=soon"], &["--wait"]),
    (&["127.0.0.1:80", "--wait", "--resume", "x"], &["cannot be used with"]),
    (&["127.0.0.1", "--open", "--every"], &["cannot be used with"]),
    (&["127.0.0.1:80", "-oX", "/nonexistent/x"], &["cannot write /nonexistent/x"]),
    (&["127.0.0.1:80", "-oX"], &["--xml"]),
    (&["2001:db8::/32", "-p", "-"], &["checks, more than", "smaller networks"]),
    (&["::/0", "-p", "80"], &["checks, more than", "smaller networks"]),
];

#[test]
fn bad_input_is_an_error_that_says_what_to_do() {
    let world = World::new();
    for (args, parts) in BAD {
        let ran = world.host.run(command(&world, args));
        ran.assert_failed(2, parts);
        assert_eq!(ran.stdout, "", "{ran}");
    }
}

#[test]
fn bad_lines_of_files_are_named() {
    let world = World::new();
    let list = world.file("list");
    let path = list.to_str().unwrap_or_default();
    for (text, parts) in [
        ("127.0.0.1\n# fine\n127.0.0.2 127.0.0.0/99\n", &["line 3", "127.0.0.0/99"][..]),
        ("127.0.0.1:99999", &["line 1", "99999"]),
        ("\0\0\0", &["line 1"]),
        ("# nothing\n\n", &["name no targets"]),
    ] {
        fs::write(&list, text).expect("a list");
        run(&world, &format!("-i {path}")).assert_failed(2, parts);
    }
    fs::write(&list, b"\xff\xfe1\x002\x00").expect("a list");
    run(&world, &format!("-i {path}")).assert_failed(2, &[path, "UTF-8"]);
    fs::write(&list, "127.0.0.1:80").expect("a list");
    let ran = run(&world, &format!("127.0.0.0/30 --exclude-file {path}"));
    ran.assert_failed(2, &[path, "127.0.0.1:80", "no port"]);
}

#[test]
fn networks_of_others_are_not_swept() {
    let world = World::new();
    probe::silence(&world);
    // A way to them, which ends in this world.
    for network in ["8.8.8.0/24", "192.0.2.0/24"] {
        probe::ip(&world.host, &format!("route add {network} dev quiet0"));
    }
    let sweeps = [
        "8.8.8.0/24 -p 80",
        "8.8.8.8 -p 1-65",
        "8.8.8.8",
        "10.0.0.0/24 8.8.8.0/24:80 127.0.0.1 -p 80",
        // A few ports elsewhere, and many there: the mean hides nothing.
        "10.203.0.0/16:80 8.8.8.8 -p 1-1000",
        "8.8.8.0/24 -p 80 --wait=1s",
        "192.0.2.1 -p 1-65 --method quiet",
    ];
    for sweep in sweeps {
        let ran = run(&world, &format!("{sweep} --json"));
        let parts = ["is outside private networks", "attack", "--i-own-these-networks"];
        ran.assert_failed(2, &parts);
        ran.assert_failed(2, &[".config/portolan/own-networks", "/etc/portolan/own-networks"]);
        assert_eq!(ran.stdout, "", "{ran}");
    }
    assert_eq!(probe::frames_into_silence(&world), 0, "nothing was sent");
    // With the owner's consent.
    let fast = "--timeout 100ms --retries 0 --json";
    let ran = run(&world, &format!("8.8.8.0/24 -p 80 --i-own-these-networks {fast}"));
    assert_eq!((ran.code, summary(&ran)["filtered"].as_u64()), (Some(1), Some(256)), "{ran}");
    assert!(probe::frames_into_silence(&world) >= 256);
}

#[test]
fn a_few_questions_elsewhere_are_no_sweep() {
    let world = World::new();
    let _open = listeners(&world.host, &["127.0.0.1:80"]);
    for (args, checks) in [
        ("8.8.8.8:53 -p 80", 1),
        ("8.8.8.8 -p 1-64", 64),
        ("8.8.8.0/26 -p 80", 64),
        ("8.8.8.8:53 127.0.0.0/24 -p 80,81", 513),
        ("10.203.0.0/24 fd00::/120 169.254.0.0/24 -p 80", 768),
        ("8.8.8.0/24 -p 80 --exclude 8.8.8.64-255", 64),
    ] {
        let ran = run(&world, &format!("{args} --json"));
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(1), ""), "{ran}");
        assert_eq!(summary(&ran)["checks"], checks, "{ran}");
        for (target, verdict) in verdicts(&ran.stdout) {
            let is_local = target.starts_with("127.");
            assert!(is_local || verdict == "unreachable no-route", "{target}: {verdict}");
        }
    }
}

#[test]
fn own_networks_are_named_in_a_file() {
    let world = World::new();
    let folder = world.folder("config");
    fs::create_dir(folder.join("portolan")).expect("a folder");
    let list = folder.join("portolan/own-networks");
    let sweep = |args: &[&str]| {
        let mut command = command(&world, args);
        command.env("XDG_CONFIG_HOME", &folder);
        world.host.run(command)
    };
    let args = ["8.8.8.0/24", "-p", "80", "--json"];
    sweep(&args).assert_failed(2, &[list.to_str().unwrap_or_default()]);
    fs::write(&list, "# ours\n8.8.8.0/25\n8.8.8.128-255 # the rest\n").expect("a list");
    let ran = sweep(&args);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(1), ""), "{ran}");
    let found = verdicts(&ran.stdout);
    assert_eq!(found.len(), 256, "{ran}");
    assert!(found.values().all(|verdict| verdict == "unreachable no-route"), "{ran}");
    // Only what it names.
    sweep(&["8.8.9.0/24", "-p", "80"]).assert_failed(2, &["8.8.9.0/24 is outside"]);
    for (text, parts) in [
        ("8.8.8.0/24\nours.example\n", ["line 2", "write a network"]),
        ("8.8.8.8:80\n", ["line 1", "write a network"]),
        ("8.8.8.0/99\n", ["line 1", "from 0 to 32"]),
    ] {
        fs::write(&list, text).expect("a list");
        let ran = sweep(&args);
        ran.assert_failed(2, &parts);
        ran.assert_failed(2, &[list.to_str().unwrap_or_default()]);
    }
}

#[test]
fn whoever_stops_reading_is_no_error() {
    let world = World::new();
    let _open = listeners(&world.host, &["127.0.0.1:80"]);
    for args in [
        "127.0.0.1:80",
        "127.0.0.0/22 -p 80 --every",
        "127.0.0.0/20 -p 80 --json",
        "127.0.0.1:80 -oX -",
        "127.0.0.1:80 -oG -",
        "127.0.0.1:80 --wait=20s --json",
        "127.0.0.1:80 --count 10",
    ] {
        // Nobody reads from the start: the first byte already fails.
        let (reader, writer) = pipe().expect("a pipe");
        drop(reader);
        let args: Vec<&str> = args.split(' ').collect();
        let ran = Running::start_into(&world.host, command(&world, &args), writer).finish();
        assert_eq!((ran.code, ran.signal, ran.stderr.as_str()), (Some(0), None, ""), "{ran}");
    }
    let mut shell = Command::new(program("bash", "bash"));
    shell.args(["-c", "\"$0\" probe 127.0.0.0/20 -p 80 --json | head -1"]).arg(portolan());
    world.at_home(&mut shell);
    let ran = world.host.succeed(shell);
    assert_eq!((ran.stdout.lines().count(), ran.stderr.as_str()), (1, ""), "{ran}");
}

#[test]
fn a_full_disk_is_an_error() {
    let world = World::new();
    let _open = listeners(&world.host, &["127.0.0.1:80"]);
    for args in [
        "127.0.0.1:80",
        "127.0.0.1:80 --json",
        "127.0.0.0/22 -p 80 --every",
        "127.0.0.0/20 -p 80 --json",
        "127.0.0.1:80 -oX -",
        "127.0.0.1:80 -oG -",
        "127.0.0.1:80 --wait=20s",
        "127.0.0.1:80 --count 10 --json",
    ] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").expect("/dev/full");
        let args: Vec<&str> = args.split(' ').collect();
        let ran = Running::start_into(&world.host, command(&world, &args), full).finish();
        ran.assert_failed(2, &["cannot write what was found", "No space left"]);
    }
    let ran = run(&world, "127.0.0.1:80 -oX /dev/full");
    ran.assert_failed(2, &["cannot write what was found", "No space left"]);
}
