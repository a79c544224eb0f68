/* The thread that measures clocks; see clockprobe.h. */
#include "rank/clocks/clockprobe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/log.h"
#include "rank/clocks/envelope.h"
#include "rank/clocks/packet.h"
#include "rank/clocks/rendezvous.h"
#include "rank/clocks/siphash.h"

enum {
    KNOTS = 64,
    ANSWER_MS = 20, /* how long a probe waits for its answer */
    /* Between looks for other hosts: at first, and at last, because looks become rarer. */
    LOOK_MS = 250,
    LOOK_LAST_MS = 8000,
    LOSSES_MOST = 5, /* unanswered probes after which an exchange is given up */
    LEAST = 3,       /* answers that a knot needs */
    /* After REFUSED_MOST packets of other senders in REFUSED_MS, no packet is read until that time
     * is over. So a flood of packets costs only a limited time. */
    REFUSED_MOST = 100,
    REFUSED_MS = 100,
    /* The most late answers that are dropped before an exchange. */
    LATE_MOST = 64,
};

enum kind { PROBE = 1, ANSWER = 2 };

struct packet {
    uint64_t magic, kind, nonce;
    int64_t time_ns;
    uint64_t code;
};

struct pw_clockprobe {
    struct pw_rendezvous meeting;
    struct pw_testclock clock;
    int64_t interval_ns;
    unsigned char key[PW_KEY_BYTES];
    uint64_t magic; /* first field of this job's packets */
    int64_t refusing_since_ns;
    int refused;      /* packets of other senders since then */
    int stop, socket; /* file descriptors */
    pthread_t thread;
    /* A queue from the thread to the collector: one producer, one consumer. */
    struct pw_row_clock knots[KNOTS];
    _Atomic uint32_t put, taken;
    struct pw_clockprobe_cost cost; /* written by the thread, read after it has ended */
};

/* ---- packets ---- */

static uint64_t code_of(const struct pw_clockprobe *p, const struct packet *packet)
{
    return pw_siphash(p->key, packet, offsetof(struct packet, code));
}

static int is_valid(const struct pw_clockprobe *p, const struct packet *packet, ssize_t bytes,
                    enum kind kind)
{
    return bytes == (ssize_t)sizeof(*packet) && packet->magic == p->magic &&
           packet->kind == (uint64_t)kind && packet->code == code_of(p, packet);
}

uint64_t pw_clockprobe_magic(const unsigned char key[PW_KEY_BYTES])
{
    return pw_packet_magic(key, "magic number");
}

static void filter_packets(const struct pw_clockprobe *p, int fd, enum kind kind)
{
    const struct packet like = {.magic = p->magic, .kind = kind};
    pw_packet_filter(fd, sizeof(like), &like, 4);
}

/* Counts a packet of another sender. Returns for how many ms no packet may be read. */
static int refuse_ms(struct pw_clockprobe *p)
{
    int64_t now = pw_local_ns(), end = p->refusing_since_ns + REFUSED_MS * INT64_C(1000000);
    p->cost.refused++;
    if (now >= end) {
        p->refusing_since_ns = now;
        p->refused = 0;
    }
    return ++p->refused < REFUSED_MOST ? 0 : (int)((end - now) / 1000000) + 1;
}

/* Waits up to `ms`. Returns 1 when the thread must end, 2 when the socket has a packet, 0 after
 * `ms`. */
static int wait_ms(const struct pw_clockprobe *p, int ms)
{
    struct pollfd fds[] = {{.fd = p->stop, .events = POLLIN}, {.fd = p->socket, .events = POLLIN}};
    if (poll(fds, p->socket >= 0 ? 2 : 1, ms) <= 0)
        return 0;
    return fds[0].revents ? 1 : 2;
}

/* As wait_ms(), but ignores the socket. */
static int pause_ms(const struct pw_clockprobe *p, int ms)
{
    struct pollfd stop = {.fd = p->stop, .events = POLLIN};
    return poll(&stop, 1, ms) > 0;
}

/* Waits until the next look into the output directory. Returns 1 when the thread must end. */
static int wait_to_look(const struct pw_clockprobe *p, int *ms)
{
    const int event = wait_ms(p, *ms);
    *ms = 2 * *ms < LOOK_LAST_MS ? 2 * *ms : LOOK_LAST_MS;
    return event == 1;
}

/* ---- the reference's side ---- */

