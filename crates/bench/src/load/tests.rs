use std::collections::HashSet;

use super::*;

fn scenario(workload: LoadWorkload, all: bool) -> Load {
    let nothing = Program::new("/bin/false", [""; 0]);
    let (load, bare) = (nothing.clone(), nothing);
    Load::new(LoadOptions { workload, load, bare, window: None, all })
}

#[test]
fn names_are_unique_and_each_baseline_is_one_of_them() {
    for workload in LoadWorkload::ALL {
        let contestants = scenario(workload, false).contestants();
        let names: HashSet<&str> = contestants.iter().map(|one| one.name()).collect();
        assert_eq!(names.len(), contestants.len(), "{workload:?}");
        for one in &contestants {
            assert!(names.contains(one.baseline()), "{}: {}", one.name(), one.baseline());
        }
    }
}

#[test]
fn clients_are_compared_with_wrk_and_servers_with_nginx() {
    let contestants = scenario(LoadWorkload::Http, false).contestants();
    for one in contestants {
        let (client, server) = one.name().split_once(" to ").unwrap();
        let rival = if server == "nginx" { "wrk" } else { client };
        assert_eq!(one.baseline(), format!("{rival} to nginx"));
    }
}

#[test]
fn every_column_and_plot_is_of_something() {
    for workload in LoadWorkload::ALL {
        let scenario = scenario(workload, true);
        let View::Figures { columns, plots } = scenario.view() else { panic!("figures") };
        for column in columns {
            if let Value::Difference(name) = column.value {
                assert!(COMPARED.iter().any(|compared| compared.name == name), "{name}");
            }
        }
        let tasks: Vec<&str> = scenario.contestants().iter().map(|one| one.task()).collect();
        assert!(plots.iter().all(|plot| tasks.contains(&plot.task)), "{workload:?}");
    }
}

#[test]
fn http_is_measured_in_whole_seconds() {
    let window = |workload, millis| {
        let mut scenario = scenario(workload, false);
        scenario.options.window = Some(Duration::from_millis(millis));
        scenario.window()
    };
    assert_eq!(window(LoadWorkload::Http, 300), Duration::from_secs(1));
    assert_eq!(window(LoadWorkload::HttpClose, 1_001), Duration::from_secs(2));
    assert_eq!(window(LoadWorkload::Http, 3_000), Duration::from_secs(3));
    assert_eq!(window(LoadWorkload::Connect, 300), Duration::from_millis(300));
}

#[test]
fn too_much_is_refused_before_it_begins() {
    assert!(scenario(LoadWorkload::Ports, true).prepare(45_001).is_err());
    assert!(scenario(LoadWorkload::Ports, true).prepare(45_000).is_ok());
    assert!(scenario(LoadWorkload::Http, true).prepare(4_001).is_err());
    assert_eq!(scenario(LoadWorkload::Ports, true).sizes(), [8_000, 40_000]);
}
