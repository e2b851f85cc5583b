/* SPDX-License-Identifier: (Apache-2.0 OR MIT) OR GPL-2.0-only
 *
 * Once per reading: what moved on the connections that are up. Their sockets are read without a
 * lock and without a reference; that this went well shows when the number that was counted before is
 * still there to be exchanged (connection.h).
 */
#ifndef PORTOLAN_WALK_H
#define PORTOLAN_WALK_H

#include "connection.h"
#include "socket.h"

#define PROBE(from, field) BPF_CORE_READ(from, field)

static __always_inline int advance(__u64 *counted, __u64 before, __u64 to, __u64 *moved)
{
	__u64 next = GENERATION(before) | COUNTED(to);

	*moved = beyond(to, before);
	if (!*moved)
		return 1;
	if (__sync_val_compare_and_swap(counted, before, next) == before)
		return 1;
	*moved = 0;
	return 0;
}

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

static __always_inline void visit(struct connection *known)
{
	__u64 socket = known->socket, sent = known->sent, received = known->received;
	__u64 rest = known->rest, flags = 0;
	struct tcp_sock *tp = (void *)socket;
	struct totals more = {};
	struct numbers now;

	if (!socket)
		return;
	if (is_stale(known, tp)) {
		if (__sync_val_compare_and_swap(&known->rest, rest, NEXT_GENERATION(rest)) == rest) {
			known->received = known->sent = NEXT_GENERATION(rest);
			forget(known, socket);
			LOSE(stale);
		}
		return;
	}
	if (!known->since_us)
		return;
	READ_NUMBERS(&now, tp, PROBE);
	/* The word that an event gives away first. */
	if (known->socket != socket || !advance(&known->rest, rest, now.retransmits | OPENED, &flags))
		return;
	more.up = 1;
	more.pid = known->pid;
	more.opened = !(rest & OPENED);
	more.retransmits = now.retransmits - (__u32)rest;
	more.rtt_samples = now.rtt_us != 0;
	more.rtt_us_sum = now.rtt_us;
	if (advance(&known->sent, sent, now.sent, &more.sent))
		advance(&known->received, received, now.received, &more.received);
	count(&known->edge, &more);
}

static long visit_place(__u32 at, void *unused)
{
	struct connection *known = bpf_map_lookup_elem(&places, &at);

	if (known && known->socket)
		visit(known);
	return 0;
}

static long visit_parked(void *map, __u64 *socket, struct connection *known, void *unused)
{
	visit(known);
	return 0;
}

/* User space runs it with BPF_PROG_TEST_RUN. */
SEC("raw_tp")
int walk(struct bpf_raw_tracepoint_args *ctx)
{
	bpf_loop(1U << settings.places_bits, visit_place, 0, 0);
	if (parked_count)
		bpf_for_each_map_elem(&parked, visit_parked, 0, 0);
	return 0;
}

#endif
