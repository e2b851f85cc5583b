/* SPDX-License-Identifier: (Apache-2.0 OR MIT) OR GPL-2.0-only
 *
 * UDP has no connections and no counters: each datagram is looked at, where it leaves a socket and
 * where it comes to one. This is what there is to do then, whoever saw it: datagram_entry.h or
 * datagram_cgroup.h.
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

#ifndef BY_COOKIE
static __always_inline void learn_socket(struct datagram_socket *known)
{
	/* Read back from memory it is a number, and not what the verifier guards. */
	struct sock *sk = (void *)*(volatile __u64 *)&known->address;

	known->netns = BPF_CORE_READ(sk, __sk_common.skc_net.net, ns.inum);
	known->chosen = !!(BPF_CORE_READ_BITFIELD_PROBED(sk, sk_userlocks) & SOCK_BINDPORT_LOCK);
	known->of_kernel = BPF_CORE_READ_BITFIELD_PROBED(sk, sk_kern_sock);
	*(volatile __u8 *)&known->learned = 1;
}
#endif

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

#ifndef BY_COOKIE
/* Sent: by the process that runs. Received: at some time or other, for whoever sent something
 * before, or was found by its descriptor. */
static __always_inline void learn_owner(struct datagram_socket *known, int is_sent)
{
	if (is_sent && !known->name[0] && !known->of_kernel)
		read_owner_by_probe(known->name, &known->cgroup, &known->pid);
}
#endif

static __always_inline void copy_address(__be32 *into, const __be32 *from)
{
	into[0] = from[0];
	into[1] = from[1];
	into[2] = from[2];
	into[3] = from[3];
}

/* What passed at once: several datagrams where they are still to be cut (GSO), or have been joined
 * (GRO). */
struct passed {
	__u32 bytes; /* of payload */
	__u32 datagrams;
	__u16 local; /* port */
	__u16 remote;
	__u8 is_sent;
	__u8 is_connected;
};

static __always_inline void read_v4_addresses(struct edge *edge, const struct ipv4 *ip, int is_sent)
{
	read_v4(is_sent ? edge->local : edge->remote, ip->source);
	read_v4(is_sent ? edge->remote : edge->local, ip->destination);
}

static __always_inline void read_v6_addresses(struct edge *edge, const struct ipv6 *ip, int is_sent)
{
	copy_address(is_sent ? edge->local : edge->remote, ip->source);
	copy_address(is_sent ? edge->remote : edge->local, ip->destination);
}

static __always_inline void read_ports(struct passed *it, const struct udp *udp, int is_sent)
{
	it->local = __builtin_bswap16(is_sent ? udp->source : udp->destination);
	it->remote = __builtin_bswap16(is_sent ? udp->destination : udp->source);
	it->is_sent = is_sent;
}

/* `known` is of its socket, whose address is there; `edge` has the addresses. */
static __always_inline void passes(struct datagram_socket *known, struct edge *edge,
				   const struct passed *it)
{
	struct totals more = {};

#ifdef BY_COOKIE
	/* The rest is what caller.h has seen. Whose bind() it has not, the range of ports tells. */
	if (!known->learned)
		known->chosen |= !is_ephemeral(it->local);
	known->learned = 1;
#else
	if (!known->learned)
		learn_socket(known);
	learn_owner(known, it->is_sent);
#endif
	((__u64 *)edge->name)[0] = ((__u64 *)known->name)[0];
	((__u64 *)edge->name)[1] = ((__u64 *)known->name)[1];
	edge->cgroup = known->cgroup;
	edge->netns = known->netns;
	edge->transport = IPPROTO_UDP;
	decide_side(edge, known, it->local, it->remote, it->is_connected, it->is_sent);
	if (it->is_sent) {
		more.sent = it->bytes;
		more.datagrams_sent = it->datagrams;
	} else {
		more.received = it->bytes;
		more.datagrams_received = it->datagrams;
	}
	more.pid = known->pid;
	count(edge, &more);
}

#endif
