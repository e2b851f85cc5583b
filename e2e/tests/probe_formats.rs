//! The formats of nmap, as other programs read them.

use std::{fs, path::Path, process::Command};

use portolan_e2e::{
    Ran, World,
    probe::{self, findings, listeners},
    program,
};
use serde_json::Value;

/// Reads XML as consumers do: its hosts as JSON, and what the file says of itself.
const READ_XML: &str = "
import json, sys, xml.etree.ElementTree as ET
root = ET.parse(sys.argv[1]).getroot()
assert root.tag == 'nmaprun', root.tag
hosts = []
for host in root.iter('host'):
    ports = {port.get('portid'): [port.find('state').get('state'), port.find('state').get('reason')]
             for port in host.iter('port')}
    extra = {extra.get('state'): int(extra.get('count')) for extra in host.iter('extraports')}
    hosts.append({'address': host.find('address').get('addr'),
                  'type': host.find('address').get('addrtype'),
                  'status': host.find('status').get('state'), 'ports': ports, 'extra': extra,
                  'names': [name.get('name') for name in host.iter('hostname')]})
end = root.find('runstats')
print(json.dumps({'hosts': hosts, 'args': root.get('args'),
                  'info': dict(root.find('scaninfo').attrib),
                  'end': dict(end.find('finished').attrib),
                  'counts': dict(end.find('hosts').attrib)}))
";

/// Reads the grepable format as scripts do.
const READ_GREPABLE: &str = r"
import json, re, sys
hosts = {}
for line in open(sys.argv[1], newline='\n'):
    if line.startswith('#'):
        continue
    match = re.match(r'^Host: (\S+) \(([^)]*)\)\t(Ports|Status): ([^\t]*)', line.rstrip('\n'))
    assert match, line
    host = hosts.setdefault(match[1], {'name': match[2]})
    if match[3] == 'Status':
        host['status'] = match[4]
    else:
        host['ports'] = {port.split('/')[0]: port.split('/')[1] for port in match[4].split(', ')}
print(json.dumps(hosts))
";

fn run(world: &World, args: &str) -> Ran {
    let args: Vec<&str> = args.split(' ').collect();
    world.host.run(world.portolan(&[&["probe"], &args[..]].concat()))
}

fn read(world: &World, script: &str, file: &Path) -> Value {
    let mut python = Command::new(program("python3", "python3"));
    python.args(["-c", script]).arg(file);
    let ran = world.host.succeed(python);
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran}"))
}

/// A world of open, closed, silent and unreachable targets, and what asks for them.
fn world() -> (World, String) {
    let world = World::new();
    probe::silence(&world);
    let targets = "127.0.0.1 [::1]:80 10.200.0.9 10.203.0.9 -p 80-82 --timeout 300ms";
    (world, targets.to_owned())
}

#[test]
fn readers_of_nmap_read_the_xml() {
    let (world, targets) = world();
    let _open = listeners(&world.host, &["127.0.0.1:80", "127.0.0.1:82", "[::1]:80"]);
    let file = world.file("found.xml");
    let ran = run(&world, &format!("{targets} -oX {}", file.display()));
    assert_eq!(ran.code, Some(1), "{ran}");
    // The table is there as well.
    assert!(ran.stdout.contains("127.0.0.1:82 ") && ran.stderr.contains("10 checks in"), "{ran}");
    let xml = read(&world, READ_XML, &file);
    let hosts = xml["hosts"].as_array().expect("hosts");
    let host = |address: &str| {
        let found = hosts.iter().find(|host| host["address"] == address);
        found.unwrap_or_else(|| panic!("no {address} in {xml}"))
    };
    assert_eq!(hosts.len(), 4, "{xml}");
    let local = host("127.0.0.1");
    assert_eq!((&local["status"], &local["type"]), (&"up".into(), &"ipv4".into()), "{xml}");
    let (open, closed) = (["open", "syn-ack"], ["closed", "reset"]);
    assert_eq!(local["ports"], serde_json::json!({"80": open, "81": closed, "82": open}), "{xml}");
    assert_eq!(host("::1")["ports"], serde_json::json!({"80": open}), "{xml}");
    assert_eq!(host("::1")["type"], "ipv6", "{xml}");
    assert_eq!(host("10.200.0.9")["ports"]["80"][1], "no-response", "{xml}");
    assert_eq!(host("10.203.0.9")["ports"]["80"][1], "net-unreach", "{xml}");
    assert_eq!(host("10.203.0.9")["status"], "down", "{xml}");
    let info = &xml["info"];
    assert_eq!((&info["services"], &info["type"]), (&"80-82".into(), &"syn".into()), "{xml}");
    assert_eq!((&xml["end"]["exit"], &xml["counts"]["up"]), (&"success".into(), &"2".into()));
    assert!(xml["args"].as_str().is_some_and(|args| args.contains("probe 127.0.0.1 ")), "{xml}");
}

#[test]
fn only_ports_that_were_asked_are_services() {
    let world = World::new();
    let file = world.file("found.xml");
    run(&world, &format!("127.0.0.1:81 [::1]:http -oX {}", file.display()));
    assert_eq!(read(&world, READ_XML, &file)["info"]["services"], "80-81");
    run(&world, &format!("127.0.0.1:81 ::1 -p 443 -oX {}", file.display()));
    assert_eq!(read(&world, READ_XML, &file)["info"]["services"], "81,443");
}

