use std::time::Duration;

use portolan_flow::Flow;
use ratatui::{Terminal, backend::TestBackend, style::Color};

use super::*;
use crate::trace::{
    sample::{config, flow, opened},
    watch::Observed,
};

fn flows() -> Vec<Flow> {
    let refused = Totals { refused: 3, ..Totals::default() };
    vec![
        flow("redis-cli", "redis-server", 6379, opened(3)),
        flow("curl", "nginx", 80, opened(7)),
        flow("api", "postgres", 5432, refused),
    ]
}

fn interval(screen: &Screen<'_>, flows: Vec<Flow>) -> Interval {
    let losses = vec![("overflow", 0), ("untracked", 0)];
    let span = Duration::from_secs(1);
    let observed = Observed { flows, losses, span, ..Observed::default() };
    Interval::of(observed, screen.config, "")
}

fn screen(config: &Config) -> Screen<'_> {
    let mut screen =
        Screen::new(config, "bundle (sums per edge in the kernel, by tp_btf)".to_owned());
    screen.take(interval(&screen, flows()), Instant::now());
    screen
}

fn draw(screen: &mut Screen<'_>, columns: u16, rows: u16) -> Terminal<TestBackend> {
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).expect("a terminal");
    terminal.draw(|frame| screen.draw(frame)).expect("it draws");
    terminal
}

fn text(screen: &mut Screen<'_>, columns: u16, rows: u16) -> Vec<String> {
    let terminal = draw(screen, columns, rows);
    let buffer = terminal.backend().buffer();
    let line = |y: u16| (0..columns).map(|x| buffer[(x, y)].symbol()).collect::<String>();
    (0..rows).map(|y| line(y).trim_end().to_owned()).collect()
}

fn press(screen: &mut Screen<'_>, keys: &str) -> Next {
    let mut next = Next::GoOn;
    for key in keys.chars() {
        let code = match key {
            '\n' => KeyCode::Enter,
            '\x1b' => KeyCode::Esc,
            '\x7f' => KeyCode::Backspace,
            c => KeyCode::Char(c),
        };
        next = screen.key(KeyEvent::new(code, KeyModifiers::NONE));
    }
    next
}

fn clients(lines: &[String]) -> Vec<&str> {
    let heading = lines.iter().position(|line| line.starts_with("CLIENT")).expect("a heading");
    let rows = lines[heading + 1..lines.len() - 1].iter();
    rows.filter_map(|line| line.split_whitespace().next()).collect()
}

#[test]
fn the_busiest_stands_first_and_keys_change_that() {
    let config = config("");
    let mut screen = screen(&config);
    let lines = text(&mut screen, 120, 12);
    assert!(lines[0].contains("3 edges, 6 up, 10 new/s"), "{lines:#?}");
    assert!(lines[1].starts_with("bundle (sums per edge in the kernel, by tp_btf), each 1s"));
    assert_eq!(clients(&lines), ["curl", "redis-cli", "api"]);
    assert!(lines[5].contains("3 refused"), "{lines:#?}");
    assert!(lines[11].contains("order: connections"), "{lines:#?}");
    press(&mut screen, "f");
    assert_eq!(clients(&text(&mut screen, 120, 12)), ["api", "curl", "redis-cli"]);
    press(&mut screen, "n");
    assert_eq!(clients(&text(&mut screen, 120, 12)), ["api", "curl", "redis-cli"]);
    press(&mut screen, "ss");
    assert!(text(&mut screen, 120, 12)[11].contains("order: bytes"));
    assert_eq!(press(&mut screen, "q"), Next::End);
}

#[test]
fn what_is_typed_filters() {
    let config = config("");
    let mut screen = screen(&config);
    press(&mut screen, "/redq\x7f");
    let lines = text(&mut screen, 120, 12);
    assert_eq!(clients(&lines), ["redis-cli"]);
    assert_eq!(lines[11], "/red_");
    press(&mut screen, "\n");
    assert!(text(&mut screen, 120, 12)[11].ends_with("[red: Esc clears]"));
    press(&mut screen, "\x1b");
    assert_eq!(clients(&text(&mut screen, 120, 12)).len(), 3);
    press(&mut screen, "/nothing-like-it\n");
    assert!(text(&mut screen, 120, 12).iter().any(|line| line == "nothing has these words"));
}

#[test]
fn the_words_of_the_command_line_are_the_first_filter() {
    let config = config("redis");
    let mut screen = screen(&config);
    assert_eq!(clients(&text(&mut screen, 120, 12)), ["redis-cli"]);
    press(&mut screen, "\x1b");
    assert_eq!(clients(&text(&mut screen, 120, 12)).len(), 3);
}

