/* SPDX-License-Identifier: (Apache-2.0 OR MIT) OR GPL-2.0-only
 *
 * From the kernel's structures to ours. Each program reads them in the way that it may: GET follows
 * pointers that the verifier trusts; in a kprobe there are none.
 */
#ifndef PORTOLAN_SOCKET_H
#define PORTOLAN_SOCKET_H

#include "edge.h"

#ifdef BY_PROBE_READ
#define GET(from, ...) BPF_CORE_READ(from, __VA_ARGS__)
#define TCP(sk) ((struct tcp_sock *)(sk))
#else
#define TCP(sk) bpf_skc_to_tcp_sock(sk)
#define GET(from, ...) ___apply(GET_, ___narg(__VA_ARGS__))(from, __VA_ARGS__)
#define GET_1(from, a) ((from)->a)
#define GET_2(from, a, b) ((from)->a->b)
#define GET_3(from, a, b, c) ((from)->a->b->c)
#define GET_4(from, a, b, c, d) ((from)->a->b->c->d)
#endif

struct numbers {
	__u64 sent;
	__u64 received;
	__u32 retransmits;
	__u32 rtt_us;
};

/* Whether this end has closed, so that a FIN follows all that is to be sent. */
static __always_inline int has_closed(int tcp_state)
{
	return 1 << tcp_state & (1 << TCP_FIN_WAIT1 | 1 << TCP_FIN_WAIT2 | 1 << TCP_CLOSING |
				 1 << TCP_LAST_ACK);
}

/* The payload alone, each byte once. What was acknowledged and what is under way, by sequence
 * numbers, which count the SYN of who connects, and a FIN: bytes_sent would have what this host
 * dropped itself, in a full queue or a firewall, a second time (tcp_write_xmit). A FIN is in
 * bytes_received (tcp_rcv_nxt_update) too; SOCK_DONE says that there was one (tcp_fin). In this
 * order, so that an acknowledgement that comes meanwhile makes less of it, not more. */
#define READ_NUMBERS(into, tp, side, READ)                                                    \
	do {                                                                                  \
		__u64 acked = READ(tp, bytes_acked), got = READ(tp, bytes_received);          \
		__u32 next = READ(tp, snd_nxt), first = READ(tp, snd_una);                    \
		int done = READ(tp, inet_conn.icsk_inet.sk.__sk_common.skc_flags) >> SOCK_DONE; \
		int closed = has_closed(READ(tp, inet_conn.icsk_inet.sk.__sk_common.skc_state)); \
                                                                                              \
		acked += (__u32)(next - first);                                               \
		acked -= acked && (side) == ACTIVE;                                           \
		acked -= acked && closed && next == READ(tp, write_seq);                      \
		(into)->sent = acked;                                                         \
		(into)->received = got - (got && done & 1);                                   \
		(into)->retransmits = READ(tp, total_retrans);                                \
		(into)->rtt_us = READ(tp, srtt_us) >> 3;                                      \
	} while (0)

static __always_inline int is_ephemeral(__u16 port)
{
	return port >= state.ephemeral_first && port <= state.ephemeral_last;
}

static __always_inline void read_v4(__be32 *into, __be32 address)
{
	into[0] = into[1] = 0;
	into[2] = __builtin_bswap32(0xffff);
	into[3] = address;
}

#define READ_V6(into, from, field, READ)                                      \
	do {                                                                  \
		(into)[0] = READ(from, field.in6_u.u6_addr32[0]);             \
		(into)[1] = READ(from, field.in6_u.u6_addr32[1]);             \
		(into)[2] = READ(from, field.in6_u.u6_addr32[2]);             \
		(into)[3] = READ(from, field.in6_u.u6_addr32[3]);             \
	} while (0)

#define READ_LOCAL(into, sk, READ)                                            \
	do {                                                                  \
		if (READ(sk, __sk_common.skc_family) == AF_INET)              \
			read_v4(into, READ(sk, __sk_common.skc_rcv_saddr));   \
		else                                                          \
			READ_V6(into, sk, __sk_common.skc_v6_rcv_saddr, READ); \
	} while (0)

#define READ_REMOTE(into, sk, READ)                                           \
	do {                                                                  \
		if (READ(sk, __sk_common.skc_family) == AF_INET)              \
			read_v4(into, READ(sk, __sk_common.skc_daddr));       \
		else                                                          \
			READ_V6(into, sk, __sk_common.skc_v6_daddr, READ);    \
	} while (0)

static __always_inline __u32 netns_of(struct sock *sk)
{
	return GET(sk, __sk_common.skc_net.net, ns.inum);
}

static __always_inline void read_local(__be32 *into, struct sock *sk)
{
	READ_LOCAL(into, sk, GET);
}

static __always_inline void set_ports(struct edge *edge, __be16 local, __be16 remote, __u8 side)
{
	__u16 here = __builtin_bswap16(local), there = __builtin_bswap16(remote);

	edge->port = side == ACTIVE ? there : here;
	if (method == METHOD_AGGREGATE)
		edge->other = side == ACTIVE ? here : there;
	edge->side = side;
	edge->transport = IPPROTO_TCP;
}

/* All but the process, of a connection or what would have been one. The local port is read where it
 * stays when the kernel has given it up (inet_put_port). */
static __always_inline void read_edge(struct edge *edge, struct sock *sk, struct tcp_sock *tp,
				      __u8 side)
{
	READ_LOCAL(edge->local, sk, GET);
	READ_REMOTE(edge->remote, sk, GET);
	edge->netns = netns_of(sk);
	set_ports(edge, GET(tp, inet_conn.icsk_inet.inet_sport), GET(sk, __sk_common.skc_dport),
		  side);
}

/* The same where nothing is trusted. */
static __always_inline void read_edge_by_probe(struct edge *edge, struct sock *sk,
					       struct tcp_sock *tp, __u8 side)
{
	READ_LOCAL(edge->local, sk, BPF_CORE_READ);
	READ_REMOTE(edge->remote, sk, BPF_CORE_READ);
	edge->netns = BPF_CORE_READ(sk, __sk_common.skc_net.net, ns.inum);
	set_ports(edge, BPF_CORE_READ(tp, inet_conn.icsk_inet.inet_sport),
		  BPF_CORE_READ(sk, __sk_common.skc_dport), side);
}

/* The same of the process that runs, where nothing is trusted. */
static __always_inline int read_owner_by_probe(char *name, __u64 *cgroup, __u32 *pid)
{
	struct task_struct *task = (void *)bpf_get_current_task(), *first;

	if (BPF_CORE_READ(task, flags) & PF_KTHREAD)
		return 0;
	first = BPF_CORE_READ(task, group_leader);
	*cgroup = BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id);
	*pid = BPF_CORE_READ(task, tgid);
	bpf_core_read(name, 16, &first->comm);
	return 1;
}

/* A thread of the kernel is nobody's; it works for whoever asked. */
static __always_inline int read_owner(struct task_struct *task, char *name, __u64 *cgroup,
				      __u32 *pid)
{
	struct task_struct *first;

	if (GET(task, flags) & PF_KTHREAD)
		return 0;
	first = GET(task, group_leader);
	*cgroup = GET(task, cgroups, dfl_cgrp, kn, id);
	*pid = GET(task, tgid);
#ifdef BY_PROBE_READ
	bpf_core_read(name, 16, &first->comm);
#else
	((__u64 *)name)[0] = *(__u64 *)&first->comm[0];
	((__u64 *)name)[1] = *(__u64 *)&first->comm[8];
#endif
	return 1;
}

#endif
