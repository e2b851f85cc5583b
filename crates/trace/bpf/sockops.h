/* SPDX-License-Identifier: (Apache-2.0 OR MIT) OR GPL-2.0-only
 *
 * change.h for a control group: what each turn of a TCP socket says, by contexts that any kernel
 * has. The socket is locked then, and a new state is not stored yet. It is known by its cookie,
 * which no other ever gets, and its namespace by the lower half of its own.
 */
#ifndef PORTOLAN_SOCKOPS_H
#define PORTOLAN_SOCKOPS_H

#include "caller.h"
#include "connection.h"
#include "hooks.h"
#include "listeners.h"
#include "socket.h"

static __always_inline void ask_for(struct bpf_sock_ops *ctx, __u32 add, __u32 drop)
{
	__u32 asked = ctx->bpf_sock_ops_cb_flags;

	/* Whoever else has programs here keeps what he asked for. */
	if ((asked & ~drop) == asked && (asked | add) == asked)
		return;
	bpf_sock_ops_cb_flags_set(ctx, (asked & ~drop) | add);
}

static __always_inline void read_addresses(__be32 *local, __be32 *remote, struct bpf_sock_ops *ctx)
{
	if (ctx->family == AF_INET) {
		read_v4(local, ctx->local_ip4);
		read_v4(remote, ctx->remote_ip4);
		/* Or the compiler makes one access of the last of either branch, at an address that
		 * it calculates, which the kernel does not take. */
		asm volatile("" ::: "memory");
		return;
	}
	local[0] = ctx->local_ip6[0];
	local[1] = ctx->local_ip6[1];
	local[2] = ctx->local_ip6[2];
	local[3] = ctx->local_ip6[3];
	remote[0] = ctx->remote_ip6[0];
	remote[1] = ctx->remote_ip6[1];
	remote[2] = ctx->remote_ip6[2];
	remote[3] = ctx->remote_ip6[3];
}

static __always_inline void edge_of(struct edge *edge, struct bpf_sock_ops *ctx, __u8 side)
{
	__u16 here = ctx->local_port, there = __builtin_bswap32(ctx->remote_port);

	read_addresses(edge->local, edge->remote, ctx);
	edge->netns = bpf_get_netns_cookie(ctx);
	set_ports(edge, __builtin_bswap16(here), __builtin_bswap16(there), side);
}

/* Behind connect4 or connect6, in the same call: the process is known. */
static __always_inline void sends_syn(struct bpf_sock_ops *ctx, __u64 cookie)
{
	struct connection *known = find(cookie);

	if (!known)
		known = begin(cookie);
	if (!known)
		return;
	known->side = ACTIVE;
	known->phase = CONNECTING;
	ask_for(ctx, BPF_SOCK_OPS_STATE_CB_FLAG | BPF_SOCK_OPS_RTO_CB_FLAG, 0);
}

/* The handshake is over; of one from both ends (RFC 9293, 3.5) this one has asked first, too. */
static __noinline int established(struct bpf_sock_ops *ctx, __u64 cookie, __u8 side)
{
	struct connection *known = find(cookie);
	struct edge edge = {};

	if (!known) {
		known = begin(cookie);
		if (!known)
			return 0;
		known->side = side;
	}
	edge_of(&edge, ctx, known->side);
	keep_edge(known, &edge);
	known->phase = UP;
	known->since_us = bpf_ktime_get_ns() / 1000;
	ask_for(ctx, BPF_SOCK_OPS_STATE_CB_FLAG, BPF_SOCK_OPS_RTO_CB_FLAG);
	if (method == METHOD_STREAM) {
		struct totals more = { .opened = 1 };

		name_edge(&edge, known);
		more.pid = known->pid;
		known->sent = known->received = known->rest;
		known->rest |= OPENED;
		count(&edge, &more);
	}
	return 0;
}

/* The timer says so; the kernel has lost patience with it (tcp_write_timeout). */
static __always_inline void waits(struct bpf_sock_ops *ctx, __u64 cookie)
{
	struct connection *known = ctx->args[2] ? find(cookie) : 0;

	if (known && known->phase == CONNECTING)
		known->phase = EXPIRED;
}

/* A segment in FIN-WAIT: of the states that follow, the kernel tells only the end. A FIN that comes
 * too early counts when RCV.NXT has come to it. */
static __always_inline void hears(struct bpf_sock_ops *ctx, __u64 cookie)
{
	struct tcp *tcp = ctx->skb_data;
	struct connection *known;

	if (!(ctx->skb_tcp_flags & TCP_FIN) || (void *)(tcp + 1) > ctx->skb_data_end)
		return;
	known = find(cookie);
	if (known)
		known->fin = __builtin_bswap32(tcp->sequence) + ctx->skb_len -
			     (tcp->words >> 4) * 4 + 1;
}

/* The payload alone, as READ_NUMBERS does it. Whether the FIN of this end has left is concluded
 * from the state: there is no telling where one that breaks had bytes left to send before it. */
static __always_inline void read_ctx(struct numbers *now, struct bpf_sock_ops *ctx,
				     struct connection *known, int before)
{
	__u64 acked = ctx->bytes_acked, got = ctx->bytes_received;

	acked += (__u32)(ctx->snd_nxt - ctx->snd_una);
	acked -= acked && known->side == ACTIVE;
	acked -= acked && has_closed(before);
	now->sent = acked;
	now->received = got - (got && known->fin && known->fin == ctx->rcv_nxt);
	now->retransmits = ctx->total_retrans;
	now->rtt_us = ctx->srtt_us >> 3;
}

