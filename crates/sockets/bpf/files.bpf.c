// SPDX-License-Identifier: (Apache-2.0 OR MIT) OR GPL-2.0-only
/*
 * Finds out which process holds which socket, by the kernel's BPF iterator over the descriptors of
 * all processes that the reader can see (kernel/bpf/task_iter.c). It passes over threads that share
 * the table of their process's first thread; where that one has ended, it shows the table of each
 * thread, so that a socket may be told of more than once.
 */
#include "kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "meta.h"
#include "words.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* Not in kernels before 6.2. */
extern void *bpf_rdonly_cast(const void *obj, __u32 btf_id) __ksym __weak;

#define UPID_BYTES 16 /* struct upid: the number, padding, the namespace */
#define PID_LEVELS_MAX 32 /* MAX_PID_NS_LEVEL of include/linux/pid_namespace.h */

struct holding {
	__u32 inode;
	__u32 pid;
};

/* The process id as the process that reads sees it. */
static __always_inline __u32 pid_of(struct task_struct *task)
{
	struct task_struct *reader = bpf_get_current_task_btf();
	__u32 level = reader->thread_pid->level & (PID_LEVELS_MAX - 1), number = 0;
	__u64 numbers = FIELD((__u64)task->group_leader->thread_pid, pid, numbers);

	numbers += level * UPID_BYTES;
	if (bpf_rdonly_cast)
		return WORD(numbers);
	bpf_probe_read_kernel(&number, sizeof(number), (void *)numbers);
	return number;
}

SEC("iter/task_file")
int held_sockets(struct iter_task_file *ctx)
{
	struct task_struct *task = ctx->task;
	/* Copied: the verifier follows a test of this pointer, not one of the field. */
	struct file *file = ctx->file;
	struct holding held = {};
	struct socket *socket;
	struct sock *sk;

	if (!task || !file)
		return 0;
	socket = bpf_sock_from_file(file);
	if (!socket)
		return 0;
	sk = socket->sk;
	if (!sk)
		return 0;
	__u16 family = sk->__sk_common.skc_family;

	if (family != AF_INET && family != AF_INET6)
		return 0;
	held.inode = file->f_inode->i_ino;
	held.pid = pid_of(task);
	bpf_seq_write(ctx->meta->seq, &held, sizeof(held));
	return 0;
}
