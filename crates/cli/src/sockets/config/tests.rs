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

fn valid(flags: &str) -> Config {
    check(flags).unwrap_or_else(|error| panic!("{flags}: {error}"))
}

fn refused(flags: &str) -> String {
    check(flags).expect_err(flags).to_string()
}

fn wanted(flags: &str) -> Vec<State> {
    let states = valid(flags).states;
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
    // The last one counts.
    for flags in ["-tla", "-l -a", "-tulpan", "-a -l -a"] {
        assert_eq!(wanted(flags).len(), 12, "{flags}");
    }
    for flags in ["-tal", "-a -l", "-l -a -l", "-all"] {
        assert_eq!(wanted(flags), [State::Close, State::Listen], "{flags}");
    }
}

#[test]
fn flags_may_be_said_twice() {
    for flags in ["-n -tln", "-nn", "-tt", "-O --oneline", "--json --json", "-p -tp"] {
        assert!(check(flags).is_ok(), "{flags}");
    }
    assert_eq!(valid("--method diag --method walk").method, Some(MethodName::Walk));
}

#[test]
fn both_versions_are_what_no_version_is() {
    for (flags, expected) in
        [("-t", None), ("-4", Some(4)), ("-6", Some(6)), ("-4 -6", None), ("-64t", None)]
    {
        assert_eq!(valid(flags).version, expected, "{flags}");
    }
}

#[test]
fn names_are_not_looked_up_and_that_is_said() {
    for flags in ["-r", "-tulpr", "--resolve"] {
        let error = refused(flags);
        assert!(error.contains("not looked up") && error.contains("getent"), "{error}");
    }
}

#[test]
fn the_timer_is_among_the_details_and_there_once() {
    let extended = [Column::Uid, Column::Inode, Column::Cookie, Column::Timer];
    for flags in ["-te", "-teo", "-toe"] {
        assert_eq!(valid(flags).layout.extras, extended, "{flags}");
    }
    assert_eq!(valid("-to").layout.extras, [Column::Timer]);
    // What is watched has none.
    assert!(!valid("-te --watch").asked.contains(&Column::Timer));
}

#[test]
fn states_in_the_filter_come_before_the_default() {
    let config = valid("-t state time-wait dst 10.0.0.0/8");
    let query = &config.queries()[0];
    assert!(query.states.contains(State::TimeWait));
    assert!(query.filter.is_some());
}

#[test]
fn flags_may_follow_the_filter() {
    let config = valid("dst 10.0.0.1 -tp");
    assert_eq!(config.layout.extras, [Column::Process]);
    assert_eq!(config.queries().len(), 1);
}

#[test]
fn a_bad_filter_says_where_and_what_was_expected() {
    let error = refused("sport = x");
    assert!(error.contains("column 9") && error.contains("expected a port"), "{error}");
}

#[test]
fn owners_are_looked_up_only_where_they_are_shown_or_sorted_by() {
    for flags in ["-t", "-t --group-by peer", "--columns uid,inode", "-tepi --columns local -4"] {
        let expected = flags.contains('p') && !flags.contains("group") && flags.contains("-te");
        assert_eq!(valid(flags).needs_owners, expected, "{flags}");
    }
    for flags in ["-tp", "-t --group-by unit", "--columns local,unit", "--sort -process"] {
        assert!(valid(flags).needs_owners, "{flags}");
    }
}

#[test]
fn the_kernel_is_asked_for_what_is_shown_and_no_more() {
    let details = |flags: &str| valid(flags).queries()[0].details;
    let usual = Details { queues: true, ..Details::NONE };
    assert_eq!(details("-t"), usual);
    assert_eq!(details("-tm"), Details { memory: true, ..usual });
    assert_eq!(details("-ti"), Details { tcp_info: true, ..usual });
    assert_eq!(details("-to"), Details { timer: true, ..usual });
    assert_eq!(details("-te"), Details { holder: true, cookie: true, timer: true, ..usual });
    assert_eq!(details("-t --json"), Details { holder: true, cookie: true, ..usual });
    assert_eq!(details("--columns local"), Details::NONE);
    assert_eq!(details("--columns local --json"), Details::NONE);
    assert_eq!(details("--columns local --sort rtt"), Details { tcp_info: true, ..Details::NONE });
    assert_eq!(details("-s"), Details::NONE);
    assert_eq!(details("--group-by user"), Details { holder: true, ..Details::NONE });
    assert!(details("--kill dport = :1 --columns local").cookie);
    // UDP has nothing measured.
    assert!(!valid("-ui").queries()[0].details.tcp_info);
    assert!(valid("-um").queries()[0].details.memory);
}

#[test]
fn columns_are_what_was_chosen_and_flags_add_to_them() {
    let chosen = |flags: &str| valid(flags).layout.chosen.unwrap_or_default();
    assert_eq!(chosen("--columns peer,local"), [Column::Peer, Column::Local]);
    let added = [Column::Peer, Column::Process, Column::Memory];
    assert_eq!(chosen("-pmN --columns peer,process"), added);
    assert!(refused("--columns peer,nonsense").contains("recv-q"), "they are listed");
    assert!(check("--columns peer -s").is_err());
}

#[test]
fn an_order_is_turned_around_by_a_minus_or_a_word() {
    let order = |flags: &str| match valid(flags).task {
        Task::List { order, .. } => order,
        other => panic!("{other:?}"),
    };
    let by = |descending| Some(Order { column: Column::RecvQ, descending });
    assert_eq!(order("-t"), None);
    assert_eq!(order("--sort recv-q"), by(false));
    assert_eq!(order("--sort -recv-q"), by(true));
    assert_eq!(order("--sort=-recv-q -t"), by(true));
    assert_eq!(order("--sort recv-q --reverse"), by(true));
    assert_eq!(order("--sort -recv-q --reverse"), by(false));
    assert!(refused("--sort nonsense").contains("recv-q"), "they are listed");
    assert!(refused("--sort info").contains("rtt"), "and what can be sorted by");
    assert!(check("--reverse").is_err());
    assert!(check("--limit 0").is_err());
}

#[test]
fn not_every_connection_is_closed_by_mistake() {
    for flags in ["--kill", "-tK", "--kill state connected", "--kill state all", "--kill --yes -t"]
    {
        assert!(refused(flags).contains("needs a filter"), "{flags}");
    }
    for flags in ["--kill dst 10.0.0.1", "-K state close-wait", "--kill --yes state all uid = 7"] {
        assert!(matches!(valid(flags).task, Task::Kill { .. }), "{flags}");
    }
    assert!(check("--yes").is_err());
    assert!(check("--kill -s dport = :1").is_err());
}

#[test]
fn sockets_are_closed_by_what_sock_diag_tells_of_them() {
    assert_eq!(valid("--kill dport = :1").method, Some(MethodName::Diag));
    assert!(refused("--kill --method procfs dport = :1").contains("--method"));
}
