//! The edges on the terminal, refreshed in place.

mod details;
mod draw;
mod kept;

use std::{
    collections::BTreeSet,
    io,
    sync::mpsc::{Receiver, TryRecvError},
    time::Instant,
};

use anyhow::Context;
use portolan_flow::Totals;
use portolan_sys::{kernel, signals::Noticed};
use ratatui::{
    DefaultTerminal,
    crossterm::{
        event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers},
        execute,
        terminal::{EnterAlternateScreen, disable_raw_mode, enable_raw_mode},
    },
    layout::{Position, Rect},
};
use rustix::process::{Signal, getpid, kill_process};

use super::{
    config::Config,
    lines::FAILURES_MAX,
    order::Order,
    pace::Pace,
    summary::{Interval, Summary},
    watch::{RELIEF, Watch},
};
use kept::{Edges, Key};

/// A filter that is longer finds nothing.
const WORDS_MAX: usize = 256;

/// Shows what happens until the user, a signal or time ends it.
///
/// # Errors
/// When the host cannot be read, or the terminal cannot be used.
pub fn run(
    config: &Config,
    watch: &mut dyn Watch,
    pace: Pace,
    asked: &Receiver<()>,
    continued: &Noticed,
) -> anyhow::Result<()> {
    let mut terminal = ratatui::try_init().context("cannot take over the terminal")?;
    let screen = Screen::new(config, watch.describe());
    let ended = Live { screen, watch, pace, failures: 0 }.run(&mut terminal, asked, continued);
    ratatui::restore();
    ended
}

/// What is to be done after a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    GoOn,
    Suspend,
    End,
}

/// What is shown, and how.
struct Screen<'a> {
    config: &'a Config,
    host: String,
    method: String,
    edges: Edges,
    summary: Summary,
    warnings: BTreeSet<String>,
    /// What was missing since the start.
    lost: Vec<(&'static str, u64)>,
    overflow: Totals,
    order: Order,
    words: String,
    typing: bool,
    paused: bool,
    details: bool,
    selected: Option<Key>,
    /// Where the selected edge stands, so that another can be selected when it is gone.
    at: usize,
    scroll: usize,
    rows: usize,
}

impl<'a> Screen<'a> {
    fn new(config: &'a Config, method: String) -> Self {
        Self {
            config,
            host: kernel::host_name(),
            method,
            edges: Edges::default(),
            summary: Summary::default(),
            warnings: BTreeSet::new(),
            lost: Vec::new(),
            overflow: Totals::default(),
            order: config.order,
            words: config.words.clone(),
            typing: false,
            paused: false,
            details: false,
            selected: None,
            at: 0,
            scroll: 0,
            rows: 0,
        }
    }

    /// Takes an interval in. What was lost is added up while paused, too.
    fn take(&mut self, interval: Interval, now: Instant) {
        let summary = &interval.summary;
        if self.lost.is_empty() {
            self.lost.clone_from(&summary.losses);
        } else {
            for ((_, sum), (_, more)) in self.lost.iter_mut().zip(&summary.losses) {
                *sum = sum.saturating_add(*more);
            }
        }
        self.overflow.add(&summary.overflow);
        if !self.paused {
            self.edges.take(interval.flows, now);
            self.summary = interval.summary;
        }
    }

