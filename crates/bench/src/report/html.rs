//! One page with the chart and the numbers, in one file that needs no other.

use std::{
    fmt::{self, Write as _},
    io,
};

use super::{
    Group, columns, figures, groups, reads_text, status, svg::escape, text, unmeasured, write_svg,
};
use crate::{Column, Lane, Results, SizeResults, View};

const STYLE: &str = "\
body{font:15px system-ui,sans-serif;max-width:1000px;margin:2em auto;padding:0 1em;\
color-scheme:light dark}svg{max-width:100%;height:auto}\
table{border-collapse:collapse;margin:1em 0}caption{text-align:left;font-weight:600}\
th,td{padding:.2em .7em;text-align:right;border-bottom:1px solid #8c959f55}\
th:first-child,td:first-child,td.why{text-align:left}\
td{font-variant-numeric:tabular-nums}";

/// Writes all sizes of `results`.
///
/// # Errors
/// The writer's.
pub fn write_html(results: &Results, out: &mut dyn io::Write) -> io::Result<()> {
    let title = escape(&format!("portolan bench {}", results.scenario));
    writeln!(out, "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">")?;
    writeln!(out, "<title>{title}</title>\n<style>{STYLE}</style>\n<h1>{title}</h1>")?;
    write_svg(results, out)?;
    let mut page = String::new();
    for size in &results.sizes {
        write_size(&mut page, results, size).map_err(io::Error::other)?;
    }
    writeln!(out, "{page}</html>")
}

fn write_size(page: &mut String, results: &Results, size: &SizeResults) -> fmt::Result {
    let name = format!("{} {}", text::grouped(size.size), results.unit);
    writeln!(page, "<h2>{}</h2>\n<p>{}</p>", escape(&name), escape(&size.host.describe()))?;
    if let Some(why) = &size.left_out {
        return writeln!(page, "<p>Left out: {}</p>", escape(why));
    }
    for group in groups(size) {
        match results.view {
            View::Times => write_group(page, &group)?,
            View::Figures { columns, .. } => write_figures(page, &group, columns)?,
        }
    }
    for mark in size.lanes.iter().flat_map(columns::marks) {
        writeln!(page, "<p>{}</p>", escape(&mark))?;
    }
    unmeasured(size).iter().try_for_each(|why| writeln!(page, "<p>{}</p>", escape(why)))
}

/// A table of `columns` alone.
fn write_figures(page: &mut String, group: &Group<'_>, columns: &[Column]) -> fmt::Result {
    let lanes: Vec<&Lane> = group.lanes.iter().map(|(lane, _)| *lane).collect();
    let columns = columns::of_lanes(columns, &lanes);
    writeln!(page, "<table>\n<caption>{}</caption>\n<tr><th></th>", escape(group.task))?;
    for (heading, _) in &columns {
        write!(page, "<th>{}</th>", escape(heading))?;
    }
    writeln!(page, "</tr>")?;
    for (at, lane) in lanes.iter().enumerate() {
        let about = escape(&lane.about).replace('"', "&quot;");
        write!(page, "<tr><td title=\"{about}\">{}</td>", escape(&lane.contestant))?;
        if status(&lane.outcome).0 == "measured" {
            for (_, cells) in &columns {
                write!(page, "<td>{}</td>", escape(&cells[at]))?;
            }
        } else {
            let width = columns.len().max(1);
            write!(page, "<td class=\"why\" colspan=\"{width}\">{}</td>", why(lane))?;
        }
        writeln!(page, "</tr>")?;
    }
    writeln!(page, "</table>")
}

fn write_group(page: &mut String, group: &Group<'_>) -> fmt::Result {
    writeln!(page, "<table>\n<caption>{}</caption>", escape(group.task))?;
    let versus = format!("vs {}", group.baseline);
    let names = figures::names(group.lanes.iter().map(|(lane, _)| *lane));
    let mut columns: Vec<String> =
        ["", "wall", "least", "most", "CPU", "peak", "rows", "reads"].map(str::to_owned).to_vec();
    columns.extend(names.iter().map(|name| figures::heading(name)));
    columns.push(versus);
    write!(page, "<tr>")?;
    for column in &columns {
        write!(page, "<th>{}</th>", escape(column))?;
    }
    writeln!(page, "</tr>")?;
    for (lane, summary) in &group.lanes {
        let (name, about) = (escape(&lane.contestant), escape(&lane.about));
        // Quotes matter in an attribute only.
        let about = about.replace('"', "&quot;");
        write!(page, "<tr><td title=\"{about}\">{name}</td>")?;
        match summary {
            Some(summary) => {
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
                cells.extend(figures::cells(lane, &names));
                cells.push(summary.ratio.map_or_else(String::new, text::factor));
                for cell in &cells {
                    write!(page, "<td>{}</td>", escape(cell))?;
                }
            }
            None => {
                let width = columns.len() - 1;
                write!(page, "<td class=\"why\" colspan=\"{width}\">{}</td>", why(lane))?;
            }
        }
        writeln!(page, "</tr>")?;
    }
    writeln!(page, "</table>")
}

fn why(lane: &Lane) -> String {
    let (status, why) = status(&lane.outcome);
    escape(&format!("{status}: {}", why.unwrap_or_default()))
}

#[cfg(test)]
mod tests;
