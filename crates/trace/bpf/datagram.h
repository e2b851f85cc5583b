/* SPDX-License-Identifier: (Apache-2.0 OR MIT) OR GPL-2.0-only
 *
 * UDP has no connections and no counters: each datagram is looked at, where it leaves a socket of
 * the control groups and where it comes to one (kernel/bpf/cgroup.c), and let pass.
 */
#ifndef PORTOLAN_DATAGRAM_H
#define PORTOLAN_DATAGRAM_H

#include "count.h"
#include "packet.h"
#include "socket.h"

/* What is remembered of a UDP socket, with the socket. */
struct datagram_socket {
	__u64 address;
	__u64 cgroup;
	char name[16];
	__u32 pid;
	__u32 netns;
	__u8 chosen; /* the port is one of its own choice (bind) */
	__u8 of_kernel;
	__u8 learned; /* the three before it are right */
	__u8 zero[5];
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct datagram_socket);
} datagram_sockets SEC(".maps");

static __always_inline void learn_socket(struct datagram_socket *known)
{
	/* Read back from memory it is a number, and not what the verifier guards. */
	struct sock *sk = (void *)*(volatile __u64 *)&known->address;

	known->netns = BPF_CORE_READ(sk, __sk_common.skc_net.net, ns.inum);
	known->chosen = !!(BPF_CORE_READ_BITFIELD_PROBED(sk, sk_userlocks) & SOCK_BINDPORT_LOCK);
	known->of_kernel = BPF_CORE_READ_BITFIELD_PROBED(sk, sk_kern_sock);
	*(volatile __u8 *)&known->learned = 1;
}

/* A port that the kernel chose is a client's. A port of one's own choice may be either's: that of a
 * server, of a resolver that trusts the kernel's choice too little, or of both ends. */
static __always_inline void decide_side(struct edge *edge, struct datagram_socket *known,
					__u16 local, __u16 remote, int is_connected, int is_sent)
{
	int is_served = is_ephemeral(remote) || local <= remote;

	edge->side = ACTIVE;
	/* To a client's port anybody can send something that it never asked for. */
	edge->guessed = !is_sent && !is_connected;
	if (known->chosen) {
		edge->guessed = is_connected || is_ephemeral(local) || !is_ephemeral(remote);
		if (is_connected || (is_ephemeral(local) && !is_ephemeral(remote)))
			is_served = is_ephemeral(remote) && !is_ephemeral(local);
		edge->side = is_served ? PASSIVE : ACTIVE;
	}
	edge->port = edge->side == ACTIVE ? remote : local;
	edge->other = 0;
	if (method == METHOD_AGGREGATE)
		edge->other = edge->side == ACTIVE ? local : remote;
}

/* Sent: by the process that runs. Received: at some time or other, for whoever sent something
 * before, or was found by its descriptor. */
static __always_inline void learn_owner(struct datagram_socket *known, int is_sent)
{
	if (is_sent && !known->name[0] && !known->of_kernel)
		read_owner_by_probe(known->name, &known->cgroup, &known->pid);
}

static __always_inline void copy_address(__be32 *into, const __be32 *from)
{
	into[0] = from[0];
	into[1] = from[1];
	into[2] = from[2];
	into[3] = from[3];
}

static __always_inline int passes(struct __sk_buff *skb, struct edge *edge, struct udp *udp,
				  __u32 headers, int is_sent)
{
	__u32 datagrams = skb->gso_segs ? skb->gso_segs : 1, bytes = skb->len - headers;
	__u16 local = __builtin_bswap16(is_sent ? udp->source : udp->destination);
	__u16 remote = __builtin_bswap16(is_sent ? udp->destination : udp->source);
	struct datagram_socket *known;
	struct totals more = {};
	struct bpf_sock *sk = skb->sk;

	if (!sk)
		return 1;
	sk = bpf_sk_fullsock(sk);
	/* A raw socket sees what others have sent and got as well. */
	if (!sk || sk->type != SOCK_DGRAM || sk->protocol != IPPROTO_UDP)
		return 1;
	known = bpf_sk_storage_get(&datagram_sockets, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!known) {
		LOSE(not_counted);
		return 1;
	}
	if (!known->learned) {
		known->address = (__u64)sk;
		learn_socket(known);
	}
	learn_owner(known, is_sent);
	((__u64 *)edge->name)[0] = ((__u64 *)known->name)[0];
	((__u64 *)edge->name)[1] = ((__u64 *)known->name)[1];
	edge->cgroup = known->cgroup;
	edge->netns = known->netns;
	edge->transport = IPPROTO_UDP;
	decide_side(edge, known, local, remote, sk->dst_port != 0, is_sent);
	if (is_sent) {
		more.sent = bytes;
		more.datagrams_sent = datagrams;
	} else {
		more.received = bytes;
		more.datagrams_received = datagrams;
	}
	more.pid = known->pid;
	count(edge, &more);
	return 1;
}

static __always_inline int datagram(struct __sk_buff *skb, int is_sent)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;
	struct edge edge = {};
	struct udp *udp;

	if (skb->protocol == __builtin_bswap16(ETHERTYPE_IPV4)) {
		struct ipv4 *ip = data;

		if (data + IPV4_BYTES > end || ip->protocol != IPPROTO_UDP)
			return 1;
		/* The datagram's header is in its first fragment, and is whole before it is cut. */
		if ((ip->version_and_length & 15) < 5 || ip->fragment & __builtin_bswap16(0x1fff))
			return 1;
		udp = data + (ip->version_and_length & 15) * 4;
		read_v4(is_sent ? edge.local : edge.remote, ip->source);
		read_v4(is_sent ? edge.remote : edge.local, ip->destination);
	} else if (skb->protocol == __builtin_bswap16(ETHERTYPE_IPV6)) {
		struct ipv6 *ip = data;

		if (data + IPV6_BYTES > end || ip->next != IPPROTO_UDP)
			return 1;
		udp = data + IPV6_BYTES;
		copy_address(is_sent ? edge.local : edge.remote, ip->source);
		copy_address(is_sent ? edge.remote : edge.local, ip->destination);
	} else {
		return 1;
	}
	if ((void *)(udp + 1) > end)
		return 1;
	return passes(skb, &edge, udp, (void *)udp - data + UDP_BYTES, is_sent);
}

SEC("cgroup_skb/egress")
int datagram_leaves(struct __sk_buff *skb)
{
	return datagram(skb, 1);
}

SEC("cgroup_skb/ingress")
int datagram_comes(struct __sk_buff *skb)
{
	return datagram(skb, 0);
}

#endif
