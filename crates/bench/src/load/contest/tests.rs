use super::*;

fn contest(client: Client) -> Contest {
    let nothing = Program::new("/bin/true", [""; 0]);
    Contest {
        name: client.name().to_owned(),
        baseline: client.bare_baseline(),
        task: "connect",
        server: Server::Sink,
        client,
        file: Executable::Own { program: nothing.clone(), method: None },
        own: nothing,
        keep_alive: true,
        threads: 1,
        window: Duration::from_secs(1),
        possible: None,
    }
}

const SAID: Said = Said {
    done: 1_000,
    per_second: 500.0,
    errors: 0,
    asked_per_second: None,
    has_kept_up: true,
    limited_by: None,
};

#[test]
fn nothing_done_or_many_errors_are_no_result() {
    let wrk = contest(Client::Wrk);
    assert_eq!(wrk.marks(&SAID), Ok(Vec::new()));
    assert!(wrk.marks(&Said { done: 0, per_second: 0.0, ..SAID }).is_err());
    assert!(wrk.marks(&Said { errors: 2, ..SAID }).is_err());
    assert_eq!(wrk.marks(&Said { errors: 1, ..SAID }), Ok(vec!["1 errors".to_owned()]));
}

#[test]
fn the_bare_loop_may_run_out_of_ports_and_that_is_said() {
    let bare = contest(Client::Bare { resets: false });
    let marks = bare.marks(&Said { errors: 900, ..SAID }).unwrap();
    assert_eq!(marks, ["900 errors"]);
}

#[test]
fn what_was_asked_for_and_what_is_said_of_it_is_told() {
    let said = Said {
        asked_per_second: Some(1_000.0),
        has_kept_up: false,
        limited_by: Some(Limit::Processors),
        ..SAID
    };
    let marks = contest(Client::TooMany).marks(&said).unwrap();
    let told = "500 per second of 1000 that were asked for; it says: not kept up, the processors \
                are the bottleneck";
    assert_eq!(marks, [told]);
}

#[test]
fn twice_of_what_was_possible_is_asked_for() {
    let mut too_many = Contest { possible: Some(40_000.0), ..contest(Client::TooMany) };
    assert_eq!(too_many.rate(64), Ok(Some(80_000.0)));
    assert_eq!(contest(Client::Wrk).rate(64), Ok(None));
}
