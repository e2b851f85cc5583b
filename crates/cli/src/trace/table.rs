//! Edges as lines of a table, for the terminal and without one.
//!
//! Columns of numbers have a fixed width, so that nothing moves when a number grows; names share
//! what is left. Where there is little, columns are left out, in a fixed order.

use portolan_flow::Flow;
use unicode_width::UnicodeWidthStr;

use super::{figures::Figures, label};
use crate::print::{amount::narrow_time, fit};

/// What stands between two columns.
const GAP: &str = "  ";

/// Names this short can hardly be told apart: columns are left out before it comes to that.
const NAME_MIN: usize = 14;

/// This much of a name is worth more than the columns beyond [`RANK_DEAR`].
const NAME_DEAR: usize = 24;
const RANK_DEAR: u8 = 4;

/// Of the port, with its usual name.
const PORT_MIN: usize = 9;

/// A name is never wider, wherever it goes.
const NAME_MAX: usize = 200;

struct Number {
    heading: &'static str,
    width: usize,
    /// Those with a higher one are left out first.
    rank: u8,
    /// Words at the end of the line stand at the left.
    right: bool,
    cell: fn(&Figures) -> String,
}

const NUMBERS: [Number; 7] = [
    Number {
        heading: "UP",
        width: 5,
        rank: 6,
        right: true,
        cell: |figures| figures.up.to_string(),
    },
    Number {
        heading: "NEW/S",
        width: 5,
        rank: 1,
        right: true,
        cell: |figures| figures.counted(figures.opened),
    },
    Number {
        heading: ">B/S",
        width: 5,
        rank: 3,
        right: true,
        cell: |figures| figures.counted(figures.to_server),
    },
    Number {
        heading: "<B/S",
        width: 5,
        rank: 4,
        right: true,
        cell: |figures| figures.counted(figures.to_client),
    },
    Number {
        heading: "RTT",
        width: 6,
        rank: 5,
        right: true,
        cell: |figures| figures.rtt_us.map_or("-".to_owned(), narrow_time),
    },
    Number {
        heading: "RETR/S",
        width: 6,
        rank: 7,
        right: true,
        cell: |figures| figures.counted(figures.retransmits),
    },
    Number { heading: "FAILED/S", width: 12, rank: 2, right: false, cell: Figures::failures },
];

/// An edge in words.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Names {
    pub client: String,
    pub server: String,
    pub port: String,
}

impl Names {
    /// Of an edge.
    pub fn of(flow: &Flow) -> Self {
        Self {
            client: label::end(&flow.client),
            server: label::end(&flow.server),
            port: label::port(flow),
        }
    }
}

/// The lines of a table, heading first, none wider than `width`.
pub fn lines<'a>(
    rows: impl Iterator<Item = (&'a Names, &'a Figures)> + Clone,
    width: Option<usize>,
) -> Vec<String> {
    let Some(layout) = Layout::new(rows.clone().map(|(names, _)| names), width) else {
        return narrow(rows, width.unwrap_or(0));
    };
    std::iter::once(layout.heading())
        .chain(rows.map(|(names, figures)| layout.row(names, figures)))
        .collect()
}

struct Layout {
    width: Option<usize>,
    names: [usize; 3],
    numbers: [bool; NUMBERS.len()],
}

impl Layout {
    /// `None` where there is no room for names and any number.
    fn new<'a>(
        rows: impl Iterator<Item = &'a Names> + Clone,
        width: Option<usize>,
    ) -> Option<Self> {
        let widest = |heading: &str, of: fn(&Names) -> &str| {
            let all = rows.clone().map(|names| of(names).width());
            all.max().unwrap_or(0).clamp(heading.len(), NAME_MAX)
        };
        let natural = [
            widest("CLIENT", |names| &names.client),
            widest("SERVER", |names| &names.server),
            widest("PORT", |names| &names.port),
        ];
        let Some(width) = width else {
            let numbers = [true; NUMBERS.len()];
            return Some(Self { width: None, names: natural, numbers });
        };
        // Columns depend on the width of the terminal alone, not on what is in them.
        let mut numbers = [false; NUMBERS.len()];
        let mut used = 2 * NAME_MIN + PORT_MIN + 2 * GAP.len();
        let mut ranked: Vec<usize> = (0..NUMBERS.len()).collect();
        ranked.sort_by_key(|&at| NUMBERS[at].rank);
        for at in ranked {
            let more = NUMBERS[at].width + GAP.len();
            let is_dear = NUMBERS[at].rank <= RANK_DEAR;
            let reserved = if is_dear { 0 } else { 2 * (NAME_DEAR - NAME_MIN) };
            if used + more + reserved > width {
                break;
            }
            numbers[at] = true;
            used += more;
        }
        if !numbers.contains(&true) {
            return None;
        }
        let mut names = [NAME_MIN, NAME_MIN, PORT_MIN];
        let mut left = width - used;
        // The narrowest first, until all that is left is given away or nobody needs more.
        while left > 0 {
            let needy = (0..3).filter(|&at| names[at] < natural[at]).min_by_key(|&at| names[at]);
            let Some(at) = needy else { break };
            names[at] += 1;
            left -= 1;
        }
        Some(Self { width: Some(width), names, numbers })
    }

    fn heading(&self) -> String {
        let names = ["CLIENT", "SERVER", "PORT"];
        self.line(names, |number| number.heading.to_owned())
    }

    fn row(&self, names: &Names, figures: &Figures) -> String {
        let texts = [&*names.client, &names.server, &names.port];
        self.line(texts, |number| (number.cell)(figures))
    }

    fn line(&self, names: [&str; 3], cell: impl Fn(&Number) -> String) -> String {
        let mut line = String::new();
        for (name, width) in names.into_iter().zip(self.names) {
            line.push_str(&padded(&fit::cut(name, width), width, false));
            line.push_str(GAP);
        }
        let last = NUMBERS.len() - 1;
        for (at, number) in NUMBERS.iter().enumerate().filter(|(at, _)| self.numbers[*at]) {
            let cell = cell(number);
            // Of the reasons of failures there are as many as there is room for.
            let cell = if at == last { cell } else { fit::cut(&cell, number.width) };
            line.push_str(&padded(&cell, number.width, number.right));
            line.push_str(GAP);
        }
        line.truncate(line.trim_end().len());
        self.width.map_or_else(|| line.clone(), |width| fit::cut(&line, width))
    }
}

fn padded(text: &str, width: usize, right: bool) -> String {
    let padding = " ".repeat(width.saturating_sub(text.width()));
    if right { padding + text } else { text.to_owned() + &padding }
}

/// For terminals too narrow for a table: an edge takes two lines, cut where they must be.
fn narrow<'a>(rows: impl Iterator<Item = (&'a Names, &'a Figures)>, width: usize) -> Vec<String> {
    let edges = rows.flat_map(|(names, _)| {
        [
            fit::cut(&names.client, width),
            fit::cut(&format!("> {} {}", names.server, names.port), width),
        ]
    });
    std::iter::once(fit::cut("CLIENT > SERVER", width)).chain(edges).collect()
}

#[cfg(test)]
mod tests;
