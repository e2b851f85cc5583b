//! The experiment for people: a table, figures, a page, CSV.

mod figures;

use std::fmt::Write as _;

use portolan_plot::{
    Page, Part, Table,
    numbers::{grouped, time},
};

use super::{Job, Measured, Outcome, Strategy};

pub use figures::figures;

/// The first line of CSV.
pub const CSV_HEADING: &str = "job,strategy,calls,calls_total_ns,median_ns,cumulative_ns";

/// A row for each part of each strategy's calls, in order, with [`CSV_HEADING`] as the first line.
#[must_use]
pub fn csv(outcome: &Outcome) -> String {
    let mut text = format!("{CSV_HEADING}\n");
    for one in &outcome.measured {
        let mut cumulative_ns = 0;
        for part in one.series.even_parts() {
            cumulative_ns += part.total_ns;
            let (job, strategy, calls) = (one.job, one.strategy, part.from + part.count);
            let (total, median) = (part.total_ns, part.median_ns);
            // Writing to a string does not fail.
            let _ = writeln!(text, "{job},{strategy},{calls},{total},{median},{cumulative_ns}");
        }
    }
    text
}

const HEADINGS: [&str; 8] = [
    "",
    "calls",
    "total",
    "first 1/16",
    "last 1/16",
    "last/first",
    "faster than kernel",
    "cliff after",
];

/// A table for each job.
fn tables(outcome: &Outcome) -> Vec<(Job, Vec<Vec<String>>)> {
    let of = |job| {
        let rows: Vec<_> = outcome.measured.iter().filter(|one| one.job == job).collect();
        let kernel = outcome.of(job, Strategy::Kernel);
        let rows: Vec<_> = rows.into_iter().map(|one| row(one, kernel)).collect();
        (!rows.is_empty()).then_some((job, rows))
    };
    [Job::Connect, Job::Bind].into_iter().filter_map(of).collect()
}

fn row(one: &Measured, kernel: Option<&Measured>) -> Vec<String> {
    let us = |ns: u64| time(ns / 1_000);
    let total = one.series.total();
    let ends = one.series.ends();
    let each = |ns: u64| format!("{:.1} µs each", ratio(ns, 1_000));
    let faster = kernel.filter(|kernel| kernel.count() == one.count()).map(|kernel| {
        let (kernel, own) = (kernel.series.total(), total);
        format!("{:.1}×", kernel.as_secs_f64() / own.as_secs_f64().max(1e-9))
    });
    let is_kernel = one.strategy == Strategy::Kernel;
    vec![
        one.strategy.to_string(),
        grouped(one.count()),
        us(u64::try_from(total.as_nanos()).unwrap_or(u64::MAX)),
        ends.map_or_else(String::new, |(first, _)| each(first.median_ns)),
        ends.map_or_else(String::new, |(_, last)| each(last.median_ns)),
        ends.map_or_else(String::new, |(first, last)| {
            format!("{:.2}×", ratio(last.median_ns, first.median_ns))
        }),
        faster.filter(|_| !is_kernel).unwrap_or_default(),
        one.series.cliff().map_or_else(|| "none".to_owned(), |cliff| grouped(cliff.after)),
    ]
}

#[allow(clippy::cast_precision_loss, reason = "for people")]
fn ratio(one: u64, other: u64) -> f64 {
    one as f64 / (other.max(1)) as f64
}

/// The tables, what they mean and what to do, for a terminal.
#[must_use]
pub fn table(outcome: &Outcome) -> String {
    let mut text = String::new();
    for (job, rows) in tables(outcome) {
        let _ = writeln!(text, "{}", heading(outcome, job));
        let lines: Vec<Vec<String>> =
            std::iter::once(HEADINGS.map(str::to_owned).to_vec()).chain(rows).collect();
        let width =
            |at: usize| lines.iter().map(|line| line[at].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..HEADINGS.len()).map(width).collect();
        for line in &lines {
            let mut row = String::new();
            for (at, (cell, width)) in line.iter().zip(&widths).enumerate() {
                let gap = width - cell.chars().count() + if at > 0 { 2 } else { 0 };
                if at == 0 {
                    let _ = write!(row, "  {cell}{:gap$}", "");
                } else {
                    let _ = write!(row, "{:gap$}{cell}", "");
                }
            }
            let _ = writeln!(text, "{}", row.trim_end());
        }
        text.push('\n');
    }
    for sentence in sentences(outcome) {
        let _ = writeln!(text, "{sentence}");
    }
    text
}

