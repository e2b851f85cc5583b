//! Nothing of a world survives its test, however that ends.

use std::{
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    process::Command,
};

use portolan_e2e::{Running, World, peers, program, wait_for};

/// What a world leaves when `test` panics: its folder, its namespace's name, and its processes.
fn left_behind(test: impl FnOnce(&mut World) -> Vec<u32>) -> (PathBuf, PathBuf, Vec<PathBuf>) {
    let (mut folder, mut name, mut processes) = Default::default();
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let mut world = World::new();
        let inside = world.add_namespace();
        folder = world.folder("x").parent().map(Path::to_owned).unwrap_or_default();
        name = Path::new("/run/netns").join(inside.namespace.trim_start_matches("netns:"));
        assert!(name.exists() && folder.exists());
        let pids = test(&mut world);
        processes = pids.iter().map(|pid| Path::new("/proc").join(pid.to_string())).collect();
        panic!("as a test does that fails (this one is meant to)");
    }));
    assert!(panicked.is_err());
    (folder, name, processes)
}

#[test]
fn a_panic_leaves_no_process_no_namespace_and_no_file() {
    let (folder, name, processes) = left_behind(|world| {
        let server = peers::nginx(world, &world.host, "127.0.0.1");
        let mut stubborn = Command::new(program("bash", "bash"));
        // Its child has another parent once it is gone, and both ignore what they are told.
        stubborn.args(["-c", "trap '' TERM; (trap '' TERM; echo up; sleep 600) & wait"]);
        let mut stubborn = Running::start(&world.host, stubborn);
        stubborn.wait_for("its child", |stubborn| (stubborn.stdout() == "up\n").then_some(()));
        let child = stubborn.descendant().as_raw_nonzero().get().unsigned_abs();
        let worker = server.descendant().as_raw_nonzero().get().unsigned_abs();
        let pids = vec![server.pid(), worker, stubborn.pid(), child];
        // As if a test had lost them: then the world ends them.
        std::mem::forget((server, stubborn));
        pids
    });
    assert!(!folder.exists(), "{}", folder.display());
    assert!(!name.exists(), "{}", name.display());
    for process in processes {
        // Those that were lost nobody waits for: ended is enough.
        wait_for(format_args!("the end of {}", process.display()), || {
            let stat = fs::read_to_string(process.join("stat")).unwrap_or_default();
            let state = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
            (state.is_empty() || state.starts_with(['Z', 'X'])).then_some(())
        });
    }
}

#[test]
#[should_panic(expected = "apt-get install no-such-package")]
fn a_missing_peer_is_named() {
    let _ = program("no-such-program", "no-such-package");
}
