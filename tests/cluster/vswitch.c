/*
 * The network of a virtual cluster brought up with --switch: an Ethernet switch in user space, one
 * tap device named eth0 per host. Each ordered pair of ports is a lane with its own delay, jitter
 * and loss, so a path can be slow in one direction only. It stands in for netem, which many kernels
 * lack. `vcluster up` starts it; `vcluster delay` rewrites its table and sends SIGHUP.
 *
 * The table is a text file: "serial N", then lines "SRC DST DELAY_US JITTER_US LOSS_PPM" with port
 * numbers in the order of the command line. Once a table is in force, its serial number is in the
 * file TABLE.done.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    EXIT_SKIP = 77,
    PORT_MAX = 33, /* 32 hosts and the login host */
    MAC_BYTES = 6,
    FRAME_MAX = 2048, /* a tap's MTU is 1500 */
    READ_BATCH = 32,  /* frames taken from one port before the others get their turn */
    LANE_MAX = 16384, /* frames waiting in one lane; more are dropped, as in a full switch */
};

struct frame {
    struct frame *next;
    int64_t due_ns; /* CLOCK_MONOTONIC of the machine */
    size_t len;
    unsigned char bytes[];
};

struct lane {
    struct frame *head, *tail;
    unsigned waiting;
    int64_t delay_ns, jitter_ns;
    uint32_t loss_ppm;
};

struct vswitch {
    const char *table;
    int nport;
    int fd[PORT_MAX + 1]; /* the last one used is the signalfd */
    unsigned char mac[PORT_MAX][MAC_BYTES];
    struct lane lane[PORT_MAX][PORT_MAX]; /* [source][destination] */
    uint64_t random;
};

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* Marsaglia's xorshift64 from a fixed seed: a run with loss and jitter can be repeated. */
static uint64_t next_random(struct vswitch *sw)
{
    sw->random ^= sw->random << 13;
    sw->random ^= sw->random >> 7;
    sw->random ^= sw->random << 17;
    return sw->random;
}

static int complain(const char *step, const char *detail)
{
    int err = errno;
    fprintf(stderr, "vcluster_switch: %s %s: %s\n", step, detail, strerror(err));
    bool forbidden = err == EPERM || err == EACCES || err == ENOENT || err == ENODEV;
    return forbidden ? EXIT_SKIP : EXIT_FAILURE;
}

static int open_network(const char *pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%s/ns/net", pid);
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* Enters the network and closes it. */
static int enter_network(int ns)
{
    int status = ns < 0 || setns(ns, CLONE_NEWNET) ? complain("enter", "a host's network") : 0;
    if (ns >= 0)
        close(ns);
    return status;
}

static int open_port(struct vswitch *sw, const char *pid)
{
    int status = enter_network(open_network(pid));
    if (status)
        return status;
    int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return complain("open", "/dev/net/tun");

    struct ifreq dev = {.ifr_flags = IFF_TAP | IFF_NO_PI, .ifr_name = "eth0"};
    if (ioctl(fd, TUNSETIFF, &dev) || ioctl(fd, SIOCGIFHWADDR, &dev)) {
        close(fd);
        return complain("make", "a tap device");
    }
    memcpy(sw->mac[sw->nport], dev.ifr_hwaddr.sa_data, MAC_BYTES);
    sw->fd[sw->nport++] = fd;
    return 0;
}

static int open_ports(struct vswitch *sw, char **pids)
{
    int own = open_network("self");
    int status = 0;
    for (; *pids && !status; pids++)
        status = sw->nport < PORT_MAX ? open_port(sw, *pids) : EXIT_FAILURE;
    int back = enter_network(own); /* so that this process keeps no host's network alive */
    return status ? status : back;
}

static void clear_lanes(struct vswitch *sw)
{
    for (int s = 0; s < sw->nport; s++)
        for (int d = 0; d < sw->nport; d++)
            sw->lane[s][d].delay_ns = sw->lane[s][d].jitter_ns = sw->lane[s][d].loss_ppm = 0;
}

static void set_lane(struct vswitch *sw, int src, int dst, const int64_t value[3])
{
    if (src < 0 || src >= sw->nport || dst < 0 || dst >= sw->nport)
        return;
    struct lane *l = &sw->lane[src][dst];
    l->delay_ns = value[0] * 1000;
    l->jitter_ns = value[1] * 1000;
    l->loss_ppm = (uint32_t)value[2];
}

static void confirm_table(const struct vswitch *sw, unsigned serial)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s.done", sw->table);
    FILE *f = fopen(path, "we");
    if (!f)
        return; /* `vcluster delay` then says that the switch did not answer */
    fprintf(f, "%u\n", serial);
    fclose(f);
}

