/* SPDX-License-Identifier: (Apache-2.0 OR MIT) OR GPL-2.0-only
 *
 * The timer that runs for a socket, and when it will expire, as net/ipv4/inet_diag.c tells them.
 */
#ifndef PORTOLAN_TIMER_H
#define PORTOLAN_TIMER_H

#include "iter.h"

/* include/net/inet_connection_sock.h */
enum { RETRANSMIT = 1, PROBE = 3, LOSS_PROBE = 5, REORDERING = 6 };
/* As sock_diag numbers them (struct inet_diag_msg). */
enum { TIMER_RETRANSMIT = 1, TIMER_KEEPALIVE, TIMER_TIME_WAIT, TIMER_PROBE };

/* As jiffies_delta_to_msecs(), rounded: the tick is not always a whole number of nanoseconds. */
static __always_inline __u32 milliseconds_until(const struct asked *asked, unsigned long expires)
{
	__s64 ticks = expires - bpf_jiffies64();

	return ticks > 0 ? ((__u64)ticks * asked->tick_ns + 500000) / 1000000 : 0;
}

#define IS_PENDING(timer) ((timer).entry.pprev != 0)

static __always_inline unsigned long timeout_of(struct tcp_sock *tcp)
{
	struct inet_connection_sock *connection = &tcp->inet_conn;

	if (bpf_core_field_exists(connection->icsk_timeout))
		return connection->icsk_timeout;
	if (bpf_core_field_exists(connection->icsk_retransmit_timer))
		return connection->icsk_retransmit_timer.expires;
	return connection->icsk_inet.sk.sk_timer.expires;
}

/* As inet_sk_diag_fill() of net/ipv4/inet_diag.c does. */
static __always_inline void read_timer(struct row *row, struct tcp_sock *tcp, struct asked *asked)
{
	struct inet_connection_sock *connection = &tcp->inet_conn;
	__u8 pending = connection->icsk_pending, is_alive;
	unsigned long expires;

	if (pending == RETRANSMIT || pending == LOSS_PROBE || pending == REORDERING) {
		row->timer = TIMER_RETRANSMIT;
		row->retransmits = connection->icsk_retransmits;
		row->expires_ms = milliseconds_until(asked, timeout_of(tcp));
		return;
	}
	if (pending == PROBE) {
		row->timer = TIMER_PROBE;
		row->retransmits = connection->icsk_probes_out;
		row->expires_ms = milliseconds_until(asked, timeout_of(tcp));
		return;
	}
	if (bpf_core_field_exists(connection->icsk_keepalive_timer)) {
		is_alive = IS_PENDING(connection->icsk_keepalive_timer);
		expires = connection->icsk_keepalive_timer.expires;
	} else {
		is_alive = IS_PENDING(connection->icsk_inet.sk.sk_timer);
		expires = connection->icsk_inet.sk.sk_timer.expires;
	}
	if (is_alive) {
		row->timer = TIMER_KEEPALIVE;
		row->retransmits = connection->icsk_probes_out;
		row->expires_ms = milliseconds_until(asked, expires);
	}
}

static __always_inline void read_time_wait_timer(struct row *row, struct tcp_timewait_sock *ended,
						 struct asked *asked)
{
	row->timer = TIMER_TIME_WAIT;
	row->expires_ms = milliseconds_until(asked, ended->tw_sk.tw_timer.expires);
}

static __always_inline void read_request_timer(struct row *row, struct tcp_request_sock *request,
					       struct asked *asked)
{
	row->timer = TIMER_RETRANSMIT;
	row->retransmits = request->req.req.num_retrans;
	row->expires_ms = milliseconds_until(asked, request->req.req.rsk_timer.expires);
}

#endif
