//! The table on a terminal: a real pseudo-terminal, and what is on it.

use std::{io::Write, process::Command};

use portolan_e2e::{
    Running, Screen, World,
    peers::{self, REDIS},
    portolan, program, tcp,
};
use rustix::process::Signal;

/// A program on a pseudo-terminal of a size.
struct Terminal {
    script: Running,
    columns: usize,
    rows: usize,
}

impl Terminal {
    /// Runs `portolan map` with these arguments, between two words that show what it leaves.
    fn start(world: &World, (columns, rows): (usize, usize), arguments: &str) -> Self {
        let shell = format!(
            "stty cols {columns} rows {rows}; echo before; \
             \"$PORTOLAN\" map --no-store --no-page --own-namespace --interval 100ms {arguments}; \
             code=$?; echo \"after $code\"; stty -a"
        );
        let mut command = Command::new(program("script", "bsdutils"));
        command.args(["--quiet", "--flush", "--return", "--command", &shell, "/dev/null"]);
        command.env("PORTOLAN", portolan()).env("SHELL", "/bin/sh");
        world.at_home(&mut command);
        Self { script: Running::start(&world.host, command), columns, rows }
    }

    fn screen(&self) -> Screen {
        Screen::after(&self.script.stdout(), self.columns, self.rows)
    }

    /// Waits until a line of the alternate screen has all of `parts`.
    fn shows(&mut self, parts: &[&str]) -> Vec<String> {
        let (columns, rows) = (self.columns, self.rows);
        self.script.wait_for(format_args!("{parts:?} on the screen"), |script| {
            let screen = Screen::after(&script.stdout(), columns, rows);
            let found = |line: &String| parts.iter().all(|part| line.contains(part));
            let is_shown = screen.is_alternate && screen.lines().iter().any(found);
            is_shown.then(|| screen.lines())
        })
    }

    fn shows_no_more(&mut self, part: &str) {
        let (columns, rows) = (self.columns, self.rows);
        self.script.wait_for(format_args!("{part} to leave the screen"), |script| {
            let lines = Screen::after(&script.stdout(), columns, rows).lines();
            lines.iter().all(|line| !line.contains(part)).then_some(())
        });
    }

    fn press(&mut self, keys: &str) {
        let stdin = self.script.stdin();
        stdin.write_all(keys.as_bytes()).expect("keys");
        stdin.flush().expect("keys");
    }

    /// Waits for the end of the program: with 0, and the terminal as it was.
    fn ends_restored(self) {
        let (columns, rows) = (self.columns, self.rows);
        let ran = self.script.finish();
        assert_eq!(ran.code, Some(0), "{ran}");
        let screen = Screen::after(&ran.stdout, columns, rows);
        assert!(!screen.is_alternate && screen.has_cursor, "{ran}");
        assert_eq!(screen.entered, 1, "drawn in place, never scrolled: {ran}");
        let (_, after) = ran.stdout.rsplit_once("\x1b[?1049l").unwrap_or_default();
        assert!(after.contains("after 0\r\n"), "{ran}");
        for mode in ["icanon", "echo", "isig", "opost"] {
            let is_on = after.split_whitespace().any(|word| word.trim_end_matches(';') == mode);
            assert!(is_on, "{mode} is off: {ran}");
        }
        assert!(!ran.stdout.contains("panicked"), "{ran}");
    }
}

#[test]
fn the_table_is_refreshed_in_place_and_q_ends_it() {
    let world = World::new();
    world.host.no_time_wait();
    let _redis = peers::redis(&world, &world.host, "127.0.0.1");
    let mut terminal = Terminal::start(&world, (100, 24), "");
    terminal.shows(&["nothing is connected right now"]);
    let client = peers::redis_cli(&world.host, "127.0.0.1");
    let lines = terminal.shows(&["redis-cli", "redis-server", "6379/tcp redis", "up"]);
    assert!(lines[0].starts_with("portolan map"), "{lines:#?}");
    assert!(lines[1].contains("edges 1, connections 1; snapshot"), "{lines:#?}");
    assert!(lines.iter().any(|line| line.starts_with("CLIENT") && line.contains("CONNS")));
    assert!(lines[23].starts_with("q end"), "{lines:#?}");

    terminal.press("/nothing-like-it");
    terminal.shows(&["/nothing-like-it_"]);
    terminal.shows_no_more("redis-cli");
    terminal.press("\r");
    terminal.shows(&["q end", "[nothing-like-it: Esc clears]"]);
    terminal.press("\x1b");
    terminal.shows(&["redis-cli", "6379/tcp"]);
    terminal.press("p");
    terminal.shows(&["PAUSED"]);
    client.stop();
    terminal.press("p");
    terminal.shows_no_more("redis-cli");
    assert!(terminal.screen().is_alternate);
    terminal.press("q");
    terminal.ends_restored();
}

