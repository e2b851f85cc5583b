//! The table on the terminal, refreshed in place.

use std::{
    sync::mpsc::{Receiver, RecvTimeoutError},
    time::Duration,
};

use anyhow::Context;
use portolan_hub::{Edge, Graph, Hub, printable};
use portolan_sys::clock;
use ratatui::{
    DefaultTerminal, Frame,
    crossterm::event::{self, KeyCode, KeyEvent, KeyEventKind, KeyModifiers},
    layout::{Constraint, Layout, Rect},
    style::{Color, Modifier, Style},
    text::{Line, Text},
    widgets::Paragraph,
};

use super::{config::Config, ending::Ending, reader::Event};
use crate::print::{fit, table};

/// How long a key press may wait for an answer.
const TICK: Duration = Duration::from_millis(50);

/// Below this nothing useful can be shown.
const WIDTH_MIN: u16 = 20;
const HEIGHT_MIN: u16 = 4;

/// Shows the map until the user or a signal ends it.
pub fn run(
    hub: &Hub,
    config: &Config,
    places: Vec<String>,
    events: &Receiver<Event>,
    ending: &Ending,
) -> anyhow::Result<()> {
    let mut terminal = ratatui::try_init().context("cannot take over the terminal")?;
    let ended = Screen::new(hub, config, places).run(&mut terminal, events, ending);
    ratatui::restore();
    ended
}

/// What the edges are ordered by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Name,
    Connections,
    Newest,
}

impl Order {
    fn next(self) -> Self {
        match self {
            Self::Name => Self::Connections,
            Self::Connections => Self::Newest,
            Self::Newest => Self::Name,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Connections => "connections",
            Self::Newest => "newest",
        }
    }
}

struct Screen<'a> {
    hub: &'a Hub,
    config: &'a Config,
    /// Where else to look.
    places: Vec<String>,
    graph: Graph,
    order: Order,
    filter: String,
    typing: bool,
    paused: bool,
    scroll: usize,
    rows: usize,
}

impl<'a> Screen<'a> {
    fn new(hub: &'a Hub, config: &'a Config, places: Vec<String>) -> Self {
        let graph = hub.graph(Some(config.since_ms(clock::now_ms())));
        Self {
            hub,
            config,
            places,
            graph,
            order: Order::Name,
            filter: String::new(),
            typing: false,
            paused: false,
            scroll: 0,
            rows: 0,
        }
    }

    fn run(
        &mut self,
        terminal: &mut DefaultTerminal,
        events: &Receiver<Event>,
        ending: &Ending,
    ) -> anyhow::Result<()> {
        while !ending.is_asked() {
            terminal.draw(|frame| self.draw(frame)).context("cannot draw on the terminal")?;
            loop {
                if event::poll(Duration::ZERO).context("cannot read the terminal")? {
                    match event::read().context("cannot read the terminal")? {
                        event::Event::Key(key) if !self.key(key) => return Ok(()),
                        _ => break,
                    }
                }
                match events.recv_timeout(TICK) {
                    Ok(Event::Reading) if self.paused => {}
                    Ok(Event::Reading) => {
                        self.graph = self.hub.graph(Some(self.config.since_ms(clock::now_ms())));
                        break;
                    }
                    Ok(Event::Failed(error)) => return Err(error),
                    Ok(Event::Stop) | Err(RecvTimeoutError::Disconnected) => return Ok(()),
                    Err(RecvTimeoutError::Timeout) => {}
                }
            }
        }
        Ok(())
    }

    /// Handles a key; false when it ends the program.
    fn key(&mut self, key: KeyEvent) -> bool {
        if key.kind == KeyEventKind::Release {
            return true;
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c') if control => return false,
            KeyCode::Char(c) if self.typing && !control => self.filter.push(c),
            KeyCode::Backspace if self.typing => drop(self.filter.pop()),
            KeyCode::Enter => self.typing = false,
            KeyCode::Esc => {
                self.typing = false;
                self.filter.clear();
            }
            KeyCode::Char('q') => return false,
            KeyCode::Char('/') => self.typing = true,
            KeyCode::Char('s') => self.order = self.order.next(),
            KeyCode::Char('p' | ' ') => self.paused = !self.paused,
            KeyCode::Down | KeyCode::Char('j') => self.scroll += 1,
            KeyCode::Up | KeyCode::Char('k') => self.scroll = self.scroll.saturating_sub(1),
            KeyCode::PageDown => self.scroll += self.rows.max(1),
            KeyCode::PageUp => self.scroll = self.scroll.saturating_sub(self.rows.max(1)),
            KeyCode::Home => self.scroll = 0,
            KeyCode::End => self.scroll = usize::MAX / 2,
            _ => {}
        }
        true
    }

