/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What memory a reader takes: that all of it is given back, that it is accounted to the reader's
 * memory cgroup, and that a reader whose cgroup has no room for a large buffer still reads.
 */
#define _GNU_SOURCE
#include "test.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	OPENS = 2000, /* 125 MiB if the buffer of each were lost */
	LEAK_KB_MAX = 32 * 1024,
	ACCOUNTED = 200,
	PAGE = 4096,
	ROOM = 40 * 1024, /* for a page, and not for 64 KiB */
};

static void write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	need(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text), path);
	close(fd);
}

static long number(int fd)
{
	char text[64] = "";

	need(pread(fd, text, sizeof(text) - 1, 0) > 0, "a number of the cgroup");
	return atol(text);
}

/* Two cgroups: one that only counts, and one that gets a limit. */
void prepare_cgroups(void)
{
	mkdir("/cgroup", 0755);
	need(mount("cgroup2", "/cgroup", "cgroup2", 0, NULL) == 0, "mount cgroup2");
	write_text("/cgroup/cgroup.subtree_control", "+memory");
	need(mkdir("/cgroup/counted", 0755) == 0, "mkdir counted");
	need(mkdir("/cgroup/limited", 0755) == 0, "mkdir limited");
}

static long available_kb(void)
{
	struct table table = read_file("/proc/meminfo", SMALL);
	char *line;
	long kb = -1;

	table.bytes[table.size] = 0;
	line = strstr(table.bytes, "MemAvailable:");
	need(line && sscanf(line, "MemAvailable: %ld", &kb) == 1, "MemAvailable");
	release(&table);
	return kb;
}

/* What the first read allocates is freed by close(), by whatever way it was allocated. */
static void check_release(const char *path)
{
	const long before = available_kb();
	long lost;
	char byte;

	for (int i = 0; i < OPENS; i++) {
		int fd = opened(path);

		need(i % 2 ? read(fd, &byte, 1) == 1 : pread(fd, &byte, 1, 1) == 1, "read a byte");
		close(fd);
	}
	lost = before - available_kb();
	if (lost > LEAK_KB_MAX)
		fail("%s: %d times open, read and close lost %ld KiB", path, OPENS, lost);
}

/* In a child, in the cgroup `name`; the child's failures are the parent's. */
static void in_cgroup(const char *name, void (*check)(const char *), const char *path)
{
	int status;
	pid_t child;

	fflush(stdout);
	child = fork();
	need(child >= 0, "fork");
	if (child == 0) {
		char procs[64];
		cpu_set_t one;

		/* The kernel counts what it charged ahead by processor: let it be one. */
		CPU_ZERO(&one);
		CPU_SET(0, &one);
		need(sched_setaffinity(0, sizeof(one), &one) == 0, "stay on one processor");
		snprintf(procs, sizeof(procs), "/cgroup/%s/cgroup.procs", name);
		write_text("/cgroup/limited/memory.max", "max");
		write_text(procs, "0");
		failures = 0;
		check(path);
		fflush(stdout);
		_exit(failures);
	}
	need(waitpid(child, &status, 0) == child, "wait");
	if (WIFSIGNALED(status))
		fail("%s: the reader in the cgroup %s was killed by signal %d", path, name,
		     WTERMSIG(status));
	else
		failures += WEXITSTATUS(status);
}

/* Prints by how much many readers at once make their cgroup grow: their buffers, mostly. */
static void count_accounted(const char *path)
{
	int current = opened("/cgroup/counted/memory.current"), fds[ACCOUNTED];
	long before;
	char byte;

	for (int i = 0; i < ACCOUNTED; i++)
		fds[i] = opened(path);
	before = number(current);
	for (int i = 0; i < ACCOUNTED; i++)
		need(read(fds[i], &byte, 1) == 1, "read a byte");
	printf("KT accounted %s %d %ld\n", path, ACCOUNTED, (number(current) - before) / 1024);
	for (int i = 0; i < ACCOUNTED; i++)
		close(fds[i]);
}

/*
 * Leaves the cgroup room for less than a large buffer. The kernel charges pages ahead for each
 * processor; to lower memory.high gives them back, and does not kill as memory.max would.
 */
static void leave_little_room(int current, int high, int max)
{
	char text[32];

	need(write(high, "0", 1) == 1 && write(high, "max", 3) == 3, "memory.high");
	snprintf(text, sizeof(text), "%ld", number(current) + ROOM);
	need(write(max, text, strlen(text)) > 0, "memory.max");
}

/* No room for 64 KiB: what fits a page comes, and the reader lives. */
static void read_in_need(const char *path)
{
	static char bytes[BIG];
	int current = opened("/cgroup/limited/memory.current"), fd = opened(path);
	int high = open("/cgroup/limited/memory.high", O_WRONLY);
	int max = open("/cgroup/limited/memory.max", O_WRONLY);
	ssize_t got;

	need(high >= 0 && max >= 0, "open the limits of a cgroup");
	/* Everything that the reader itself needs is there before. */
	memset(bytes, 1, sizeof(bytes));
	number(current);
	leave_little_room(current, high, max);
	got = read(fd, bytes, sizeof(bytes));
	if (got < 3800 || got > PAGE)
		fail("%s: a reader without room for more than a page gets %zd bytes", path, got);
}

void check_memory(const char *path)
{
	check_release(path);
	in_cgroup("counted", count_accounted, path);
	in_cgroup("limited", read_in_need, path);
}
