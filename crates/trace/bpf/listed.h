/* SPDX-License-Identifier: (Apache-2.0 OR MIT) OR GPL-2.0-only
 *
 * walk.h and existing.h for a control group, whose programs cannot look at a socket but in its
 * turn: user space has the kernel list its sockets, and hands the listing over. Nothing here runs
 * by itself; the programs are of a kind that every kernel has, and see no packet but what user
 * space gives them as one, which is their arguments.
 */
#ifndef PORTOLAN_LISTED_H
#define PORTOLAN_LISTED_H

#include "caller.h"
#include "connection.h"
#include "listeners.h"
#include "packet.h"

/* What is handed over at once. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 512);
	__type(key, __u32);
	__type(value, struct listed);
} listing SEC(".maps");

static __always_inline void own_listed(char *name, __u64 *cgroup, __u32 *pid, struct listed *it)
{
	if (name[0] || !it->name[0])
		return;
	copy_name(name, it->name);
	*cgroup = it->cgroup;
	*pid = it->pid;
}

static __always_inline void listens_already(struct listed *it)
{
	struct listening at = { .netns = it->netns, .port = it->local_port };
	struct listener *listener = 0;

	at.transport = IPPROTO_TCP;
	copy_address(at.address, it->local);
	if (it->is_first)
		begin_to_listen(&at, it->cookie);
	listener = bpf_map_lookup_elem(&listeners, &at);
	if (listener)
		own_listed(listener->name, &listener->cgroup, &listener->pid, it);
}

/* All bytes that left, and each once: those that this host dropped are in the one number, and an
 * acknowledgement that came in between in the other. */
static __always_inline __u64 sent_by(struct listed *it, __u8 side)
{
	__u64 sent = it->sent - (it->sent && side == ACTIVE);

	return sent < it->sent_max ? sent : it->sent_max;
}

/* A FIN may be among it, if one is known to have come. */
static __always_inline __u64 received_by(struct listed *it, int has_fin)
{
	return it->received - (it->received && has_fin);
}

static __always_inline int has_fin(struct listed *it)
{
	return it->state == TCP_CLOSE_WAIT || it->state == TCP_LAST_ACK || it->state == TCP_CLOSING;
}

static __noinline int adopt(struct listed *it)
{
	struct connection *known = it ? begin(it->cookie) : 0;
	__u64 generation;

	if (!known || !it)
		return 0;
	generation = GENERATION(known->rest);
	known->side = it->side;
	known->guessed = it->guessed;
	known->phase = UP;
	known->adopted = known->listed = 1;
	copy_address(known->local, it->local);
	copy_address(known->remote, it->remote);
	known->netns = it->netns;
	known->port = it->side == ACTIVE ? it->remote_port : it->local_port;
	known->other = 0;
	if (method == METHOD_AGGREGATE)
		known->other = it->side == ACTIVE ? it->local_port : it->remote_port;
	known->sent = generation | COUNTED(sent_by(it, it->side));
	known->received = generation | COUNTED(received_by(it, has_fin(it)));
	known->rest = generation | OPENED | it->retransmits;
	own_listed(known->name, &known->cgroup, &known->pid, it);
	known->since_us = it->taken_us;
	return 0;
}

/* What moved since the last reading: visit() of walk.h. */
static __noinline int visit_listed(struct connection *known, struct listed *it)
{
	__u64 rest, sent, received, to_sent, to_received;
	struct totals more = { .up = 1 };
	struct edge edge = {};

	if (!known || !it)
		return 0;
	rest = known->rest;
	sent = known->sent;
	received = known->received;
	to_sent = sent_by(it, known->side);
	to_received = received_by(it, known->fin || (known->adopted && has_fin(it)));
	if (!(rest & OPENED)) {
		more.opened = 1;
		more.sent = to_sent;
		more.received = to_received;
		known->sent = GENERATION(rest) | COUNTED(to_sent);
		known->received = GENERATION(rest) | COUNTED(to_received);
	}
	recall_edge(&edge, known);
	more.pid = known->pid;
	more.retransmits = (__u32)(it->retransmits - rest);
	more.rtt_samples = it->rtt_us != 0;
	more.rtt_us_sum = it->rtt_us;
	if (known->socket != it->cookie ||
	    __sync_val_compare_and_swap(&known->rest, rest,
					GENERATION(rest) | OPENED | it->retransmits) != rest)
		return 0;
	if (rest & OPENED && advance(&known->sent, sent, to_sent, &more.sent))
		advance(&known->received, received, to_received, &more.received);
	known->listed = 1;
	count(&edge, &more);
	return 0;
}

