// SPDX-License-Identifier: (Apache-2.0 OR MIT) OR GPL-2.0-only
/*
 * Lists the sockets of a network namespace by the kernel's BPF iterators (net/ipv4/tcp_ipv4.c,
 * net/ipv4/udp.c). The kernel holds each socket and locks it while a program here looks at it, so
 * what a row says was true at one moment. (Linux 6.5 was the first to lock those of UDP.)
 */
#include "kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "iter.h"
#include "timer.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

static __always_inline void read_queues(struct row *row, struct tcp_sock *tcp)
{
	__s32 unread = tcp->rcv_nxt - tcp->copied_seq;

	if (row->state == TCP_LISTEN) {
		row->receive_queue = tcp->inet_conn.icsk_inet.sk.sk_ack_backlog;
		row->send_queue = tcp->inet_conn.icsk_inet.sk.sk_max_ack_backlog;
		return;
	}
	row->receive_queue = unread > 0 ? unread : 0;
	row->send_queue = tcp->write_seq - tcp->snd_una;
}

static __always_inline void read_connection(struct row *row, struct tcp_sock *tcp,
					    struct asked *asked)
{
	if (asked->want & WANT_QUEUES)
		read_queues(row, tcp);
	if (asked->want & WANT_HOLDER)
		read_holder(row, &tcp->inet_conn.icsk_inet.sk);
	if (asked->want & WANT_TIMER)
		read_timer(row, tcp, asked);
}

SEC("iter/tcp")
int tcp_sockets(struct iter_tcp *ctx)
{
	struct sock_common *sk = ctx->socket;
	struct asked *asked = bpf_map_lookup_elem(&asked_for, &(__u32){ 0 });
	struct tcp_timewait_sock *ended = 0;
	struct tcp_request_sock *request = 0;
	struct tcp_sock *tcp = 0;
	struct record record;

	if (!sk || !asked)
		return 0;
	__u8 kind = sk->skc_state, state = kind;

	if (kind == TCP_TIME_WAIT) {
		ended = bpf_skc_to_tcp_timewait_sock(sk);
		/* It may stand in for one in FIN-WAIT-2. */
		if (ended)
			state = ended->tw_sk.tw_substate;
	} else if (kind == TCP_NEW_SYN_RECV) {
		request = bpf_skc_to_tcp_request_sock(sk);
		state = TCP_SYN_RECV;
	} else {
		tcp = bpf_skc_to_tcp_sock(sk);
	}
	if (!is_wanted(asked, state))
		return 0;
	begin(&record, sk, state);
	if (tcp)
		read_connection(&record.row, tcp, asked);
	if (ended && asked->want & WANT_TIMER)
		read_time_wait_timer(&record.row, ended, asked);
	if (request && asked->want & WANT_TIMER)
		read_request_timer(&record.row, request, asked);
	if (asked->want & WANT_COOKIE)
		record.row.cookie = bpf_get_socket_cookie(sk);
	tell(ctx->meta, &record);
	return 0;
}

SEC("iter/udp")
int udp_sockets(struct iter_udp *ctx)
{
	struct udp_sock *udp = ctx->socket;
	struct asked *asked = bpf_map_lookup_elem(&asked_for, &(__u32){ 0 });
	struct record record;

	if (!udp || !asked)
		return 0;
	struct sock *sk = &udp->inet.sk;

	if (!is_wanted(asked, sk->__sk_common.skc_state))
		return 0;
	begin(&record, &sk->__sk_common, sk->__sk_common.skc_state);
	if (asked->want & WANT_QUEUES) {
		record.row.receive_queue = sk->sk_backlog.rmem_alloc.counter - udp->forward_deficit;
		record.row.send_queue = sk->sk_wmem_alloc.refs.counter - 1;
	}
	if (asked->want & WANT_HOLDER)
		read_holder(&record.row, sk);
	if (asked->want & WANT_COOKIE)
		record.row.cookie = bpf_get_socket_cookie(sk);
	tell(ctx->meta, &record);
	return 0;
}
