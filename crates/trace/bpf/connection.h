/* SPDX-License-Identifier: (Apache-2.0 OR MIT) OR GPL-2.0-only
 *
 * What is remembered of each TCP connection while it is up: who opened it, since when, and how much
 * of its traffic has been counted already.
 *
 * The records lie in an array, each at a place that follows from the address of its socket, so that
 * a short connection costs one cache line, no allocation and no lock. What finds its place taken is
 * parked in a hash map. Three writers meet at a record: the events of its socket, which come one at
 * a time, the walk (walk.h), and the search for owners. An event gives a record away by changing
 * its generation; whoever wants to count what moved must exchange the number that he went by, and
 * has lost where that is no longer there.
 */
#ifndef PORTOLAN_CONNECTION_H
#define PORTOLAN_CONNECTION_H

#include "count.h"

struct connection {
	__u64 socket; /* address, or cookie (BY_COOKIE); 0: nobody is here */
	__u64 since_us; /* 0: not up yet */
	/* The generation in the upper 16 bits; what has been counted in the lower 48. */
	__u64 rest; /* retransmits in 32 bits, and OPENED */
	__u64 cgroup;
	char name[16];
	__u32 pid;
	__u8 side;
	__u8 guessed; /* the side was concluded from the ports */
	__u8 phase;   /* enum phase */
	__u8 suspect; /* the last walk found its socket closed */
	__u8 pulled;  /* says nothing: see pull() */
	/* These are for listed.h alone. */
	__u8 listed;   /* the listing of this reading has it */
	__u8 adopted;  /* it was up before, and nobody says when it ends */
	__u8 released; /* whoever held its socket has closed it */
	__u32 fin;     /* RCV.NXT behind the FIN that came; 0: none did */
	/* The rest is for connections that a walk has met. */
	__u64 sent;
	__u64 received;
	__be32 local[4];
	__be32 remote[4];
	__u32 netns;
	__u16 port;
	__u16 other;
	__u64 zeros;
};

/* What was seen of it last. CROSSING: both ends connect to each other (RFC 9293, 3.5). ASKED and
 * EXPIRED are sockops.h's: connect() or bind() was called, and it has waited long enough. */
enum phase { NOTHING, CONNECTING, CROSSING, UP, ASKED, EXPIRED };

_Static_assert(sizeof(struct connection) == 128, "two cache lines");
_Static_assert(__builtin_offsetof(struct connection, sent) == 64, "two cache lines");

#define GENERATION_SHIFT 48
#define COUNTED(word) ((word) & ((1ULL << GENERATION_SHIFT) - 1))
#define GENERATION(word) ((word) >> GENERATION_SHIFT << GENERATION_SHIFT)
#define NEXT_GENERATION(word) (GENERATION(word) + (1ULL << GENERATION_SHIFT))
/* Counted as opened; what a walk goes by is there. */
#define OPENED (1ULL << 32)

/* Such an array begins at a page, so that a record lies in two cache lines and not in three. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 65536);
	__type(key, __u32);
	__type(value, struct connection);
} places SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 262144);
	__type(key, __u64);
	__type(value, struct connection);
} parked SEC(".maps");

/* Sockets that lie in the same 32 KiB, which is what the kernel takes for a dozen of them, get
 * places side by side: to look at a page that was not looked at lately costs more than all else. */
static __always_inline struct connection *place_of(__u64 socket)
{
	__u32 low, at;

#ifdef BY_COOKIE
	/* The kernel counts them, on each processor by itself. */
	at = (__u32)socket & ((1U << (state.places_bits & 31)) - 1);
	return bpf_map_lookup_elem(&places, &at);
#endif
	/* Nothing may be calculated with a pointer but with half of it. */
	asm("%0 = %1" : "=w"(low) : "w"((__u32)socket));
	at = (low >> 15) * 0x9e3779b9U >> (32 - state.places_bits + 4);
	at = at << 4 | (low >> 11 & 15);
	return bpf_map_lookup_elem(&places, &at);
}

/* What was written by another processor is waited for by who reads it, not by who writes: a byte
 * that nobody reads, whosever the place is, brings it here before it is wanted. */
static __always_inline void pull(__u64 socket)
{
	struct connection *place = place_of(socket);

	if (place)
		*(volatile __u8 *)&place->pulled = 1;
}

static __always_inline struct connection *find(__u64 socket)
{
	struct connection *place = place_of(socket);

	if (place && place->socket == socket)
		return place;
	return state.parked ? bpf_map_lookup_elem(&parked, &socket) : 0;
}

