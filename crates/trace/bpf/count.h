/* SPDX-License-Identifier: (Apache-2.0 OR MIT) OR GPL-2.0-only
 *
 * Where counts go: one of two maps, of which user space reads and empties the other; or, by the
 * method `stream`, a queue.
 */
#ifndef PORTOLAN_COUNT_H
#define PORTOLAN_COUNT_H

#include "edge.h"

struct state state SEC(".bss") __attribute__((aligned(64)));
#define method state.method

struct edges {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, struct edge);
	__type(value, struct totals);
};

struct edges edges_0 SEC(".maps");
struct edges edges_1 SEC(".maps");

/* For what finds no room there: the sums still add up. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct totals);
} overflow SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct losses);
} losses SEC(".maps");

#define LOSE(what)                                                       \
	do {                                                             \
		__u32 only = 0;                                          \
		struct losses *lost = bpf_map_lookup_elem(&losses, &only); \
		if (lost)                                                \
			__sync_fetch_and_add(&lost->what, 1);            \
	} while (0)

#define ADD(what)                                                       \
	do {                                                            \
		if (more->what)                                         \
			__sync_fetch_and_add(&sum->what, more->what);   \
	} while (0)

static __always_inline void add(struct totals *sum, const struct totals *more)
{
	ADD(opened);
	ADD(closed);
	ADD(sent);
	ADD(received);
	ADD(rtt_us_sum);
	ADD(rtt_samples);
	ADD(duration_us_sum);
	if (more->pid && more->pid != sum->pid)
		sum->pid = more->pid;
	ADD(resets);
	ADD(refused);
	ADD(timed_out);
	ADD(unreachable);
	ADD(abandoned);
	ADD(datagrams_sent);
	ADD(datagrams_received);
	ADD(retransmits);
	ADD(up);
}

static __noinline int add_to_overflow(struct totals *more, __u32 current)
{
	struct totals *sum = bpf_map_lookup_elem(&overflow, &current);

	LOSE(overflow);
	if (sum && more)
		add(sum, more);
	else
		LOSE(not_counted);
	return 0;
}

/* Twice, since the verifier wants to know which map it is. */
#define COUNT_IN(map, current)                                                \
	do {                                                                  \
		sum = bpf_map_lookup_elem(map, edge);                         \
		if (!sum) {                                                   \
			if (!bpf_map_update_elem(map, edge, more, BPF_NOEXIST)) \
				return;                                       \
			/* Another processor was faster, or there is no room. */ \
			sum = bpf_map_lookup_elem(map, edge);                 \
		}                                                             \
		if (sum)                                                      \
			add(sum, more);                                       \
		else                                                          \
			add_to_overflow(more, current);                       \
	} while (0)

static __always_inline void send(struct edge *edge, struct totals *more)
{
	struct event *event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);

	if (!event) {
		LOSE(queue_full);
		return;
	}
	event->edge = *edge;
	event->totals = *more;
	/* Nobody is woken: user space looks when it wants to know. */
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
}

static __always_inline void count(struct edge *edge, struct totals *more)
{
	struct totals *sum;

	if (method == METHOD_STREAM)
		send(edge, more);
	else if (state.current & 1)
		COUNT_IN(&edges_1, 1);
	else
		COUNT_IN(&edges_0, 0);
}

/* What a connection that ends has to count; most of the rest is 0. */
struct ending {
	__u64 sent;
	__u64 received;
	__u64 duration_us;
	__u32 retransmits;
	__u32 rtt_us;
	__u32 pid;
	__u8 opened;
	__u8 closed;
	__u8 reset;
	__u8 failure; /* enum failure */
};

enum failure { NOT_FAILED, REFUSED, TIMED_OUT, UNREACHABLE, ABANDONED };

static __noinline int count_rare_ending(struct edge *edge, struct ending *end)
{
	struct totals more = {};

	if (!edge || !end)
		return 0;
	more.opened = end->opened;
	more.closed = end->closed;
	more.sent = end->sent;
	more.received = end->received;
	more.rtt_us_sum = end->rtt_us;
	more.rtt_samples = end->rtt_us != 0;
	more.duration_us_sum = end->duration_us;
	more.pid = end->pid;
	more.resets = end->reset;
	more.refused = end->failure == REFUSED;
	more.timed_out = end->failure == TIMED_OUT;
	more.unreachable = end->failure == UNREACHABLE;
	more.abandoned = end->failure == ABANDONED;
	more.retransmits = end->retransmits;
	count(edge, &more);
	return 0;
}

/* The same as count(), for what happens most often: a connection that came up since the last
 * reading, and ended well, on an edge that is known. */
static __always_inline void count_ending(struct edge *edge, struct ending *end)
{
	struct totals *sum = 0;

	if (method != METHOD_STREAM && !end->reset && !end->failure && !end->retransmits) {
		if (state.current & 1)
			sum = bpf_map_lookup_elem(&edges_1, edge);
		else
			sum = bpf_map_lookup_elem(&edges_0, edge);
	}
	if (!sum) {
		count_rare_ending(edge, end);
		return;
	}
	if (end->opened)
		__sync_fetch_and_add(&sum->opened, 1);
	__sync_fetch_and_add(&sum->closed, 1);
	if (end->sent)
		__sync_fetch_and_add(&sum->sent, end->sent);
	if (end->received)
		__sync_fetch_and_add(&sum->received, end->received);
	if (end->rtt_us) {
		__sync_fetch_and_add(&sum->rtt_us_sum, end->rtt_us);
		__sync_fetch_and_add(&sum->rtt_samples, 1);
	}
	if (end->duration_us)
		__sync_fetch_and_add(&sum->duration_us_sum, end->duration_us);
	if (end->pid && end->pid != sum->pid)
		sum->pid = end->pid;
}

#endif
