//! The table for people, with a bar per contestant.

use std::io::{self, Write};

use super::{Summary, baseline, status, text};
use crate::{Lane, Results, SizeResults};

/// Width of the longest bar, in characters.
const BAR_WIDTH: u64 = 20;

/// Eighths of a character, from one to eight.
const EIGHTHS: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];

/// Writes the last size of `results`: a picture, then the numbers.
///
/// # Errors
/// The writer's.
pub fn write_table(results: &Results, out: &mut dyn Write) -> io::Result<()> {
    let Some(size) = results.sizes.last() else { return Ok(()) };
    let rows: Vec<Row> = rows(results, size);
    let name_width = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
    writeln!(
        out,
        "{} {}: {}, median of {} runs [least to most]",
        text::grouped(size.size),
        results.unit,
        results.about,
        results.rounds,
    )?;
    writeln!(out, "{}", size.host.describe())?;
    writeln!(out)?;
    let bar_width = usize::try_from(BAR_WIDTH).unwrap_or(0);
    let versus = format!("vs {}", results.baseline);
    writeln!(
        out,
        "{:name_width$}  {:bar_width$}  {:>8}  {:20}{:>9}  {:>10}  {:>9}  {versus}",
        "", "", "wall", "", "CPU", "peak", "rows"
    )?;
    for row in &rows {
        write!(out, "{:name_width$}  ", row.name)?;
        match &row.figures {
            Ok(figures) => writeln!(out, "{figures}")?,
            Err(why) => writeln!(out, "{why}")?,
        }
    }
    writeln!(out)?;
    if results.sizes.len() == 1 { write_legend(size, out) } else { Ok(()) }
}

/// Who does what; once, since it is the same at every size.
fn write_legend(size: &SizeResults, out: &mut dyn Write) -> io::Result<()> {
    for same in size.lanes.chunk_by(|one, next| one.about == next.about) {
        let names = same.iter().map(|lane| lane.contestant.as_str()).collect::<Vec<_>>().join(", ");
        writeln!(out, "  {names}: {}", same[0].about)?;
    }
    writeln!(out)
}

struct Row {
    name: String,
    figures: Result<String, String>,
}

fn rows(results: &Results, size: &SizeResults) -> Vec<Row> {
    let baseline = baseline(results, size);
    let summaries: Vec<Option<Summary>> =
        size.lanes.iter().map(|lane| Summary::of(lane, baseline)).collect();
    let longest = summaries.iter().flatten().map(|one| one.wall_us.median).max().unwrap_or(0);
    let lanes = size.lanes.iter().zip(&summaries);
    lanes
        .map(|(lane, summary)| Row {
            name: lane.contestant.clone(),
            figures: match summary {
                Some(summary) => Ok(figures(lane, summary, longest)),
                None => Err(why(lane)),
            },
        })
        .collect()
}

fn figures(lane: &Lane, summary: &Summary, longest: u64) -> String {
    let wall = summary.wall_us;
    let spread = format!("[{} to {}]", text::time(wall.min), text::time(wall.max));
    let bound = if summary.peak_is_bound { "≤ " } else { "" };
    let peak = format!("{bound}{}", text::mib(summary.peak_kib.median));
    format!(
        "{:width$}  {:>8}  {spread:20}{:>9}  {peak:>10}  {:>9}  {}",
        bar(wall.median, longest),
        text::time(wall.median),
        text::time(summary.cpu_us.median),
        lane.rows.map_or_else(String::new, text::grouped),
        summary.ratio.map_or_else(|| "-".to_owned(), text::factor),
        width = usize::try_from(BAR_WIDTH).unwrap_or(0),
    )
}

fn why(lane: &Lane) -> String {
    match status(&lane.outcome) {
        ("absent", Some(why)) => why.to_owned(),
        (status, Some(why)) => format!("{}: {why}", status.to_uppercase()),
        (status, None) => format!("{status}, but never run"),
    }
}

/// A bar whose length is to [`BAR_WIDTH`] as `value` is to `longest`; never empty.
fn bar(value: u64, longest: u64) -> String {
    let eighths = (value.saturating_mul(BAR_WIDTH * 8) / longest.max(1)).clamp(1, BAR_WIDTH * 8);
    let (full, rest) = (eighths / 8, usize::try_from(eighths % 8).unwrap_or(0));
    let mut bar: String = (0..full).map(|_| EIGHTHS[7]).collect();
    bar.extend(rest.checked_sub(1).map(|index| EIGHTHS[index]));
    bar
}

#[cfg(test)]
mod tests;