static int load_table(struct vswitch *sw)
{
    FILE *f = fopen(sw->table, "re");
    if (!f)
        return complain("open", sw->table);
    unsigned serial = 0;
    int src, dst;
    int64_t value[3];
    bool valid = fscanf(f, "serial %u", &serial) == 1;
    if (valid)
        clear_lanes(sw);
    while (valid && fscanf(f, "%d %d %" SCNd64 " %" SCNd64 " %" SCNd64, &src, &dst, &value[0],
                           &value[1], &value[2]) == 5)
        set_lane(sw, src, dst, value);
    fclose(f);
    if (valid)
        confirm_table(sw, serial);
    return valid ? 0 : EXIT_FAILURE;
}

/* A failed write is a lost frame, as on a wire: the host is gone or its queue is full. */
static void transmit(int fd, const unsigned char *bytes, size_t len)
{
    ssize_t done = write(fd, bytes, len);
    (void)done;
}

/* Frames of one lane never overtake each other, whatever the jitter. */
static void append(struct lane *l, const unsigned char *bytes, size_t len, int64_t due_ns)
{
    struct frame *f = l->waiting < LANE_MAX ? malloc(sizeof *f + len) : NULL;
    if (!f)
        return;
    bool late = l->head && l->tail->due_ns > due_ns;
    *f = (struct frame){.due_ns = late ? l->tail->due_ns : due_ns, .len = len};
    memcpy(f->bytes, bytes, len);
    if (l->head)
        l->tail->next = f;
    else
        l->head = f;
    l->tail = f;
    l->waiting++;
}

static void forward(struct vswitch *sw, int src, int dst, const unsigned char *bytes, size_t len)
{
    struct lane *l = &sw->lane[src][dst];
    if (l->loss_ppm && next_random(sw) % 1000000 < l->loss_ppm)
        return;
    int64_t wait_ns = l->delay_ns;
    if (l->jitter_ns)
        wait_ns += (int64_t)(next_random(sw) % (uint64_t)l->jitter_ns);
    if (wait_ns == 0 && !l->head)
        transmit(sw->fd[dst], bytes, len);
    else
        append(l, bytes, len, now_ns() + wait_ns);
}

static int find_port(const struct vswitch *sw, const unsigned char *mac)
{
    for (int p = 0; p < sw->nport; p++)
        if (memcmp(sw->mac[p], mac, MAC_BYTES) == 0)
            return p;
    return -1;
}

/* To its owner where the destination address is a port's; to all others where it is not. */
static void route(struct vswitch *sw, int src, const unsigned char *bytes, size_t len)
{
    int owner = find_port(sw, bytes);
    for (int dst = 0; dst < sw->nport; dst++)
        if (dst != src && (owner < 0 || owner == dst))
            forward(sw, src, dst, bytes, len);
}

static void read_port(struct vswitch *sw, int src)
{
    unsigned char bytes[FRAME_MAX];
    for (int i = 0; i < READ_BATCH; i++) {
        ssize_t len = read(sw->fd[src], bytes, sizeof bytes);
        if (len < 2 * MAC_BYTES)
            return;
        route(sw, src, bytes, (size_t)len);
    }
}

static void drain_lane(struct lane *l, int fd, int64_t until_ns)
{
    while (l->head && l->head->due_ns <= until_ns) {
        struct frame *f = l->head;
        l->head = f->next;
        l->waiting--;
        transmit(fd, f->bytes, f->len);
        free(f);
    }
}