fn heading(outcome: &Outcome, job: Job) -> String {
    let (first, last) = (outcome.range.start(), outcome.range.end());
    match job {
        Job::Connect => {
            format!(
                "connect(2): one address to one destination, ports {first}-{last}, all held open"
            )
        }
        Job::Bind => format!("bind(2): one address, ports {first}-{last}, all held"),
    }
}

/// What came of it, and what to do.
fn sentences(outcome: &Outcome) -> Vec<String> {
    let mut said = Vec::new();
    let us = |ns: u64| time(ns / 1_000);
    for one in &outcome.measured {
        let Measured { job, strategy, .. } = one;
        if let Some(cliff) = one.series.cliff() {
            said.push(format!(
                "{job}, {strategy}: the cliff is after {} calls: {} each before, {} each from \
                 there on.",
                grouped(cliff.after),
                us(cliff.before_ns),
                us(cliff.then_ns)
            ));
        }
        if let Some(failure) = &one.failure {
            said.push(format!(
                "{job}, {strategy}: ended after {} of {} calls: {failure}.",
                grouped(one.count()),
                grouped(one.asked.into())
            ));
        } else if !one.is_whole() {
            said.push(format!(
                "{job}, {strategy}: of {} calls, {} had a port of their own in the range{}.",
                grouped(one.asked.into()),
                grouped(one.distinct_ports),
                one.verified.map_or_else(String::new, |verified| {
                    format!(", and {} connections proved alive", grouped(verified))
                })
            ));
        }
    }
    for (job, strategy, why) in &outcome.left_out {
        said.push(format!("{job}, {strategy}: left out: {why}."));
    }
    let kernel = |job| outcome.of(job, Strategy::Kernel).and_then(|one| one.series.cliff());
    if kernel(Job::Connect).is_some() || kernel(Job::Bind).is_some() {
        said.push(ADVICE.to_owned());
    }
    if outcome.is_interrupted {
        said.push("Interrupted: what is missing was not measured.".to_owned());
    }
    said
}

const ADVICE: &str = "\
What to do: choose source ports yourself (SO_REUSEADDR and bind to a port before connect; in
portolan load client: --ports explicit), or let the kernel choose within a few ports at a time (the
socket option IP_LOCAL_PORT_RANGE, Linux 6.3; --ports range). More source addresses or destinations
move the cliff, and so does a wider net.ipv4.ip_local_port_range.";

/// The page with figures, tables and advice.
#[must_use]
pub fn page(outcome: &Outcome) -> Page {
    let mut parts = vec![Part::Text(place(outcome))];
    for (job, rows) in tables(outcome) {
        parts.push(Part::Heading(heading(outcome, job)));
        parts.extend(figures(outcome, job).into_iter().map(|(_, figure)| Part::Figure(figure)));
        let mut table = Table::new(format!("{job}, in numbers"), &HEADINGS);
        rows.into_iter().for_each(|row| table.row(row));
        parts.push(Part::Table(table));
    }
    parts.extend(sentences(outcome).into_iter().map(Part::Text));
    Page { title: "Source ports: what the search for one costs".to_owned(), parts }
}

fn place(outcome: &Outcome) -> String {
    let place = if outcome.is_own {
        "Each strategy in a network namespace of its own, over loopback."
    } else {
        "On the host, over loopback."
    };
    format!(
        "{place} A call is: make a socket, choose the port, connect or bind. First and last are \
         medians of a sixteenth of all calls."
    )
}

#[cfg(test)]
mod tests;
