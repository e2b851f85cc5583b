//! `portolan sockets` gives the same set of rows as ss(8), column by column, whatever the method.
//!
//! What is compared is in `scene.py`, how it is read in `row.rs`; all that may differ, and why, is
//! in `same.rs`.

#[path = "sockets_same_as_ss/row.rs"]
mod row;
#[path = "sockets_same_as_ss/same.rs"]
mod same;
#[path = "sockets_same_as_ss/scene.rs"]
mod scene;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

use row::{Row, Timer};
use same::Terms;
use scene::Scene;

/// The ways to list sockets, as `--method` takes them.
const METHODS: [&str; 5] = ["auto", "walk", "diag", "iter", "procfs"];

/// The one that does not know interfaces.
const WITHOUT_INTERFACES: &str = "procfs";

/// So long it may take until nothing comes or goes during a comparison. On a machine that does
/// much else one takes seconds, and connections that end by themselves come every twenty seconds.
const QUIET_WITHIN: Duration = Duration::from_secs(180);

/// The states of TCP as a filter names them and as a row shows them.
const TCP_STATES: [(&str, &str); 11] = [
    ("established", "ESTAB"),
    ("syn-sent", "SYN-SENT"),
    ("syn-recv", "SYN-RECV"),
    ("fin-wait-1", "FIN-WAIT-1"),
    ("fin-wait-2", "FIN-WAIT-2"),
    ("time-wait", "TIME-WAIT"),
    ("closed", "UNCONN"),
    ("close-wait", "CLOSE-WAIT"),
    ("last-ack", "LAST-ACK"),
    ("listening", "LISTEN"),
    ("closing", "CLOSING"),
];

/// What ss may be asked for without words. Of -a and -l the last one counts. (In ss of -4 and -6
/// too, which for us are both.)
const FLAGS: [&str; 19] = [
    "-tun", "-tuan", "-tuln", "-tan", "-uan", "-tln", "-uln", "-tuan4", "-tuan6", "-tuln4",
    "-tuln6", "-tun4", "-tun6", "-tuane", "-tuane4", "-tulan", "-tuaneln", "-tulnne6", "-tuannO",
];

/// Groups of states, and several.
const STATES: [&str; 9] = [
    "state all",
    "state connected",
    "state synchronized",
    "state bucket",
    "state big",
    "exclude established",
    "exclude listening exclude closed",
    "state time-wait state syn-recv",
    "state connected exclude time-wait",
];

const FILTERS: [&str; 41] = [
    "sport = :53",
    "sport = :domain",
    "sport = :https",
    "( sport = :ssh or sport = :http )",
    "dport = :6001",
    "dport != :6001",
    "sport lt :1024",
    "sport ge :20000 and sport le :20050",
    "not sport = :80",
    "src 127.0.0.1",
    "src 127.0.0.0/8",
    "dst 198.51.100.2",
    "dst 198.51.100.0/24",
    "dst 198.51.100.2:6000",
    "src 198.51.100.1:8080",
    "src [::1]",
    "src [::1]:22",
    "dst [2001:db8:5::2]",
    "dst [2001:db8:5::/64]",
    "src [fe80::/10]",
    "src [fe80::1]:5434",
    "src 0.0.0.0",
    "src 0.0.0.0/0",
    "src :8081",
    "src any",
    "dst any:6001",
    "dport = :*",
    "src inet:198.51.100.1",
    "src inet:198.51.100.0/24 and sport lt :20020",
    "dst inet:any sport lt :1024",
    "src inet:*:8081",
    "src inet6:*:53",
    "src inet6:[::1]:22",
    "dst inet6:[2001:db8:5::/64] sport gt :1024",
    "src inet6:[::ffff:198.51.100.1]",
    "dst 198.51.100.2 and not ( dport lt :20020 or sport = :8080 )",
    "dev = lo",
    "dev = ptl-tun",
    "dev != ptl-tun sport lt :1024",
    "state listening dev = lo",
    "state connected dst 198.51.100.2 sport gt :20000",
];

