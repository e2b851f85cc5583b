//! Columns of text in a given width.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// A column shrinks no further than this; names of this length can still be told apart.
const SHRUNK_MIN: usize = 8;

/// What a column shrinks to while there are others that are rather left out.
const READABLE_MIN: usize = 14;

/// What stands between two columns.
const GAP: &str = "  ";

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    pub heading: &'static str,
    /// Columns with a lower number are left out first where the width does not suffice; 0: never.
    pub leave_out: u8,
    /// Whether it is left out before names become hard to read.
    pub extra: bool,
    /// Numbers stand at the right.
    pub right: bool,
    /// Whether its cells may be cut.
    pub shrinks: bool,
}

/// The lines of a table, heading first, none wider than `width`. Returns `None` where not even
/// the shrunk columns that must stay have room.
pub fn lines<const N: usize>(
    columns: &[Column; N],
    rows: &[[String; N]],
    width: Option<usize>,
) -> Option<Vec<String>> {
    let mut shown = natural(columns, rows);
    if let Some(width) = width {
        let mut least = READABLE_MIN;
        while !shrink(columns, &mut shown, width, least) {
            let may_go = |at: &usize| {
                let column = &columns[*at];
                shown[*at].is_some()
                    && if least == SHRUNK_MIN { column.leave_out > 0 } else { column.extra }
            };
            match (0..N).filter(may_go).min_by_key(|&at| columns[at].leave_out) {
                Some(next) => shown[next] = None,
                None if least == SHRUNK_MIN => return None,
                None => least = SHRUNK_MIN,
            }
            let natural = natural(columns, rows);
            for at in 0..N {
                shown[at] = shown[at].and(natural[at]);
            }
        }
    }
    let heading = columns.map(|column| column.heading.to_owned());
    let all = std::iter::once(&heading).chain(rows);
    Some(all.map(|row| line(columns, row, &shown)).collect())
}

fn natural<const N: usize>(columns: &[Column; N], rows: &[[String; N]]) -> [Option<usize>; N] {
    std::array::from_fn(|at| {
        let cells = rows.iter().map(|row| row[at].width());
        cells.chain([columns[at].heading.width()]).max()
    })
}

/// Shrinks the widest columns, to `least` at most, until the table fits; false where it cannot.
fn shrink<const N: usize>(
    columns: &[Column; N],
    shown: &mut [Option<usize>; N],
    width: usize,
    least: usize,
) -> bool {
    loop {
        let count = shown.iter().flatten().count();
        let total: usize = shown.iter().flatten().sum::<usize>() + GAP.len() * (count.max(1) - 1);
        if total <= width {
            return true;
        }
        let widest = (0..N)
            .filter(|&at| columns[at].shrinks && shown[at].is_some_and(|w| w > least))
            .max_by_key(|&at| shown[at]);
        let Some(widest) = widest else { return false };
        shown[widest] = shown[widest].map(|w| (w - 1).max(least));
    }
}

fn line<const N: usize>(
    columns: &[Column; N],
    row: &[String; N],
    shown: &[Option<usize>; N],
) -> String {
    let mut line = String::new();
    for (at, width) in shown.iter().enumerate() {
        let Some(width) = *width else { continue };
        if !line.is_empty() {
            line.push_str(GAP);
        }
        let cell = cut(&row[at], width);
        let padding = " ".repeat(width.saturating_sub(cell.width()));
        if columns[at].right {
            line.push_str(&padding);
            line.push_str(&cell);
        } else {
            line.push_str(&cell);
            line.push_str(&padding);
        }
    }
    line.truncate(line.trim_end().len());
    line
}

/// `text` in at most `width` columns, with an ellipsis where it was cut.
pub fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut used = 1;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > width {
            break;
        }
        kept.push(c);
    }
    if width > 0 {
        kept.push('…');
    }
    kept
}

#[cfg(test)]
mod tests;
