use clap::Parser;

use super::*;

#[derive(Parser)]
#[command(disable_help_flag = true)]
struct Only {
    #[command(flatten)]
    sockets: SocketsArgs,
}

fn check(flags: &str) -> anyhow::Result<Config> {
    let words = std::iter::once("sockets").chain(flags.split_whitespace());
    Config::check(&Only::try_parse_from(words)?.sockets)
}

fn wanted(flags: &str) -> Vec<State> {
    let states = check(flags).expect(flags).states;
    State::ALL.into_iter().filter(|&state| states.contains(state)).collect()
}

#[test]
fn by_default_sockets_that_have_a_peer_are_listed() {
    let states = wanted("-t");
    assert!(states.contains(&State::Established) && states.contains(&State::CloseWait));
    for state in [State::Listen, State::Close, State::TimeWait, State::SynReceived] {
        assert!(!states.contains(&state), "{state:?}");
    }
}

#[test]
fn listening_and_all_are_what_they_are_in_ss() {
    assert_eq!(wanted("-l"), [State::Close, State::Listen]);
    assert_eq!(wanted("-a").len(), 12);
    assert!(check("-a -l").is_err());
}

#[test]
fn states_in_the_filter_come_before_the_default() {
    let config = check("-t state time-wait dst 10.0.0.0/8").expect("valid");
    let query = &config.queries()[0];
    assert!(query.states.contains(State::TimeWait));
    assert!(query.filter.is_some());
}

#[test]
fn flags_may_follow_the_filter() {
    let config = check("dst 10.0.0.1 -tp").expect("valid");
    assert!(config.columns.processes);
    assert_eq!(config.queries().len(), 1);
}

#[test]
fn a_bad_filter_says_where_and_what_was_expected() {
    let error = check("sport = x").expect_err("x is no port").to_string();
    assert!(error.contains("column 9") && error.contains("expected a port"), "{error}");
}

#[test]
fn owners_are_looked_up_only_where_they_are_shown() {
    assert!(!check("-t").expect("valid").needs_owners);
    assert!(check("-tp").expect("valid").needs_owners);
    assert!(check("-t --group-by unit").expect("valid").needs_owners);
    assert!(!check("-t --group-by peer").expect("valid").needs_owners);
}
