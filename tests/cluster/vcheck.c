/*
 * What a virtual host looks like from the inside: the measurements that test_vcluster.sh runs on
 * the hosts and on the machine itself. Each prints one line of whole numbers.
 *
 *   clock          CLOCK_MONOTONIC_RAW minus CLOCK_REALTIME, ns
 *   spin CPU_MS    wall time that CPU_MS of CPU time took, ms
 *   echo PORT      answers UDP probes until none has come for a minute
 *   rtt HOST PORT  median round trip, way there and way back, ns
 *
 * All hosts share CLOCK_REALTIME, which has no namespace: it gives one-way times, and the clock
 * offsets between host and machine, without any synchronisation.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { NPROBE = 51, NREAD = 200 };

/* What travels: the sequence number there, and the time of arrival back with it. */
struct probe {
    int64_t seq;
    int64_t arrived_ns;
};

static int64_t read_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* The tightest of many bracketed reads: a preemption between two reads makes the others look bad,
 * not this one. */
static int print_clock(void)
{
    int64_t best_width_ns = INT64_MAX, difference_ns = 0;
    for (int i = 0; i < NREAD; i++) {
        int64_t before_ns = read_ns(CLOCK_REALTIME);
        int64_t raw_ns = read_ns(CLOCK_MONOTONIC_RAW);
        int64_t width_ns = read_ns(CLOCK_REALTIME) - before_ns;
        if (width_ns < 0 || width_ns >= best_width_ns)
            continue;
        best_width_ns = width_ns;
        difference_ns = raw_ns - before_ns - width_ns / 2;
    }
    printf("%" PRId64 "\n", difference_ns);
    return 0;
}

static int spin(const char *cpu_ms)
{
    int64_t cpu_ns = strtoll(cpu_ms, NULL, 10) * 1000000;
    int64_t start_ns = read_ns(CLOCK_MONOTONIC);
    while (read_ns(CLOCK_PROCESS_CPUTIME_ID) < cpu_ns)
        ;
    printf("%" PRId64 "\n", (read_ns(CLOCK_MONOTONIC) - start_ns) / 1000000);
    return 0;
}

static int open_udp(int timeout_s)
{
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    struct timeval timeout = {.tv_sec = timeout_s};
    if (fd >= 0)
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    return fd;
}

static int echo(const char *port)
{
    int fd = open_udp(60);
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
    if (fd < 0 || bind(fd, (struct sockaddr *)&any, sizeof any)) {
        perror("vcluster_check echo");
        return EXIT_FAILURE;
    }
    for (;;) {
        struct probe p;
        struct sockaddr_in from;
        socklen_t from_len = sizeof from;
        ssize_t len = recvfrom(fd, &p, sizeof p, 0, (struct sockaddr *)&from, &from_len);
        if (len < 0)
            return 0;
        p.arrived_ns = read_ns(CLOCK_REALTIME);
        sendto(fd, &p, sizeof p, 0, (struct sockaddr *)&from, from_len);
    }
}

static int compare_ns(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static int64_t median_ns(int64_t *value, int n)
{
    qsort(value, (size_t)n, sizeof *value, compare_ns);
    return value[n / 2];
}

/* One probe; answers 0 with the times of both ways, or -1 if it was lost or is not the answer. */
static int exchange(int fd, int64_t seq, int64_t *there_ns, int64_t *back_ns)
{
    struct probe p = {.seq = seq};
    int64_t sent_ns = read_ns(CLOCK_REALTIME);
    if (send(fd, &p, sizeof p, 0) != sizeof p || recv(fd, &p, sizeof p, 0) != sizeof p)
        return -1;
    int64_t received_ns = read_ns(CLOCK_REALTIME);
    if (p.seq != seq)
        return -1;
    *there_ns = p.arrived_ns - sent_ns;
    *back_ns = received_ns - p.arrived_ns;
    return 0;
}

static int connect_to(const char *host, const char *port)
{
    struct addrinfo hint = {.ai_family = AF_INET, .ai_socktype = SOCK_DGRAM}, *found;
    if (getaddrinfo(host, port, &hint, &found))
        return -1;
    int fd = open_udp(1);
    int err = connect(fd, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    return err ? -1 : fd;
}

static int print_rtt(const char *host, const char *port)
{
    int64_t there_ns[NPROBE], back_ns[NPROBE], both_ns[NPROBE];
    int fd = connect_to(host, port);
    int n = 0;
    for (int i = 0; fd >= 0 && i < NPROBE; i++)
        if (exchange(fd, i, &there_ns[n], &back_ns[n]) == 0)
            n++;
        else
            usleep(20000); /* the answering side may not be up yet */
    if (n < NPROBE / 2) {
        fprintf(stderr, "vcluster_check rtt: %d of %d probes came back from %s\n", n, NPROBE, host);
        return EXIT_FAILURE;
    }
    for (int i = 0; i < n; i++)
        both_ns[i] = there_ns[i] + back_ns[i];
    printf("%" PRId64 " %" PRId64 " %" PRId64 "\n", median_ns(both_ns, n), median_ns(there_ns, n),
           median_ns(back_ns, n));
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "clock") == 0)
        return print_clock();
    if (argc == 3 && strcmp(argv[1], "spin") == 0)
        return spin(argv[2]);
    if (argc == 3 && strcmp(argv[1], "echo") == 0)
        return echo(argv[2]);
    if (argc == 4 && strcmp(argv[1], "rtt") == 0)
        return print_rtt(argv[2], argv[3]);
    fprintf(stderr, "usage: vcluster_check clock | spin CPU_MS | echo PORT | rtt HOST PORT\n");
    return 2;
}