static long take_listed(__u32 at, void *unused)
{
	struct listed *it = bpf_map_lookup_elem(&listing, &at);
	struct connection *known;

	if (!it)
		return 1;
	if (it->state == TCP_LISTEN) {
		listens_already(it);
		return 0;
	}
	known = find(it->cookie);
	if (!known) {
		if (it->is_first)
			adopt(it);
		return 0;
	}
	own_listed(known->name, &known->cgroup, &known->pid, it);
	/* A socket may be used again: this may be what was listed, or what came after. */
	if (known->phase == UP && known->since_us && known->since_us < it->taken_us)
		visit_listed(known, it);
	return 0;
}

/* Of one that was up before nobody tells the end; and a socket that was asked to connect, or bound,
 * may never do. */
static __noinline int end_unheard(struct connection *known)
{
	struct totals more = { .closed = 1 };
	struct edge edge = {};
	__u64 rest;

	if (!known)
		return 0;
	rest = known->rest;
	if (known->phase == UP) {
		recall_edge(&edge, known);
		more.pid = known->pid;
		if (__sync_val_compare_and_swap(&known->rest, rest, NEXT_GENERATION(rest)) != rest)
			return 0;
		LOSE(untracked);
	}
	forget(known, known->socket);
	if (more.closed && edge.transport)
		count(&edge, &more);
	return 0;
}

/* It is up, and that is all that is known: its namespace cannot be listed, or it came just now. */
static __noinline int count_up(struct connection *known)
{
	struct totals more = { .up = 1 };
	struct edge edge = {};
	__u64 rest;

	if (!known)
		return 0;
	rest = known->rest;
	if (!(rest & OPENED)) {
		more.opened = 1;
		known->sent = known->received = GENERATION(rest);
	}
	recall_edge(&edge, known);
	more.pid = known->pid;
	/* What was sent again before it was opened is told by its end, and with it. */
	if (__sync_val_compare_and_swap(&known->rest, rest, rest | OPENED) != rest)
		return 0;
	count(&edge, &more);
	return 0;
}

static __always_inline void pass(struct connection *known)
{
	if (known->listed) {
		known->listed = known->suspect = 0;
		return;
	}
	if (known->phase == ASKED || (known->adopted && known->phase == UP && !state.torn)) {
		/* A listing may pass one over: its place among others has changed meanwhile. */
		if (known->suspect++ > 0 || known->released) {
			end_unheard(known);
			return;
		}
	}
	if (known->phase == UP && known->since_us)
		count_up(known);
}

static long pass_place(__u32 at, __u32 *first)
{
	struct connection *known;

	at += *first;
	known = bpf_map_lookup_elem(&places, &at);
	if (known && known->socket)
		pass(known);
	return 0;
}

static long pass_parked(void *map, __u64 *cookie, struct connection *known, void *unused)
{
	pass(known);
	return 0;
}

/* User space fills in both. */
static __always_inline int read_arguments(struct __sk_buff *skb, __u32 *first, __u32 *second)
{
	__u64 *arguments = (void *)(long)skb->data;

	if ((void *)(arguments + 2) > (void *)(long)skb->data_end)
		return 0;
	*first = arguments[0];
	*second = arguments[1];
	return 1;
}

/* So many of `listing`; and whether the listing has not all that there is. */
SEC("tc")
int list(struct __sk_buff *skb)
{
	__u32 many, torn;

	if (!read_arguments(skb, &many, &torn))
		return -1;
	state.torn = torn;
	bpf_loop(many, take_listed, 0, 0);
	return 0;
}

/* Those that were not listed, so many from one on; then finish() and get_ready() as in walk.h. */
SEC("tc")
int walk(struct __sk_buff *skb)
{
	__u32 first, many;

	if (!read_arguments(skb, &first, &many))
		return -1;
	bpf_loop(many, pass_place, &first, 0);
	return 0;
}

SEC("tc")
int finish(struct __sk_buff *skb)
{
	__u32 idle = state.current & 1;

	if (state.parked)
		bpf_for_each_map_elem(&parked, pass_parked, 0, 0);
	state.current = idle ^ 1;
	return idle;
}

SEC("tc")
int get_ready(struct __sk_buff *skb)
{
	state.ready = 1;
	return 0;
}

#endif
