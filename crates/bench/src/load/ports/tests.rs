use portolan_load::ports::Series;

use super::*;

fn ports(job: Job) -> Ports {
    let load = Program::new("/bin/portolan", ["load"]);
    let strategy = Strategy::Explicit;
    Ports { name: String::new(), about: "", job, strategy, load }
}

#[test]
fn the_experiment_is_asked_for_one_job_of_one_strategy() {
    let options = ports(Job::Bind).options(40_000);
    assert_eq!((options.connections, options.binds), (Some(0), Some(40_000)));
    assert_eq!(options.range, Some(20_000..=60_000));
    assert_eq!(options.strategies, [Strategy::Explicit]);
    assert_eq!(options.program.arguments, ["load", "ports", "--task"]);
    assert_eq!(ports(Job::Connect).options(16).connections, Some(16));
}

#[test]
fn the_figures_are_those_that_the_claim_is_about() {
    // 16 calls of 1 µs, then as many of 4 µs.
    let times_ns = [[1_000; 16], [4_000; 16]].concat();
    let measured = Measured {
        job: Job::Connect,
        strategy: Strategy::Kernel,
        asked: 32,
        series: Series { times_ns },
        distinct_ports: 32,
        verified: Some(32),
        conflicts: 2,
        even_in_first_half: 0,
        even_in_second_half: 0,
        failure: None,
    };
    let all = figures(&measured);
    let value = |name| all.iter().find(|one| one.name == name).map(|one| one.value);
    assert_eq!(value("calls_per_second"), Some(400_000.0));
    assert!((value("total_us").unwrap() - 80.0).abs() < 1e-6);
    assert_eq!((value("first_us_median"), value("last_us_median")), (Some(1.0), Some(4.0)));
    assert_eq!(value("last_to_first"), Some(4.0));
    assert_eq!((value("cliff_after"), value("conflicts")), (Some(16.0), Some(2.0)));
}
