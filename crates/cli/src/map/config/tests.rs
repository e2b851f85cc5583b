use clap::Parser;

use super::*;

#[derive(Parser)]
struct Only {
    #[command(flatten)]
    map: MapArgs,
}

fn check(flags: &str) -> anyhow::Result<Config> {
    let words = std::iter::once("map").chain(flags.split_whitespace());
    let parsed = Only::try_parse_from(words)?;
    Config::check(&parsed.map)
}

fn error(flags: &str) -> String {
    match check(flags) {
        Ok(config) => panic!("{flags} was taken as {config:?}"),
        Err(error) => format!("{error:#}"),
    }
}

#[test]
fn without_flags_it_runs_and_serves_on_loopback() {
    let config = check("--store /x/map.sqlite").expect("valid");
    let address = SocketAddr::from(([127, 0, 0, 1], 7117));
    assert_eq!(config.task, Task::Live { json: false, page: Some(Page { address }) });
    assert_eq!(config.since_ms(1000), 1000);
}

#[test]
fn formats_that_end_take_one_reading() {
    for (flags, format) in [
        ("--once", Format::Table),
        ("--once --json", Format::Json),
        ("--dot", Format::Dot),
        ("--once --mermaid", Format::Mermaid),
    ] {
        assert_eq!(check(flags).expect(flags).task, Task::Once { format });
    }
}

#[test]
fn questions_look_a_week_back_unless_told() {
    let day = 24 * 3_600_000;
    let config = check("--dependents pg --depth 2").expect("valid");
    let question =
        Question { of: "pg".to_owned(), direction: Direction::Dependents, depth: Some(2) };
    assert_eq!(config.task, Task::Ask { question, json: false });
    assert_eq!(config.since_ms(8 * day), day);
    let config = check("--dependencies pg --since 2d --json").expect("valid");
    assert!(matches!(config.task, Task::Ask { json: true, .. }));
    assert_eq!(config.since_ms(8 * day), 6 * day);
}

#[test]
fn only_loopback_is_served() {
    for address in ["0.0.0.0:7117", "[::]:7117", "192.0.2.1:80"] {
        let error = error(&format!("--listen {address}"));
        assert!(error.contains("not a loopback address") && error.contains("ssh -L"), "{error}");
    }
    assert!(check("--listen [::1]:0").is_ok());
    assert!(error("--listen nonsense").contains("not ADDRESS:PORT"));
}

#[test]
fn metrics_are_of_a_map_that_goes_on() {
    assert!(check("--store x --metrics 127.0.0.1:0").expect("valid").metrics.is_some());
    for one_reading in ["--once", "--dot", "--dependents x"] {
        let error = error(&format!("{one_reading} --otlp http://127.0.0.1:4318"));
        assert!(error.contains("this is one reading"), "{error}");
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    assert!(error("--depth 2").contains("--depth needs"));
    assert!(error("--interval 1ms").contains("shortest interval"));
    assert!(error("--interval 500000000000y").contains("longest interval"));
    assert!(error("--interval soon").contains("--interval"));
    assert!(error("--depth 0 --dependents x").contains("--depth"));
    assert!(error("--dependents x --dependencies y").contains("cannot be used with"));
    assert!(error("--store x --no-store").contains("cannot be used with"));
}
