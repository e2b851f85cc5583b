//! What clients say that they did. Pure.

use std::collections::BTreeMap;

use portolan_load::{Limit, Summary};
use serde::Deserialize;

use super::bare::Connected;

/// What a client did.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Said {
    /// Requests that were answered well, or connections that were made and closed.
    pub(super) done: u64,
    /// The same per second, as it says.
    pub(super) per_second: f64,
    /// What went wrong.
    pub(super) errors: u64,
    /// What it was asked for per second, if anything.
    pub(super) asked_per_second: Option<f64>,
    /// Whether it says that it reached that.
    pub(super) has_kept_up: bool,
    /// What it says kept it from doing more.
    pub(super) limited_by: Option<Limit>,
}

impl Said {
    /// `portolan load client --json`: the last line.
    pub(super) fn of_portolan(output: &str) -> Result<Self, String> {
        let line = output.lines().next_back().unwrap_or_default();
        let summary: Summary = serde_json::from_str(line).map_err(unreadable)?;
        Ok(Self {
            done: summary.completed,
            per_second: summary.achieved_per_second,
            errors: summary.total.errors(),
            asked_per_second: summary.asked_per_second,
            has_kept_up: summary.has_kept_up(),
            limited_by: summary.limited_by,
        })
    }

    /// `wrk`: `72755 requests in 1.01s, …`, `Requests/sec: 72281.12`, and lines that are there only
    /// if something went wrong. Those that it calls Non-2xx are among the requests.
    pub(super) fn of_wrk(output: &str) -> Result<Self, String> {
        let lines = || output.lines().map(str::trim);
        let requests =
            lines().find_map(|line| line.split_once(" requests in ")?.0.parse::<u64>().ok());
        let rate = lines().find_map(|line| line.strip_prefix("Requests/sec:")?.trim().parse().ok());
        let (Some(requests), Some(per_second)) = (requests, rate) else {
            return Err("no requests, or no rate".to_owned());
        };
        let bad = lines().find_map(|line| {
            line.strip_prefix("Non-2xx or 3xx responses:")?.trim().parse::<u64>().ok()
        });
        let failed = lines().find_map(|line| line.strip_prefix("Socket errors:"));
        let bad = bad.unwrap_or(0);
        let errors = bad + failed.map_or(0, numbers);
        let done = requests.saturating_sub(bad);
        Ok(Self { done, per_second, errors, has_kept_up: true, ..Self::default() })
    }

    /// `h2load`: `finished in 1.50s, 89636.00 req/s, …` and `requests: …, 134454 succeeded, 0
    /// failed, 0 errored, 0 timeout`. Errored ones are among the failed.
    pub(super) fn of_h2load(output: &str) -> Result<Self, String> {
        let find = |start: &str| output.lines().find_map(|line| line.strip_prefix(start));
        let per_second = find("finished in ").and_then(|line| {
            line.split(", ").find_map(|part| part.strip_suffix(" req/s")?.parse().ok())
        });
        let requests = find("requests: ");
        let count = |what: &str| {
            requests?.split(", ").find_map(|part| part.strip_suffix(what)?.parse::<u64>().ok())
        };
        let (Some(done), Some(per_second)) = (count(" succeeded"), per_second) else {
            return Err("no requests, or no rate".to_owned());
        };
        let errors = count(" failed").unwrap_or(0) + count(" timeout").unwrap_or(0);
        Ok(Self { done, per_second, errors, has_kept_up: true, ..Self::default() })
    }

    /// `oha --output-format json`. What was under way at the end is no error.
    pub(super) fn of_oha(output: &str) -> Result<Self, String> {
        let report: OhaReport = serde_json::from_str(output.trim()).map_err(unreadable)?;
        let (good, bad): (Vec<_>, Vec<_>) =
            report.statuses.iter().partition(|(status, _)| status.starts_with(['2', '3']));
        let sum = |all: Vec<(&String, &u64)>| all.into_iter().map(|(_, count)| count).sum::<u64>();
        let failed = report.errors.iter().filter(|(why, _)| why.as_str() != OHA_DEADLINE);
        let done = sum(good);
        Ok(Self {
            done,
            // What it says per second is of all that it began.
            per_second: rate(done, report.summary.seconds),
            errors: sum(bad) + sum(failed.collect()),
            has_kept_up: true,
            ..Self::default()
        })
    }

    /// [`super::bare_loop()`].
    pub(super) fn of_bare(output: &str) -> Result<Self, String> {
        let Connected { connected, errors, seconds } =
            serde_json::from_str(output.trim()).map_err(unreadable)?;
        let per_second = rate(connected, seconds);
        Ok(Self { done: connected, per_second, errors, has_kept_up: true, ..Self::default() })
    }
}

#[derive(Deserialize)]
struct OhaReport {
    summary: OhaSummary,
    #[serde(rename = "statusCodeDistribution")]
    statuses: BTreeMap<String, u64>,
    #[serde(rename = "errorDistribution", default)]
    errors: BTreeMap<String, u64>,
}

#[derive(Deserialize)]
struct OhaSummary {
    #[serde(rename = "total")]
    seconds: f64,
}

/// What oha says of requests that its own end cut off.
const OHA_DEADLINE: &str = "aborted due to deadline";

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn unreadable(error: serde_json::Error) -> String {
    format!("unreadable: {error}")
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
fn rate(done: u64, seconds: f64) -> f64 {
    done as f64 / seconds.max(1e-9)
}

/// The sum of all numbers in a line.
fn numbers(line: &str) -> u64 {
    let words = line.split(|letter: char| !letter.is_ascii_digit());
    words.filter_map(|word| word.parse::<u64>().ok()).sum()
}

#[cfg(test)]
mod tests;
