//! What the tests set up: a network namespace of their own, and programs in it.

use std::{
    io::{self, BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    thread,
    time::Duration,
};

use portolan_sys::netns;

/// Set to anything, it lets the tests that need root be skipped.
const UNPRIVILEGED: &str = "PORTOLAN_TEST_UNPRIVILEGED";

/// Whether this is root. A test that needs it must not pass for want of it, so where it is not,
/// that has to be allowed, and is said.
#[must_use]
pub fn require_root() -> bool {
    if rustix::process::geteuid().is_root() {
        return true;
    }
    assert!(
        std::env::var_os(UNPRIVILEGED).is_some(),
        "this test needs root, to make network namespaces: run it as root, or set \
         {UNPRIVILEGED}=1 to have such tests skipped"
    );
    let name = thread::current().name().unwrap_or("a test").to_owned();
    // Not through the macro, whose output the test harness keeps to itself.
    let _ = writeln!(io::stderr(), "skipped: {name}: needs root");
    false
}

/// Runs `work` on a thread inside a fresh network namespace whose loopback interface is up. The
/// namespace ends with the thread and what it spawned. Skipped without root.
pub fn in_own_namespace(work: impl FnOnce() + Send) {
    if require_root() {
        run_in_own_namespace(work);
    }
}

/// The same for those who are root for sure.
pub fn run_in_own_namespace<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let inside = || {
        netns::unshare_thread().expect("root can make a network namespace");
        netns::loopback_up().expect("root can bring loopback up");
        work()
    };
    thread::scope(|scope| {
        scope.spawn(inside).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Set in a process that a test started to run in alone.
const ALONE: &str = "PORTOLAN_TEST_ALONE";

/// Runs `work` in a process of its own, for what concerns a whole process: `test` is the full name
/// of the calling test, which that process runs and no other.
pub fn run_alone(test: &str, work: impl FnOnce()) {
    if std::env::var_os(ALONE).is_some() {
        return work();
    }
    let run = again(&[test, "--exact", "--nocapture"]).output().expect("this program runs again");
    let output = String::from_utf8_lossy(&run.stdout);
    let errors = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{output}{errors}");
    assert!(output.contains("1 passed"), "there is no test {test}: {output}");
}

/// This program, to run once more with such arguments.
fn again(args: &[&str]) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("linux has /proc/self/exe"));
    command.args(args).env(ALONE, "1");
    command
}

/// Waits until `done` says so: for what the kernel or another process does on its own.
#[track_caller]
pub fn eventually(what: &str, mut done: impl FnMut() -> bool) {
    for _ in 0..1000 {
        if done() {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("never came true: {what}");
}

/// A program that a test runs; it ends with this value, whatever happens, and by itself when it
/// reads that the test is gone.
#[derive(Debug)]
pub struct Program {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Program {
    /// Perl (perl-base, which every Debian has) that runs `script` and then reads its input.
    #[must_use]
    pub fn perl(script: &str) -> Self {
        Self::run("perl", "-e", &format!("$| = 1; use Socket; {script}; <STDIN>;"))
    }

    /// Bash that runs `script` and then reads its input.
    #[must_use]
    pub fn bash(script: &str) -> Self {
        Self::run("bash", "-c", &format!("{script}\nread -r _"))
    }

    /// A program with a socket, whose inode number it prints, and whose first thread then ends
    /// while another goes on. Python, because it has threads.
    #[must_use]
    pub fn without_leader() -> Self {
        let script = "import ctypes, os, socket, sys, threading\n\
                      server = socket.socket()\n\
                      threading.Thread(target=sys.stdin.readline).start()\n\
                      print(os.fstat(server.fileno()).st_ino, flush=True)\n\
                      ctypes.CDLL(None).syscall(ctypes.c_long(SYS_EXIT), ctypes.c_long(0))";
        let number = if cfg!(target_arch = "x86_64") { "60" } else { "93" };
        Self::run("python3", "-c", &script.replace("SYS_EXIT", number))
    }

    /// This program once more, with `first` as its first argument: it runs the test by the name of
    /// `test`, which waits for its end.
    #[must_use]
    pub fn again(first: &str, test: &str) -> Self {
        Self::start(again(&[first, test, "--exact", "--nocapture"]))
    }

    fn run(program: &str, option: &str, script: &str) -> Self {
        let mut command = Command::new(program);
        command.args([option, script]);
        Self::start(command)
    }

    fn start(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("cannot run {command:?}: {error}"));
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().expect("is piped"));
        Self { child, input, output }
    }

    /// The next line that it prints.
    #[must_use]
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("prints text");
        assert!(line.ends_with('\n'), "it ended: {:?}", self.child.wait());
        line.trim_end().to_owned()
    }

    /// Gives it a line of input, which ends it where it is not asked for more.
    pub fn tell(&mut self) {
        let input = self.input.as_mut().expect("is piped");
        input.write_all(b"\n").expect("it reads");
    }

    /// Its process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
