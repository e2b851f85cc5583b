/* SPDX-License-Identifier: (Apache-2.0 OR MIT) OR GPL-2.0-only
 *
 * Once per reading: what moved on the connections that are up. Their sockets are read without a
 * lock and without a reference; that this went well shows when the number that was counted before
 * is still there to be exchanged (connection.h).
 */
#ifndef PORTOLAN_WALK_H
#define PORTOLAN_WALK_H

#include "connection.h"
#include "socket.h"

#define PROBE(from, field) BPF_CORE_READ(from, field)

/* Closed, and nobody said so: an event was lost. Twice in a row, for the first event of a
 * connection comes a little before its state. */
static __always_inline int is_stale(struct connection *known, struct tcp_sock *tp)
{
	if (PROBE(tp, inet_conn.icsk_inet.sk.__sk_common.skc_state) != TCP_CLOSE) {
		known->suspect = 0;
		return 0;
	}
	return known->suspect++ > 0;
}

/* Its addresses, which will not change. */
static __always_inline void meet(struct connection *known, struct tcp_sock *tp)
{
	struct edge edge = {};

	read_edge_by_probe(&edge, (struct sock *)tp, tp, known->side);
	keep_edge(known, &edge);
}

/* Somebody works on the socket: a packet, or the backlog of them. */
static __always_inline int is_busy(struct tcp_sock *tp)
{
	struct sock *sk = (void *)tp;
	int held = BPF_CORE_READ(sk, sk_lock.owned);

	if (bpf_core_field_exists(struct qspinlock, val))
		held |= BPF_CORE_READ(sk, sk_lock.slock.rlock.raw_lock.val.counter);
	return !!held;
}

/* What is known of it is counted. Whether it came up at all, the record says. */
static __always_inline int end_stale(struct connection *known, __u64 socket, __u64 next,
				     struct totals *more)
{
	int was_up = known->phase == UP;

	known->sent = known->received = next;
	forget(known, socket);
	LOSE(stale);
	more->up = 0;
	more->closed = 1;
	return was_up;
}

/* The first time, all that there is in the record but the word that claims it is written before the
 * claim: nobody looks at it until then. */
static __always_inline void visit(struct connection *known)
{
	__u64 socket = known->socket, rest = known->rest, next;
	__u64 sent = known->sent, received = known->received;
	struct tcp_sock *tp = (void *)socket;
	struct totals more = {};
	struct edge edge = {};
	struct numbers now;
	int stale, busy;

	if (!socket)
		return;
	stale = is_stale(known, tp);
	if (!stale && !known->since_us)
		return;
	busy = is_busy(tp);
	READ_NUMBERS(&now, tp, known->side, PROBE);
	/* The last byte may be a FIN of which nobody has said yet that it is one. */
	if ((busy | is_busy(tp)) && now.received)
		now.received--;
	if (!(rest & OPENED)) {
		meet(known, tp);
		more.opened = 1;
		more.sent = now.sent;
		more.received = now.received;
		known->sent = GENERATION(rest) | COUNTED(now.sent);
		known->received = GENERATION(rest) | COUNTED(now.received);
	}
	recall_edge(&edge, known);
	more.up = 1;
	more.pid = known->pid;
	more.retransmits = (__u32)(now.retransmits - rest);
	more.rtt_samples = now.rtt_us != 0;
	more.rtt_us_sum = now.rtt_us;
	/* The word that an event gives away first; exchanged also where it stays what it is. */
	next = stale ? NEXT_GENERATION(rest) : GENERATION(rest) | OPENED | now.retransmits;
	if (known->socket != socket ||
	    __sync_val_compare_and_swap(&known->rest, rest, next) != rest)
		return;
	if (rest & OPENED && advance(&known->sent, sent, now.sent, &more.sent))
		advance(&known->received, received, now.received, &more.received);
	if (stale && !end_stale(known, socket, next, &more))
		return;
	count(&edge, &more);
}

static long visit_place(__u32 at, __u32 *first)
{
	struct connection *known;

	at += *first;
	known = bpf_map_lookup_elem(&places, &at);
	if (known && known->socket)
		visit(known);
	return 0;
}

/* Where its socket has a place as well, that one is right: this one was not forgotten. */
static long visit_parked(void *map, __u64 *socket, struct connection *known, void *unused)
{
	__u64 address = *socket;
	struct connection *place = place_of(address);

	if (!place || place->socket != address)
		visit(known);
	else if (unpark(address))
		LOSE(stale);
	return 0;
}

/* User space runs these with BPF_PROG_TEST_RUN: the first for so many places from one on, since
 * nothing else can run on its processor meanwhile. */
SEC("raw_tp")
int walk(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 first = ctx->args[0], many = ctx->args[1];

	bpf_loop(many, visit_place, &first, 0);
	return 0;
}

/* Then this. Exchanges the maps, and says which is idle. */
SEC("raw_tp")
int finish(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 idle = state.current & 1;

	if (state.parked)
		bpf_for_each_map_elem(&parked, visit_parked, 0, 0);
	state.current = idle ^ 1;
	return idle;
}

/* And this once, when what was there before is known. */
SEC("raw_tp")
int get_ready(struct bpf_raw_tracepoint_args *ctx)
{
	state.ready = 1;
	return 0;
}

#endif
