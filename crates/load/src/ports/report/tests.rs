use super::{super::Series, *};

fn measured(job: Job, strategy: Strategy, slow_from: u32) -> Measured {
    let times_ns = (0..4_000).map(|nth| if nth < slow_from { 12_000 } else { 1_500_000 }).collect();
    Measured {
        job,
        strategy,
        asked: 4_000,
        series: Series { times_ns },
        distinct_ports: 4_000,
        verified: (job == Job::Connect).then_some(4_000),
        conflicts: 0,
        even_in_first_half: 1_000,
        even_in_second_half: 1_000,
        failure: None,
    }
}

fn outcome() -> Outcome {
    Outcome {
        range: 20_000..=24_000,
        is_own: true,
        measured: vec![
            measured(Job::Connect, Strategy::Explicit, 4_000),
            measured(Job::Connect, Strategy::Kernel, 2_000),
        ],
        left_out: vec![(Job::Connect, Strategy::Range, "this kernel lacks it".to_owned())],
        is_interrupted: false,
    }
}

#[test]
fn the_table_says_where_the_cliff_is_and_what_to_do() {
    let text = table(&outcome());
    let line = |name: &str| {
        let found = text.lines().find(|line| line.trim_start().starts_with(name));
        found.unwrap_or_else(|| panic!("{name}: {text}")).split_whitespace().collect::<Vec<_>>()
    };
    assert_eq!(line("explicit")[1..3], ["4,000", "48.0"]);
    assert!(line("explicit").join(" ").contains("1.00× 63.0× none"), "{text}");
    assert!(line("kernel").join(" ").ends_with("125.00× 2,000"), "{text}");
    assert!(text.contains("the cliff is after 2,000 calls: 12 µs each before, 1.50 ms each"));
    assert!(text.contains("--ports explicit") && text.contains("this kernel lacks it"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 110), "{text}");
}

#[test]
fn without_a_cliff_there_is_nothing_to_do() {
    let outcome = Outcome {
        measured: vec![measured(Job::Bind, Strategy::Explicit, 4_000)],
        left_out: Vec::new(),
        ..outcome()
    };
    let text = table(&outcome);
    assert!(!text.contains("What to do") && text.contains("bind(2)"), "{text}");
}

#[test]
fn what_went_wrong_is_said() {
    let mut outcome = outcome();
    outcome.measured[0].failure = Some("no source port is left".to_owned());
    outcome.measured[0].series.times_ns.truncate(1_234);
    outcome.measured[1].verified = Some(3_999);
    let text = table(&outcome);
    assert!(text.contains("ended after 1,234 of 4,000 calls: no source port is left"), "{text}");
    assert!(text.contains("3,999 connections proved alive"), "{text}");
    assert!(!outcome.is_whole());
}

#[test]
fn every_part_is_a_row_of_csv() {
    let text = csv(&outcome());
    let rows: Vec<&str> = text.lines().collect();
    assert_eq!((rows[0], rows.len()), (CSV_HEADING, 1 + 2 * 200));
    assert_eq!(rows[1], "connect,explicit,20,240000,12000,240000");
    assert_eq!(rows[400], "connect,kernel,4000,30000000,1500000,3024000000");
}

#[test]
fn the_page_has_both_curves_and_the_numbers() {
    let outcome = outcome();
    let names: Vec<String> =
        figures(&outcome, Job::Connect).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["connect-cumulative", "connect-per-call"]);
    assert!(figures(&outcome, Job::Bind).is_empty());
    let html = page(&outcome).html();
    assert_eq!(html.matches("<svg").count(), 2);
    assert!(html.contains("cliff of kernel") && html.contains("63.0×"), "{html}");
}

#[test]
fn records_say_the_same() {
    let records: Vec<_> = outcome().records().collect();
    assert_eq!(records[1].cliff.map(|cliff| cliff.after), Some(2_000));
    assert_eq!((records[0].count, records[0].total_ns), (4_000, 48_000_000));
    assert_eq!(records[0].cliff, None);
}
