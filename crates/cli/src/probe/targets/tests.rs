use std::io::Write;

use clap::Parser;

use super::*;

#[derive(Debug, Parser)]
struct Line {
    #[command(flatten)]
    probe: ProbeArgs,
}

/// What is asked about; nothing here has a name that needs the network.
fn read(words: &str) -> anyhow::Result<Targets> {
    let words = std::iter::once("probe").chain(words.split_whitespace());
    Targets::read(&Line::parse_from(words).probe)
}

fn error(words: &str) -> String {
    format!("{:#}", read(words).unwrap_err())
}

fn all(targets: &Targets) -> Vec<String> {
    let space = &targets.space;
    (0..space.len()).map(|index| space.get(index).unwrap().to_string()).collect()
}

#[test]
fn nothing_is_asked_twice() {
    let targets = read("10.0.0.1 10.0.0.0/31 10.0.0.1:80 10.0.0.1:81 -p 80").unwrap();
    let mut found = all(&targets);
    found.sort();
    assert_eq!(found, ["10.0.0.0:80", "10.0.0.1:80", "10.0.0.1:81"]);
    assert_eq!(targets.written, ["10.0.0.1", "10.0.0.0/31", "10.0.0.1:80", "10.0.0.1:81"]);
}

#[test]
fn a_hundred_ports_unless_others_are_named() {
    assert_eq!(read("10.0.0.1").unwrap().space.len(), 100);
    assert_eq!(read("10.0.0.1 --top 7").unwrap().space.len(), 7);
    assert_eq!(read("10.0.0.1 -p -").unwrap().space.len(), 65_535);
    assert_eq!(all(&read("10.0.0.1 -p ssh,postgresql").unwrap()), ["10.0.0.1:22", "10.0.0.1:5432"]);
    assert_eq!(all(&read("10.0.0.1:ssh").unwrap()), ["10.0.0.1:22"]);
}

#[test]
fn ports_that_nobody_is_asked_for_are_not_told() {
    let asked = |words| read(words).unwrap().asked_ports();
    assert_eq!(asked("10.0.0.1:81 [::1]:80 10.0.0.9:81"), [80, 81]);
    assert_eq!(asked("10.0.0.1:81 10.0.0.2 -p 443,22"), [22, 81, 443]);
    assert_eq!(asked("10.0.0.2 -p 443,22"), [22, 443]);
}

#[test]
fn outside_counts_checks_and_not_addresses() {
    let ours = Ranges::collect([AddressRange::network("10.0.0.0".parse().unwrap(), 8).unwrap()]);
    let ours = ours.unwrap();
    let outside = |words| read(words).unwrap().outside(&ours).unwrap().len();
    assert_eq!(outside("10.0.0.0/16 -p 1-100"), 0);
    assert_eq!(outside("10.0.0.0/16:80 192.0.2.1 -p 1-100"), 100);
    assert_eq!(outside("10.0.0.0/16 192.0.2.1:80 -p 1-100"), 1);
    assert_eq!(outside("192.0.2.0/24 -p 80 --exclude 192.0.2.1-255"), 1);
}

#[test]
fn files_are_read_after_the_arguments() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    writeln!(file, "10.0.0.2:80 # second\n\n10.0.0.3:80").unwrap();
    let path = file.path().display();
    let targets = read(&format!("-i {path} 10.0.0.1:80")).unwrap();
    assert_eq!(targets.written, ["10.0.0.1:80", "10.0.0.2:80", "10.0.0.3:80"]);
    let targets = read(&format!("10.0.0.0/29:80 --exclude-file {path}"));
    assert_eq!(
        targets.unwrap_err().to_string(),
        format!("{path}: 10.0.0.2:80: what is left out has no port")
    );
}

#[test]
fn what_is_excluded_is_left_out_of_everything() {
    let targets = read("10.0.0.0/30 10.0.0.1:81 -p 80 --exclude 10.0.0.1 --exclude 10.0.0.3");
    assert_eq!(all(&targets.unwrap()), ["10.0.0.0:80", "10.0.0.2:80"]);
    assert!(error("10.0.0.1 --exclude 10.0.0.0/8").contains("nothing is left"));
}

#[test]
fn a_zone_is_a_number_or_an_interface_of_this_host() {
    assert_eq!(all(&read("[fe80::1%7]:80").unwrap()), ["[fe80::1%7]:80"]);
    // Loopback is the first in every network namespace.
    assert_eq!(all(&read("[fe80::1%lo]:80").unwrap()), ["[fe80::1%1]:80"]);
    let message = error("[fe80::1%nothing0]:80");
    assert!(message.contains("there is no interface nothing0: ip link"), "{message}");
}

#[test]
fn etc_services_has_names_and_aliases() {
    let text = "\
# comment
http\t\t80/tcp\t\twww # WorldWideWeb
domain 53/udp
domain\t53/tcp
broken
worse 99999/tcp
#gone 1/tcp
";
    let find = |name| in_etc_services(text, name);
    assert_eq!((find("http"), find("www"), find("domain")), (Some(80), Some(80), Some(53)));
    for name in ["WorldWideWeb", "broken", "worse", "#gone", "gone", "80/tcp", ""] {
        assert_eq!(find(name), None, "{name}");
    }
}
