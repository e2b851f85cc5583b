//! Sweeps that are interrupted and go on.

use std::{collections::BTreeMap, fs, net::SocketAddr, path::PathBuf};

use portolan_e2e::{
    Ran, Running, World,
    probe::{self, findings, summary, targets},
};
use rustix::process::Signal;
use serde_json::Value;

/// So many targets are behind [`SWEEP`].
const CHECKS: usize = 512;
/// Nobody answers.
const SWEEP: &str = "10.200.2.0/23 -p 80 --timeout 200ms --retries 0 --json";

/// A world with silence, and the file that says how far the sweep is.
fn world() -> (World, PathBuf) {
    let world = World::new();
    probe::silence(&world);
    let file = world.file("progress");
    (world, file)
}

fn start(world: &World, args: &str) -> Running {
    let file = world.file("progress");
    let file = file.to_str().unwrap_or_default();
    let args: Vec<&str> = args.split(' ').collect();
    let resumed = [&["probe"], &args[..], &["--resume", file]].concat();
    Running::start(&world.host, world.portolan(&resumed))
}

fn run(world: &World, args: &str) -> Ran {
    start(world, args).finish()
}

/// Starts it slowly and waits until so much was told.
fn started(world: &World, args: &str, told: usize) -> Running {
    let mut sweep = start(world, &format!("{args} --rate 250"));
    sweep.wait_for("findings", |sweep| (sweep.stdout().lines().count() >= told).then_some(()));
    sweep
}

/// One that was interrupted in an orderly way.
fn interrupted(world: &World, args: &str) -> Ran {
    let sweep = started(world, args, 100);
    sweep.signal(Signal::INT);
    let ran = sweep.finish();
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(1), ""), "{ran}");
    assert_eq!(summary(&ran)["complete"], false, "{ran}");
    ran
}

/// How often each target was told about; lines that were cut off are not.
fn told(outputs: &[&str]) -> BTreeMap<SocketAddr, usize> {
    let mut told = BTreeMap::new();
    for output in outputs {
        let whole = output.rsplit_once('\n').map_or("", |(whole, _)| whole);
        for target in targets(whole) {
            *told.entry(target).or_default() += 1;
        }
    }
    told
}

#[test]
fn an_interrupted_sweep_goes_on_where_it_was() {
    for part in ["", " --shard 1/1 --seed 7"] {
        let (world, file) = world();
        let sweep = format!("{SWEEP}{part}");
        let first = interrupted(&world, &sweep);
        let progress = fs::read_to_string(&file).expect("how far it is");
        let progress: Value = serde_json::from_str(&progress).expect("JSON");
        let done = findings(&first.stdout).len();
        assert_eq!(progress["filtered"], done, "{progress} {first}");
        // A second interruption, then the end.
        let second = interrupted(&world, &sweep);
        let last = run(&world, &sweep);
        assert_eq!((last.code, last.stderr.as_str()), (Some(1), ""), "{last}");
        let told = told(&[&first.stdout, &second.stdout, &last.stdout]);
        assert_eq!(told.len(), CHECKS, "nothing is lost: {told:?}");
        assert!(told.values().all(|&times| times == 1), "nothing is told twice: {told:?}");
        let sum = summary(&last);
        assert_eq!((&sum["checks"], &sum["complete"]), (&CHECKS.into(), &true.into()), "{sum}");
        assert!(!file.exists(), "there is nothing left to go on with");
    }
}

