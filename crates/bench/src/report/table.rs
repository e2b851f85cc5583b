//! The table for people, with a bar per contestant.

use std::io::{self, Write};

use super::{Group, Summary, columns, figures, groups, reads_text, status, text, unmeasured};
use crate::{Column, Lane, Results, SizeResults, View};

/// Width of the longest bar, in characters.
const BAR_WIDTH: u64 = 20;

/// Eighths of a character, from one to eight.
const EIGHTHS: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];

/// Writes the last size of `results`: for each task a picture beside the numbers.
///
/// # Errors
/// The writer's.
pub fn write_table(results: &Results, out: &mut dyn Write) -> io::Result<()> {
    let Some(size) = results.sizes.last() else { return Ok(()) };
    writeln!(
        out,
        "{} {}: {}, median of {} runs [least to most]",
        text::grouped(size.size),
        results.unit,
        results.about,
        results.rounds,
    )?;
    writeln!(out, "{}", size.host.describe())?;
    if let Some(why) = &size.left_out {
        return writeln!(out, "\nleft out: {why}\n");
    }
    let names = size.lanes.iter().map(|lane| lane.contestant.chars().count());
    let widths = Widths {
        name: names.max().unwrap_or(0),
        // A column that nobody asked for is not there.
        reads: size.lanes.iter().map(|lane| reads_text(lane).len()).max().unwrap_or(0),
    };
    for group in groups(size, results.view) {
        writeln!(out)?;
        if let View::Figures { columns, .. } = results.view {
            write_figures(&group, columns, widths.name, out)?;
            continue;
        }
        let further = Further::of(&group);
        write_heading(&group, widths, &further, out)?;
        for (lane, summary) in &group.lanes {
            write!(out, "{:width$}  ", lane.contestant, width = widths.name)?;
            match summary {
                Some(summary) => {
                    writeln!(out, "{}", row(lane, summary, &group, widths, &further))?;
                }
                None => writeln!(out, "{}", why(lane))?,
            }
        }
    }
    writeln!(out)?;
    for reason in unmeasured(size).into_iter().chain(size.lanes.iter().flat_map(columns::marks)) {
        writeln!(out, "  {reason}")?;
    }
    if results.sizes.len() == 1 { write_legend(size, out) } else { Ok(()) }
}

/// A table of `columns` alone.
fn write_figures(
    group: &Group<'_>,
    columns: &[Column],
    width: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let lanes: Vec<&Lane> = group.lanes.iter().map(|(lane, _)| *lane).collect();
    let columns = columns::of_lanes(columns, &lanes);
    let widths: Vec<usize> = columns
        .iter()
        .map(|(heading, cells)| {
            let cells = cells.iter().map(|cell| cell.chars().count());
            cells.chain([heading.chars().count()]).max().unwrap_or(0)
        })
        .collect();
    let line = |cells: &mut dyn Iterator<Item = &str>| -> String {
        cells.zip(&widths).map(|(cell, &width)| format!("  {cell:>width$}")).collect()
    };
    let headings = line(&mut columns.iter().map(|(heading, _)| *heading));
    writeln!(out, "{:width$}{headings}", group.task)?;
    for (at, lane) in lanes.iter().enumerate() {
        let rest = match status(&lane.outcome) {
            ("measured", _) => line(&mut columns.iter().map(|(_, cells)| cells[at].as_str())),
            _ => format!("  {}", why(lane)),
        };
        writeln!(out, "{:width$}{}", lane.contestant, rest.trim_end())?;
    }
    Ok(())
}

/// Widths of the columns that depend on what is in them.
#[derive(Clone, Copy)]
struct Widths {
    name: usize,
    /// 0: no such column.
    reads: usize,
}

/// The columns of numbers that only some scenarios have, where anybody of a group has one.
struct Further {
    names: Vec<&'static str>,
    widths: Vec<usize>,
}

impl Further {
    fn of(group: &Group<'_>) -> Self {
        let lanes = || group.lanes.iter().map(|(lane, _)| *lane);
        let names = figures::names(lanes());
        let mut widths: Vec<usize> =
            names.iter().map(|name| figures::heading(name).len()).collect();
        for cells in lanes().map(|lane| figures::cells(lane, &names)) {
            for (width, cell) in widths.iter_mut().zip(&cells) {
                *width = (*width).max(cell.chars().count());
            }
        }
        Self { names, widths }
    }

    /// `cells` under each other, each with two spaces behind it.
    fn aligned(&self, cells: &[String]) -> String {
        let cells = self.widths.iter().zip(cells);
        cells.map(|(&width, cell)| format!("{cell:>width$}  ")).collect()
    }
}

fn write_heading(
    group: &Group<'_>,
    widths: Widths,
    further: &Further,
    out: &mut dyn Write,
) -> io::Result<()> {
    let bar_width = usize::try_from(BAR_WIDTH).unwrap_or(0);
    write!(
        out,
        "{:name$}  {:bar_width$}  {:>8}  {:20}{:>9}  {:>10}  {:>9}  ",
        group.task,
        "",
        "wall",
        "",
        "CPU",
        "peak",
        "rows",
        name = widths.name,
    )?;
    if widths.reads > 0 {
        write!(out, "{:>width$}  ", "reads", width = widths.reads.max(5))?;
    }
    let headings: Vec<String> = further.names.iter().map(|name| figures::heading(name)).collect();
    writeln!(out, "{}vs {}", further.aligned(&headings), group.baseline)
}

/// Who does what; once, since it is the same at every size.
fn write_legend(size: &SizeResults, out: &mut dyn Write) -> io::Result<()> {
    for same in size.lanes.chunk_by(|one, next| one.about == next.about) {
        let names = same.iter().map(|lane| lane.contestant.as_str()).collect::<Vec<_>>().join(", ");
        writeln!(out, "  {names}: {}", same[0].about)?;
    }
    writeln!(out)
}

fn row(
    lane: &Lane,
    summary: &Summary,
    group: &Group<'_>,
    widths: Widths,
    further: &Further,
) -> String {
    let wall = summary.wall_us;
    let spread = format!("[{} to {}]", text::time(wall.min), text::time(wall.max));
    let bound = if summary.peak_is_bound { "≤ " } else { "" };
    let peak = format!("{bound}{}", text::mib(summary.peak_kib.median));
    let reads = match widths.reads {
        0 => String::new(),
        width => format!("{:>width$}  ", reads_text(lane), width = width.max(5)),
    };
    format!(
        "{:width$}  {:>8}  {spread:20}{:>9}  {peak:>10}  {:>9}  {reads}{}{}",
        bar(wall.median, group.longest_us),
        text::time(wall.median),
        text::time(summary.cpu_us.median),
        lane.rows.map_or_else(String::new, text::grouped),
        further.aligned(&figures::cells(lane, &further.names)),
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
