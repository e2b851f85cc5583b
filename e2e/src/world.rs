//! What a test runs in, and what ends with it.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{self, Command},
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::Duration,
};

use portolan_sys::{netns, user};
use tempfile::TempDir;

use crate::{
    place::Place,
    programs::{portolan, program},
};

/// How long processes may take to end when they are killed.
const SWEEP: Duration = Duration::from_secs(10);

/// Worlds of this process so far.
static WORLDS: AtomicU32 = AtomicU32::new(0);

/// A network namespace, for portolan the host; perhaps a second one; and a folder.
///
/// Declare it before the programs that run in it: then those are told to end first, and what is
/// left is killed here.
#[derive(Debug)]
pub struct World {
    /// Where portolan runs.
    pub host: Place,
    number: u32,
    named: Vec<(String, Place)>,
    folder: TempDir,
}

impl World {
    /// A world with a loopback interface.
    ///
    /// # Panics
    /// When that cannot be made.
    #[must_use]
    pub fn new() -> Self {
        assert!(
            user::is_root(),
            "end-to-end tests make network namespaces, which needs root: run make test as root"
        );
        let number = WORLDS.fetch_add(1, Ordering::Relaxed);
        let folder = tempfile::Builder::new().prefix("ptl-e2e-").tempdir();
        let folder = folder.unwrap_or_else(|error| panic!("no temporary folder: {error}"));
        open_to_all(folder.path());
        let host = thread::spawn(move || {
            netns::unshare_thread()
                .and_then(|()| netns::loopback_up())
                .unwrap_or_else(|error| panic!("cannot make a network namespace: {error}"));
            let address = link_address(number, 1);
            Place::open("host".to_owned(), address, Path::new("/proc/thread-self/ns/net"))
        });
        let host = host.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Self { host, number, named: Vec::new(), folder }
    }

    /// Adds a second namespace with a name, its loopback interface, and a link from the host.
    ///
    /// # Panics
    /// When that cannot be made.
    pub fn add_namespace(&mut self) -> Place {
        assert!(self.named.is_empty(), "the addresses are for one link");
        let name = format!("ptl-e2e-{}-{}", process::id(), self.number);
        let ip = |place: &Place, args: &str| {
            let mut command = Command::new(program("ip", "iproute2"));
            command.args(args.split(' '));
            place.succeed(command);
        };
        ip(&self.host, &format!("netns add {name}"));
        let path = PathBuf::from("/run/netns").join(&name);
        let far = link_address(self.number, 2);
        let place = Place::open(format!("netns:{name}"), far, &path);
        // Known from now on, so that it is removed if the rest fails.
        self.named.push((name.clone(), place.clone()));
        ip(&self.host, &format!("link add ptl0 type veth peer name ptl0 netns {name}"));
        for end in [&self.host, &place] {
            ip(end, &format!("address add {}/24 dev ptl0", end.address));
            ip(end, "link set ptl0 up");
        }
        ip(&place, "link set lo up");
        place
    }

    /// A new folder that every user may look into.
    ///
    /// # Panics
    /// When it cannot be made.
    #[must_use]
    pub fn folder(&self, name: &str) -> PathBuf {
        let path = (0..)
            .map(|number| self.folder.path().join(format!("{name}-{number}")))
            .find(|path| !path.exists())
            .unwrap_or_default();
        fs::create_dir(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        open_to_all(&path);
        path
    }

    /// A file name in the world's folder.
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The program under test, with the world's folder for a home.
    #[must_use]
    pub fn portolan(&self, args: &[&str]) -> Command {
        let mut command = Command::new(portolan());
        command.args(args);
        self.at_home(&mut command);
        command
    }

    /// A copy of the program under test that every user can run, wherever the original is.
    ///
    /// # Panics
    /// When it cannot be made.
    #[must_use]
    pub fn portolan_for_all(&self) -> PathBuf {
        let copy = self.folder("bin").join("portolan");
        // Not by this process: what another test starts at this moment would have the copy open
        // for writing too, and a file that somebody writes cannot be run.
        let mut install = Command::new(program("install", "coreutils"));
        install.arg("--mode=755").arg(portolan()).arg(&copy);
        self.host.succeed(install);
        copy
    }

    /// Gives a program the world's folder for a home.
    pub fn at_home(&self, command: &mut Command) {
        command
            .env("HOME", self.folder.path())
            .env_remove("XDG_STATE_HOME")
            .env_remove("STATE_DIRECTORY")
            .env("TERM", "xterm-256color");
    }
}

impl Default for World {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        for place in self.named.iter().map(|(_, place)| place).chain([&self.host]) {
            place.sweep(SWEEP);
        }
        for (name, _) in &self.named {
            let deleted = Command::new("ip").args(["netns", "delete", name]).status();
            if !deleted.is_ok_and(|status| status.success()) {
                eprintln!("cannot delete the network namespace {name}");
            }
        }
    }
}

/// An address that no other world of this machine is likely to have: the same addresses and ports
/// in two worlds would be one connection to whoever pairs the ends.
fn link_address(number: u32, end: u8) -> String {
    let [.., high, low] = process::id().wrapping_mul(251).wrapping_add(number).to_be_bytes();
    format!("10.{high}.{low}.{end}")
}

fn open_to_all(path: &Path) {
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}