static __always_inline int unpark(__u64 socket)
{
	if (bpf_map_delete_elem(&parked, &socket))
		return 0;
	__sync_fetch_and_sub(&state.parked, 1);
	return 1;
}

static __always_inline void forget(struct connection *known, __u64 socket)
{
	struct connection *place = place_of(socket);

	known->since_us = 0;
	if (known == place)
		known->socket = 0;
	else
		unpark(socket);
}

static __noinline struct connection *park(__u64 socket)
{
	struct connection fresh = { .socket = socket };

	/* A stale walk must not take it for the one whose memory it gets. */
	fresh.rest = (__u64)bpf_get_prandom_u32() << GENERATION_SHIFT;
	/* One that was not forgotten, whose socket is another connection's now. */
	if (unpark(socket))
		LOSE(stale);
	__sync_fetch_and_add(&state.parked, 1);
	if (bpf_map_update_elem(&parked, &socket, &fresh, BPF_NOEXIST)) {
		__sync_fetch_and_sub(&state.parked, 1);
		LOSE(no_room);
		return 0;
	}
	return bpf_map_lookup_elem(&parked, &socket);
}

/* A record for a connection that begins, of which nothing is known. */
static __always_inline struct connection *begin(__u64 socket)
{
	struct connection *place = place_of(socket);

	if (!place)
		return 0;
	if (place->socket == socket) {
		LOSE(stale);
		place->since_us = 0;
		place->rest = NEXT_GENERATION(place->rest);
	} else if (place->socket || __sync_val_compare_and_swap(&place->socket, 0, socket)) {
		return park(socket);
	}
	((__u64 *)place->name)[0] = ((__u64 *)place->name)[1] = place->cgroup = 0;
	place->pid = place->guessed = place->phase = place->suspect = 0;
#ifdef BY_COOKIE
	place->listed = place->adopted = place->released = place->fin = 0;
#endif
	return place;
}

/* The walk reads without a lock: it may have come between a number and what is to be subtracted. */
static __always_inline __u64 beyond(__u64 to, __u64 counted)
{
	return COUNTED(to) > COUNTED(counted) ? COUNTED(to) - COUNTED(counted) : 0;
}

/* For walks to come. */
static __always_inline void keep_edge(struct connection *known, const struct edge *edge)
{
#pragma clang loop unroll(full)
	for (int i = 0; i < 4; i++) {
		known->local[i] = edge->local[i];
		known->remote[i] = edge->remote[i];
	}
	known->netns = edge->netns;
	known->port = edge->port;
	known->other = edge->other;
}

static __always_inline void name_edge(struct edge *edge, const struct connection *known)
{
	edge->guessed = known->guessed;
	edge->cgroup = known->cgroup;
	((__u64 *)edge->name)[0] = ((__u64 *)known->name)[0];
	((__u64 *)edge->name)[1] = ((__u64 *)known->name)[1];
}

static __always_inline void recall_edge(struct edge *edge, struct connection *known)
{
#pragma clang loop unroll(full)
	for (int i = 0; i < 4; i++) {
		edge->local[i] = known->local[i];
		edge->remote[i] = known->remote[i];
	}
	edge->netns = known->netns;
	edge->port = known->port;
	edge->other = known->other;
	edge->side = known->side;
	edge->transport = IPPROTO_TCP;
	name_edge(edge, known);
}

/* What a walk found. Never back: it is read without a lock. */
static __always_inline int advance(__u64 *counted, __u64 before, __u64 to, __u64 *moved)
{
	__u64 by = beyond(to, before);

	if (!by)
		return 1;
	if (__sync_val_compare_and_swap(counted, before, before + by) != before)
		return 0;
	*moved = by;
	return 1;
}

/* What has to be counted when the numbers have come to these; the record is given away. The walk
 * begins with the word that is given away first: what it has not seen there, it will not count. */
static __always_inline void take(struct connection *known, struct ending *more, __u64 sent,
				 __u64 received, __u64 retransmits)
{
	__u64 next = NEXT_GENERATION(known->rest);
	__u64 rest = COUNTED(__sync_lock_test_and_set(&known->rest, next));

	if (!(rest & OPENED)) {
		more->opened = 1;
		more->sent = sent;
		more->received = received;
		more->retransmits = retransmits;
		return;
	}
	more->sent = beyond(sent, __sync_lock_test_and_set(&known->sent, next));
	more->received = beyond(received, __sync_lock_test_and_set(&known->received, next));
	more->retransmits = (__u32)(retransmits - rest);
}

#endif
