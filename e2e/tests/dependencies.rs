//! Questions about a chain: curl uses nginx, which uses a server in Perl.

use portolan_e2e::{Ran, Running, World, edges::records, peers, tcp};
use serde_json::Value;

const FRONT: u16 = 8080;
const BACK: u16 = 9000;

/// The client first: it is dropped first.
fn chain(world: &World) -> [Running; 3] {
    // What ended is history at once.
    world.host.no_time_wait();
    let back = peers::endless(&world.host, BACK);
    let front = peers::proxy(world, &world.host, FRONT, &format!("127.0.0.1:{BACK}"));
    let client = peers::curl(&world.host, "127.0.0.1", FRONT);
    tcp::wait_accepted(&world.host, FRONT, 1);
    tcp::wait_accepted(&world.host, BACK, 1);
    [client, front, back]
}

fn map(world: &World, arguments: &[&str]) -> Ran {
    let arguments = [&["map", "--own-namespace"], arguments].concat();
    world.host.run(world.portolan(&arguments))
}

/// Depth, name, port and whether it is there now, of each step.
fn steps(ran: &Ran) -> Vec<(u64, String, u64, bool)> {
    assert_eq!(ran.code, Some(0), "{ran}");
    let step = |step: &Value| {
        (
            step["depth"].as_u64().unwrap_or_default(),
            step["name"].as_str().unwrap_or_default().to_owned(),
            step["server_port"].as_u64().unwrap_or_default(),
            step["live"].as_bool().unwrap_or_default(),
        )
    };
    records(&ran.stdout).iter().map(step).collect()
}

fn step(depth: u64, name: &str, port: u16, live: bool) -> (u64, String, u64, bool) {
    (depth, name.to_owned(), u64::from(port), live)
}

#[test]
fn dependents_and_dependencies_of_a_chain() {
    let world = World::new();
    let _chain = chain(&world);
    let ask = |arguments: &[&str]| map(&world, &[&["--no-store"], arguments].concat());

    let both = [step(1, "nginx", BACK, true), step(2, "curl", FRONT, true)];
    for name in ["perl", ":9000", "127.0.0.1:9000", "PERL"] {
        let ran = ask(&["--dependents", name, "--json"]);
        assert_eq!(steps(&ran), both, "--dependents {name}: {ran}");
    }
    assert_eq!(steps(&ask(&["--dependents", "perl", "--depth", "1", "--json"])), both[..1]);
    assert_eq!(steps(&ask(&["--dependents", "nginx", "--json"])), [step(1, "curl", FRONT, true)]);
    assert_eq!(steps(&ask(&["--dependents", "curl", "--json"])), []);

    let both = [step(1, "nginx", FRONT, true), step(2, "perl", BACK, true)];
    assert_eq!(steps(&ask(&["--dependencies", "curl", "--json"])), both);
    let direct = ask(&["--dependencies", "curl", "--depth", "1", "--json"]);
    assert_eq!(steps(&direct), both[..1]);
    assert_eq!(steps(&ask(&["--dependencies", "perl", "--json"])), []);
}

#[test]
fn the_tree() {
    let world = World::new();
    let _chain = chain(&world);
    let ask = |arguments: &[&str]| {
        let ran = map(&world, &[&["--no-store"], arguments].concat());
        assert_eq!(ran.code, Some(0), "{ran}");
        ran
    };
    let tree = "\
perl  listens on 9000/tcp
└── nginx (process)  uses 9000/tcp  1 connection
    └── curl (process)  uses 8080/tcp http-alt  1 connection
";
    assert_eq!(ask(&["--dependents", "perl"]).stdout, tree);
    let cut: String = tree.split_inclusive('\n').take(2).collect();
    assert_eq!(ask(&["--dependents", "perl", "--depth", "1"]).stdout, cut);
    let tree = "\
curl
└── nginx (process)  on 8080/tcp http-alt  1 connection
    └── perl (process)  on 9000/tcp  1 connection
";
    assert_eq!(ask(&["--dependencies", "curl"]).stdout, tree);
    let nothing = ask(&["--dependents", "curl"]);
    assert_eq!(nothing.stdout, "curl\n");
    assert!(nothing.stderr.contains("nothing was seen to depend on it"), "{nothing}");
}

