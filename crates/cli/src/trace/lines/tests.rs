use std::{collections::VecDeque, sync::mpsc};

use super::*;
use crate::trace::sample::{Told, config, flow, opened};

const SECOND: Duration = Duration::from_secs(1);

fn reading(count: u64) -> anyhow::Result<Observed> {
    let flows = vec![flow("a", "quiet", 2, opened(1)), flow("b", "busy", 1, opened(count))];
    Ok(Observed { flows, losses: vec![("untracked", 0)], span: SECOND, ..Observed::default() })
}

fn report(line: &str, told: &mut Told, asked: &Receiver<()>) -> anyhow::Result<String> {
    let config = config(line);
    let mut out = Vec::new();
    run(&config, told, Pace::new(&config), asked, &mut out)?;
    Ok(String::from_utf8(out)?)
}

#[test]
fn each_interval_is_a_table_in_order() {
    let (_asks, asked) = mpsc::sync_channel(1);
    let mut told = Told { readings: VecDeque::from([reading(5), reading(0)]), relieved: 0 };
    let text = report("--count 2 --interval 100ms", &mut told, &asked).expect("it runs");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 10, "{text}");
    assert!(lines[0].contains("2 edges, 4 up, 6 new/s"), "{text}");
    assert!(lines[2].starts_with("b @10.0.0.1") && lines[7].starts_with("a @10.0.0.1"), "{text}");
    assert_eq!(lines[4], "");
    assert!(told.relieved >= 2, "the queue was emptied {} times", told.relieved);
}

#[test]
fn whoever_asks_for_the_end_gets_the_last_interval() {
    let (asks, asked) = mpsc::sync_channel(1);
    asks.send(()).expect("there is room");
    let mut told = Told { readings: VecDeque::from([reading(5)]), relieved: 0 };
    let text = report("--json --interval 1h", &mut told, &asked).expect("it ends");
    assert_eq!(text.lines().count(), 3, "{text}");
    assert!(text.contains(r#""opened":5"#) && text.contains(r#""type":"summary""#), "{text}");
}

#[test]
fn who_is_always_late_still_listens() {
    let (asks, asked) = mpsc::sync_channel(1);
    asks.send(()).expect("there is room");
    let config = config("--json --interval 100ms");
    let pace = Pace::new(&config);
    std::thread::sleep(Duration::from_millis(150));
    let mut told = Told { readings: VecDeque::from([reading(5)]), relieved: 0 };
    let mut out = Vec::new();
    run(&config, &mut told, pace, &asked, &mut out).expect("it ends");
    assert_eq!(String::from_utf8_lossy(&out).lines().count(), 3);
}

#[test]
fn trouble_is_told_when_it_lasts() {
    let (_asks, asked) = mpsc::sync_channel(1);
    let trouble = || Err(anyhow::anyhow!("short of memory"));
    let mut told = Told { readings: VecDeque::from([trouble(), reading(5)]), relieved: 0 };
    let text = report("--json --count 2 --interval 100ms", &mut told, &asked).expect("it passed");
    assert!(text.contains(r#""opened":5"#), "{text}");
    let lasting = (0..20).map(|_| trouble()).collect();
    let mut told = Told { readings: lasting, relieved: 0 };
    let error = report("--json --interval 100ms", &mut told, &asked).expect_err("it lasts");
    assert_eq!(error.to_string(), "short of memory");
}

#[test]
fn the_same_warning_is_told_once() {
    let mut warned = BTreeSet::new();
    let one = Observed { warnings: vec!["hidden".to_owned()], ..Observed::default() };
    warn(&one, &mut warned);
    assert_eq!(warned.len(), 1);
    warn(&Observed::default(), &mut warned);
    assert!(warned.is_empty());
}
