use proptest::prelude::*;

use super::*;

fn identity() -> Identity {
    Identity {
        targets: vec!["10.0.0.0/24".to_owned()],
        fingerprint: u64::MAX,
        ports: "22,80".to_owned(),
        checks: 512,
        shard: "2/5".to_owned(),
    }
}

const START: Beginning = Beginning {
    seed: u64::MAX,
    position: 40,
    verdicts: Verdicts { open: 1, closed: 2, filtered: 3, unreachable: 4, error: 5 },
};

/// A folder, and a file in it that does not exist.
fn file() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("progress");
    (folder, file)
}

#[test]
fn what_was_written_is_read_again() {
    let (_folder, file) = file();
    assert_eq!(read(&file, &identity(), None).unwrap(), None);
    let mut keeper = Keeper::new(Some(file.clone()), identity(), START);
    keeper.write().unwrap();
    assert_eq!(read(&file, &identity(), None).unwrap(), Some(START));
    assert_eq!(read(&file, &identity(), Some(u64::MAX)).unwrap(), Some(START));
    // Positions of a shard are not in a row.
    let numbers = [42, 47, 52].map(|position| keeper.add(position));
    keeper.finish(numbers[0], 57, Verdict::Open);
    keeper.finish(numbers[2], 57, Verdict::Open);
    keeper.write().unwrap();
    let expected = Beginning {
        position: 47,
        // The last one will be found again, and counted then.
        verdicts: Verdicts { open: 2, ..START.verdicts },
        ..START
    };
    assert_eq!(read(&file, &identity(), None).unwrap(), Some(expected));
    keeper.remove().unwrap();
    keeper.remove().unwrap();
    assert_eq!(read(&file, &identity(), None).unwrap(), None);
    assert_eq!(fs::read_dir(file.parent().unwrap()).unwrap().count(), 0, "nothing else is left");
}

#[test]
fn of_another_sweep_it_is_refused() {
    let (_folder, file) = file();
    Keeper::new(Some(file.clone()), identity(), START).write().unwrap();
    let others = [
        Identity { targets: vec!["10.0.1.0/24".to_owned()], ..identity() },
        Identity { fingerprint: 1, ..identity() },
        Identity { ports: "22".to_owned(), ..identity() },
        Identity { checks: 511, ..identity() },
        Identity { shard: "1/5".to_owned(), ..identity() },
    ];
    for other in others {
        let error = read(&file, &other, None).unwrap_err().to_string();
        assert!(error.contains("belongs to another sweep (10.0.0.0/24, ports 22,80, shard 2/5)"));
    }
    assert!(read(&file, &identity(), Some(1)).is_err(), "another seed is another order");
}

#[test]
fn without_a_file_nothing_is_written() {
    let mut keeper = Keeper::new(None, identity(), START);
    keeper.write().unwrap();
    keeper.remove().unwrap();
    assert!(!keeper.is_due());
}

#[test]
fn a_file_that_cannot_be_written_is_named() {
    let (folder, _) = file();
    let nowhere = folder.path().join("no/folder/progress");
    let error = Keeper::new(Some(nowhere.clone()), identity(), START).write().unwrap_err();
    assert!(error.to_string().contains(&nowhere.display().to_string()), "{error}");
}

#[test]
fn the_fingerprint_tells_where_a_text_ends() {
    let of = |texts: &[&str]| {
        let mut fingerprint = Fingerprint::default();
        texts.iter().for_each(|text| fingerprint.add(text));
        fingerprint.0
    };
    assert_eq!(of(&["a", "b"]), of(&["a", "b"]));
    let different = [of(&["ab"]), of(&["a", "b"]), of(&["", "ab"]), of(&["b", "a"]), of(&[])];
    for (at, one) in different.iter().enumerate() {
        assert!(!different[at + 1..].contains(one));
    }
}

proptest! {
    /// In whichever order checks end, those before the position that is kept are done, the one at
    /// it is not, and what is counted is what was found before it.
    #[test]
    fn everything_before_the_position_is_done(
        order in Just((0..40_u64).collect::<Vec<_>>()).prop_shuffle(),
        ahead in 1..40_usize,
    ) {
        let mut keeper = Keeper::new(None, identity(), Beginning { position: 100, ..START });
        let before = START.verdicts.total();
        let mut done = [false; 40];
        let mut added = 0;
        let mut left = order;
        while !left.is_empty() {
            while added < 40 && added < 40 - left.len() as u64 + ahead as u64 {
                prop_assert_eq!(keeper.add(100 + 3 * added), added);
                added += 1;
            }
            let at = left.iter().position(|&number| number < added).unwrap();
            let number = left.remove(at);
            keeper.finish(number, 100 + 3 * added, Verdict::Closed);
            done[usize::try_from(number).unwrap()] = true;
            let first = done.iter().position(|done| !done).unwrap_or(40) as u64;
            prop_assert_eq!(keeper.next, 100 + 3 * first.min(added));
            prop_assert_eq!(keeper.verdicts.total() - before, first.min(added));
        }
        prop_assert!(keeper.after.is_empty());
    }
}