    fn key(&mut self, key: KeyEvent) -> Next {
        if key.kind == KeyEventKind::Release {
            return Next::GoOn;
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let page = self.rows.max(1);
        match key.code {
            KeyCode::Char('c') if control => return Next::End,
            KeyCode::Char('z') if control => return Next::Suspend,
            KeyCode::Char(c) if self.typing && !control => self.typed(c),
            KeyCode::Backspace if self.typing => drop(self.words.pop()),
            KeyCode::Enter if self.typing => self.typing = false,
            KeyCode::Enter => self.details = !self.details,
            KeyCode::Esc => self.escape(),
            KeyCode::Char('q') => return Next::End,
            KeyCode::Char('/') => self.typing = true,
            KeyCode::Char('s') => self.order = self.order.next(),
            KeyCode::Char(' ' | 'p') => self.paused = !self.paused,
            KeyCode::Down | KeyCode::Char('j') => self.select(self.at.saturating_add(1)),
            KeyCode::Up | KeyCode::Char('k') => self.select(self.at.saturating_sub(1)),
            KeyCode::PageDown => self.select(self.at.saturating_add(page)),
            KeyCode::PageUp => self.select(self.at.saturating_sub(page)),
            KeyCode::Home => self.select(0),
            KeyCode::End => self.select(usize::MAX),
            KeyCode::Char(c) => {
                if let Some(order) = Order::of_key(c) {
                    self.order = order;
                }
            }
            _ => {}
        }
        Next::GoOn
    }

    fn typed(&mut self, c: char) {
        if self.words.len() < WORDS_MAX {
            self.words.push(c);
        }
    }

    /// Closes what was opened last: the filter line, the details, the selection, the filter.
    fn escape(&mut self) {
        if self.typing {
            self.typing = false;
            self.words.clear();
        } else if self.details {
            self.details = false;
        } else if self.selected.is_some() {
            self.selected = None;
        } else {
            self.words.clear();
        }
    }

    fn select(&mut self, at: usize) {
        let edges = self.edges.shown(self.order, &self.words);
        // The first key that moves selects what stands first.
        let at = if self.selected.is_none() && at <= 1 { 0 } else { at };
        let at = at.min(edges.len().saturating_sub(1));
        self.selected = edges.get(at).map(|edge| edge.key.clone());
        self.at = at;
    }
}

/// A screen that follows a method.
struct Live<'a, 'b> {
    screen: Screen<'a>,
    watch: &'b mut dyn Watch,
    pace: Pace,
    failures: u32,
}

impl Live<'_, '_> {
    fn run(
        &mut self,
        terminal: &mut DefaultTerminal,
        asked: &Receiver<()>,
        continued: &Noticed,
    ) -> anyhow::Result<()> {
        loop {
            let draw = |frame: &mut ratatui::Frame<'_>| self.screen.draw(frame);
            terminal.draw(draw).context("cannot draw on the terminal")?;
            // Until there is something to draw.
            loop {
                if asked.try_recv() != Err(TryRecvError::Empty) {
                    return Ok(());
                }
                if continued.happened() {
                    retake(terminal)?;
                    break;
                }
                self.watch.relieve()?;
                // Before it reads: where that takes longer than the interval, it is always time.
                match self.wait_for_key()? {
                    None => {}
                    Some(Next::GoOn) => break,
                    Some(Next::Suspend) => {
                        suspend(terminal, continued)?;
                        break;
                    }
                    Some(Next::End) => return Ok(()),
                }
                if Instant::now() >= self.pace.due() {
                    if self.read()? {
                        break;
                    }
                    return Ok(());
                }
            }
        }
    }

    /// Waits a moment; `None` where nothing happened.
    fn wait_for_key(&mut self) -> anyhow::Result<Option<Next>> {
        let left = self.pace.due().saturating_duration_since(Instant::now());
        if !event::poll(left.min(RELIEF)).context("cannot read the terminal")? {
            return Ok(None);
        }
        Ok(Some(match event::read().context("cannot read the terminal")? {
            Event::Key(key) => self.screen.key(key),
            // A new size among them.
            _ => Next::GoOn,
        }))
    }

    /// Takes a reading. Returns whether there will be another one.
    fn read(&mut self) -> anyhow::Result<bool> {
        match self.watch.read() {
            Ok(observed) => {
                self.failures = 0;
                self.screen.warnings = observed.warnings.iter().cloned().collect();
                let interval = Interval::of(observed, self.screen.config, "");
                self.screen.take(interval, Instant::now());
            }
            Err(error) if self.failures >= FAILURES_MAX => return Err(error),
            Err(_) => self.failures += 1,
        }
        Ok(self.pace.goes_on(Instant::now()))
    }
}

/// Takes the terminal over again from whoever had it while this program was stopped.
fn retake(terminal: &mut DefaultTerminal) -> anyhow::Result<()> {
    let mut retake = || -> io::Result<()> {
        // As it is now is how it will be left behind.
        disable_raw_mode()?;
        enable_raw_mode()?;
        execute!(io::stdout(), EnterAlternateScreen)?;
        terminal.hide_cursor()?;
        // Not by clear(), which asks the terminal where its cursor is.
        let size = terminal.size()?;
        terminal.resize(Rect::from((Position::ORIGIN, size)))
    };
    retake().context("cannot take over the terminal")
}

/// Stops, as Ctrl-Z does to others, until somebody lets it go on.
fn suspend(terminal: &mut DefaultTerminal, continued: &Noticed) -> anyhow::Result<()> {
    ratatui::restore();
    // It takes effect before the call returns, and nothing can be in its way.
    kill_process(getpid(), Signal::STOP).context("cannot stop")?;
    // That it goes on is known here.
    let _ = continued.happened();
    retake(terminal)
}

#[cfg(test)]
mod tests;
