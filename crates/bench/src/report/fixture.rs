//! Results that have everything in them that a report can meet.

use std::time::Duration;

use crate::{
    Column, Difference, Figure, Host, Lane, Outcome, Results, Sample, SizeResults, Value, View,
    order::Order,
};

pub fn sample(wall_ms: u64, peak_kib: u64) -> Sample {
    Sample {
        wall: Duration::from_millis(wall_ms),
        cpu: Duration::from_micros(700),
        user: Some(Duration::from_micros(200)),
        system: Some(Duration::from_micros(500)),
        peak_kib,
        peak_floor_kib: 2_048,
        rows: None,
        figures: Vec::new(),
        marks: Vec::new(),
    }
}

fn lane(contestant: &str, rows: Option<u64>, outcome: Outcome) -> Lane {
    Lane {
        contestant: contestant.to_owned(),
        about: "says \"hello\", & more".to_owned(),
        task: "pretend",
        baseline: "peer".to_owned(),
        is_own: contestant.starts_with("own"),
        rows,
        reads: None,
        closer: Ok(Vec::new()),
        differences: Vec::new(),
        outcome,
    }
}

pub fn results() -> Results {
    let own = [9, 1, 2].map(|wall_ms| sample(wall_ms, 3_072)).to_vec();
    let steady = Sample { user: None, system: None, ..sample(1, 4_096) };
    let peer = [4, 4, 5]
        .map(|wall_ms| Sample { peak_floor_kib: 8_192, ..sample(wall_ms, 8_192) })
        .to_vec();
    let host = Host {
        kernel: "Linux 6.1".to_owned(),
        machine: "x86_64".to_owned(),
        cpus: 2,
        load_average: Some([0.5, 0.25, 0.0]),
        date: "2026-01-02T03:04:05Z".to_owned(),
        portolan: "0.1.0",
    };
    let mut lanes = vec![
        lane("own <fast>", Some(1_234), Outcome::Measured(own)),
        lane("steady, \"warm\"", Some(1_234), Outcome::Measured(vec![steady; 3])),
        lane("peer", None, Outcome::Measured(peer)),
        lane("missing", None, Outcome::Absent("not installed: apt-get install missing".into())),
        lane("broken", None, Outcome::Failed("exit code 1: a & b < c\nd".into())),
        lane("liar", None, Outcome::Wrong("3 rows, of at least 1000".into())),
    ];
    lanes[0].reads = Some(Ok(2_345));
    lanes[2].reads = Some(Err("needs strace: apt-get install strace".to_owned()));
    Results {
        scenario: "snapshot",
        about: "reads \"sockets\" & more".to_owned(),
        unit: "sockets",
        view: View::Times,
        rounds: 3,
        order: Order { seed: 7 },
        sizes: vec![SizeResults { size: 1_000, left_out: None, lanes, host }],
    }
}

/// The same, but some have further numbers.
pub fn with_figures() -> Results {
    let mut results = results();
    let lanes = &mut results.sizes[0].lanes;
    if let Outcome::Measured(samples) = &mut lanes[0].outcome {
        for (sample, packets) in samples.iter_mut().zip([3.0, 2.5, 3.5]) {
            let packets = Figure { name: "packets_per_check", unit: "packets", value: packets };
            let accepts = Figure::count("accepts", "connections", 12_345);
            sample.figures = vec![packets, accepts, Figure::count("server_cpu_us", "us", 1_500)];
        }
    }
    lanes[0].closer = Ok(vec![Figure::per("captured_per_check", "packets", 30, 10)]);
    lanes[2].closer = Err("needs tcpdump: apt-get install tcpdump".to_owned());
    results
}

/// The same, but the only size was left out.
pub fn left_out() -> Results {
    let mut results = results();
    let why = "needs 5 MiB of memory";
    let size = &mut results.sizes[0];
    size.left_out = Some(why.to_owned());
    for lane in &mut size.lanes {
        (lane.reads, lane.rows) = (None, None);
        lane.outcome = Outcome::Absent(why.to_owned());
    }
    results
}

/// The same, but the first two are compared, and figures are what is shown.
pub fn with_differences() -> Results {
    let mut results = with_figures();
    results.view = View::Figures { columns: &COLUMNS, plots: &[] };
    let (name, unit) = ("added_us", "us");
    let added = |mean, bounds| vec![Difference { name, unit, mean, bounds, rounds: 3 }];
    let lanes = &mut results.sizes[0].lanes;
    lanes[0].differences = added(0.25, Some((-0.5, 1.0)));
    lanes[1].differences = added(-0.12, None);
    results
}

const COLUMNS: [Column; 2] = [
    Column { value: Value::Figure("packets_per_check"), heading: "packets", has_ends: false },
    Column { value: Value::Difference("added_us"), heading: "added", has_ends: true },
];