/* Answers one packet. Returns for how many ms no packet may be read after it. */
static int answer(struct pw_clockprobe *p)
{
    struct packet packet;
    struct sockaddr_in from;
    socklen_t size = sizeof(from);
    ssize_t n = recvfrom(p->socket, &packet, sizeof(packet), MSG_DONTWAIT | MSG_TRUNC,
                         (struct sockaddr *)&from, &size);
    if (n < 0)
        return 0;
    if (!is_valid(p, &packet, n, PROBE))
        return refuse_ms(p);
    packet.kind = ANSWER;
    packet.time_ns = pw_testclock_now(&p->clock);
    packet.code = code_of(p, &packet);
    if (sendto(p->socket, &packet, sizeof(packet), MSG_DONTWAIT, (struct sockaddr *)&from, size) >
        0)
        p->cost.exchanges++;
    return 0;
}

static int listen_on(struct pw_clockprobe *p, struct in_addr own)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = own};
    socklen_t size = sizeof(address);
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    filter_packets(p, fd, PROBE);
    int err = bind(fd, (struct sockaddr *)&address, sizeof(address)) ||
                      getsockname(fd, (struct sockaddr *)&address, &size)
                  ? -errno
                  : pw_rendezvous_publish(&p->meeting, PW_SERVICE_PROBES, &address);
    if (err)
        close(fd);
    else
        p->socket = fd;
    return err;
}

static void serve(struct pw_clockprobe *p)
{
    struct in_addr own;
    int event = 0, err = -ENOENT, look_ms = LOOK_MS;
    while (event != 1 && err == -ENOENT) {
        err = pw_rendezvous_find_peer(&p->meeting, &own);
        if (err == -ENOENT)
            event = wait_to_look(p, &look_ms);
    }
    err = err ? err : listen_on(p, own);
    if (err && event != 1)
        pw_debug(PW_LOG_CLOCK, 1, "cannot answer probes: %s", strerror(-err));
    while (!err && event != 1) {
        event = wait_ms(p, -1);
        int refused_ms = event == 2 ? answer(p) : 0;
        if (refused_ms > 0)
            event = pause_ms(p, refused_ms);
    }
}

/* ---- the others' side ---- */

/* Sends one probe and reads its answer. Returns 0 when no answer has come. */
static int exchange(struct pw_clockprobe *p, struct pw_envelope *envelope)
{
    struct packet packet = {.magic = p->magic, .kind = PROBE}, reply;
    if (getrandom(&packet.nonce, sizeof(packet.nonce), 0) != (ssize_t)sizeof(packet.nonce))
        return 0;
    packet.code = code_of(p, &packet);
    int64_t t1 = pw_testclock_now(&p->clock), limit = pw_local_ns() + ANSWER_MS * 1000000;
    if (send(p->socket, &packet, sizeof(packet), MSG_DONTWAIT) < 0)
        return 0;
    while (pw_local_ns() < limit && wait_ms(p, ANSWER_MS) == 2) {
        ssize_t n = recv(p->socket, &reply, sizeof(reply), MSG_DONTWAIT | MSG_TRUNC);
        int64_t t2 = pw_testclock_now(&p->clock);
        if (!is_valid(p, &reply, n, ANSWER) || reply.nonce != packet.nonce) {
            if (n >= 0 && refuse_ms(p))
                break;
            continue;
        }
        pw_envelope_add(envelope, t1, reply.time_ns, t2);
        p->cost.exchanges++;
        return 1;
    }
    return 0;
}

static void put_knot(struct pw_clockprobe *p, const struct pw_envelope *envelope)
{
    struct pw_knot knot;
    uint32_t put = atomic_load_explicit(&p->put, memory_order_relaxed);
    if (envelope->n < LEAST || pw_envelope_knot(envelope, &knot) ||
        put - atomic_load(&p->taken) == KNOTS)
        return;
    p->knots[put % KNOTS] = (struct pw_row_clock){knot.local_ns, knot.offset_ns, knot.error_ns};
    /* Release: a reader that sees the count must also see the knot. */
    atomic_store_explicit(&p->put, put + 1, memory_order_release);
}

/* Drops answers to probes that were given up. */
static void drop_late(const struct pw_clockprobe *p)
{
    struct packet late;
    for (int i = 0; i < LATE_MOST; i++)
        if (recv(p->socket, &late, sizeof(late), MSG_DONTWAIT) < 0)
            return;
}

