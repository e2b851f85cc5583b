//! The live view of `portolan trace`, on a real pseudo-terminal.

use std::{io::Write, process::Command};

use portolan_e2e::{Running, Screen, World, peers, portolan, program};
use rustix::process::{Pid, Signal, kill_process};

const COLUMNS: usize = 130;
const ROWS: usize = 24;

struct Terminal(Running);

impl Terminal {
    fn start(world: &World, arguments: &str) -> Self {
        let shell = format!(
            "stty cols {COLUMNS} rows {ROWS}; \
             \"$PORTOLAN\" trace --own-namespace --no-udp --interval 100ms {arguments}; \
             code=$?; echo \"after $code\"; stty -a"
        );
        let mut command = Command::new(program("script", "bsdutils"));
        command.args(["--quiet", "--flush", "--return", "--command", &shell, "/dev/null"]);
        command.env("PORTOLAN", portolan()).env("SHELL", "/bin/sh");
        world.at_home(&mut command);
        Self(Running::start(&world.host, command))
    }

    /// Waits until the screen is what it should be.
    fn wait(&mut self, what: &str, is_so: impl Fn(&Screen) -> bool) -> Vec<String> {
        self.0.wait_for(what, |script| {
            let screen = Screen::after(&script.stdout(), COLUMNS, ROWS);
            is_so(&screen).then(|| screen.lines())
        })
    }

    fn shows(&mut self, parts: &[&str]) -> Vec<String> {
        self.wait(&format!("{parts:?}"), |screen| {
            let found = |line: &String| parts.iter().all(|part| line.contains(part));
            screen.is_alternate && screen.lines().iter().any(found)
        })
    }

    fn shows_no_more(&mut self, part: &str) {
        self.wait(&format!("no {part}"), |screen| {
            screen.lines().iter().all(|line| !line.contains(part))
        });
    }

    fn press(&mut self, keys: &str) {
        let stdin = self.0.stdin();
        stdin.write_all(keys.as_bytes()).expect("keys");
        stdin.flush().expect("keys");
    }

    /// The trace: script's child is a shell, and that one's is it.
    fn trace(&self) -> Pid {
        self.0.descendant()
    }

    fn ends_restored(self) {
        let ran = self.0.finish();
        assert_eq!(ran.code, Some(0), "{ran}");
        let screen = Screen::after(&ran.stdout, COLUMNS, ROWS);
        assert!(!screen.is_alternate && screen.has_cursor, "{ran}");
        let (_, after) = ran.stdout.rsplit_once("\x1b[?1049l").unwrap_or_default();
        assert!(after.contains("after 0\r\n"), "{ran}");
        for mode in ["icanon", "echo", "isig", "opost"] {
            let is_on = after.split_whitespace().any(|word| word.trim_end_matches(';') == mode);
            assert!(is_on, "{mode} is off: {ran}");
        }
    }
}

fn is_stopped(pid: Pid) -> bool {
    let path = format!("/proc/{}/stat", pid.as_raw_nonzero());
    let stat = std::fs::read_to_string(path).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
}

#[test]
fn an_edge_comes_is_looked_for_and_fades_out() {
    let world = World::new();
    let _redis = peers::redis(&world, &world.host, "127.0.0.1");
    let mut terminal = Terminal::start(&world, "");
    terminal.shows(&["nothing happens right now"]);
    let client = peers::redis_cli(&world.host, "127.0.0.1");
    let lines = terminal.shows(&["redis-cli @127.0.0.1", "redis-server @127.0.0.1", "6379/tcp"]);
    assert!(lines[0].starts_with("portolan trace"), "{lines:#?}");
    assert!(lines[1].starts_with("bundle (sums per edge in the kernel, by "), "{lines:#?}");
    assert!(lines[ROWS - 1].contains("order: connections"), "{lines:#?}");
    terminal.press("/nothing-like-it");
    terminal.shows(&["/nothing-like-it_"]);
    terminal.shows_no_more("redis-cli");
    terminal.press("\x1b");
    terminal.shows(&["redis-cli"]);
    terminal.press("j\r");
    terminal.shows(&["client  redis-cli @127.0.0.1", "pid "]);
    terminal.press("\x1b ");
    terminal.shows(&["PAUSED"]);
    client.stop();
    terminal.press(" ");
    terminal.shows_no_more("redis-cli");
    terminal.press("q");
    terminal.ends_restored();
}

#[test]
fn it_is_drawn_again_when_it_goes_on_and_signals_end_it() {
    let world = World::new();
    let _redis = peers::redis(&world, &world.host, "127.0.0.1");
    let _client = peers::redis_cli(&world.host, "127.0.0.1");
    let mut terminal = Terminal::start(&world, "redis");
    terminal.shows(&["redis-cli", "6379/tcp"]);
    let trace = terminal.trace();
    kill_process(trace, Signal::STOP).expect("it runs");
    portolan_e2e::wait_for("it to stop", || is_stopped(trace).then_some(()));
    kill_process(trace, Signal::CONT).expect("it is there");
    terminal.wait("the screen to be entered again", |screen| {
        screen.entered == 2 && screen.lines().iter().any(|line| line.contains("redis-cli"))
    });
    // Ctrl-Z stops it too, with the terminal as it was.
    terminal.press("\x1a");
    portolan_e2e::wait_for("it to stop", || is_stopped(trace).then_some(()));
    terminal.wait("the terminal to be left", |screen| !screen.is_alternate);
    kill_process(trace, Signal::CONT).expect("it is there");
    terminal.shows(&["redis-cli", "6379/tcp"]);
    kill_process(trace, Signal::TERM).expect("it runs");
    terminal.ends_restored();
}

#[test]
fn it_ends_by_itself_after_its_time() {
    let world = World::new();
    let mut terminal = Terminal::start(&world, "--duration 2s");
    terminal.shows(&["portolan trace"]);
    terminal.ends_restored();
}

#[test]
fn where_metrics_are_and_that_they_are_not_sent_is_on_the_screen() {
    let world = World::new();
    let flags = "--metrics 127.0.0.1:9464 --otlp http://127.0.0.1:4318 --otlp-interval 100ms";
    let mut terminal = Terminal::start(&world, flags);
    terminal.shows(&["bundle (", "metrics on http://127.0.0.1:9464/metrics"]);
    terminal.shows(&["! metrics were not sent to http://127.0.0.1:4318/v1/metrics"]);
    terminal.press("q");
    terminal.ends_restored();
}
