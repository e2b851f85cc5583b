use super::*;

#[test]
fn a_directory_gets_every_report() {
    let directory = tempfile::tempdir().unwrap();
    let inside = directory.path().join("made/on/demand");
    let files = write_directory(&inside, &fixture::results()).unwrap();
    assert_eq!(files.len(), 4);
    assert!(files.iter().all(|file| fs::metadata(file).unwrap().len() > 0));
}

#[test]
fn what_cannot_be_written_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("no/such/results.csv");
    let said = write_file(&file, write_csv, &fixture::results()).unwrap_err().to_string();
    assert!(said.contains("no/such/results.csv"), "{said}");
}

#[test]
fn without_a_measured_baseline_there_is_no_ratio() {
    let results = fixture::results();
    let lanes = &results.sizes[0].lanes;
    assert_eq!(Summary::of(&lanes[0], Some(&lanes[2])).unwrap().ratio, Some(0.5));
    assert_eq!(Summary::of(&lanes[0], Some(&lanes[3])).unwrap().ratio, None);
    assert_eq!(Summary::of(&lanes[0], None).unwrap().ratio, None);
    assert_eq!(Summary::of(&lanes[3], Some(&lanes[2])), None);
}

#[test]
fn lanes_are_in_groups_of_one_task_and_baseline() {
    let mut results = fixture::results();
    results.sizes[0].lanes[2].task = "other";
    let groups = groups(&results.sizes[0], results.view);
    let sizes: Vec<usize> = groups.iter().map(|group| group.lanes.len()).collect();
    assert_eq!(sizes, [2, 1, 3]);
    assert_eq!(groups[1].task, "other");
    let longest: Vec<u64> = groups.iter().map(|group| group.longest_us).collect();
    assert_eq!(longest, [2_000, 4_000, 1]);
}