#[test]
fn scripts_read_the_grepable_format() {
    let (world, targets) = world();
    let _open = listeners(&world.host, &["127.0.0.1:80", "127.0.0.1:82", "[::1]:80"]);
    let file = world.file("found.gnmap");
    let ran = run(&world, &format!("{targets} --json -oG {}", file.display()));
    assert_eq!((ran.code, findings(&ran.stdout).len()), (Some(1), 10), "{ran}");
    let hosts = read(&world, READ_GREPABLE, &file);
    let local = &hosts["127.0.0.1"];
    assert_eq!(local["ports"], serde_json::json!({"80": "open", "81": "closed", "82": "open"}));
    assert_eq!(hosts["::1"]["ports"]["80"], "open", "{hosts}");
    assert_eq!(hosts["10.200.0.9"]["status"], "Down", "{hosts}");
    assert_eq!(hosts["10.200.0.9"]["ports"]["81"], "filtered", "{hosts}");
    let text = fs::read_to_string(&file).expect("the file");
    let (first, last) = (text.lines().next(), text.lines().last());
    assert!(first.is_some_and(|line| line.starts_with("# portolan ")), "{text}");
    assert!(last.is_some_and(|line| line.contains("4 IP addresses (2 hosts up)")), "{text}");
}

#[test]
fn several_formats_at_once_say_the_same() {
    let world = World::new();
    let _open = listeners(&world.host, &["127.0.0.1:80", "127.0.1.7:81"]);
    let (xml, grepable) = (world.file("found.xml"), world.file("found.gnmap"));
    let files = format!("-oX {} -oG {}", xml.display(), grepable.display());
    let ran = run(&world, &format!("127.0.0.0/22 -p 80,81 --open --json {files}"));
    assert_eq!((ran.code, findings(&ran.stdout).len()), (Some(1), 2), "{ran}");
    let hosts = read(&world, READ_GREPABLE, &grepable);
    let expected = [("127.0.0.1", "80"), ("127.0.1.7", "81")];
    assert_eq!(hosts.as_object().map(serde_json::Map::len), Some(2), "{hosts}");
    let from_xml = read(&world, READ_XML, &xml);
    for (at, (address, port)) in expected.into_iter().enumerate() {
        assert_eq!(hosts[address]["ports"], serde_json::json!({port: "open"}), "{hosts}");
        let host = &from_xml["hosts"][at];
        assert_eq!(host["address"], address, "{from_xml}");
        assert_eq!(host["ports"], serde_json::json!({port: ["open", "syn-ack"]}), "{from_xml}");
    }
    // One host, all of its ports: those that are closed are summed up.
    let ran = run(&world, &format!("127.0.0.1 -p 1-1000 {files}"));
    assert_eq!(ran.code, Some(1), "{ran}");
    let from_xml = read(&world, READ_XML, &xml);
    assert_eq!(from_xml["hosts"][0]["extra"], serde_json::json!({"closed": 999}), "{from_xml}");
    let text = fs::read_to_string(&grepable).expect("the file");
    assert!(text.contains("\tIgnored State: closed (999)\n"), "{text}");
}

#[test]
fn one_format_goes_to_standard_output() {
    let world = World::new();
    let _open = listeners(&world.host, &["127.0.0.1:80"]);
    for (flag, script) in [("-oX", READ_XML), ("-oG", READ_GREPABLE)] {
        let ran = run(&world, &format!("127.0.0.1:80 {flag} -"));
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran}");
        let file = world.file("copy");
        fs::write(&file, &ran.stdout).expect("a copy");
        assert!(read(&world, script, &file).to_string().contains("127.0.0.1"), "{ran}");
    }
    for both in ["-oX - -oG -", "-oX - --json", "--json -oG -"] {
        let ran = run(&world, &format!("127.0.0.1:80 {both}"));
        ran.assert_failed(2, &["only one format", "standard output", "name files"]);
        assert_eq!(ran.stdout, "", "{ran}");
    }
}

#[test]
fn what_comes_from_outside_stays_text() {
    let world = World::new();
    let _open = listeners(&world.host, &["127.0.0.1:80"]);
    let list = world.file("a\u{1b}[2J\n<host>&\"'\u{7}");
    fs::write(&list, "localhost:80\n").expect("a list");
    for (flag, script) in [("--xml", READ_XML), ("--grepable", READ_GREPABLE)] {
        let file = world.file("found");
        let mut command = world.portolan(&["probe", "-4", "-i"]);
        command.arg(&list).arg(flag).arg(&file);
        let ran = world.host.run(command);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran}");
        assert!(ran.stdout.contains("localhost:80 (127.0.0.1)  open"), "{ran}");
        let text = fs::read_to_string(&file).expect("the file");
        let is_raw = |c: char| c.is_control() && c != '\n' && c != '\t';
        assert!(!text.contains(is_raw), "{text:?}");
        let found = read(&world, script, &file).to_string();
        assert!(found.contains("localhost"), "{found}");
    }
    // Nor in messages.
    let mut command = world.portolan(&["probe", "-i"]);
    command.arg(world.file("no\u{1b}[2Jsuch"));
    let ran = world.host.run(command);
    ran.assert_failed(2, &["cannot read targets"]);
    assert!(!ran.stderr.contains('\u{1b}'), "{:?}", ran.stderr);
    for target in ["a\u{1b}[2Jb:80", "127.0.0.1:\u{1b}[2J"] {
        let ran = world.host.run(world.portolan(&["probe", target]));
        ran.assert_failed(2, &["target"]);
        assert!(!ran.stderr.contains('\u{1b}'), "{:?}", ran.stderr);
    }
}
