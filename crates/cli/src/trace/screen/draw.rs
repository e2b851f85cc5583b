//! Drawing.

use portolan_hub::printable;
use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    style::{Color, Modifier, Style},
    text::{Line, Text},
    widgets::Paragraph,
};

use super::{Screen, details, kept::Kept};
use crate::{
    print::fit,
    trace::{order::Order, summary, table},
};

/// Below this nothing useful can be shown.
const WIDTH_MIN: u16 = 20;
const HEIGHT_MIN: u16 = 5;

/// Details need this many lines of the terminal beside their own.
const HEIGHT_BESIDE: u16 = 8;

impl Screen<'_> {
    /// Draws all of it.
    pub fn draw(&mut self, frame: &mut Frame<'_>) {
        let area = frame.area();
        if area.width < WIDTH_MIN || area.height < HEIGHT_MIN {
            let text = format!("needs {WIDTH_MIN}x{HEIGHT_MIN}, q ends");
            frame.render_widget(Paragraph::new(text), area);
            return;
        }
        let head = self.head(area.width, area.height);
        let has_details = self.details
            && self.selected.is_some()
            && area.height >= details::LINES + HEIGHT_BESIDE;
        let rows = [
            Constraint::Length(u16::try_from(head.lines.len()).unwrap_or(1)),
            Constraint::Min(1),
            Constraint::Length(if has_details { details::LINES } else { 0 }),
            Constraint::Length(1),
        ];
        let [top, middle, below, bottom] = Layout::vertical(rows).areas(area);
        frame.render_widget(Paragraph::new(head), top);
        let shown = self.draw_table(frame, middle);
        if let Some(lines) = shown.filter(|_| has_details) {
            let mut text = vec![Line::raw("─".repeat(usize::from(area.width)))];
            let width = usize::from(area.width);
            text.extend(lines.iter().map(|line| Line::raw(fit::cut(line, width))));
            frame.render_widget(Paragraph::new(text), below);
        }
        frame.render_widget(Paragraph::new(self.foot(area.width)), bottom);
    }

    fn head(&self, width: u16, height: u16) -> Text<'static> {
        let width = usize::from(width);
        let line = |text: &str, style| Line::styled(fit::cut(text, width), style);
        let host = printable(&self.host);
        let title = format!("portolan trace  {host}  {}", self.summary.describe());
        let method = format!(
            "{}{}, each {}",
            if self.paused { "PAUSED  " } else { "" },
            printable(&self.method),
            humantime::format_duration(self.config.interval)
        );
        let warning = Style::new().fg(Color::Yellow).add_modifier(Modifier::BOLD);
        let mut lines = vec![
            line(&title, Style::new().add_modifier(Modifier::BOLD)),
            line(&method, Style::new()),
        ];
        let mut told = Vec::new();
        if let Some(now) = self.summary.missing() {
            told.push(format!("! missing now: {now}"));
        }
        if let Some(ever) = summary::missing(&self.lost, &self.overflow) {
            told.push(format!("! missing since the start: {ever}"));
        }
        told.extend(self.warnings.iter().map(|warning| format!("! {}", printable(warning))));
        // The table needs a heading and a line, and the foot one.
        let room = usize::from(height).saturating_sub(lines.len() + 3);
        lines.extend(told.iter().take(room).map(|text| line(text, warning)));
        Text::from(lines)
    }

    /// Draws the edges. Returns what there is to say of the one that is selected.
    fn draw_table(&mut self, frame: &mut Frame<'_>, area: Rect) -> Option<Vec<String>> {
        let edges = self.edges.shown(self.order, &self.words);
        let rows = usize::from(area.height).saturating_sub(1);
        let selected = self.selected.as_ref();
        let found = selected.and_then(|key| edges.iter().position(|edge| edge.key == *key));
        let at = found.unwrap_or(self.at).min(edges.len().saturating_sub(1));
        let mut scroll = if selected.is_some() { self.scroll } else { 0 };
        scroll = scroll.min(at).max((at + 1).saturating_sub(rows.max(1)));
        if selected.is_none() {
            scroll = 0;
        }
        // Only what is seen is formatted, however much there is.
        let visible: Vec<&Kept> = edges.iter().copied().skip(scroll).take(rows).collect();
        let names = visible.iter().map(|edge| (&edge.names, &edge.figures));
        let lines = table::lines(names, Some(usize::from(area.width)));
        // Of a terminal that is too narrow for a table, each edge has more than one.
        let per_edge = (lines.len() - 1).checked_div(visible.len()).unwrap_or(1).max(1);
        let heading = Style::new().add_modifier(Modifier::REVERSED);
        let mut shown: Vec<Line<'_>> = Vec::with_capacity(lines.len() + 1);
        for (row, line) in lines.into_iter().enumerate() {
            let edge = row.checked_sub(1).and_then(|row| visible.get(row / per_edge));
            let is_selected = edge.is_some_and(|edge| selected == Some(&edge.key));
            shown.push(Line::styled(line, edge.map_or(heading, |edge| style(edge, is_selected))));
        }
        if edges.is_empty() {
            shown.push(Line::raw(if self.edges.len() == 0 {
                "nothing happens right now"
            } else {
                "nothing has these words"
            }));
        }
        let details = found.map(|at| details::lines(&edges[at].flow));
        drop(edges);
        (self.rows, self.scroll, self.at) = (rows, scroll, at);
        if self.selected.is_none() {
            self.at = 0;
        }
        frame.render_widget(Paragraph::new(shown), area);
        details
    }

    fn foot(&self, width: u16) -> String {
        let text = if self.typing {
            format!("/{}_", printable(&self.words))
        } else {
            let words = match self.words.as_str() {
                "" => String::new(),
                words => format!("  [{}: Esc clears]", printable(words)),
            };
            let keys: String = Order::ALL.iter().map(|order| order.key()).collect();
            format!(
                "q end  / filter  s,{keys} order: {}  space pause  enter details{words}",
                self.order.name()
            )
        };
        fit::cut(&text, usize::from(width))
    }
}

fn style(edge: &Kept, is_selected: bool) -> Style {
    let mut style = Style::new();
    if edge.gone.is_some() {
        style = style.add_modifier(Modifier::DIM);
    } else if edge.figures.failed() > 0.0 {
        style = style.fg(Color::Red);
    }
    if is_selected { style.add_modifier(Modifier::REVERSED) } else { style }
}