#[test]
fn a_killed_sweep_loses_nothing() {
    let (world, file) = world();
    let mut outputs = Vec::new();
    // Before it wrote for the first time how far it is, and after.
    for until in [20, 300] {
        let sweep = started(&world, SWEEP, until);
        sweep.signal(Signal::KILL);
        let ran = sweep.finish();
        assert_eq!(ran.code, None, "{ran}");
        assert!(file.exists());
        outputs.push(ran.stdout);
    }
    let progress = fs::read_to_string(&file).expect("how far it is");
    let progress: Value = serde_json::from_str(&progress).expect("JSON");
    assert!(progress["next"].as_u64().is_some_and(|next| next > 0), "{progress}");
    let last = run(&world, SWEEP);
    assert_eq!(last.code, Some(1), "{last}");
    assert!(findings(&last.stdout).len() < CHECKS, "it went on: {last}");
    outputs.push(last.stdout.clone());
    let told = told(&outputs.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(told.len(), CHECKS, "nothing is lost");
    assert_eq!(summary(&last)["checks"], CHECKS, "{last}");
    assert!(!file.exists());
}

/// The formats of nmap are written at the end, and what they would have had counts.
#[test]
fn what_a_killed_sweep_held_is_found_again() {
    let (world, file) = world();
    let grepable = world.file("found.gnmap");
    let sweep = format!("{SWEEP} --every -oG {}", grepable.display());
    let killed = started(&world, &sweep, 300);
    killed.signal(Signal::KILL);
    assert_eq!(killed.finish().code, None);
    assert!(file.exists());
    let last = run(&world, &sweep);
    assert_eq!(last.code, Some(1), "{last}");
    let text = fs::read_to_string(&grepable).expect("the grepable format");
    assert_eq!(text.matches("\tPorts: 80/filtered").count(), CHECKS, "{text}");
}

#[test]
fn another_sweep_does_not_go_on_with_it() {
    let (world, file) = world();
    interrupted(&world, &format!("{SWEEP} --seed 7"));
    let before = fs::read_to_string(&file).expect("how far it is");
    let listed = world.file("listed");
    fs::write(&listed, "10.200.2.0/23").expect("a list");
    let others = [
        SWEEP.replace("-p 80", "-p 81"),
        SWEEP.replace("-p 80", "-p 80,81"),
        SWEEP.replace("10.200.2.0", "10.200.4.0"),
        format!("{SWEEP} --seed 8"),
        format!("{SWEEP} --shard 1/2 --seed 7"),
        format!("{SWEEP} --exclude 10.200.2.9"),
        format!("{SWEEP} 10.200.9.9"),
        format!("{SWEEP} --exclude 10.200.2.9 10.200.9.9"),
        format!("{SWEEP} 10.200.2.9:81"),
    ];
    for other in others {
        let ran = run(&world, &other);
        ran.assert_failed(2, &["belongs to another sweep", "10.200.2.0/23", "another file"]);
        assert_eq!(ran.stdout, "", "{ran}");
        assert_eq!(fs::read_to_string(&file).ok().as_ref(), Some(&before), "{ran}");
    }
    // What does not change who is asked may change.
    let ran =
        run(&world, &format!("{} --timeout 100ms --open", SWEEP.replace("--timeout 200ms ", "")));
    assert_eq!((ran.code, file.exists()), (Some(1), false), "{ran}");
}

#[test]
fn a_file_of_something_else_is_left_alone() {
    let (world, file) = world();
    for content in ["", "{}", "not JSON", "{\"version\":99}", "[1,2", "\u{fffd}"] {
        fs::write(&file, content).expect("a file");
        let ran = run(&world, SWEEP);
        ran.assert_failed(2, &[file.to_str().unwrap_or_default(), "another file"]);
        assert_eq!(ran.stdout, "", "{ran}");
        assert_eq!(fs::read_to_string(&file).ok().as_deref(), Some(content), "{ran}");
    }
    fs::remove_file(&file).expect("to remove it");
    fs::create_dir(&file).expect("a folder in its place");
    run(&world, SWEEP).assert_failed(2, &["cannot read", "progress"]);
    fs::remove_dir(&file).expect("to remove it");
    let nowhere = "127.0.0.1:80 --resume /nonexistent/folder/file";
    let args: Vec<&str> = nowhere.split(' ').collect();
    let ran = world.host.run(world.portolan(&[&["probe"], &args[..]].concat()));
    ran.assert_failed(2, &["cannot write /nonexistent/folder/file"]);
}

#[test]
fn what_was_found_before_the_interruption_is_not_overwritten() {
    let (world, file) = world();
    let (first, second) = (world.file("first.xml"), world.file("second.xml"));
    let (first, second) = (first.display(), second.display());
    let sweep = format!("{SWEEP} --every");
    let began = interrupted(&world, &format!("{sweep} -oX {first}"));
    let ran = run(&world, &format!("{sweep} -oX {first}"));
    ran.assert_failed(2, &["first.xml", "before the interruption", "another file"]);
    assert!(file.exists(), "and the sweep can still go on");
    let ran = run(&world, &format!("{sweep} -oX {second}"));
    assert_eq!(ran.code, Some(1), "{ran}");
    let hosts =
        |file: String| fs::read_to_string(&file).unwrap_or_default().matches("<host ").count();
    let told = findings(&began.stdout).len();
    assert_eq!((hosts(first.to_string()), hosts(second.to_string())), (told, CHECKS - told));
}
