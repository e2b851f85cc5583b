// SPDX-License-Identifier: (Apache-2.0 OR MIT) OR GPL-2.0-only
/*
 * Finds out which process holds which socket, by the tables of file descriptors of all processes
 * (include/linux/fdtable.h), under RCU, without locks and references. A descriptor may be closed
 * while it is looked at, so it is looked at again afterwards.
 *
 * Processes are in a ring, in the order of their start. A run begins at the one that asks; if it
 * goes on after a full buffer (the program's argument), it passes over all that were read.
 */
#include "kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "holdings.h"
#include "words.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define PROCESSES_MAX (1 << 22)
#define THREADS_MAX (1 << 16)
#define DESCRIPTORS_MAX (1 << 23)
#define SOCKFS_MAGIC 0x534F434B /* include/uapi/linux/magic.h */
#define UPID_BYTES 16 /* struct upid: the number, padding, the namespace */

struct search {
	struct holdings *found;
	__u64 first;       /* the process that asks */
	__u64 process;
	__u64 files;       /* its descriptors: array of pointers */
	__u64 thread;      /* next in the list of its threads */
	__u64 threads_end;
	__u64 pid_namespace;
	__u32 pid_level;
	__u32 pid;
	__u32 begin;       /* the first descriptor to look at */
	__u32 passing_over;
	__u32 full;
};

static long look_at_descriptor(__u32 i, struct search *s)
{
	__u64 slot = s->files + (s->begin + (__u64)i) * sizeof(__u64);
	__u64 file = WORD(slot);

	if (file) {
		struct inode *inode = AS(file, file)->f_inode;
		__u32 number = inode->i_ino, at = s->found->count;

		if (inode->i_sb->s_magic == SOCKFS_MAGIC && WORD(slot) == file) {
			if (at >= HOLDINGS_MAX) {
				s->found->descriptor = s->begin + i;
				s->full = 1;
				return 1;
			}
			s->found->held[at].inode = number;
			s->found->held[at].pid = s->pid;
			s->found->count = at + 1;
		}
	}
	return 0;
}

/* The process id as the process that asks sees it; 0 if it does not. */
static __always_inline __u32 pid_of(struct search *s, __u64 process)
{
	__u64 pid = WORD(FIELD(process, task_struct, thread_pid));
	__u64 number = FIELD(pid, pid, numbers) + s->pid_level * UPID_BYTES;

	if (!pid || AS(pid, pid)->level < s->pid_level || WORD(number + 8) != s->pid_namespace)
		return 0;
	return WORD(number);
}

static long look_at_thread(__u32 i, struct search *s)
{
	if (!s->thread || s->thread == s->threads_end || s->files)
		return 1;
	s->files = WORD(FIELD(s->thread - FIELD(0, task_struct, thread_node), task_struct, files));
	s->thread = WORD(s->thread);
	return 0;
}

/* Where the first thread ended, the others go on with all descriptors. */
static __always_inline __u64 files_of(struct search *s, __u64 process)
{
	s->files = WORD(FIELD(process, task_struct, files));
	if (!s->files) {
		__u64 list = WORD(FIELD(process, task_struct, signal));

		s->threads_end = FIELD(list, signal_struct, thread_head);
		s->thread = WORD(s->threads_end);
		bpf_loop(THREADS_MAX, look_at_thread, s, 0);
	}
	return s->files;
}

static long look_at_process(__u32 i, struct search *s)
{
	__u64 process = s->process, table = 0;

	if (s->passing_over && process == s->found->process)
		s->passing_over = 0;
	if (!s->passing_over) {
		s->pid = pid_of(s, process);
		if (s->pid)
			table = files_of(s, process);
	}
	if (table) {
		table = WORD(FIELD(table, files_struct, fdt));
		__u32 limit = AS(fdtable, table)->max_fds;

		s->files = WORD(FIELD(table, fdtable, fd));
		if (s->begin < limit)
			bpf_loop((limit - s->begin) & (DESCRIPTORS_MAX - 1), look_at_descriptor, s, 0);
		if (s->full)
			return 1;
		s->begin = 0;
	}
	s->process = WORD(FIELD(process, task_struct, tasks)) - FIELD(0, task_struct, tasks);
	return s->process == s->first;
}

SEC("raw_tp")
int holders(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 zero = 0;
	struct holdings *found = bpf_map_lookup_elem(&holdings, &zero);
	char *asking = (char *)bpf_get_current_task_btf();

	if (!found)
		return 0;
	struct search s = {
		.found = found,
		.first = WORD(FIELD(asking, task_struct, group_leader)),
		.begin = ctx->args[0] ? found->descriptor : 0,
		.passing_over = ctx->args[0] != 0,
	};
	__u64 pid = WORD(FIELD(asking, task_struct, thread_pid));

	s.pid_level = AS(pid, pid)->level;
	s.pid_namespace = WORD(FIELD(pid, pid, numbers) + s.pid_level * UPID_BYTES + 8);
	s.process = s.first;
	found->count = 0;
	bpf_loop(PROCESSES_MAX, look_at_process, &s, 0);
	found->lost = s.passing_over;
	found->more = s.full;
	found->process = s.process;
	return s.full;
}
