/* SPDX-License-Identifier: (Apache-2.0 OR MIT) OR GPL-2.0-only
 *
 * The table of ports that listen.
 */
#ifndef PORTOLAN_LISTENERS_H
#define PORTOLAN_LISTENERS_H

#include "count.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, struct listening);
	__type(value, struct listener);
} listeners SEC(".maps");

/* By socket, so that one that is seen twice counts once. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, __u64);
	__type(value, struct listening);
} listening_sockets SEC(".maps");

/* One more socket listens there; who it is of stays to be said where nobody has yet. */
static __always_inline struct listener *begin_to_listen(struct listening *at, __u64 socket)
{
	struct listener fresh = {}, *known;

	if (bpf_map_lookup_elem(&listening_sockets, &socket))
		return 0;
	if (bpf_map_update_elem(&listening_sockets, &socket, at, BPF_NOEXIST)) {
		LOSE(listeners);
		return 0;
	}
	bpf_map_update_elem(&listeners, at, &fresh, BPF_NOEXIST);
	known = bpf_map_lookup_elem(&listeners, at);
	if (!known) {
		LOSE(listeners);
		return 0;
	}
	__sync_fetch_and_add(&known->sockets, 1);
	return known;
}

static __always_inline void end_to_listen(__u64 socket)
{
	struct listening *known = bpf_map_lookup_elem(&listening_sockets, &socket), at;
	struct listener *listener;

	if (!known)
		return;
	at = *known;
	if (bpf_map_delete_elem(&listening_sockets, &socket))
		return;
	listener = bpf_map_lookup_elem(&listeners, &at);
	if (listener && __sync_fetch_and_sub(&listener->sockets, 1) == 1)
		bpf_map_delete_elem(&listeners, &at);
}

#endif
