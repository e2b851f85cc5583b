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

#endif
