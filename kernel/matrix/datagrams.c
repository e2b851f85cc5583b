/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Exchanges datagrams over loopback, both ends in this process, in one of the ways that UDP has:
 *
 *   datagrams WAY PORT ROUNDS
 *
 * Each round goes from the client to the server and comes back as it was sent. Ends with 1, and
 * says why, if a datagram does not come, or not as it was sent.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

/* A round sends `parts` times `bytes`. */
struct way {
	const char *name;
	const char *server; /* where it is bound */
	const char *target; /* where it is called */
	int bytes;
	int parts;
	int segment; /* the kernel cuts what is sent into datagrams of so many bytes */
	int joins;   /* the receivers take what the kernel has not cut, or has joined */
	int corks;   /* the parts become one datagram */
	int connects_client;
	int connects_server;
	int protocol;
};

static const struct way ways[] = {
	{ "v4", "127.0.0.1", "127.0.0.1", 64, 1 },
	{ "v4-connected", "127.0.0.1", "127.0.0.1", 64, 1, .connects_client = 1 },
	{ "v4-both-connected", "127.0.0.1", "127.0.0.1", 64, 1, .connects_client = 1,
	  .connects_server = 1 },
	{ "v6", "::1", "::1", 64, 1 },
	{ "v6-connected", "::1", "::1", 64, 1, .connects_client = 1 },
	{ "mapped", "::", "::ffff:127.0.0.1", 64, 1 },
	{ "mapped-connected", "::", "::ffff:127.0.0.1", 64, 1, .connects_client = 1 },
	{ "empty", "127.0.0.1", "127.0.0.1", 0, 1 },
	{ "large-v4", "127.0.0.1", "127.0.0.1", 5000, 1 },
	{ "large-v6", "::1", "::1", 5000, 1 },
	{ "corked-v4", "127.0.0.1", "127.0.0.1", 32, 2, .corks = 1 },
	{ "corked-v6", "::1", "::1", 32, 2, .corks = 1 },
	{ "gso-v4", "127.0.0.1", "127.0.0.1", 1050, 1, .segment = 100 },
	{ "gso-v6", "::1", "::1", 1050, 1, .segment = 100 },
	{ "gro-v4", "127.0.0.1", "127.0.0.1", 1050, 1, .segment = 100, .joins = 1 },
	{ "gro-v6", "::1", "::1", 1050, 1, .segment = 100, .joins = 1, .connects_client = 1 },
	{ "lite-v4", "127.0.0.1", "127.0.0.1", 64, 1, .protocol = IPPROTO_UDPLITE },
	{ "lite-v6", "::1", "::1", 64, 1, .protocol = IPPROTO_UDPLITE },
};

static char sent[8192], got[8192];

static void need(int done, const char *what)
{
	if (done)
		return;
	fprintf(stderr, "cannot %s: %s\n", what, strerror(errno));
	exit(1);
}

/* The length of the address; IPv6 unless it has a point and no colon. */
static socklen_t address_of(struct sockaddr_storage *into, const char *text, int port)
{
	struct sockaddr_in6 *v6 = (void *)into;
	struct sockaddr_in *v4 = (void *)into;

	memset(into, 0, sizeof(*into));
	if (strchr(text, ':')) {
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons(port);
		need(inet_pton(AF_INET6, text, &v6->sin6_addr) == 1, "read the address");
		return sizeof(*v6);
	}
	v4->sin_family = AF_INET;
	v4->sin_port = htons(port);
	need(inet_pton(AF_INET, text, &v4->sin_addr) == 1, "read the address");
	return sizeof(*v4);
}

static int open_socket(const struct way *way, int family)
{
	struct timeval patience = { .tv_sec = 10 };
	int fd = socket(family, SOCK_DGRAM, way->protocol), on = 1;

	need(fd >= 0, "make a socket");
	need(!setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)), "set a timeout");
	if (way->joins)
		need(!setsockopt(fd, IPPROTO_UDP, UDP_GRO, &on, sizeof(on)), "set UDP_GRO");
	if (way->segment)
		need(!setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &way->segment, sizeof(on)),
		     "set UDP_SEGMENT");
	return fd;
}

static void send_round(const struct way *way, int fd, struct sockaddr_storage *to, socklen_t length)
{
	for (int part = 0; part < way->parts; part++) {
		int more = way->corks && part + 1 < way->parts ? MSG_MORE : 0;

		need(sendto(fd, sent, way->bytes, more, (void *)to, length) == way->bytes, "send");
	}
}

/* Until all bytes are there: a datagram is of the whole, or a part. */
static void receive_round(const struct way *way, int fd, struct sockaddr_storage *from,
			  socklen_t *length)
{
	int missing = way->bytes * way->parts;

	do {
		ssize_t more;

		*length = sizeof(*from);
		more = recvfrom(fd, got, sizeof(got), 0, (void *)from, length);
		need(more >= 0, "receive");
		if (way->segment && !way->joins)
			need(more <= way->segment, "get what was cut");
		missing -= more;
	} while (missing > 0);
	need(!missing, "get what was sent");
}

static void exchange(const struct way *way, int port, int rounds)
{
	struct sockaddr_storage at, target, from;
	socklen_t at_length = address_of(&at, way->server, port);
	socklen_t target_length = address_of(&target, way->target, port), from_length;
	int server = open_socket(way, at.ss_family), client = open_socket(way, target.ss_family);
	int is_connected = 0;

	need(!bind(server, (void *)&at, at_length), "bind");
	if (way->connects_client)
		need(!connect(client, (void *)&target, target_length), "connect");
	for (int round = 0; round < rounds; round++) {
		struct sockaddr_storage *to = way->connects_client ? NULL : &target;

		send_round(way, client, to, to ? target_length : 0);
		receive_round(way, server, &from, &from_length);
		if (way->connects_server && !is_connected) {
			need(!connect(server, (void *)&from, from_length), "connect the server");
			is_connected = 1;
		}
		to = is_connected ? NULL : &from;
		send_round(way, server, to, to ? from_length : 0);
		receive_round(way, client, &from, &from_length);
	}
	close(client);
	close(server);
}

int main(int count, char **arguments)
{
	int many = sizeof(ways) / sizeof(ways[0]);

	for (int at = 0; count == 4 && at < many; at++) {
		if (strcmp(ways[at].name, arguments[1]))
			continue;
		exchange(&ways[at], atoi(arguments[2]), atoi(arguments[3]));
		return 0;
	}
	fprintf(stderr, "usage: datagrams WAY PORT ROUNDS\n");
	return 1;
}
