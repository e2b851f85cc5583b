/* SPDX-License-Identifier: (Apache-2.0 OR MIT) OR GPL-2.0-only
 *
 * What was there before: iterators over the sockets of a network namespace, and over the
 * descriptors of all processes. To be run after the events are attached; what those have seen is
 * known already.
 */
#ifndef PORTOLAN_EXISTING_H
#define PORTOLAN_EXISTING_H

#include "connection.h"
#include "datagram.h"
#include "listen.h"
#include "socket.h"

/* The socket is locked meanwhile (bpf_iter_tcp_seq_show of net/ipv4/tcp_ipv4.c). */
static __always_inline void adopt(struct tcp_sock *tp, struct sock *sk)
{
	struct connection *known;
	struct edge edge = {};
	struct numbers now;

	if (find((__u64)sk))
		return;
	known = begin((__u64)sk);
	if (!known)
		return;
	known->side = side_of(sk, tp, &known->guessed);
	known->phase = UP;
	READ_NUMBERS(&now, tp, known->side, GET);
	read_edge(&edge, sk, tp, known->side);
	keep_edge(known, &edge);
	known->sent = GENERATION(known->rest) | COUNTED(now.sent);
	known->received = GENERATION(known->rest) | COUNTED(now.received);
	known->rest |= now.retransmits | OPENED;
	known->since_us = bpf_ktime_get_ns() / 1000;
}

/* Whether it comes up, and then all of it, is still to be told. */
static __always_inline void await(struct sock *sk)
{
	struct connection *known;

	if (find((__u64)sk))
		return;
	known = begin((__u64)sk);
	if (!known)
		return;
	known->side = ACTIVE;
	known->phase = CONNECTING;
}

/* Listeners come first (tcp_seq_start of net/ipv4/tcp_ipv4.c). */
SEC("iter/tcp")
int existing(struct bpf_iter__tcp *ctx)
{
	struct sock_common *common = ctx->sk_common;
	struct tcp_sock *tp = common ? bpf_skc_to_tcp_sock(common) : 0;
	struct listening at;
	struct sock *sk;

	if (!tp)
		return 0;
	sk = &tp->inet_conn.icsk_inet.sk;
	switch (sk->__sk_common.skc_state) {
	case TCP_LISTEN:
		listening_of(&at, sk, sk->__sk_common.skc_num);
		add_listener(&at, (__u64)sk, 0);
		break;
	case TCP_SYN_SENT:
		await(sk);
		break;
	case TCP_SYN_RECV:
	case TCP_CLOSE:
		/* Their events are still to come. */
		break;
	default:
		adopt(tp, sk);
	}
	return 0;
}

static __always_inline int is_internet(struct sock *sk)
{
	__u16 family = sk->__sk_common.skc_family;

	return family == AF_INET || family == AF_INET6;
}

static __always_inline void own_datagrams(struct task_struct *task, struct sock *sk)
{
	struct datagram_socket *known =
		bpf_sk_storage_get(&datagram_sockets, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);

	if (!known)
		return;
	/* The rest is learned from its first datagram: it may not be bound yet. */
	if (!known->name[0])
		read_owner(task, known->name, &known->cgroup, &known->pid);
}

SEC("iter/task_file")
int owners(struct bpf_iter__task_file *ctx)
{
	struct task_struct *task = ctx->task;
	struct file *file = ctx->file;
	struct connection *known;
	struct listening *at;
	struct socket *socket;
	struct sock *sk;
	__u64 address;

	if (!task || !file)
		return 0;
	socket = bpf_sock_from_file(file);
	if (!socket)
		return 0;
	sk = socket->sk;
	if (!sk)
		return 0;
	address = (__u64)sk;
	if (sk->sk_protocol == IPPROTO_UDP && is_internet(sk)) {
		own_datagrams(task, sk);
		return 0;
	}
	known = find(address);
	if (known && !known->name[0])
		read_owner(task, known->name, &known->cgroup, &known->pid);
	at = bpf_map_lookup_elem(&listening_sockets, &address);
	if (at) {
		struct listener *listener = bpf_map_lookup_elem(&listeners, at);

		if (listener && !listener->name[0])
			read_owner(task, listener->name, &listener->cgroup, &listener->pid);
	}
	return 0;
}

#endif