#[test]
fn what_ended_is_remembered() {
    let world = World::new();
    let [client, front, back] = chain(&world);
    let store = world.file("history.sqlite");
    let store = store.to_str().unwrap_or_default();
    let recorded = map(&world, &["--once", "--store", store]);
    assert_eq!(recorded.code, Some(0), "{recorded}");

    client.stop();
    front.stop();
    let ask = |arguments: &[&str]| map(&world, &[&["--store", store], arguments].concat());
    // The server in Perl has not closed its end, so that connection is still there.
    let half = [step(1, "nginx", BACK, true), step(2, "curl", FRONT, false)];
    assert_eq!(steps(&ask(&["--dependents", "perl", "--since", "1h", "--json"])), half);
    back.stop();
    let past = [step(1, "nginx", BACK, false), step(2, "curl", FRONT, false)];
    assert_eq!(steps(&ask(&["--dependents", "perl", "--since", "1h", "--json"])), past);
    assert_eq!(steps(&ask(&["--dependents", "perl", "--json"])), past, "seven days");
    let tree = ask(&["--dependents", "perl"]).stdout;
    assert!(tree.contains("nginx (process)  uses 9000/tcp  seen "), "{tree}");
    assert!(tree.contains("    └── curl (process)  uses 8080/tcp http-alt  seen "), "{tree}");

    let now = ask(&["--once", "--json"]);
    assert_eq!((now.code, now.stdout.as_str()), (Some(0), ""), "{now}");
    let forgotten = map(&world, &["--no-store", "--dependents", "perl"]);
    forgotten.assert_failed(1, &["nothing on the map is called \"perl\""]);
}

#[test]
fn an_unknown_service_is_a_no_with_suggestions() {
    let world = World::new();
    let _chain = chain(&world);
    let store = world.file("history.sqlite");
    let store = store.to_str().unwrap_or_default();
    let ran = map(&world, &["--store", store, "--dependents", "ngin"]);
    let said = ["called \"ngin\"; did you mean nginx?", "the last 7d (--since)", store];
    ran.assert_failed(1, &said);
    assert_eq!(ran.stdout, "");
    let ran = map(&world, &["--no-store", "--dependencies", "no such service", "--json"]);
    ran.assert_failed(1, &["called \"no such service\": give a name", "--no-store"]);
    assert_eq!(ran.stdout, "");
    map(&world, &["--no-store", "--dependents", ":1"]).assert_failed(1, &["called \":1\""]);
}

#[test]
fn pictures_for_other_tools() {
    let world = World::new();
    let [client, _front, _back] = chain(&world);
    let store = world.file("history.sqlite");
    let store = store.to_str().unwrap_or_default();
    let dot = map(&world, &["--once", "--dot", "--store", store]);
    let mermaid = map(&world, &["--mermaid", "--store", store]);
    assert_eq!((dot.code, mermaid.code), (Some(0), Some(0)), "{dot}\n{mermaid}");

    let (head, body) = dot.stdout.split_once('\n').unwrap_or_default();
    assert_eq!(head, "digraph portolan {", "{dot}");
    assert!(body.ends_with("}\n"), "{dot}");
    for (client, server, port) in [("curl", "nginx", "8080/tcp"), ("nginx", "perl", "9000/tcp")] {
        let edge = dot.stdout.lines().find(|line| {
            line.contains(&format!("{client}\" -> \"")) && line.contains(&format!("{server}\" ["))
        });
        let edge = edge.unwrap_or_else(|| panic!("no edge from {client} to {server}: {dot}"));
        assert!(edge.contains(port) && edge.contains("style=solid"), "{edge}");
        assert!(dot.stdout.contains(&format!("[label=\"{client}\", shape=box]")), "{dot}");
        assert!(dot.stdout.contains(&format!("[label=\"{server}\", shape=box]")), "{dot}");
    }

    assert!(mermaid.stdout.starts_with("flowchart LR\n"), "{mermaid}");
    let id = |name: &str| {
        let line = mermaid.stdout.lines().find(|line| line.ends_with(&format!("[\"{name}\"]")));
        let line = line.unwrap_or_else(|| panic!("no node {name}: {mermaid}"));
        line.trim().split('[').next().unwrap_or_default().to_owned()
    };
    let (curl, nginx, perl) = (id("curl"), id("nginx"), id("perl"));
    for edge in [
        format!("  {curl} -->|\"8080/tcp http-alt\"| {nginx}\n"),
        format!("  {nginx} -->|\"9000/tcp\"| {perl}\n"),
    ] {
        assert!(mermaid.stdout.contains(&edge), "no {edge:?}: {mermaid}");
    }

    client.stop();
    let past = map(&world, &["--dot", "--since", "1h", "--store", store]);
    let edge = past.stdout.lines().find(|line| line.contains("curl\" -> \""));
    assert!(edge.is_some_and(|edge| edge.contains("style=dashed")), "{past}");
}
