//! The sockets of `scene.py`, in a network namespace of their own.

use std::{
    collections::BTreeMap,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use portolan_e2e::{Running, World, program};
use serde_json::Value;

/// TIME-WAIT takes a minute; a new one is made before that.
const RENEWED_AFTER: Duration = Duration::from_secs(20);

/// So long one listing may take: a program that hangs fails the test.
const LISTING_SECONDS_MAX: &str = "60";

/// Sockets of every kind, which stay as they are.
pub struct Scene {
    // Before the world, so that it is told to end first.
    running: Running,
    world: World,
    renewed: Instant,
    renewals: usize,
    /// What the processes are called, by the port that they listen on.
    pub names: BTreeMap<u16, String>,
    /// The indices of the interfaces.
    pub devices: BTreeMap<String, u32>,
}

impl Scene {
    /// Makes all sockets.
    ///
    /// # Panics
    /// When one of them cannot be made.
    pub fn new() -> Self {
        let tun = Path::new("/dev/net/tun");
        assert!(tun.exists(), "{} is missing: modprobe tun", tun.display());
        let world = World::new();
        let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
        let script = tests.join("sockets_same_as_ss/scene.py");
        let mut command = Command::new(python());
        command.arg("-S").arg(script);
        let mut running = Running::start(&world.host, command);
        let said = running.wait_for("the sockets", |running| {
            running.stdout().split_once('\n').map(|(line, _)| line.to_owned())
        });
        let said: Value = serde_json::from_str(&said).unwrap_or_else(|e| panic!("{e}: {said}"));
        let field = |name: &str| said[name].as_object().expect("an object").clone();
        let names = field("names").into_iter().map(|(port, name)| {
            (port.parse().expect("a port"), name.as_str().expect("a name").to_owned())
        });
        let index = |value: Value| value.as_u64().and_then(|index| u32::try_from(index).ok());
        let devices = field("devices");
        Self {
            names: names.collect(),
            devices: devices.into_iter().map(|(n, i)| (n, index(i).expect("an index"))).collect(),
            running,
            world,
            renewed: Instant::now(),
            renewals: 0,
        }
    }

    /// Has a new TIME-WAIT made, where the last one may end soon.
    pub fn renew(&mut self) {
        if self.renewed.elapsed() < RENEWED_AFTER {
            return;
        }
        self.running.stdin().write_all(b"again\n").expect("the scene listens");
        self.renewals += 1;
        let renewals = self.renewals;
        self.running.wait_for("a new TIME-WAIT", |running| {
            (running.stdout().matches("again\n").count() == renewals).then_some(())
        });
        self.renewed = Instant::now();
    }

    /// What ss prints.
    pub fn ss(&self, args: &[&str]) -> String {
        let (printed, code, error) = self.run(&program("ss", "iproute2"), args);
        assert_eq!(code, Some(0), "ss {args:?}: {error}");
        assert_eq!(error, "", "ss {args:?}");
        printed
    }

    /// What `portolan sockets` prints.
    pub fn portolan(&self, args: &[&str]) -> String {
        let (printed, code, error) = self.try_portolan(args);
        assert_eq!(code, Some(0), "portolan sockets {args:?}: {error}");
        printed
    }

    /// The same where it may fail: standard output, exit code, standard error.
    pub fn try_portolan(&self, args: &[&str]) -> (String, Option<i32>, String) {
        self.run(&portolan_e2e::portolan(), &[&["sockets"], args].concat())
    }

    fn run(&self, program_path: &Path, args: &[&str]) -> (String, Option<i32>, String) {
        // Not `Place::run`, which looks every few milliseconds whether a program has ended: there
        // are hundreds of them.
        let mut command = Command::new(program("timeout", "coreutils"));
        command.arg(LISTING_SECONDS_MAX).arg(program_path).args(args);
        self.world.at_home(&mut command);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let ended = self.world.host.spawn(&mut command).wait_with_output();
        let ended = ended.unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (text(&ended.stdout), ended.status.code(), text(&ended.stderr))
    }
}

/// Debian's, and not what a developer may have before it in the path.
fn python() -> PathBuf {
    let debian = PathBuf::from("/usr/bin/python3");
    if debian.is_file() { debian } else { program("python3", "python3") }
}
