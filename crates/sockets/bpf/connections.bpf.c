// SPDX-License-Identifier: (Apache-2.0 OR MIT) OR GPL-2.0-only
/*
 * Lists the connections of a network namespace by following the chains of TCP's hash table
 * (net/ipv4/inet_hashtables.c) as the kernel's own lookups do: under RCU, without locks and without
 * taking references. Locks and references are what an iterator or a dump spends its time on.
 *
 * A socket may go, or its memory become another's, while it is read. So each chain is checked after
 * it was followed: it must begin as it did (whatever is added is added there), end with the number
 * of its bucket, and each socket must still be in use and hash to it. Otherwise it is read again.
 *
 * User space runs the program with BPF_PROG_TEST_RUN, again and again: each run fills the buffer.
 */
#include "kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "chain.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define ATTEMPTS 8
/* A run is to take milliseconds, whatever the table: its process can do nothing else meanwhile. */
#define BUCKETS_MAX (1 << 18)
#define VISITED_MAX (1 << 17)

/* Stops where the buffer is full: before this chain, or within it if it fills a whole buffer. */
static long next_chain(__u32 i, struct walk *w)
{
	struct chunk *chunk = w->chunk;
	__u64 first = WORD(head_of(w));

	if (chunk->visited >= VISITED_MAX)
		return 1;
	if (!(first & 1)) {
		w->before = chunk->used;
		read_chain(w, first);
		if (!w->settled && !w->full)
			bpf_loop(ATTEMPTS, read_again, w, 0);
		if (w->full && w->before) {
			chunk->used = w->before;
			return 1;
		}
		chunk->torn += (chunk->skip && first != chunk->head) || !(w->settled | w->full);
		if (w->full) {
			chunk->skip = chunk->index;
			chunk->head = first;
			return 1;
		}
	}
	chunk->skip = 0;
	w->bucket++;
	return 0;
}

SEC("raw_tp")
int connections(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 which = ctx->args[ARG_CHUNK];
	struct chunk *chunk = bpf_map_lookup_elem(&chunks, &which);
	struct net *net = ((struct task_struct *)bpf_get_current_task_btf())->nsproxy->net_ns;
	struct inet_hashinfo *table = net->ipv4.tcp_death_row.hashinfo;
	__u64 slice = ctx->args[ARG_SLICE], slices = ctx->args[ARG_SLICES];

	if (!chunk || !slices)
		return 0;
	struct walk w = {
		.chunk = chunk,
		.table = WORD(FIELD((char *)table, inet_hashinfo, ehash)),
		.bucket = ctx->args[ARG_NEXT],
		.mask = table->ehash_mask,
		.netns = net->ns.inum,
		.states = ctx->args[ARG_STATES],
		.want = ctx->args[ARG_WANT],
	};
	__u64 size = (__u64)w.mask + 1;
	__u32 begin = size * slice / slices, end = size * (slice + 1) / slices;

	chunk->used = chunk->torn = chunk->visited = 0;
	chunk->skip = ctx->args[ARG_SKIP];
	if (w.bucket < begin)
		w.bucket = begin;
	if (w.bucket < end) {
		__u32 left = end - w.bucket;

		bpf_loop(left < BUCKETS_MAX ? left : BUCKETS_MAX, next_chain, &w, 0);
	}
	chunk->next = w.bucket;
	return w.bucket < end;
}