/* Nobody says why. A segment that came in answer to a SYN and ended it was a reset; else it was
 * time, or who held it, or what ICMP said. */
static __always_inline enum failure why_failed(struct bpf_sock_ops *ctx, struct connection *known)
{
	if (ctx->segs_in)
		return REFUSED;
	if (known->phase == EXPIRED)
		return TIMED_OUT;
	return known->released ? ABANDONED : UNREACHABLE;
}

/* Resets and time-outs: each other end is acknowledged (LAST-ACK), is behind a FIN, or is left to
 * the kernel by close(). */
static __always_inline int is_broken(struct bpf_sock_ops *ctx, struct connection *known, int before)
{
	if (before == TCP_FIN_WAIT2)
		return !known->fin && !known->released;
	if (before == TCP_LAST_ACK || before == TCP_CLOSING)
		return ctx->snd_una != ctx->snd_nxt;
	return 1;
}

static __noinline int over(struct bpf_sock_ops *ctx, __u64 cookie, int before)
{
	struct connection *known = find(cookie);
	struct ending end = {};
	struct edge edge = {};
	struct numbers now;
	__u64 since_us, until_us;

	if (!known)
		return 0;
	/* As in ended() of change.h: before it is given away. */
	since_us = known->since_us;
	known->since_us = 0;
	read_ctx(&now, ctx, known, before);
	take(known, &end, now.sent, now.received, now.retransmits);
	end.pid = known->pid;
	if (before != TCP_SYN_SENT && before != TCP_SYN_RECV) {
		end.closed = 1;
		end.reset = is_broken(ctx, known, before);
		end.rtt_us = now.rtt_us;
		until_us = bpf_ktime_get_ns() / 1000;
		if (since_us && until_us > since_us && !known->adopted)
			end.duration_us = until_us - since_us;
	} else {
		end.opened = 0;
		end.sent = end.received = 0;
		end.failure = why_failed(ctx, known);
	}
	edge_of(&edge, ctx, known->side);
	name_edge(&edge, known);
	forget(known, cookie);
	count_ending(&edge, &end);
	return 1;
}

/* Its beginning nobody saw; that its end is told, a tracer before this one has asked for. */
static __noinline int over_unknown(struct bpf_sock_ops *ctx)
{
	struct ending end = { .closed = 1 };
	struct edge edge = {};
	__u16 here = ctx->local_port, there = __builtin_bswap32(ctx->remote_port);

	LOSE(untracked);
	edge.guessed = 1;
	edge_of(&edge, ctx, is_ephemeral(there) && !is_ephemeral(here) ? PASSIVE : ACTIVE);
	count_rare_ending(&edge, &end);
	return 0;
}

static __noinline int listens(struct bpf_sock_ops *ctx, __u64 cookie)
{
	struct listening at = { .transport = IPPROTO_TCP };
	struct connection *caller = find(cookie);
	struct listener *listener;
	__be32 none[4];

	read_addresses(at.address, none, ctx);
	at.netns = bpf_get_netns_cookie(ctx);
	at.port = ctx->local_port;
	listener = begin_to_listen(&at, cookie);
	if (listener && caller && !listener->name[0]) {
		copy_name(listener->name, caller->name);
		listener->cgroup = caller->cgroup;
		listener->pid = caller->pid;
	}
	/* It is no connection. */
	if (caller)
		forget(caller, cookie);
	ask_for(ctx, BPF_SOCK_OPS_STATE_CB_FLAG, 0);
	return 0;
}

/* The old state and the new one. */
static __always_inline void turns(struct bpf_sock_ops *ctx, __u64 cookie, int before, int now)
{
	struct connection *known;

	switch (now) {
	case TCP_FIN_WAIT1:
		ask_for(ctx, BPF_SOCK_OPS_PARSE_ALL_HDR_OPT_CB_FLAG, 0);
		break;
	case TCP_CLOSE_WAIT:
	case TCP_CLOSING:
		known = find(cookie);
		if (known)
			known->fin = ctx->rcv_nxt;
		break;
	case TCP_CLOSE:
		if (before == TCP_LISTEN)
			end_to_listen(cookie);
		else if (!over(ctx, cookie, before) && before != TCP_SYN_RECV &&
			 before != TCP_SYN_SENT && before != TCP_CLOSE)
			over_unknown(ctx);
		break;
	}
}

/* What it returns, and leaves in place of a reply, is what there would be without it. */
SEC("sockops")
int by_sockops(struct bpf_sock_ops *ctx)
{
	switch (ctx->op) {
	case BPF_SOCK_OPS_TCP_CONNECT_CB:
		sends_syn(ctx, bpf_get_socket_cookie(ctx));
		break;
	case BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB:
		established(ctx, bpf_get_socket_cookie(ctx), ACTIVE);
		break;
	case BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB:
		established(ctx, bpf_get_socket_cookie(ctx), PASSIVE);
		break;
	case BPF_SOCK_OPS_RTO_CB:
		waits(ctx, bpf_get_socket_cookie(ctx));
		break;
	case BPF_SOCK_OPS_STATE_CB:
		turns(ctx, bpf_get_socket_cookie(ctx), ctx->args[0], ctx->args[1]);
		break;
	case BPF_SOCK_OPS_TCP_LISTEN_CB:
		listens(ctx, bpf_get_socket_cookie(ctx));
		break;
	case BPF_SOCK_OPS_PARSE_HDR_OPT_CB:
		hears(ctx, bpf_get_socket_cookie(ctx));
		break;
	}
	return 1;
}

#endif
