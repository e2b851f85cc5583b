/* SPDX-License-Identifier: (Apache-2.0 OR MIT) OR GPL-2.0-only
 *
 * Datagrams, seen by programs of the root control group, which all sockets are below
 * (kernel/bpf/cgroup.c), and let pass. They are run for each segment of TCP as well, but everywhere
 * allowed.
 */
#ifndef PORTOLAN_DATAGRAM_CGROUP_H
#define PORTOLAN_DATAGRAM_CGROUP_H

#include "datagram.h"
#include "packet.h"

#ifdef BY_COOKIE
/* Sockets that were there before, by cookie: user space has the kernel list them. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, __u64);
	__type(value, struct caller);
} datagram_holders SEC(".maps");

static __always_inline void copy_name(char *into, const char *from)
{
	((__u64 *)into)[0] = ((const __u64 *)from)[0];
	((__u64 *)into)[1] = ((const __u64 *)from)[1];
}

/* Until it does what caller.h sees. */
static __always_inline void learn_holder(struct datagram_socket *known, __u64 cookie)
{
	struct caller *caller = bpf_map_lookup_elem(&datagram_holders, &cookie);

	if (!caller)
		return;
	known->netns = caller->netns;
	known->cgroup = caller->cgroup;
	known->pid = caller->pid;
	copy_name(known->name, caller->name);
}
#endif

static __always_inline void belongs(struct __sk_buff *skb, struct edge *edge, struct passed *it)
{
	struct datagram_socket *known;
	struct bpf_sock *sk = skb->sk;

	if (!sk)
		return;
	sk = bpf_sk_fullsock(sk);
	/* A raw socket sees what others have sent and got as well. */
	if (!sk || sk->type != SOCK_DGRAM || sk->protocol != IPPROTO_UDP)
		return;
	known = bpf_sk_storage_get(&datagram_sockets, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!known) {
		LOSE(not_counted);
		return;
	}
#ifdef BY_COOKIE
	if (!known->netns || !known->name[0])
		learn_holder(known, bpf_get_socket_cookie(skb));
#else
	if (!known->learned)
		known->address = (__u64)sk;
#endif
	it->is_connected = sk->dst_port != 0;
	passes(known, edge, it);
}

/* Always lets it pass. */
static __always_inline int datagram(struct __sk_buff *skb, int is_sent)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;
	struct passed it = {};
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
		read_v4_addresses(&edge, ip, is_sent);
	} else if (skb->protocol == __builtin_bswap16(ETHERTYPE_IPV6)) {
		struct ipv6 *ip = data;

		if (data + IPV6_BYTES > end || ip->next != IPPROTO_UDP)
			return 1;
		udp = data + IPV6_BYTES;
		read_v6_addresses(&edge, ip, is_sent);
	} else {
		return 1;
	}
	if ((void *)(udp + 1) > end)
		return 1;
	read_ports(&it, udp, is_sent);
	it.bytes = skb->len - ((void *)udp - data + UDP_BYTES);
	it.datagrams = skb->gso_segs ? skb->gso_segs : 1;
	belongs(skb, &edge, &it);
	return 1;
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
