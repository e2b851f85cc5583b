use super::*;

fn count(trace: &str) -> u64 {
    fetches(trace.as_bytes()).unwrap()
}

#[test]
fn only_reads_of_a_tcp_table_count() {
    let trace = "\
read(3</lib/libc.so.6>, \"\"..., 832) = 832
read(3</proc/7/net/tcp>, \"\"..., 4096) = 4050
read(3</proc/7/net/tcp>(deleted), \"\", 4096) = 0
read(4</proc/7/task/8/net/tcp6>, \"\"..., 65536) = 145
pread64(4</proc/7/net/udp>, \"\"..., 65536, 0) = 145
read(5</home/me/net/tcp>, \"\"..., 65536) = 145
read(5<anon_inode:bpf_iter>, \"\"..., 65536) = 65536
+++ exited with 0 +++
";
    assert_eq!(count(trace), 4);
}

#[test]
fn only_netlink_sockets_of_sock_diag_count() {
    let trace = "\
socket(AF_NETLINK, SOCK_RAW|SOCK_CLOEXEC, NETLINK_ROUTE) = 3<socket:[10]>
socket(AF_NETLINK, SOCK_RAW|SOCK_CLOEXEC, NETLINK_SOCK_DIAG) = 4<socket:[11]>
recvmsg(3<socket:[10]>, 0x7ffd, 0) = 124
recvmsg(4<socket:[11]>, 0x7ffd, MSG_PEEK|MSG_TRUNC) = 124
recvmsg(4<socket:[11]>, 0x7ffd, 0) = 124
recvfrom(4<socket:[11]>, \"\"..., 32768, MSG_TRUNC, NULL, NULL) = 20
socket(AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG) = -1 EPROTONOSUPPORT (Protocol not supported)
";
    assert_eq!(count(trace), 3);
}

#[test]
fn runs_of_a_bpf_program_count_and_other_calls_of_bpf_do_not() {
    let trace = "\
bpf(BPF_PROG_LOAD, 0x7ffd, 144) = 5<anon_inode:bpf-prog>
bpf(BPF_PROG_TEST_RUN, 0x7ffd, 80) = 0
bpf(BPF_PROG_RUN, 0x7ffd, 80) = 0
";
    assert_eq!(count(trace), 2);
}

#[test]
fn threads_interrupt_each_other_and_the_program_talks() {
    let trace = "\
strace: Process 8 attached
[pid     8] socket(AF_NETLINK, SOCK_RAW|SOCK_CLOEXEC, NETLINK_SOCK_DIAG <unfinished ...>
portolan: read(of) = nothing
[pid     8] <... socket resumed>)       = 4<socket:[11]>
[pid     8] recvmsg(4<socket:[11]>,  <unfinished ...>
[pid     7] read(3</proc/7/net/tcp>, \"\"..., 4096) = 4050
[pid     8] <... recvmsg resumed>0x7ffd, 0) = 124
";
    assert_eq!(count(trace), 2);
}

#[test]
fn the_calls_of_a_real_program_are_counted() {
    let strace = Path::new("/usr/bin/strace");
    assert!(strace.is_file(), "needs {PROGRAM}: {INSTALL}");
    let program = Program::new("/bin/cat", ["/proc/net/tcp", "/proc/net/tcp6"]);
    assert!(count_reads(strace, &program).unwrap() >= 4);
    let failing = Program::new("/bin/cat", ["/no/such/file"]);
    assert!(count_reads(strace, &failing).unwrap_err().contains("fails (1)"));
}
