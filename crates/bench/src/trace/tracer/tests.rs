use super::*;
use crate::{Scenario, Trace, TraceOptions, Workload};

fn scenario(workload: Workload) -> Trace {
    let nothing = Program::new("/bin/false", [""; 0]);
    let (trace, load) = (nothing.clone(), nothing);
    Trace::new(TraceOptions { workload, trace, load, window: None, all: true })
}

#[test]
fn a_run_without_the_right_to_it_is_no_fault_of_the_tracer() {
    let mut tracer = Traced {
        name: "bundle".to_owned(),
        about: "",
        task: &Task { name: "short", baseline: "none", kind: Kind::Loop, flow: Flow::Short },
        method: Some("bundle"),
        trace: Program::new("/bin/sh", ["-c", "echo portolan: no BTF >&2; exit 2"]),
        load: Program::new("/bin/false", [""; 0]),
        window: Duration::from_millis(1),
    };
    let plan = tracer.plan(1);
    let Err(Fault::Refused(why)) = tracer.start_tracer(plan) else { panic!("it says no") };
    assert_eq!(why, "no BTF");
    tracer.method = None;
    assert!(tracer.start_tracer(plan).unwrap().is_none());
}

#[test]
fn the_baseline_of_each_task_is_there() {
    for workload in Workload::ALL {
        let contestants = scenario(workload).contestants();
        let names: Vec<&str> = contestants.iter().map(|one| one.name()).collect();
        for one in &contestants {
            assert!(names.contains(&one.baseline()), "{} {}", one.name(), one.baseline());
            let same = names.iter().filter(|&&name| name == one.name()).count();
            assert_eq!(same, 1, "{}", one.name());
        }
    }
}
