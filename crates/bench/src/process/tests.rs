use super::*;

const LONG: Duration = Duration::from_secs(10);

fn shell(script: &str) -> Process {
    Process::start(&Program::new("/bin/sh", ["-c", script])).unwrap()
}

#[test]
fn what_it_says_is_kept() {
    let ended = shell("echo result; echo trouble >&2; exit 3").wait(LONG).unwrap();
    assert_eq!(ended.output, b"result\n");
    assert_eq!((ended.complaint().as_str(), ended.usage.code), ("trouble", Some(3)));
}

#[test]
fn it_is_waited_for_until_it_is_ready_and_told_to_end() {
    let script =
        "trap 'echo last; exit 0' INT; echo up >&2; echo first; while :; do sleep 0.01; done";
    let mut process = shell(script);
    process.wait_for("up", LONG).unwrap();
    process.wait_for_output("first", LONG).unwrap();
    let ended = process.end(LONG).unwrap();
    assert_eq!((ended.output.as_slice(), ended.usage.code), (b"first\nlast\n".as_slice(), Some(0)));
}

#[test]
fn one_that_ends_instead_says_why() {
    let why = shell("echo 'portolan: needs root' >&2; exit 2").wait_for("up", LONG).unwrap_err();
    assert_eq!(why, "needs root");
    let why = shell("exit 2").wait_for("up", LONG).unwrap_err();
    assert!(why.contains("ended"), "{why}");
}

#[test]
fn one_that_takes_too_long_is_ended() {
    let process = shell("exec sleep 60");
    let id = process.id();
    let Err(fault) = process.wait(Duration::from_millis(20)) else { panic!("it slept") };
    assert!(format!("{fault:?}").contains("was stopped"), "{fault:?}");
    let left = std::fs::read_to_string(format!("/proc/{id}/comm")).unwrap_or_default();
    assert_ne!(left.trim(), "sleep");
    let why = shell("exec sleep 60").wait_for("up", Duration::from_millis(20)).unwrap_err();
    assert!(why.contains("not ready"), "{why}");
}

#[test]
fn what_starts_on_a_processor_stays_there_and_two_do_not_share_one() {
    let before = rustix::thread::sched_getaffinity(None).unwrap();
    let script = "nproc; grep Cpus_allowed_list /proc/self/status";
    let said = [Processor::Last, Processor::BeforeLast].map(|processor| {
        let ended = on_processor(processor, || shell(script)).wait(LONG).unwrap();
        assert_eq!(rustix::thread::sched_getaffinity(None).unwrap(), before);
        String::from_utf8(ended.output).unwrap()
    });
    assert!(said.iter().all(|said| said.starts_with("1\n")), "{said:?}");
    assert_eq!(said[0] == said[1], before.count() == 1, "{said:?}");
}
