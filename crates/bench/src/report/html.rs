//! One page with the chart and the numbers, in one file that needs no other.

use std::io;

use portolan_plot::{Cell, Page, Part, Table};

use super::{Group, Summary, columns, figures, groups, reads_text, status, text, unmeasured};
use crate::{Column, Lane, Results, SizeResults, View, report::write_svg};

/// Writes all sizes of `results`.
///
/// # Errors
/// The writer's.
pub fn write_html(results: &Results, out: &mut dyn io::Write) -> io::Result<()> {
    let mut svg = Vec::new();
    write_svg(results, &mut svg)?;
    let mut page = Page {
        title: format!("portolan bench {}", results.scenario),
        parts: vec![Part::Picture(String::from_utf8_lossy(&svg).into_owned())],
    };
    for size in &results.sizes {
        add_size(&mut page.parts, results, size);
    }
    out.write_all(page.html().as_bytes())
}

fn add_size(parts: &mut Vec<Part>, results: &Results, size: &SizeResults) {
    parts.push(Part::Heading(format!("{} {}", text::grouped(size.size), results.unit)));
    parts.push(Part::Text(size.host.describe()));
    if let Some(why) = &size.left_out {
        parts.push(Part::Text(format!("Left out: {why}")));
        return;
    }
    for group in groups(size, results.view) {
        parts.push(Part::Table(match results.view {
            View::Times => of_times(&group),
            View::Figures { columns, .. } => of_figures(&group, columns),
        }));
    }
    parts.extend(size.lanes.iter().flat_map(columns::marks).map(Part::Text));
    parts.extend(unmeasured(size).into_iter().map(Part::Text));
}

/// A table of `columns` alone.
fn of_figures(group: &Group<'_>, columns: &[Column]) -> Table {
    let lanes: Vec<&Lane> = group.lanes.iter().map(|(lane, _)| *lane).collect();
    let columns = columns::of_lanes(columns, &lanes);
    let headings = columns.iter().map(|(heading, _)| (*heading).to_owned());
    let mut table = Table { caption: group.task.to_owned(), ..Table::default() };
    table.headings = std::iter::once(String::new()).chain(headings).collect();
    for (at, lane) in lanes.iter().enumerate() {
        if status(&lane.outcome).0 == "measured" {
            let cells = columns.iter().map(|(_, cells)| Cell::Text(cells[at].clone()));
            table.row(std::iter::once(name(lane)).chain(cells));
        } else {
            table.row([name(lane), why(lane)]);
        }
    }
    table
}

fn of_times(group: &Group<'_>) -> Table {
    let names = figures::names(group.lanes.iter().map(|(lane, _)| *lane));
    let mut table =
        Table::new(group.task, &["", "wall", "least", "most", "CPU", "peak", "rows", "reads"]);
    table.headings.extend(names.iter().map(|name| figures::heading(name)));
    table.headings.push(format!("vs {}", group.baseline));
    for (lane, summary) in &group.lanes {
        match summary {
            Some(summary) => {
                let cells = times(lane, summary, &names).into_iter().map(Cell::Text);
                table.row(std::iter::once(name(lane)).chain(cells));
            }
            None => table.row([name(lane), why(lane)]),
        }
    }
    table
}

fn times(lane: &Lane, summary: &Summary, names: &[&'static str]) -> Vec<String> {
    let bound = if summary.peak_is_bound { "≤ " } else { "" };
    let mut cells = vec![
        text::time(summary.wall_us.median),
        text::time(summary.wall_us.min),
        text::time(summary.wall_us.max),
        text::time(summary.cpu_us.median),
        format!("{bound}{}", text::mib(summary.peak_kib.median)),
        lane.rows.map_or_else(String::new, text::grouped),
        reads_text(lane),
    ];
    cells.extend(figures::cells(lane, names));
    cells.push(summary.ratio.map_or_else(String::new, text::factor));
    cells
}

fn name(lane: &Lane) -> Cell {
    Cell::About(lane.contestant.clone(), lane.about.clone())
}

fn why(lane: &Lane) -> Cell {
    let (status, why) = status(&lane.outcome);
    Cell::Why(format!("{status}: {}", why.unwrap_or_default()))
}

#[cfg(test)]
mod tests;
