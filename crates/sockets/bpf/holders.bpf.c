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
#include "process.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define PROCESSES_MAX (1 << 22)
#define SLOTS_MAX (1 << 20) /* of tables, in a run: some milliseconds */
#define SOCKFS_MAGIC 0x534F434B /* include/uapi/linux/magic.h */

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

/* True where the run is over. */
static __always_inline bool look_at_table(struct search *s, __u32 slots)
{
	__u32 budget = SLOTS_MAX - s->visited;
	bool ends = slots > budget;

	if (ends)
		slots = budget;
	s->visited += slots;
	bpf_loop(slots, look_at_descriptor, s, 0);
	if (ends && !s->full) {
		s->found->descriptor = s->begin + slots;
		s->full = 1;
	}
	return s->full;
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
		if (s->begin < limit && look_at_table(s, limit - s->begin))
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
