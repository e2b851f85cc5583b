/* SPDX-License-Identifier: (Apache-2.0 OR MIT) OR GPL-2.0-only
 *
 * What holders.bpf.c has to know of a process: its id, and its table of descriptors.
 */
#ifndef PORTOLAN_PROCESS_H
#define PORTOLAN_PROCESS_H

#include "words.h"

#define THREADS_MAX (1 << 16)
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
	__u32 visited;     /* slots of tables in this run */
	__u32 passing_over;
	__u32 full;
};

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

#endif
