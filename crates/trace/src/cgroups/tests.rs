use std::os::unix::fs::MetadataExt;

use super::*;

#[test]
fn groups_are_found_by_the_number_of_their_directory() {
    let Some(root) = root() else {
        eprintln!("skipped: no unified hierarchy of control groups is mounted here");
        return;
    };
    let found = paths();
    let mut groups = 0;
    for entry in fs::read_dir(&root).expect("it is mounted").flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            let inode = entry.metadata().expect("it is there").ino();
            let path = format!("/{}", entry.file_name().to_string_lossy());
            assert_eq!(found.get(&inode), Some(&path));
            groups += 1;
        }
    }
    assert!(found.len() >= groups);
}

#[test]
fn a_tree_is_searched_to_a_bound() {
    let directory = std::env::temp_dir().join(format!("portolan-groups-{}", std::process::id()));
    fs::create_dir_all(directory.join("a.slice/b.service")).expect("a temporary folder");
    fs::write(directory.join("cgroup.procs"), "").expect("a temporary folder");
    let search = |depth| {
        let mut found = HashMap::new();
        search(&directory, "/", depth, &mut found);
        let mut paths: Vec<String> = found.into_values().collect();
        paths.sort();
        paths
    };
    let (all, some) = (search(DEPTH_MAX), search(1));
    fs::remove_dir_all(&directory).expect("it is ours");
    assert_eq!(all, ["/a.slice", "/a.slice/b.service"]);
    assert_eq!(some, ["/a.slice"]);
}