/* Sends what is due; answers when the next frame is, or end_ns if that is sooner. */
static int64_t drain(struct vswitch *sw, int64_t end_ns)
{
    int64_t next_ns = end_ns;
    int64_t until_ns = now_ns();
    for (int src = 0; src < sw->nport; src++)
        for (int dst = 0; dst < sw->nport; dst++) {
            struct lane *l = &sw->lane[src][dst];
            drain_lane(l, sw->fd[dst], until_ns);
            if (l->head && l->head->due_ns < next_ns)
                next_ns = l->head->due_ns;
        }
    return next_ns;
}

static int wait_for_frames(struct vswitch *sw, struct pollfd *ready, int64_t until_ns)
{
    for (int p = 0; p <= sw->nport; p++)
        ready[p] = (struct pollfd){.fd = sw->fd[p], .events = POLLIN};
    int64_t left_ns = until_ns - now_ns();
    if (left_ns < 0)
        left_ns = 0;
    struct timespec t = {.tv_sec = left_ns / 1000000000, .tv_nsec = left_ns % 1000000000};
    return ppoll(ready, (nfds_t)sw->nport + 1, &t, NULL);
}

static void serve(struct vswitch *sw, int64_t end_ns)
{
    struct pollfd ready[PORT_MAX + 1];
    while (now_ns() < end_ns) {
        if (wait_for_frames(sw, ready, drain(sw, end_ns)) <= 0)
            continue;
        for (int p = 0; p < sw->nport; p++)
            if (ready[p].revents & POLLIN)
                read_port(sw, p);
            else if (ready[p].revents)
                sw->fd[p] = -1; /* the device is gone; poll() and write() ignore it from now on */
        struct signalfd_siginfo info;
        if (ready[sw->nport].revents && read(sw->fd[sw->nport], &info, sizeof info) > 0)
            load_table(sw); /* a bad table leaves the old one in force and unconfirmed */
    }
}

/* A real switch does not wait for a CPU: take priority over the hosts where that is allowed. */
static void take_priority(void)
{
    struct sched_param lowest = {.sched_priority = sched_get_priority_min(SCHED_FIFO)};
    if (sched_setscheduler(0, SCHED_FIFO, &lowest))
        setpriority(PRIO_PROCESS, 0, -20);
    prctl(PR_SET_TIMERSLACK, 1ul); /* ns; the default of 50 us would add to every delay */
}

static int open_signal(struct vswitch *sw)
{
    sigset_t hup;
    sigemptyset(&hup);
    sigaddset(&hup, SIGHUP);
    sigprocmask(SIG_BLOCK, &hup, NULL);
    sw->fd[sw->nport] = signalfd(-1, &hup, SFD_CLOEXEC | SFD_NONBLOCK);
    return sw->fd[sw->nport] < 0 ? complain("open", "signalfd") : 0;
}

static void detach(void)
{
    setsid();
    int null = open("/dev/null", O_RDWR);
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        dup2(null, fd);
}

/* Returns in the starter when the network is ready; the child serves until its time is over. */
static int start(struct vswitch *sw, char **pids, int64_t life_ns)
{
    syscall(SYS_close_range, 3u, ~0u, 0u);
    int status = open_ports(sw, pids);
    if (!status)
        status = open_signal(sw);
    if (!status)
        status = load_table(sw);
    if (status)
        return status;

    pid_t pid = fork();
    if (pid < 0)
        return complain("fork", "the switch");
    if (pid > 0) {
        printf("%d\n", (int)pid);
        return 0;
    }
    detach();
    take_priority();
    serve(sw, now_ns() + life_ns);
    return 0;
}

int main(int argc, char **argv)
{
    static struct vswitch sw = {.random = UINT64_C(0x9e3779b97f4a7c15)};
    if (argc < 4) {
        fprintf(stderr, "usage: vcluster_switch TABLE LIFE_S PID...\n");
        return 2;
    }
    sw.table = argv[1];
    return start(&sw, argv + 3, strtoll(argv[2], NULL, 10) * INT64_C(1000000000));
}
