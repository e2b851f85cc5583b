/* SPDX-License-Identifier: (Apache-2.0 OR MIT) OR GPL-2.0-only
 *
 * Datagrams, seen at the entry of functions that no segment of a TCP connection passes. Pointers
 * are trusted here, however TCP is traced.
 */
#ifndef PORTOLAN_DATAGRAM_ENTRY_H
#define PORTOLAN_DATAGRAM_ENTRY_H

#include "datagram.h"
#include "packet.h"

/* The two versions' headers begin with which of them it is. */
union ip {
	__u8 version_and_more;
	struct ipv4 v4;
	struct ipv6 v6;
};

/* As many as there are to be cut from it, or were before they were joined. */
static __always_inline __u32 datagrams_of(struct sk_buff *skb, __u32 bytes)
{
	struct skb_shared_info *shared = (void *)(skb->head + skb->end);
	__u16 each = BPF_CORE_READ(shared, gso_size);

	return each && bytes > each ? (bytes + each - 1) / each : 1;
}

/* Its headers are written, or were read; where they are, the kernel remembers. IPv4's are shorter
 * than what is read, and there is always something behind them. */
static __always_inline int entered(struct sock *sk, struct sk_buff *skb, int is_sent)
{
	struct datagram_socket *known;
	struct passed it = {};
	struct edge edge = {};
	unsigned char *at;
	struct udp udp;
	union ip ip;

	/* UDP-Lite (RFC 3828) has a number of its own; raw sockets and ICMP send here, too. */
	if (!sk || sk->sk_protocol != IPPROTO_UDP || sk->sk_type != SOCK_DGRAM)
		return 0;
	known = bpf_sk_storage_get(&datagram_sockets, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	at = skb->head + skb->transport_header;
	if (!known || bpf_probe_read_kernel(&udp, sizeof(udp), at) ||
	    bpf_probe_read_kernel(&ip, sizeof(ip), skb->head + skb->network_header)) {
		LOSE(not_counted);
		return 0;
	}
	if (!known->learned)
		known->address = (__u64)sk;
	/* A socket of IPv6 may send and get IPv4. */
	if (ip.version_and_more >> 4 == 4)
		read_v4_addresses(&edge, &ip.v4, is_sent);
	else
		read_v6_addresses(&edge, &ip.v6, is_sent);
	read_ports(&it, &udp, is_sent);
	/* From where its data begin now, which is before its headers or behind them. */
	it.bytes = skb->len - (__u32)(at + UDP_BYTES - skb->data);
	it.datagrams = datagrams_of(skb, it.bytes);
	it.is_connected = sk->__sk_common.skc_dport != 0;
	passes(known, &edge, &it);
	return 0;
}

/* net/ipv4/ip_output.c: what is whole, with its headers, and of no connection of TCP. */
SEC("fentry/ip_send_skb")
int datagram_sent_v4(__u64 *ctx)
{
	struct sk_buff *skb = (struct sk_buff *)ctx[1];

	return entered(skb->sk, skb, 1);
}

/* net/ipv6/ip6_output.c */
SEC("fentry/ip6_send_skb")
int datagram_sent_v6(__u64 *ctx)
{
	struct sk_buff *skb = (struct sk_buff *)ctx[0];

	return entered(skb->sk, skb, 1);
}

/* net/ipv4/udp.c: to a socket's queue, whether there is room or not; of either version of IP, and
 * not of a socket whose datagrams are the kernel's (a tunnel's). */
SEC("fentry/__udp_enqueue_schedule_skb")
int datagram_received(__u64 *ctx)
{
	return entered((struct sock *)ctx[0], (struct sk_buff *)ctx[1], 0);
}

#endif
