/* SPDX-License-Identifier: (Apache-2.0 OR MIT) OR GPL-2.0-only
 *
 * What each change of a TCP socket's state (RFC 9293, 3.3.2) says. The kernel tells it with the
 * socket locked and before the new state is stored.
 */
#ifndef PORTOLAN_CHANGE_H
#define PORTOLAN_CHANGE_H

#include "connection.h"
#include "listen.h"
#include "socket.h"

static __always_inline void take_owner(struct connection *known)
{
	struct task_struct *task = (void *)bpf_get_current_task_btf();

	read_owner(task, known->name, &known->cgroup, &known->pid);
}

/* connect(): the process is the one that runs. */
static __always_inline void connecting(struct sock *sk)
{
	struct connection *known = begin((__u64)sk);

	if (!known)
		return;
	known->side = ACTIVE;
	known->phase = CONNECTING;
	take_owner(known);
}

static __noinline int tell_opened(struct connection *known, struct sock *sk)
{
	struct totals more = { .opened = 1 };
	struct edge edge = {};
	struct tcp_sock *tp;

	if (!known || !sk)
		return 0;
	tp = TCP(sk);
	if (!tp)
		return 0;
	read_edge(&edge, sk, tp, known->side);
	keep_edge(known, &edge);
	name_edge(&edge, known);
	more.pid = known->pid;
	known->sent = known->received = known->rest;
	known->rest |= OPENED;
	count(&edge, &more);
	return 0;
}

static __always_inline void crossing(struct sock *sk)
{
	struct connection *known = find((__u64)sk);

	if (known && known->phase == CONNECTING) {
		known->phase = CROSSING;
		state.crossed = 1;
	}
}

/* In whatever context the last packet of the handshake came. A record that says otherwise is what
 * an event that was lost has left. */
static __always_inline void connected(struct sock *sk, int before)
{
	struct connection *known = 0;
	struct tcp_sock *tp = TCP(sk);

	if (before == TCP_SYN_SENT || state.crossed)
		known = find((__u64)sk);
	if (!known || known->phase != (before == TCP_SYN_SENT ? CONNECTING : CROSSING)) {
		known = begin((__u64)sk);
		if (known)
			known->side = before == TCP_SYN_SENT ? ACTIVE : PASSIVE;
	}
	if (!known || !tp)
		return;
	known->phase = UP;
	known->since_us = GET(tp, tcp_mstamp);
	if (method == METHOD_STREAM)
		tell_opened(known, sk);
}

/* The state follows from close() or shutdown(): the holder of an accepted connection shows itself.
 * That of one that was counted already keeps its name, or half of it would be another edge. */
static __always_inline void closing(struct sock *sk)
{
	struct connection *known = find((__u64)sk);

	if (known && !known->name[0] && !(known->rest & OPENED))
		take_owner(known);
}

/* What becomes of ICMP's kinds of destination unreachable (icmp_err_convert of net/ipv4/icmp.c,
 * tab_unreach of net/ipv6/icmp.c): EACCES is a firewall's, over IPv6. */
static __always_inline int is_no_way(int error)
{
	return error == EHOSTUNREACH || error == ENETUNREACH || error == EHOSTDOWN ||
	       error == ENONET || error == EACCES;
}

static __always_inline enum failure failure_of(int error)
{
	if (error == ECONNREFUSED)
		return REFUSED;
	if (error == ETIMEDOUT)
		return TIMED_OUT;
	return is_no_way(error) ? UNREACHABLE : ABANDONED;
}

static __noinline int untracked(struct sock *sk, int before)
{
	struct edge edge = {};
	struct ending end = {};
	struct numbers now;
	struct tcp_sock *tp;
	__u8 side;

	if (!sk)
		return 0;
	tp = TCP(sk);
	if (!tp)
		return 0;
	LOSE(untracked);
	side = before == TCP_SYN_SENT ? ACTIVE : side_of(sk, tp, &edge.guessed);
	read_edge(&edge, sk, tp, side);
	READ_NUMBERS(&now, tp, side, GET);
	if (before == TCP_SYN_SENT) {
		end.failure = failure_of(GET(sk, sk_err));
	} else {
		end.closed = 1;
		/* Before that, nobody knows which part of it was before the trace. */
		if (state.ready) {
			end.sent = now.sent;
			end.received = now.received;
		}
	}
	count_rare_ending(&edge, &end);
	return 0;
}

/* Not inline, as is untracked(): what they keep on the stack is not needed at once. */
static __noinline int ended(struct sock *sk, int before)
{
	struct connection *known = sk ? find((__u64)sk) : 0;
	struct ending end = {};
	struct edge edge = {};
	struct numbers now;
	struct tcp_sock *tp;
	__u64 since_us;
	int error;

	if (!known)
		return 0;
	tp = TCP(sk);
	if (!tp)
		return 0;
	/* Before it is given away: the walk passes over who is not up, and may come before forget(). */
	since_us = known->since_us;
	known->since_us = 0;
	error = GET(sk, sk_err);
	READ_NUMBERS(&now, tp, known->side, GET);
	/* Not the peer and no timer: whoever runs has closed it. */
	if (!error && (before == TCP_ESTABLISHED || before == TCP_CLOSE_WAIT))
		closing(sk);
	take(known, &end, now.sent, now.received, now.retransmits);
	end.pid = known->pid;
	if (before != TCP_SYN_SENT && before != TCP_SYN_RECV) {
		__u64 until = GET(tp, tcp_mstamp);

		end.closed = 1;
		end.reset = error || before == TCP_ESTABLISHED || before == TCP_CLOSE_WAIT ||
			    before == TCP_FIN_WAIT1;
		end.rtt_us = now.rtt_us;
		if (since_us && until > since_us)
			end.duration_us = until - since_us;
	} else {
		end.opened = 0;
		end.sent = end.received = 0;
		end.failure = failure_of(error);
	}
	read_edge(&edge, sk, tp, known->side);
	name_edge(&edge, known);
	forget(known, (__u64)sk);
	count_ending(&edge, &end);
	return 1;
}

static __always_inline int changed(struct sock *sk, int before, int now)
{
	if (GET(sk, sk_protocol) != IPPROTO_TCP)
		return 0;
	switch (now) {
	case TCP_SYN_SENT:
		connecting(sk);
		break;
	case TCP_ESTABLISHED:
		connected(sk, before);
		break;
	case TCP_SYN_RECV:
		if (before == TCP_SYN_SENT)
			crossing(sk);
		else
			pull((__u64)sk);
		break;
	case TCP_FIN_WAIT1:
	case TCP_LAST_ACK:
		closing(sk);
		break;
	case TCP_LISTEN:
		listens(sk);
		break;
	case TCP_CLOSE:
		if (before == TCP_LISTEN)
			end_to_listen((__u64)sk);
		else if (!ended(sk, before) && before != TCP_SYN_RECV && before != TCP_CLOSE)
			untracked(sk, before);
		break;
	}
	return 0;
}

/* The kernel does not run a program for an event that interrupts it (__bpf_trace_run). This is for
 * a second program, which is run then: it does what the first was not run for, and nothing else. */
static __always_inline int changed_unseen(struct sock *sk, int before, int now)
{
	struct connection *known;

	if ((now != TCP_ESTABLISHED && now != TCP_CLOSE) || before == TCP_LISTEN ||
	    GET(sk, sk_protocol) != IPPROTO_TCP)
		return 0;
	known = find((__u64)sk);
	if (now == TCP_CLOSE && known)
		ended(sk, before);
	else if (now == TCP_ESTABLISHED && (!known || known->phase != UP))
		connected(sk, before);
	return 0;
}

#endif
