/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The machine and its sockets. Addresses and ports are chosen here, none by the kernel, so that
 * the digest of a table is the same in every boot of every kernel.
 */
#define _GNU_SOURCE
#include "test.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	LISTENERS = 200, CONNECTIONS = 1900, /* of each family: 4,000 TCP sockets */
	DATAGRAM_SOCKETS = 2000,	     /* of each family */
	UDPLITE_SOCKETS = 400,		     /* UDP's iterator, but not its buffer */
	RAW_SOCKETS = 400,
	MAPPINGS = 600,			     /* lines of /proc/self/maps */
	PORT_LISTEN = 2000, PORT_CONNECT = 10000, PORT_DATAGRAM = 20000, PORT_UDPLITE = 30000,
};

struct made made_tcp, made_tcp6, made_udp, made_udp6;

void prepare_machine(void)
{
	struct rlimit files = { 1 << 16, 1 << 16 };
	struct ifreq loopback = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
	char entropy;
	int fd;

	mkdir("/proc", 0755);
	need(mount("proc", "/proc", "proc", 0, NULL) == 0, "mount /proc");
	need(setrlimit(RLIMIT_NOFILE, &files) == 0, "raise the limit of descriptors");
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	need(fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &loopback) == 0, "bring loopback up");
	close(fd);
	/* Until there is entropy, a socket's hashed address is printed as another text. */
	need(getrandom(&entropy, 1, 0) == 1, "wait for entropy");
	/* The address ::1 needs a moment, and so does the key of the hashed addresses. */
	sleep(2);
}

static socklen_t address(struct sockaddr_storage *to, int family, int port)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)to;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)to;

	memset(to, 0, sizeof(*to));
	if (family == AF_INET) {
		v4->sin_family = AF_INET;
		v4->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		v4->sin_port = htons(port);
		return sizeof(*v4);
	}
	v6->sin6_family = AF_INET6;
	v6->sin6_addr = in6addr_loopback;
	v6->sin6_port = htons(port);
	return sizeof(*v6);
}

static void note(struct made *made, int fd)
{
	struct stat status;

	need(fstat(fd, &status) == 0 && made->count < SOCKETS_MAX, "note a socket");
	made->inodes[made->count++] = status.st_ino;
}

static int bound(int family, int type, int protocol, int port)
{
	struct sockaddr_storage to;
	socklen_t size = address(&to, family, port);
	int fd = socket(family, type, protocol), one = 1;

	need(fd >= 0, "socket");
	need(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) == 0, "SO_REUSEADDR");
	need(bind(fd, (struct sockaddr *)&to, size) == 0, "bind");
	return fd;
}

static void make_connections(int family, struct made *made)
{
	static int listeners[LISTENERS];

	for (int i = 0; i < LISTENERS; i++) {
		listeners[i] = bound(family, SOCK_STREAM, 0, PORT_LISTEN + i);
		need(listen(listeners[i], 16) == 0, "listen");
		note(made, listeners[i]);
	}
	for (int i = 0; i < CONNECTIONS; i++) {
		struct sockaddr_storage to;
		socklen_t size = address(&to, family, PORT_LISTEN + i % LISTENERS);
		int active = bound(family, SOCK_STREAM, 0, PORT_CONNECT + i);
		int passive;

		need(connect(active, (struct sockaddr *)&to, size) == 0, "connect");
		passive = accept(listeners[i % LISTENERS], NULL, NULL);
		need(passive >= 0, "accept");
		note(made, active);
		note(made, passive);
	}
}

void make_sockets(void)
{
	make_connections(AF_INET, &made_tcp);
	make_connections(AF_INET6, &made_tcp6);
	for (int i = 0; i < DATAGRAM_SOCKETS; i++) {
		note(&made_udp, bound(AF_INET, SOCK_DGRAM, 0, PORT_DATAGRAM + i));
		note(&made_udp6, bound(AF_INET6, SOCK_DGRAM, 0, PORT_DATAGRAM + i));
	}
	for (int i = 0; i < UDPLITE_SOCKETS; i++)
		bound(AF_INET, SOCK_DGRAM, IPPROTO_UDPLITE, PORT_UDPLITE + i);
	for (int i = 0; i < RAW_SOCKETS; i++)
		need(socket(AF_INET, SOCK_RAW, IPPROTO_ICMP) >= 0, "raw socket");
	for (int i = 0; i < MAPPINGS; i++)
		/* Neighbours of different protection stay separate lines. */
		need(mmap(NULL, 4096, i % 2 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0) != MAP_FAILED, "mmap");
}
