/* Module network, in the collector process only: samples the host's network cards into
 * /samples/netcard: those of /proc/PID/net/dev, and ports of InfiniBand, whose RDMA traffic that
 * file does not count. Every rank samples all cards of its host, as it does the host's CPUs. */
#include "collectors/modules.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rank/collect/module.h"

enum { MAX_CARDS = 256, DEV_BYTES = 1 << 16, DEV_COLUMNS = 16 };

/* Ports are read once a second: the driver may ask the card's firmware for each value. */
enum { PORT_INTERVAL_NS = 1000000000 };

/* In the order of the columns of /samples/netcard. */
struct counters {
    int64_t recv_bytes, sent_bytes, recv_packets, sent_packets, errors, drops;
};

struct card {
    char name[32]; /* of a port: DEVICE/PORT */
    bool is_real;  /* the host has a device for it: no bridge, bond, VLAN or virtual card */
    bool is_port, is_written;
    struct counters now, written;
};

struct state {
    struct pw_rankfile *file;
    pid_t pid;
    int dev; /* of /proc/PID/net/dev; -1: not readable */
    bool has_real;
    int64_t ports_read_ns; /* INT64_MIN: never */
    size_t n;
    struct card cards[MAX_CARDS];
    char text[DEV_BYTES];
};

static const char *root(void)
{
    const char *root = getenv("PROFWRAP_FSROOT");
    return root ? root : "";
}

static void *create(struct pw_rankfile *file)
{
    struct state *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    s->file = file;
    s->dev = -1;
    s->ports_read_ns = INT64_MIN;
    return s;
}

/* Returns the card with this name, which it adds if needed; NULL when there are too many. */
static struct card *find(struct state *s, const char *name, bool is_port)
{
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->cards[i].name, name) == 0)
            return &s->cards[i];
    if (s->n == MAX_CARDS)
        return NULL;
    struct card *card = &s->cards[s->n++];
    char path[PATH_MAX];
    *card = (struct card){.is_port = is_port};
    snprintf(card->name, sizeof(card->name), "%s", name);
    snprintf(path, sizeof(path), "%s/sys/class/net/%s/device", root(), name);
    card->is_real = is_port || access(path, F_OK) == 0;
    s->has_real |= card->is_real && !is_port;
    return card;
}

/* ---- /proc/PID/net/dev ---- */

/* A line "NAME: bytes packets errs drop fifo frame compressed multicast" of what was received, and
 * again 8 columns of what was sent. */
static void parse_line(struct state *s, char *line)
{
    int64_t v[DEV_COLUMNS];
    char *colon = strchr(line, ':');
    if (!colon)
        return; /* the two lines of titles */
    *colon = '\0';
    line += strspn(line, " ");
    char *at = colon + 1;
    for (int i = 0; i < DEV_COLUMNS; i++) {
        char *end;
        v[i] = (int64_t)(strtoull(at, &end, 10) & INT64_MAX);
        if (end == at)
            return;
        at = end;
    }
    struct card *card = strcmp(line, "lo") == 0 ? NULL : find(s, line, false);
    if (card)
        card->now = (struct counters){v[0], v[8], v[1], v[9], v[2] + v[10], v[3] + v[11]};
}

static void read_cards(struct state *s)
{
    ssize_t n = s->dev >= 0 ? pread(s->dev, s->text, sizeof(s->text) - 1, 0) : 0;
    s->text[n > 0 ? n : 0] = '\0';
    char *rest = s->text;
    for (char *line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n"))
        parse_line(s, line);
}

/* ---- ports of InfiniBand ---- */

/* Returns -1 when the counter cannot be read. */
static int64_t read_counter(const char *folder, const char *name)
{
    char path[PATH_MAX], text[32];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : 0;
    if (fd >= 0)
        close(fd);
    if (n <= 0)
        return -1;
    text[n] = '\0';
    return (int64_t)(strtoull(text, NULL, 10) & INT64_MAX);
}

static void read_port(struct state *s, const char *device, const char *port)
{
    char folder[PATH_MAX - 64], name[32];
    if (snprintf(name, sizeof(name), "%s/%s", device, port) >= (int)sizeof(name))
        return;
    snprintf(folder, sizeof(folder), "%s/sys/class/infiniband/%s/ports/%s/counters", root(), device,
             port);
    const int64_t received = read_counter(folder, "port_rcv_data");
    const int64_t sent = read_counter(folder, "port_xmit_data");
    struct card *card = received < 0 || sent < 0 ? NULL : find(s, name, true);
    if (!card)
        return;
    card->now = (struct counters){
        4 * received, /* the counters are in words of 4 bytes */
        4 * sent,
        read_counter(folder, "port_rcv_packets"),
        read_counter(folder, "port_xmit_packets"),
        read_counter(folder, "port_rcv_errors"),
        read_counter(folder, "port_xmit_discards"),
    };
}

static void read_ports(struct state *s)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/sys/class/infiniband", root());
    DIR *devices = opendir(path);
    for (struct dirent *device; devices && (device = readdir(devices));) {
        if (device->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "%s/sys/class/infiniband/%s/ports", root(), device->d_name);
        DIR *ports = opendir(path);
        for (struct dirent *port; ports && (port = readdir(ports));)
            if (port->d_name[0] != '.')
                read_port(s, device->d_name, port->d_name);
        if (ports)
            closedir(ports);
    }
    if (devices)
        closedir(devices);
}

/* ---- samples ---- */

static void append(struct state *s, struct card *card, int64_t now_ns)
{
    const struct counters *c = &card->now;
    if (card->is_written && memcmp(c, &card->written, sizeof(*c)) == 0)
        return;
    struct pw_row_netcard row = {.time = now_ns,
                                 .recv_bytes = c->recv_bytes,
                                 .sent_bytes = c->sent_bytes,
                                 .recv_packets = c->recv_packets,
                                 .sent_packets = c->sent_packets,
                                 .errors = c->errors,
                                 .drops = c->drops};
    snprintf(row.card, sizeof(row.card), "%s", card->name);
    pw_rankfile_append_measured(s->file, PW_TABLE_netcard, &row);
    card->is_written = true;
    card->written = *c;
}

static void open_dev(struct state *s, pid_t pid)
{
    char path[PATH_MAX];
    if (s->dev >= 0)
        close(s->dev);
    s->pid = pid;
    snprintf(path, sizeof(path), "%s/proc/%d/net/dev", root(), (int)pid);
    s->dev = open(path, O_RDONLY | O_CLOEXEC);
}

/* Cards without a device of the host, such as bridges, are left out, because they would count the
 * same bytes again; but in a container, which may have only such cards, they are all there are. */
static void sample(void *state, pid_t pid, int64_t now_ns)
{
    struct state *s = state;
    if (s->pid != pid)
        open_dev(s, pid);
    read_cards(s);
    if (s->ports_read_ns == INT64_MIN || now_ns - s->ports_read_ns >= PORT_INTERVAL_NS) {
        s->ports_read_ns = now_ns;
        read_ports(s);
    }
    for (size_t i = 0; i < s->n; i++)
        if (s->cards[i].is_real || !s->has_real)
            append(s, &s->cards[i], now_ns);
}

static void destroy(void *state)
{
    struct state *s = state;
    if (s && s->dev >= 0)
        close(s->dev);
    free(s);
}

const struct pw_module pw_module_network = {
    .name = "sys",
    .activity = PW_ACTIVITY_SYS,
    .create = create,
    .sample = sample,
    .destroy = destroy,
};