static void measure(struct pw_clockprobe *p)
{
    struct pw_envelope envelope = {0};
    for (int lost = 0; lost < LOSSES_MOST && !pw_envelope_is_settled(&envelope);)
        lost += !exchange(p, &envelope);
    put_knot(p, &envelope);
}

static int connect_to_service(struct pw_clockprobe *p)
{
    struct sockaddr_in service;
    int err = pw_rendezvous_find_service(&p->meeting, PW_SERVICE_PROBES, &service);
    if (err)
        return err;
    p->socket = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (p->socket >= 0)
        filter_packets(p, p->socket, ANSWER);
    if (p->socket >= 0 && connect(p->socket, (struct sockaddr *)&service, sizeof(service)) == 0)
        return 0;
    return -errno;
}

static void probe_service(struct pw_clockprobe *p)
{
    int err = connect_to_service(p), look_ms = LOOK_MS;
    while (err == -ENOENT && !wait_to_look(p, &look_ms))
        err = connect_to_service(p);
    if (err)
        return;
    do {
        drop_late(p);
        measure(p);
    } while (!pause_ms(p, (int)(p->interval_ns / 1000000)));
}

/* ---- the thread ---- */

static void *run(void *probe)
{
    struct pw_clockprobe *p = probe;
    struct timespec used;
    int is_reference = pw_rendezvous_is_reference(&p->meeting), look_ms = LOOK_MS;
    while (is_reference < 0 && !wait_to_look(p, &look_ms))
        is_reference = pw_rendezvous_is_reference(&p->meeting);
    if (is_reference > 0)
        serve(p);
    else if (is_reference == 0)
        probe_service(p);
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used) == 0)
        p->cost.cpu_ns = (int64_t)used.tv_sec * 1000000000 + used.tv_nsec;
    return NULL;
}

static int begin_thread(struct pw_clockprobe *p)
{
    sigset_t all, before;
    sigfillset(&all);
    /* The main thread handles signals. */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int err = pthread_create(&p->thread, NULL, run, p);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -err;
}

int pw_clockprobe_start(const char *dir, const struct pw_identity *id,
                        const struct pw_testclock *clock, int64_t interval_ns,
                        struct pw_clockprobe **out)
{
    *out = NULL;
    if (id->size < 2 || interval_ns <= 0)
        return 0;
    struct pw_clockprobe *p = calloc(1, sizeof(*p));
    if (!p)
        return -ENOMEM;
    snprintf(p->meeting.dir, sizeof(p->meeting.dir), "%s", dir);
    p->meeting.domain = id->clock_domain_hash;
    p->clock = *clock;
    p->interval_ns = interval_ns;
    p->socket = -1;
    if (id->rank == 0)
        pw_rendezvous_claim_reference(&p->meeting);
    int err = pw_rendezvous_lead(&p->meeting);
    if (err == -EEXIST) { /* another rank leads this clock domain */
        free(p);
        return 0;
    }
    err = err ? err : pw_rendezvous_key(&p->meeting, p->key);
    p->magic = pw_clockprobe_magic(p->key);
    p->stop = eventfd(0, EFD_CLOEXEC);
    err = err ? err : p->stop < 0 ? -errno : begin_thread(p);
    if (err) {
        pw_rendezvous_leave(&p->meeting);
        if (p->stop >= 0)
            close(p->stop);
        free(p);
        return err;
    }
    *out = p;
    return 0;
}

int pw_clockprobe_take(struct pw_clockprobe *p, struct pw_row_clock *knot)
{
    uint32_t taken = p ? atomic_load_explicit(&p->taken, memory_order_relaxed) : 0;
    if (!p || taken == atomic_load_explicit(&p->put, memory_order_acquire))
        return 0;
    *knot = p->knots[taken % KNOTS];
    atomic_store_explicit(&p->taken, taken + 1, memory_order_release);
    return 1;
}

void pw_clockprobe_stop(struct pw_clockprobe *p, struct pw_clockprobe_cost *cost)
{
    *cost = (struct pw_clockprobe_cost){0};
    if (!p)
        return;
    uint64_t one = 1;
    while (write(p->stop, &one, sizeof(one)) < 0 && errno == EINTR)
        ;
    pthread_join(p->thread, NULL);
    *cost = p->cost;
    pw_rendezvous_leave(&p->meeting);
    close(p->stop);
    if (p->socket >= 0)
        close(p->socket);
    explicit_bzero(p->key, sizeof(p->key));
    free(p);
}