    fn draw(&mut self, frame: &mut Frame<'_>) {
        let area = frame.area();
        if area.width < WIDTH_MIN || area.height < HEIGHT_MIN {
            let text = format!("needs {WIDTH_MIN}x{HEIGHT_MIN}, q ends");
            frame.render_widget(Paragraph::new(text), area);
            return;
        }
        let head = self.head(area.width);
        let rows = [
            Constraint::Length(u16::try_from(head.lines.len()).unwrap_or(1)),
            Constraint::Min(1),
            Constraint::Length(1),
        ];
        let [top, middle, bottom] = Layout::vertical(rows).areas(area);
        frame.render_widget(Paragraph::new(head), top);
        self.draw_table(frame, middle);
        frame.render_widget(Paragraph::new(self.foot(area.width)), bottom);
    }

    fn head(&self, width: u16) -> Text<'static> {
        let width = usize::from(width);
        let header = self.graph.header();
        let connections: u64 = self.graph.edges().iter().map(|edge| edge.connections()).sum();
        let mut title = format!("portolan map  {}", printable(&header.host));
        self.places.iter().for_each(|place| title.push_str(&format!("  {place}")));
        let counts = format!(
            "{}services {}, edges {}, connections {connections}; {}",
            if self.paused { "PAUSED  " } else { "" },
            self.graph.nodes().len(),
            self.graph.edges().len(),
            printable(&header.method),
        );
        let mut lines = vec![
            Line::styled(fit::cut(&title, width), Style::new().add_modifier(Modifier::BOLD)),
            Line::raw(fit::cut(&counts, width)),
        ];
        lines.extend(header.warnings.iter().map(|warning| {
            let warning = format!("! {}", printable(warning));
            Line::styled(fit::cut(&warning, width), Style::new().add_modifier(Modifier::ITALIC))
        }));
        Text::from(lines)
    }

    fn draw_table(&mut self, frame: &mut Frame<'_>, area: Rect) {
        let edges = self.edges();
        let count = edges.len();
        let rows = usize::from(area.height).saturating_sub(1);
        let scroll = self.scroll.min(count.saturating_sub(rows));
        // Only what is seen is formatted, however much there is.
        let visible = edges.iter().copied().skip(scroll).take(rows);
        let failing: Vec<bool> = visible.clone().map(Edge::failing).collect();
        let lines = table::lines(&self.graph, visible, Some(usize::from(area.width)));
        drop(edges);
        (self.rows, self.scroll) = (rows, scroll);
        let heading = Style::new().add_modifier(Modifier::REVERSED);
        // A narrow terminal gets more lines than one per edge.
        let per_edge = (lines.len().saturating_sub(1) / failing.len().max(1)).max(1);
        let styled = lines.into_iter().enumerate().map(|(at, line)| match at.checked_sub(1) {
            None => Line::styled(line, heading),
            Some(at) if failing.get(at / per_edge) == Some(&true) => {
                Line::styled(line, Style::new().fg(Color::Red))
            }
            Some(_) => Line::raw(line),
        });
        let mut shown: Vec<Line<'_>> = styled.collect();
        if count == 0 {
            shown.push(Line::raw("nothing is connected right now"));
        }
        frame.render_widget(Paragraph::new(shown), area);
    }

    fn foot(&self, width: u16) -> String {
        let text = if self.typing {
            format!("/{}_", printable(&self.filter))
        } else {
            let filter = match self.filter.as_str() {
                "" => String::new(),
                filter => format!("  [{}: Esc clears]", printable(filter)),
            };
            format!(
                "q end  / filter  s order: {}  p pause  arrows scroll{filter}",
                self.order.name()
            )
        };
        fit::cut(&text, usize::from(width))
    }

    fn edges(&self) -> Vec<&Edge> {
        let filter = self.filter.to_lowercase();
        let mut edges: Vec<&Edge> = self
            .graph
            .edges()
            .iter()
            .map(AsRef::as_ref)
            .filter(|edge| filter.is_empty() || edge.id.to_lowercase().contains(&filter))
            .collect();
        match self.order {
            Order::Name => {}
            Order::Connections => {
                edges.sort_by_key(|edge| std::cmp::Reverse(edge.connections()));
            }
            Order::Newest => edges.sort_by_key(|edge| std::cmp::Reverse(edge.first_seen_ms())),
        }
        edges
    }
}
