/* SPDX-License-Identifier: (Apache-2.0 OR MIT) OR GPL-2.0-only
 *
 * Reading one chain of TCP's hash table into the buffer (connections.bpf.c).
 */
#ifndef PORTOLAN_CHAIN_H
#define PORTOLAN_CHAIN_H

#include "chunk.h"
#include "socket.h"

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
	if (!stands(row, address) || (COMMON(address).skc_hash & w->mask) != w->bucket ||
	    !(w->states >> (row->state & 15) & 1))
		w->unstable = 1;
}

static __always_inline __u64 head_of(struct walk *w)
{
	return w->table + (__u64)w->bucket * sizeof(__u64);
}

static long follow(__u32 i, struct walk *w)
{
	__u64 node = w->node;

	if (!node || node & 1 || w->unstable)
		return 1;
	if (w->chunk->index >= w->chunk->skip)
		tell(w, node - FIELD(0, tcp_sock, inet_conn.icsk_inet.sk.__sk_common.skc_nulls_node));
	if (w->full)
		return 1;
	w->chunk->index++;
	w->chunk->visited++;
	w->node = WORD(node);
	return 0;
}

static __always_inline void read_chain(struct walk *w, __u64 first)
{
	w->chunk->used = w->before;
	w->node = first;
	w->unstable = w->full = 0;
	w->chunk->index = 0;
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

#endif
