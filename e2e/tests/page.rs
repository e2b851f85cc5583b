//! The live page in a real browser.

use std::process::Command;

use portolan_e2e::{
    Running, World, live,
    peers::{self, HTTP, REDIS},
    program, repository, tcp,
};

/// Two intervals. Long ones, so that the machine's pace does not matter: what the page needs beside
/// waiting for the next reading is far less than one.
const INTERVAL: &str = "4s";
const WITHIN_MS: &str = "8000";

/// The driver of the page's own tests.
fn browser(world: &World, arguments: &[&str]) -> Running {
    let web = repository().join("web");
    assert!(
        web.join("node_modules").is_dir(),
        "the browser's driver is missing: npm ci in web, or make test"
    );
    // Found here, so that a missing package is named.
    let chromium = program("chromium", "chromium");
    let mut node = Command::new(program("node", "nodejs"));
    node.current_dir(web).arg("test/live.mjs").args(arguments).env("CHROMIUM", chromium);
    world.at_home(&mut node);
    Running::start(&world.host, node)
}

#[test]
fn a_new_connection_appears_and_a_click_shows_details() {
    let world = World::new();
    let _redis = peers::redis(&world, &world.host, "127.0.0.1");
    let _nginx = peers::nginx(&world, &world.host, "127.0.0.1");
    let _curl = peers::curl(&world.host, "127.0.0.1", HTTP);
    tcp::wait_accepted(&world.host, HTTP, 1);
    let arguments = ["map", "--listen", "127.0.0.1:0", "--no-store", "--interval", INTERVAL];
    let arguments = [&arguments[..], &["--own-namespace"]].concat();
    let (_map, address) = live::with_page(&world.host, world.portolan(&arguments));

    let url = format!("http://{address}/");
    let page = [&url, "--expect-node", "nginx", "--expect-node", "curl"];
    let edge = ["--wait-edge", "redis-cli>process:redis-server:6379", "--within-ms", WITHIN_MS];
    let details = ["--click", "redis-server", "--panel", "6379", "--panel", "redis-cli"];
    let shots = ["--shots", "../artefacts/page"];
    let mut page = browser(&world, &[&page[..], &edge, &details, &shots].concat());
    page.wait_for("the page to be ready for an edge", |page| {
        page.stdout().lines().any(|line| line == "waiting").then_some(())
    });
    let _client = peers::redis_cli(&world.host, "127.0.0.1");
    tcp::wait_accepted(&world.host, REDIS, 1);
    let looked = page.finish();
    assert_eq!(looked.code, Some(0), "{looked}");
    for part in ["service nginx", "service curl", "edge ", "details have 6379", "\nok\n"] {
        assert!(looked.stdout.contains(part), "no {part:?}: {looked}");
    }
}

#[test]
fn the_driver_notices_what_is_not_there() {
    let world = World::new();
    let _nginx = peers::nginx(&world, &world.host, "127.0.0.1");
    let _curl = peers::curl(&world.host, "127.0.0.1", HTTP);
    let arguments = ["map", "--listen", "127.0.0.1:0", "--no-store", "--own-namespace"];
    let (_map, address) = live::with_page(&world.host, world.portolan(&arguments));
    let url = format!("http://{address}/");
    let page = browser(&world, &[&url, "--wait-edge", "curl>", "--within-ms", "1500"]);
    let looked = page.finish();
    looked.assert_failed(1, &["no new edge with \"curl>\""]);
}
