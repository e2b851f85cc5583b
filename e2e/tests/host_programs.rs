//! Everyday programs as clients of `portolan host`, over a TAP and over a veth pair.

use std::{
    fs::{self, File},
    process::Command,
};

use portolan_e2e::{
    Random,
    hosted::Hosted,
    link::{Link, Offload, Wire},
    program,
};

const BOTH: [(Wire, bool); 2] = [(Wire::Tap, false), (Wire::Veth, true)];

fn host(wire: Wire, flags: &[&str]) -> Hosted {
    Hosted::start(Link::new(wire, 1_500, Offload::On), flags)
}

fn command(name: &str, package: &str, args: &[&str]) -> Command {
    let mut command = Command::new(program(name, package));
    command.args(args).env("LC_ALL", "C");
    command
}

fn random_file(path: &std::path::Path, bytes: usize) -> Vec<u8> {
    let mut random = Random::new(5);
    let content: Vec<u8> = (0..bytes).map(|_| random.below(256) as u8).collect();
    fs::write(path, &content).expect("a file");
    content
}

#[test]
fn netcat_gets_back_what_it_sends() {
    for (wire, v6) in BOTH {
        let host = host(wire, &["--serve", "echo:7"]);
        let (from, to) = (host.link.world.file("from"), host.link.world.file("to"));
        let content = random_file(&from, 12_000_000);
        let at = host.at(v6, 7);
        // -N: it finishes where its input ends.
        let (address, port) = (at.ip().to_string(), at.port().to_string());
        let netcat = command("nc.openbsd", "netcat-openbsd", &["-N", "-w", "45", &address, &port]);
        host.filter(netcat, File::open(&from).expect("input"), File::create(&to).expect("output"));
        assert!(fs::read(&to).expect("output") == content, "{wire:?}: other bytes came back");
        let left = host.end(0);
        assert_eq!(left.summary["total"]["bytes_received"], 12_000_000, "{wire:?}");
    }
}

#[test]
fn curl_downloads_and_uploads() {
    for (wire, v6) in BOTH {
        let host = host(wire, &["--serve", "http=10:80"]);
        let file = host.link.world.file("upload");
        random_file(&file, 3_000_000);
        let url = format!("http://{}/5000000", host.at(v6, 80));
        let usual = ["--silent", "--show-error", "--max-time", "45", "--noproxy", "*"];
        let told = ["--output", "/dev/null", "--write-out", "%{http_code} %{size_download}"];
        // Several downloads on one connection, and an upload.
        let download = [&usual[..], &told, &[&url], &told[..2], &[&url]].concat();
        let ran = host.succeed(command("curl", "curl", &download));
        assert_eq!(ran.stdout, "200 5000000200 5000000", "{ran}");
        let path = file.to_str().expect("a path");
        let upload = [&usual[..], &told, &["--upload-file", path, &url]].concat();
        let ran = host.succeed(command("curl", "curl", &upload));
        assert!(ran.stdout.starts_with("200 "), "{ran}");
        let left = host.end(0);
        assert_eq!(left.summary["total"]["requests"], 3, "{}", left.summary);
    }
}

#[test]
fn wrk_finds_no_error() {
    for (wire, v6) in BOTH {
        let host = host(wire, &["--serve", "http=64:80"]);
        let url = format!("http://{}/", host.at(v6, 80));
        let args = ["-t", "1", "-c", "64", "-d", "3s", "--timeout", "30s", &url];
        let ran = host.succeed(command("wrk", "wrk", &args));
        assert!(!ran.stdout.contains("Socket errors"), "{ran}");
        assert!(!ran.stdout.contains("Non-2xx"), "{ran}");
        // It breaks off what is under way at its end: RST is what the kernel sends then.
        let left = host.end_with_any_resets();
        let total = &left.summary["total"];
        assert!(total["requests"].as_u64() > Some(100), "{}", left.summary);
        // And one to try whether there is anybody.
        assert_eq!(total["accepted"], 65, "{}", left.summary);
        assert_eq!(left.tcp("resets_sent"), 0, "{}", left.summary);
    }
}

#[test]
fn ping_is_answered_in_fragments_too() {
    for (wire, v6) in BOTH {
        let host = host(wire, &[]);
        let at = host.at(v6, 0).ip().to_string();
        for bytes in ["56", "1472", "1473", "20000", "65000"] {
            let args = ["-n", "-q", "-c", "5", "-i", "0.01", "-W", "30", "-s", bytes, &at];
            let ran = host.succeed(command("ping", "iputils-ping", &args));
            assert!(ran.stdout.contains("5 received"), "{wire:?} {ran}");
        }
        let left = host.end(0);
        assert_eq!(left.summary["delivered"]["echo"], 25, "{}", left.summary);
        assert!(left.seen.fragments > 500, "{:?}", left.seen);
    }
}

#[test]
fn traceroute_arrives() {
    for (wire, v6) in BOTH {
        let host = host(wire, &["--serve", "http:80"]);
        let at = host.at(v6, 0).ip().to_string();
        // By UDP to closed ports, by ping, and by SYN.
        for how in [&["-q", "1"][..], &["-I", "-q", "1"], &["-T", "-p", "80", "-q", "1"]] {
            let args = [how, &["-n", "-w", "20", "-m", "3", "-N", "1", &at]].concat();
            let ran = host.succeed(command("traceroute", "traceroute", &args));
            let hop = ran.stdout.lines().nth(1).unwrap_or_default();
            assert!(hop.trim_start().starts_with(&format!("1  {at} ")), "{ran}");
        }
        // The kernel resets what traceroute has opened behind its back.
        let left = host.end_with_any_resets();
        assert_eq!(left.tcp("resets_sent"), 0, "{}", left.summary);
    }
}

#[test]
fn a_closed_port_refuses_at_once() {
    for (wire, v6) in BOTH {
        let host = host(wire, &[]);
        let at = host.at(v6, 9).ip().to_string();
        let netcat = command("nc.openbsd", "netcat-openbsd", &["-v", "-w", "45", &at, "9"]);
        host.link.peer.run(netcat).assert_failed(1, &["Connection refused"]);
        let left = host.end(1);
        assert_eq!(left.tcp("resets_sent"), 1, "{}", left.summary);
    }
}
