//! A network namespace of a test's world.

use std::{
    fs::{self, File},
    os::{fd::AsRawFd, unix::fs::MetadataExt},
    path::{Path, PathBuf},
    process::{Child, Command},
    sync::Arc,
    time::Duration,
};

use portolan_sys::netns;

use crate::running::{Ran, Running};

/// A network namespace to start programs in. It lives as long as this, or a process in it, does.
#[derive(Clone, Debug)]
pub struct Place {
    /// What records call it: `host` or `netns:NAME`.
    pub namespace: String,
    /// Its address on the link between the world's two namespaces.
    pub address: String,
    file: Arc<File>,
}

impl Place {
    pub(crate) fn open(namespace: String, address: String, path: &Path) -> Self {
        let file = File::open(path)
            .unwrap_or_else(|error| panic!("cannot open namespace {}: {error}", path.display()));
        let place = Self { namespace, address, file: Arc::new(file) };
        // What is inside will be ended: that must never be this process, or the machine's own.
        for outside in ["/proc/self/ns/net", "/proc/1/ns/net"] {
            // One that may not be looked at is not the one that was just made.
            let found = fs::metadata(outside).map(|metadata| metadata.ino());
            assert!(!found.is_ok_and(|found| found == place.inode()), "{outside} is no world");
        }
        place
    }

    /// Its inode number: what it is known by while it lives.
    #[must_use]
    pub fn inode(&self) -> u64 {
        self.file.metadata().map_or(0, |metadata| metadata.ino())
    }

    /// A file that stands for it as long as this does.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd()))
    }

    /// Runs `work` on a thread inside.
    ///
    /// # Panics
    /// When the namespace cannot be entered, or `work` panics.
    pub fn enter<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        let path = PathBuf::from(format!("/proc/self/fd/{}", self.file.as_raw_fd()));
        netns::run_in(&path, work)
            .unwrap_or_else(|error| panic!("cannot enter {}: {error}", self.namespace))
    }

    /// Starts a program inside.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn spawn(&self, command: &mut Command) -> Child {
        self.enter(|| command.spawn()).unwrap_or_else(|error| panic!("{command:?}: {error}"))
    }

    /// Runs a program inside to its end, which has to come within [`crate::PATIENCE`].
    pub fn run(&self, command: Command) -> Ran {
        Running::start(self, command).finish()
    }

    /// Runs a program inside that has to succeed.
    ///
    /// # Panics
    /// When it does not.
    pub fn succeed(&self, command: Command) -> Ran {
        let ran = self.run(command);
        assert!(ran.code == Some(0), "{ran}");
        ran
    }

    /// Makes the namespace forget connections as soon as they end: then what was seen of them is
    /// history at once, not only after the minute that TIME-WAIT takes.
    ///
    /// # Panics
    /// When the kernel does not have the setting.
    pub fn no_time_wait(&self) {
        let path = "/proc/sys/net/ipv4/tcp_max_tw_buckets";
        self.enter(|| fs::write(path, "0")).unwrap_or_else(|error| panic!("{path}: {error}"));
    }

    /// Ends every process inside, by id, until there is none.
    pub(crate) fn sweep(&self, patience: Duration) {
        let deadline = std::time::Instant::now() + patience;
        loop {
            let inside = self.processes();
            if inside.is_empty() || std::time::Instant::now() > deadline {
                return;
            }
            for pid in inside {
                // It may have ended meanwhile.
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn processes(&self) -> Vec<rustix::process::Pid> {
        let inode = self.inode();
        let lives_here = |pid: &u32| {
            fs::metadata(format!("/proc/{pid}/ns/net")).is_ok_and(|found| found.ino() == inode)
        };
        let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
        entries
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
            .filter(|&pid| pid != std::process::id())
            .filter(lives_here)
            .filter_map(|pid| rustix::process::Pid::from_raw(i32::try_from(pid).ok()?))
            .collect()
    }
}
