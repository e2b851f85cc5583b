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

#include "chunk.h"
#include "socket.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define ATTEMPTS 8
#define CHAIN_MAX (1 << 20)

struct walk {
	struct chunk *chunk;
	__u64 table;   /* address of the first bucket */
	__u64 node;    /* address of the next in the chain; odd at its end */
	__u32 bucket;  /* its number */
	__u32 before;  /* bytes of rows before this chain */
	__u32 mask;
	__u32 netns;
	__u32 states;
	__u32 want;
	__u32 unstable; /* a socket changed while it was read */
	__u32 full;
	__u32 settled;  /* the chain was read as it was all the while */
};

static __always_inline void tell(struct walk *w, __u64 address)
{
	__u32 at = w->chunk->used;

	if (COMMON(address).skc_net.net->ns.inum != w->netns ||
	    !(w->states >> state_of(address) & 1))
		return;
	if (at > ROWS_BYTES) {
		w->full = 1;
		return;
	}
	struct row *row = (void *)&w->chunk->rows[at];

	read_socket(row, address, w->want);
	at += ROW_BYTES;
	w->chunk->used = at + read_addresses(&w->chunk->rows[at], address, row->family);
	if (!stands(row, address) || (COMMON(address).skc_hash & w->mask) != w->bucket)
		w->unstable = 1;
}

static __always_inline __u64 head_of(struct walk *w)
{
	return w->table + (__u64)w->bucket * sizeof(__u64);
}

static long follow(__u32 i, struct walk *w)
{
	__u64 node = w->node;

	if (!node || node & 1 || w->unstable || w->full)
		return 1;
	tell(w, node - FIELD(0, tcp_sock, inet_conn.icsk_inet.sk.__sk_common.skc_nulls_node));
	w->node = WORD(node);
	return 0;
}

static __always_inline void read_chain(struct walk *w, __u64 first)
{
	w->chunk->used = w->before;
	w->node = first;
	w->unstable = w->full = 0;
	/* Most chains have one socket, and a loop costs more than that. */
	follow(0, w);
	if (!(w->node & 1))
		bpf_loop(CHAIN_MAX, follow, w, 0);
	w->settled = !w->unstable && w->node >> 1 == w->bucket && WORD(head_of(w)) == first;
}

static long read_again(__u32 i, struct walk *w)
{
	read_chain(w, WORD(head_of(w)));
	return w->settled | w->full ? 1 : 0;
}

static long next_chain(__u32 i, struct walk *w)
{
	struct chunk *chunk = w->chunk;
	__u64 first = WORD(head_of(w));

	if (!(first & 1)) {
		w->before = chunk->used;
		read_chain(w, first);
		if (!w->settled && !w->full)
			bpf_loop(ATTEMPTS, read_again, w, 0);
		if (w->full && w->before) {
			chunk->used = w->before;
			return 1;
		}
		chunk->too_long += w->full;
		chunk->torn += !w->settled;
	}
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

	chunk->used = chunk->torn = chunk->too_long = 0;
	if (w.bucket < begin)
		w.bucket = begin;
	if (w.bucket < end)
		bpf_loop(end - w.bucket, next_chain, &w, 0);
	chunk->next = w.bucket;
	return w.bucket < end;
}