#[test]
fn where_metrics_are_and_that_they_are_not_sent_is_on_the_screen() {
    let world = World::new();
    let flags = "--metrics 127.0.0.1:9464 --otlp http://127.0.0.1:4318 --otlp-interval 100ms";
    let mut terminal = Terminal::start(&world, (100, 24), flags);
    terminal.shows(&["portolan map", "metrics on http://127.0.0.1:9464/metrics"]);
    terminal.shows(&["! metrics were not sent to http://127.0.0.1:4318/v1/metrics"]);
    terminal.press("q");
    terminal.ends_restored();
}

#[test]
fn control_c_and_sigterm_restore_the_terminal() {
    let world = World::new();
    let mut terminal = Terminal::start(&world, (80, 24), "");
    terminal.shows(&["q end"]);
    terminal.press("\x03");
    terminal.ends_restored();

    let mut terminal = Terminal::start(&world, (80, 24), "");
    terminal.shows(&["q end"]);
    // Script's child is a shell, and that one's is the map.
    let map = terminal.script.descendant();
    rustix::process::kill_process(map, Signal::TERM).expect("SIGTERM");
    terminal.ends_restored();
}

#[test]
fn too_small_says_what_it_needs() {
    let world = World::new();
    let mut terminal = Terminal::start(&world, (10, 3), "");
    terminal.shows(&["needs 20x4"]);
    terminal.press("q");
    terminal.ends_restored();
    for size in [(1, 1), (19, 24), (200, 3)] {
        let mut terminal = Terminal::start(&world, size, "");
        terminal.shows(&["n"]);
        terminal.press("q");
        terminal.ends_restored();
    }
}

#[test]
fn narrow_works() {
    let world = World::new();
    let _redis = peers::redis(&world, &world.host, "127.0.0.1");
    let _client = peers::redis_cli(&world.host, "127.0.0.1");
    tcp::wait_accepted(&world.host, REDIS, 1);
    let mut terminal = Terminal::start(&world, (30, 10), "");
    let lines = terminal.shows(&["redis-cl"]);
    assert!(lines.iter().any(|line| line.contains("redis-s")), "{lines:#?}");
    terminal.press("q");
    terminal.ends_restored();
    let mut terminal = Terminal::start(&world, (20, 8), "");
    terminal.shows(&["redis-cli"]);
    terminal.press("q");
    terminal.ends_restored();
}

#[test]
fn it_follows_the_size() {
    let world = World::new();
    let _redis = peers::redis(&world, &world.host, "127.0.0.1");
    let _client = peers::redis_cli(&world.host, "127.0.0.1");
    tcp::wait_accepted(&world.host, REDIS, 1);
    let mut terminal = Terminal::start(&world, (100, 24), "");
    terminal.shows(&["redis-cli", "6379/tcp redis"]);
    let resize = |terminal: &mut Terminal, columns: usize, rows: usize| {
        (terminal.columns, terminal.rows) = (columns, rows);
        let map = terminal.script.descendant();
        let tty = format!("/proc/{}/fd/0", map.as_raw_nonzero());
        let tty = std::fs::read_link(tty).expect("the pseudo-terminal");
        let mut stty = Command::new(program("stty", "coreutils"));
        stty.arg("-F").arg(tty).args(["cols", &columns.to_string(), "rows", &rows.to_string()]);
        world.host.succeed(stty);
    };
    resize(&mut terminal, 10, 3);
    terminal.shows(&["needs 20x4"]);
    resize(&mut terminal, 60, 12);
    terminal.shows(&["redis-cli", "redis-server", "6379/tcp"]);
    terminal.press("q");
    terminal.ends_restored();
}

#[test]
fn one_reading_fits_the_terminal() {
    let world = World::new();
    let _redis = peers::redis(&world, &world.host, "127.0.0.1");
    let _client = peers::redis_cli(&world.host, "127.0.0.1");
    tcp::wait_accepted(&world.host, REDIS, 1);
    for columns in [100, 60, 40, 30, 12, 1] {
        let terminal = Terminal::start(&world, (columns, 24), "--once 2>/dev/null");
        let ran = terminal.script.finish();
        assert_eq!(ran.code, Some(0), "{ran}");
        let (_, table) = ran.stdout.split_once("before\r\n").unwrap_or_default();
        let (table, after) = table.split_once("after ").unwrap_or_default();
        assert!(after.starts_with("0\r\n"), "{ran}");
        assert!(!table.contains('\x1b'), "one reading is plain text: {ran}");
        let widest = table.lines().map(|line| line.chars().count()).max();
        assert!(table.lines().count() >= 2 && widest <= Some(columns), "{columns} columns: {ran}");
    }
}
