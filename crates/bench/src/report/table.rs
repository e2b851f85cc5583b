//! The table for people, with a bar per contestant.

use std::io::{self, Write};

use super::{Group, Summary, groups, reads_text, status, text};
use crate::{Lane, Results, SizeResults};

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
    for group in groups(size) {
        writeln!(out)?;
        write_heading(&group, widths, out)?;
        for (lane, summary) in &group.lanes {
            write!(out, "{:width$}  ", lane.contestant, width = widths.name)?;
            match summary {
                Some(summary) => {
                    writeln!(out, "{}", figures(lane, summary, group.longest_us, widths))?;
                }
                None => writeln!(out, "{}", why(lane))?,
            }
        }
    }
    writeln!(out)?;
    write_uncounted(size, out)?;
    if results.sizes.len() == 1 { write_legend(size, out) } else { Ok(()) }
}

/// Widths of the columns that depend on what is in them.
#[derive(Clone, Copy)]
struct Widths {
    name: usize,
    /// 0: no such column.
    reads: usize,
}

fn write_heading(group: &Group<'_>, widths: Widths, out: &mut dyn Write) -> io::Result<()> {
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
    writeln!(out, "vs {}", group.baseline)
}

/// Why calls were not counted, once for each reason.
fn write_uncounted(size: &SizeResults, out: &mut dyn Write) -> io::Result<()> {
    let mut reasons: Vec<&String> =
        size.lanes.iter().filter_map(|lane| lane.reads.as_ref()?.as_ref().err()).collect();
    reasons.sort_unstable();
    reasons.dedup();
    for reason in reasons {
        writeln!(out, "  reads not measured: {reason}")?;
    }
    Ok(())
}

/// Who does what; once, since it is the same at every size.
fn write_legend(size: &SizeResults, out: &mut dyn Write) -> io::Result<()> {
    for same in size.lanes.chunk_by(|one, next| one.about == next.about) {
        let names = same.iter().map(|lane| lane.contestant.as_str()).collect::<Vec<_>>().join(", ");
        writeln!(out, "  {names}: {}", same[0].about)?;
    }
    writeln!(out)
}

fn figures(lane: &Lane, summary: &Summary, longest_us: u64, widths: Widths) -> String {
    let wall = summary.wall_us;
    let spread = format!("[{} to {}]", text::time(wall.min), text::time(wall.max));
    let bound = if summary.peak_is_bound { "≤ " } else { "" };
    let peak = format!("{bound}{}", text::mib(summary.peak_kib.median));
    let reads = match widths.reads {
        0 => String::new(),
        width => format!("{:>width$}  ", reads_text(lane), width = width.max(5)),
    };
    format!(
        "{:width$}  {:>8}  {spread:20}{:>9}  {peak:>10}  {:>9}  {reads}{}",
        bar(wall.median, longest_us),
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
