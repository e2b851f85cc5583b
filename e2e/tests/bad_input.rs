//! Flags, addresses and outputs that cannot be right, and pipes that close.

use std::{
    io::pipe,
    process::{Command, Stdio},
};

use portolan_e2e::{Running, World, peers, portolan, program};

/// Flags of `map`, and what the message has to say.
const BAD_FLAGS: &[(&[&str], &str)] = &[
    (&["--interval", "0s"], "the shortest interval is 100ms"),
    (&["--interval", "99ms"], "the shortest interval is 100ms"),
    (&["--interval", "fast"], "--interval"),
    (&["--interval", "-1s"], "unexpected argument '-1'"),
    (&["--since", "yesterday"], "--since"),
    (&["--since", "99999999999999999999d"], "--since"),
    (&["--keep", ""], "--keep"),
    (&["--depth", "2"], "--depth needs --dependents SERVICE or --dependencies SERVICE"),
    (&["--dependents", "x", "--depth", "0"], "--depth"),
    (&["--dependents", "x", "--depth", "many"], "--depth"),
    (&["--dependents", "x", "--dependencies", "y"], "cannot be used with"),
    (&["--dependents"], "--dependents"),
    (&["--dot", "--mermaid"], "cannot be used with"),
    (&["--json", "--dot"], "cannot be used with"),
    (&["--store", "x", "--no-store"], "cannot be used with"),
    (&["--listing", "magic"], "possible values: auto, walk, diag, iter, procfs"),
    (&["--method", "magic"], "possible values: auto, trace, snapshot"),
    (&["--no-such-flag"], "--no-such-flag"),
    (&["one-word-too-many"], "one-word-too-many"),
    (&["--listen", "7117"], "--listen 7117 is not ADDRESS:PORT"),
    (&["--listen", "127.0.0.1:99999"], "--listen 127.0.0.1:99999 is not ADDRESS:PORT"),
    (&["--listen", ""], "ADDRESS:PORT"),
    (&["--listen", "0.0.0.0:7117"], "no password"),
    (&["--listen", "0.0.0.0:7117"], "ssh -L"),
    (&["--listen", "[::]:7117"], "not a loopback address"),
    (&["--listen", "192.0.2.1:7117"], "not a loopback address"),
    (&["--metrics", "9464"], "--metrics 9464 is not ADDRESS:PORT"),
    (&["--metrics", "0.0.0.0:9464"], "only loopback may read it"),
    (&["--metrics", "127.0.0.2:6379"], "another program uses the port"),
    (&["--once", "--metrics", "127.0.0.1:0"], "this is one reading"),
    (&["--otlp", "https://127.0.0.1:4318"], "no TLS"),
    (&["--metrics-labels", "unit"], "--metrics <ADDRESS:PORT>|--otlp <URL>"),
    // Wherever the address came from, the port is not one that may be had.
    (&["--listen", "127.0.0.2:6379"], "127.0.0.2:6379"),
];

#[test]
fn bad_flags_are_errors_that_say_so() {
    let world = World::new();
    let _redis = peers::redis(&world, &world.host, "127.0.0.2");
    for (flags, message) in BAD_FLAGS {
        let no_store: &[&str] = if flags.contains(&"--store") { &[] } else { &["--no-store"] };
        let ran = world.host.run(world.portolan(&[&["map"], no_store, flags].concat()));
        ran.assert_failed(2, &[message]);
        assert_eq!(ran.stdout, "", "{ran}");
    }
    for arguments in [&[][..], &["chart"], &["map", "--once", "map"]] {
        let ran = world.host.run(world.portolan(arguments));
        ran.assert_failed(2, &["Usage"]);
        assert_eq!(ran.stdout, "", "{ran}");
    }
}

#[test]
fn a_port_in_use_is_an_error_with_advice() {
    let world = World::new();
    let _redis = peers::redis(&world, &world.host, "127.0.0.1");
    let listen = ["map", "--no-store", "--listen", "127.0.0.1:6379"];
    let ran = world.host.run(world.portolan(&listen));
    let advice = ["cannot serve the page on 127.0.0.1:6379", "--listen 127.0.0.1:0", "--no-page"];
    ran.assert_failed(2, &advice);
    assert_eq!(ran.stdout, "", "{ran}");
}

