use super::*;

#[test]
fn this_process_is_read() {
    let facts = read(std::process::id()).expect("it runs");
    assert!(!facts.comm.is_empty());
    assert!(!facts.comm.ends_with(b"\n"));
    assert_eq!(facts.cmdline.is_empty(), facts.comm.len() < COMM_BYTES);
    let own = fs::read("/proc/self/cgroup").unwrap_or_default();
    assert_eq!(facts.cgroup, own);
}

#[test]
fn one_that_is_gone_is_none() {
    assert_eq!(read(u32::MAX), None);
}