/// A question to both programs, and what the columns that ss leaves out have to be.
struct Case {
    flags: String,
    filter: String,
    transport: &'static str,
    state: &'static str,
}

impl Case {
    fn new(flags: &str, filter: &str) -> Self {
        let transport = match (flags.contains('t'), flags.contains('u')) {
            (true, false) => "tcp",
            (false, true) => "udp",
            _ => "",
        };
        let mut named = filter.split("state ").skip(1).map(|rest| rest.split(' ').next());
        let only = if let (Some(only), None) = (named.next(), named.next()) { only } else { None };
        let shown = TCP_STATES.iter().find(|(name, _)| Some(*name) == only);
        let state = shown.map_or("", |(_, shown)| shown);
        Self { flags: flags.to_owned(), filter: filter.to_owned(), transport, state }
    }

    fn args<'a>(&'a self, more: &[&'a str]) -> Vec<&'a str> {
        [&[self.flags.as_str()], more, &self.filter.split(' ').collect::<Vec<_>>()]
            .concat()
            .into_iter()
            .filter(|word| !word.is_empty())
            .collect()
    }

    fn ss(&self, scene: &Scene) -> Vec<Row> {
        let printed = scene.ss(&self.args(&[]));
        same::listed(row::of_ss(&printed, self.transport, self.state))
    }

    /// Our rows: in text and in JSON.
    fn ours(&self, scene: &Scene, method: &str) -> [Vec<Row>; 2] {
        let text = scene.portolan(&self.args(&["-H", "--method", method]));
        let json = scene.portolan(&self.args(&["--json", "--method", method]));
        let mut json = row::of_json(&json);
        for row in &mut json {
            // JSON always has these; they are compared where ss was asked for them.
            if !self.flags.contains('e') {
                (row.uid, row.inode, row.cookie) = (None, None, None);
            }
        }
        [row::of_text(&text), json]
    }
}

/// What both programs say, with nothing that happened meanwhile: ss, ours, and ss again.
fn listings<T>(
    scene: &mut Scene,
    case: &Case,
    mut ours: impl FnMut(&Scene) -> T,
) -> (Vec<Row>, T, Vec<Row>) {
    let deadline = Instant::now() + QUIET_WITHIN;
    loop {
        scene.renew();
        let before = case.ss(scene);
        let ours = ours(scene);
        let after = case.ss(scene);
        let Some(what) = same::what_happened(&before, &after) else {
            return (before, ours, after);
        };
        assert!(Instant::now() < deadline, "no quiet moment in {QUIET_WITHIN:?}: {what}");
    }
}

/// Compares what all methods say, at one time.
fn check(scene: &mut Scene, case: &Case, methods: &[&str]) -> Vec<Row> {
    let devices = scene.devices.clone();
    let (before, ours, after) = listings(scene, case, |scene| -> Vec<[Vec<Row>; 2]> {
        methods.iter().map(|method| case.ours(scene, method)).collect()
    });
    let mut differences = String::new();
    for (method, [text, json]) in methods.iter().zip(ours) {
        let terms = Terms { method, devices: &devices };
        for (format, ours) in [("text", text), ("JSON", json)] {
            if let Err(difference) = same::compare(&before, &ours, &after, terms) {
                differences += &format!("\nby {method}, {format}:\n{difference}");
            }
        }
    }
    assert!(differences.is_empty(), "{}{differences}", case.args(&[]).join(" "));
    before
}

fn every_kind() -> BTreeSet<(&'static str, &'static str)> {
    let tcp = TCP_STATES.iter().map(|&(_, state)| ("tcp", state));
    // TCP has no sockets without a peer that do not listen.
    let tcp = tcp.filter(|&(_, state)| state != "UNCONN");
    tcp.chain([("udp", "ESTAB"), ("udp", "UNCONN")]).collect()
}

#[test]
fn flags_and_states_list_the_same() {
    let mut scene = Scene::new();
    for flags in FLAGS {
        let rows = check(&mut scene, &Case::new(flags, ""), &METHODS);
        assert!(!rows.is_empty(), "{flags}");
        if flags == "-tuan" {
            assert_eq!(same::kinds(&rows), every_kind());
        }
    }
    for (name, shown) in TCP_STATES {
        for flags in ["-tun", "-tune"] {
            let rows = check(&mut scene, &Case::new(flags, &format!("state {name}")), &METHODS);
            let states: BTreeSet<&str> = same::kinds(&rows).iter().map(|&(_, s)| s).collect();
            assert_eq!(states, BTreeSet::from([shown]));
        }
    }
    for states in STATES {
        let rows = check(&mut scene, &Case::new("-tune", states), &METHODS);
        assert!(!rows.is_empty(), "{states}");
    }
}

#[test]
fn filters_list_the_same() {
    let mut scene = Scene::new();
    for filter in FILTERS {
        let case = Case::new("-tuane", filter);
        let asks_for_interface = filter.contains("dev ");
        let mut methods = METHODS.to_vec();
        methods.retain(|&method| !(asks_for_interface && method == WITHOUT_INTERFACES));
        let rows = check(&mut scene, &case, &methods);
        assert!(!rows.is_empty(), "{filter}");
        // Who does not know interfaces must not say that there are none.
        if asks_for_interface {
            let method = WITHOUT_INTERFACES;
            let (listed, code, error) =
                scene.try_portolan(&case.args(&["--json", "--method", method]));
            assert!(code != Some(0) && listed.is_empty(), "{filter} by {method}: {listed}");
            assert!(error.contains("dev"), "{filter} by {method}: {error}");
        }
    }
}

#[test]
fn every_column_is_the_same() {
    let mut scene = Scene::new();
    for method in METHODS {
        for flags in ["-tuanpe", "-tuanpeo", "-tuanpeo4", "-tuanpeo6"] {
            let rows = check(&mut scene, &Case::new(flags, ""), &[method]);
            if flags == "-tuanpeo" {
                assert_eq!(same::kinds(&rows), every_kind());
                has_what_is_rare(&rows);
            }
        }
    }
    // ss cuts names; ours have to be whole.
    for method in METHODS {
        let rows = row::of_json(&scene.portolan(&["-tlp", "--json", "--method", method]));
        let named = rows.iter().filter(|row| scene.names.contains_key(&row.local.port));
        let named: BTreeMap<u16, String> = named
            .map(|row| (row.local.port, row.holders.iter().map(|one| &*one.name).collect()))
            .collect();
        assert_eq!(named, scene.names);
    }
}

/// What the comparison is worth nothing without.
fn has_what_is_rare(rows: &[Row]) {
    let has = |what: &str, is: &dyn Fn(&Row) -> bool| assert!(rows.iter().any(is), "no {what}");
    has("wildcard of both versions", &|row| row.local.ip == "*");
    has("wildcard of IPv6 only", &|row| row.local.ip == "::");
    has("wildcard of IPv4", &|row| row.local.ip == "0.0.0.0");
    has("IPv4-mapped address", &|row| row.local.ip.starts_with("::ffff:"));
    has("link-local address", &|row| row.local.ip.starts_with("fe80:"));
    has("interface of IPv4", &|row| row.local.device.is_some() && row.local.ip.contains('.'));
    has("connection that waits", &|row| row.state == "LISTEN" && row.receive_queue > 0);
    has("data received by TCP", &|row| row.state == "ESTAB" && row.receive_queue == 300);
    has("data sent by TCP", &|row| row.state == "ESTAB" && row.send_queue == 2000);
    for transport in ["udp", "tcp"] {
        has("data received", &|row| row.transport == transport && row.receive_queue > 0);
        has("data sent", &|row| row.transport == transport && row.send_queue > 0);
    }
    has("socket of several processes", &|row| row.holders.len() > 2);
    has("connection without a process", &|row| row.state == "ESTAB" && row.holders.is_empty());
    for user in [1000, 4242, 65534, 4_000_000_000] {
        has("socket of a user", &|row| row.uid == Some(user));
    }
    let timers: BTreeSet<&str> =
        rows.iter().filter_map(|row| row.timer.as_ref()).map(|timer| &*timer.name).collect();
    assert_eq!(timers, BTreeSet::from(["on", "keepalive", "timewait", "persist"]));
}

#[test]
fn a_heading_is_one_line_more() {
    let scene = Scene::new();
    let with = scene.portolan(&["-tlpe"]);
    let without = scene.portolan(&["-tlpeH"]);
    let (heading, rows) = with.split_once('\n').expect("a heading");
    assert!(heading.starts_with("Netid State "), "{heading}");
    assert_eq!(rows, without);
}

type Tamper = fn(&mut Row);

/// The comparison itself: no column of no row may change unseen.
#[test]
fn what_is_not_the_same_is_seen() {
    let mut scene = Scene::new();
    let devices = scene.devices.clone();
    let case = Case::new("-tuanpeo", "");
    let (before, [text, json], after) =
        listings(&mut scene, &case, |scene| case.ours(scene, "auto"));
    let terms = Terms { method: "auto", devices: &devices };
    let differs = |ours: &[Row]| same::compare(&before, ours, &after, terms).is_err();
    let tampered: [(&str, Tamper); 15] = [
        ("transport", |row| row.transport.push('6')),
        ("state", |row| row.state.push('2')),
        ("receive queue", |row| row.receive_queue += 1),
        ("send queue", |row| row.send_queue += 1),
        ("address", |row| row.local.ip.push('1')),
        ("port", |row| row.local.port += 1),
        ("peer's address", |row| row.peer.ip.push('1')),
        ("peer's port", |row| row.peer.port += 1),
        ("versions", |row| match &*row.local.ip {
            "*" => row.local.ip = "::".to_owned(),
            "::" => row.local.ip = "*".to_owned(),
            _ => row.local.ip.push('1'),
        }),
        ("interface", |row| row.local.device = Some("7".to_owned())),
        ("index", |row| row.index = Some(7)),
        ("peer's interface", |row| row.peer.device = Some("lo".to_owned())),
        ("user", |row| row.uid = row.uid.map(|uid| uid + 1)),
        ("process", |row| match row.holders.pop() {
            Some(holder) => row.holders.push(row::Holder { pid: holder.pid + 1, ..holder }),
            None => row.holders.push(row::Holder { name: "no".to_owned(), pid: 1 }),
        }),
        ("timer", |row| match &mut row.timer {
            Some(timer) => timer.name.push('2'),
            none => *none = Some(Timer { name: "on".into(), left_ms: (1, 1), retransmits: 0 }),
        }),
    ];
    for ours in [text, json] {
        assert!(!differs(&ours), "as it was");
        assert!(differs(&ours[1..]), "a row is missing");
        assert!(differs(&[&ours[..], &ours[..1]].concat()), "a row is doubled");
        for at in 0..ours.len() {
            for (what, tamper) in &tampered {
                let mut ours = ours.clone();
                tamper(&mut ours[at]);
                assert!(differs(&ours), "{what} of {:?}", ours[at]);
            }
        }
        // Of the timers, that of TIME-WAIT is never set anew.
        let is_steady = |row: &Row| row.state == "TIME-WAIT";
        let at = ours.iter().position(is_steady).expect("a TIME-WAIT");
        let tampered: [fn(&mut Timer); 3] = [
            |timer| timer.retransmits += 1,
            |timer| timer.left_ms.0 += 100_000,
            |timer| timer.left_ms.0 = 0,
        ];
        for tamper in tampered {
            let mut ours = ours.clone();
            ours[at].timer.iter_mut().for_each(tamper);
            assert!(differs(&ours), "timer of {:?}", ours[at]);
        }
    }
}