#[test]
fn edges_that_are_gone_fade_out() {
    let config = config("");
    let mut screen = screen(&config);
    let now = Instant::now();
    let gone = interval(&screen, vec![flow("curl", "nginx", 80, opened(1))]);
    screen.take(gone.clone(), now);
    let terminal = draw(&mut screen, 120, 12);
    let buffer = terminal.backend().buffer();
    assert!(!buffer[(0, 3)].modifier.contains(ratatui::style::Modifier::DIM));
    assert!(buffer[(0, 4)].modifier.contains(ratatui::style::Modifier::DIM));
    let lines = text(&mut screen, 120, 12);
    assert_eq!(clients(&lines), ["curl", "api", "redis-cli"]);
    assert!(!lines.iter().any(|line| line.contains("refused")), "{lines:#?}");
    screen.take(gone.clone(), now + Duration::from_secs(3));
    assert_eq!(clients(&text(&mut screen, 120, 12)).len(), 3);
    screen.take(gone, now + Duration::from_secs(6));
    assert_eq!(clients(&text(&mut screen, 120, 12)), ["curl"]);
}

#[test]
fn paused_nothing_moves_and_losses_are_still_added_up() {
    let config = config("");
    let mut screen = screen(&config);
    press(&mut screen, " ");
    let mut next = interval(&screen, Vec::new());
    next.summary.losses = vec![("overflow", 0), ("untracked", 5)];
    next.summary.overflow = Totals { opened: 9, ..Totals::default() };
    screen.take(next, Instant::now());
    let lines = text(&mut screen, 120, 12);
    assert!(lines[1].starts_with("PAUSED  bundle"), "{lines:#?}");
    // However narrow it is.
    assert!(text(&mut screen, 20, 12)[1].starts_with("PAUSED"));
    assert_eq!(clients(&lines).len(), 3);
    assert!(lines[2].starts_with("! missing since the start: untracked 5, in edges without room"));
    let terminal = draw(&mut screen, 120, 12);
    assert_eq!(terminal.backend().buffer()[(0, 2)].fg, Color::Yellow);
}

#[test]
fn the_selected_edge_stays_selected_and_has_details() {
    let config = config("");
    let mut screen = screen(&config);
    press(&mut screen, "jj\n");
    let lines = text(&mut screen, 120, 24);
    let details = lines.iter().position(|line| line.starts_with("client")).expect("details");
    assert!(lines[details].contains("redis-cli @10.0.0.1, pid 7"), "{lines:#?}");
    assert!(lines.iter().any(|line| line.contains("closed after 1.5ms in the mean")), "{lines:#?}");
    // It stands elsewhere in another order, and is still the one.
    press(&mut screen, "n");
    let lines = text(&mut screen, 120, 24);
    assert!(lines[details].contains("redis-cli"), "{lines:#?}");
    press(&mut screen, "\x1b\x1b");
    assert!(!text(&mut screen, 120, 24).iter().any(|line| line.starts_with("client")));
}

#[test]
fn many_edges_scroll_with_the_selection() {
    let config = config("--sort name");
    let mut screen = screen(&config);
    let flows = (0..100).map(|n| flow(&format!("client-{n:03}"), "server", 80, opened(1)));
    screen.edges = Edges::default();
    screen.take(interval(&screen, flows.collect()), Instant::now());
    assert_eq!(clients(&text(&mut screen, 120, 14))[0], "client-000");
    screen.key(KeyEvent::new(KeyCode::End, KeyModifiers::NONE));
    let lines = text(&mut screen, 120, 14);
    assert_eq!(clients(&lines).last(), Some(&"client-099"), "{lines:#?}");
    screen.key(KeyEvent::new(KeyCode::Home, KeyModifiers::NONE));
    assert_eq!(clients(&text(&mut screen, 120, 14))[0], "client-000");
}

#[test]
fn it_fits_any_terminal() {
    let config = config("");
    let mut screen = screen(&config);
    press(&mut screen, "jj\n");
    for (columns, rows) in [(1, 1), (10, 3), (19, 24), (20, 5), (30, 10), (80, 24), (500, 100)] {
        let lines = text(&mut screen, columns, rows);
        let is_small = columns < 20 || rows < 5;
        let says = |text: &str| lines.iter().any(|line| line.contains(text));
        assert!(if is_small { lines[0].starts_with('n') } else { says("redis") }, "{lines:#?}");
    }
}

#[test]
fn keys_that_end_and_suspend() {
    let config = config("");
    let mut screen = screen(&config);
    let control = |c| KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL);
    assert_eq!(screen.key(control('z')), Next::Suspend);
    press(&mut screen, "/");
    assert_eq!(screen.key(control('c')), Next::End);
}
