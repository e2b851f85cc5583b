use super::*;

fn scenario(workload: Workload, all: bool) -> Trace {
    let nothing = Program::new("/bin/false", [""; 0]);
    let (trace, load) = (nothing.clone(), nothing);
    Trace::new(TraceOptions { workload, trace, load, window: None, all })
}

#[test]
fn usual_sizes_are_some_of_all() {
    for workload in Workload::ALL {
        let (some, all) = (scenario(workload, false), scenario(workload, true));
        assert!(some.sizes().iter().all(|size| all.sizes().contains(size)), "{workload:?}");
        assert!(all.sizes().is_sorted(), "{workload:?}");
    }
}

#[test]
fn every_column_and_plot_has_a_name_that_is_compared_or_known() {
    for workload in Workload::ALL {
        let scenario = scenario(workload, true);
        let View::Figures { columns, plots } = scenario.view() else { panic!("figures") };
        let values =
            columns.iter().map(|column| column.value).chain(plots.iter().map(|plot| plot.value));
        for value in values {
            if let Value::Difference(name) = value {
                assert!(COMPARED.iter().any(|compared| compared.name == name), "{name}");
            }
        }
        let tasks: Vec<&str> = scenario.contestants().iter().map(|one| one.task()).collect();
        assert!(plots.iter().all(|plot| tasks.contains(&plot.task)), "{workload:?}");
    }
}

#[test]
fn too_much_is_refused_before_it_begins() {
    assert!(scenario(Workload::Fan, true).prepare(5_001).is_err());
    assert!(scenario(Workload::Fan, true).prepare(5_000).is_ok());
    assert!(scenario(Workload::Latency, true).prepare(10_001).is_err());
    assert!(scenario(Workload::Short, true).prepare(1_000_001).is_err());
}