#[test]
fn without_a_home_the_place_of_the_history_is_asked_for() {
    let world = World::new();
    let mut homeless = world.portolan(&["map", "--once"]);
    homeless.env_remove("HOME");
    world.host.run(homeless).assert_failed(2, &["HOME is not set", "--store FILE", "--no-store"]);
    let mut relative = world.portolan(&["map", "--once"]);
    relative.env_remove("HOME").env("XDG_STATE_HOME", "state").current_dir(world.folder("x"));
    world.host.run(relative).assert_failed(2, &["HOME is not set"]);
}

#[test]
fn whoever_stops_reading_is_no_error() {
    let world = World::new();
    let _redis = peers::redis(&world, &world.host, "127.0.0.1");
    let _client = peers::redis_cli(&world.host, "127.0.0.1");
    let commands: [&[&str]; 6] = [
        &["map", "--once", "--no-store", "--json"],
        &["map", "--once", "--no-store"],
        &["map", "--once", "--no-store", "--dot"],
        &["map", "--no-store", "--mermaid"],
        &["map", "--no-store", "--dependents", "redis-server"],
        &["doctor"],
    ];
    for command in commands {
        // Nobody reads from the start: the first byte already fails.
        let (reader, writer) = pipe().expect("a pipe");
        drop(reader);
        let ran = Running::start_into(&world.host, world.portolan(command), writer).finish();
        assert_eq!((ran.code, ran.signal), (Some(0), None), "{ran}");
        assert_quiet(&ran.stderr);
    }
}

#[test]
fn head_gets_its_byte() {
    let world = World::new();
    let _redis = peers::redis(&world, &world.host, "127.0.0.1");
    let _client = peers::redis_cli(&world.host, "127.0.0.1");
    let mut shell = Command::new(program("bash", "bash"));
    let script = "\"$1\" map --once --json --no-store | head -c 1; exit ${PIPESTATUS[0]}";
    shell.args(["-c", script, "bash"]).arg(portolan());
    world.at_home(&mut shell);
    let ran = world.host.succeed(shell);
    assert_eq!(ran.stdout, "{", "{ran}");
    assert_quiet(&ran.stderr);
}

#[test]
fn a_live_map_ends_with_its_reader() {
    let world = World::new();
    let _redis = peers::redis(&world, &world.host, "127.0.0.1");
    let (reader, writer) = pipe().expect("a pipe");
    let arguments = ["map", "--no-page", "--no-store", "--json", "--interval", "100ms"];
    let map = Running::start_into(&world.host, world.portolan(&arguments), writer);
    drop(reader);
    // What is new has to be printed, and nobody is there to read it.
    let _client = peers::redis_cli(&world.host, "127.0.0.1");
    let ended = map.finish();
    assert_eq!((ended.code, ended.signal), (Some(0), None), "{ended}");
    assert_quiet(&ended.stderr);
}

#[test]
fn a_full_disk_is_an_error() {
    let world = World::new();
    let _redis = peers::redis(&world, &world.host, "127.0.0.1");
    let _client = peers::redis_cli(&world.host, "127.0.0.1");
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("/dev/full");
    let command = world.portolan(&["map", "--once", "--json", "--no-store"]);
    let ran = Running::start_into(&world.host, command, full).finish();
    ran.assert_failed(2, &["No space left"]);
}

#[test]
fn an_error_that_cannot_be_told_keeps_its_exit_code() {
    let world = World::new();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("/dev/full");
    let mut command = world.portolan(&["map", "--once", "--dependents", "nobody", "--no-store"]);
    command.stdout(Stdio::null()).stderr(full);
    let ended = world.host.spawn(&mut command).wait().expect("to wait for it");
    assert_eq!(ended.code(), Some(1), "{ended}");
}

/// No word about the pipe; a note on what cannot be seen is in order.
fn assert_quiet(stderr: &str) {
    for noise in ["panicked", "ipe", "os error"] {
        assert!(!stderr.contains(noise), "{noise}: {stderr}");
    }
}
