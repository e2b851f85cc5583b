/* SPDX-License-Identifier: (Apache-2.0 OR MIT) OR GPL-2.0-only
 *
 * Which ports listen, and who listens there.
 */
#ifndef PORTOLAN_LISTEN_H
#define PORTOLAN_LISTEN_H

#include "listeners.h"
#include "socket.h"

static __always_inline void listening_of(struct listening *at, struct sock *sk, __u16 port)
{
	read_local(at->address, sk);
	at->netns = netns_of(sk);
	at->port = port;
	at->transport = IPPROTO_TCP;
	at->zero = 0;
}

static __noinline int add_listener(struct listening *at, __u64 socket, struct task_struct *task)
{
	struct listener *known = at ? begin_to_listen(at, socket) : 0;

	if (known && task && !known->name[0])
		read_owner(task, known->name, &known->cgroup, &known->pid);
	return 0;
}

static __always_inline void listens(struct sock *sk)
{
	struct listening at;

	listening_of(&at, sk, GET(sk, __sk_common.skc_num));
	/* Of its own accord listen() has not chosen a port yet; who accepts there shows itself. */
	if (!at.port)
		return;
	add_listener(&at, (__u64)sk, (void *)bpf_get_current_task_btf());
}

/* Whether its port listens at its address, or at all. */
static __always_inline int is_listening(struct sock *sk, struct tcp_sock *tp)
{
	struct listening at;

	listening_of(&at, sk, __builtin_bswap16(GET(tp, inet_conn.icsk_inet.inet_sport)));
	if (!at.port)
		return 0;
	if (bpf_map_lookup_elem(&listeners, &at))
		return 1;
	at.address[0] = at.address[1] = at.address[2] = at.address[3] = 0;
	if (bpf_map_lookup_elem(&listeners, &at))
		return 1;
	at.address[2] = __builtin_bswap32(0xffff);
	return !!bpf_map_lookup_elem(&listeners, &at);
}

/* Of a connection whose beginning nobody saw. */
static __always_inline __u8 side_of(struct sock *sk, struct tcp_sock *tp, __u8 *guessed)
{
	int here = is_ephemeral(__builtin_bswap16(GET(tp, inet_conn.icsk_inet.inet_sport)));
	int there = is_ephemeral(__builtin_bswap16(GET(sk, __sk_common.skc_dport)));

	if (is_listening(sk, tp))
		return PASSIVE;
	/* The everyday client: an ephemeral port here, another kind of port there. */
	*guessed = !here || there;
	return !here && there ? PASSIVE : ACTIVE;
}

#endif
