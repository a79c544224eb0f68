/* The thread that measures clocks; see clockprobe.h. */
#include "rank/clocks/clockprobe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/hash.h"
#include "core/log.h"
#include "rank/clocks/envelope.h"
#include "rank/clocks/packet.h"
#include "rank/clocks/rendezvous.h"

enum {
    KNOTS = 64,
    ANSWER_MS = 20, /* how long a probe waits for its answer */
    /* Between looks for other hosts: at first, and at last, because looks become rarer. */
    LOOK_MS = 20,
    LOOK_LAST_MS = 8000,
    LOSSES_MOST = 5, /* unanswered probes after which an exchange is given up */
    LEAST = 3,       /* answers that a knot needs */
    /* How long the end of the program is delayed at most: of the others by the last measurement, of
     * the reference because others have not made theirs yet. */
    LAST_MS = 200,
    /* The reference has one core for the probes of all hosts: where all could begin at once, they
     * begin one after another, at a distance of TURN_MS, and the last after TURNS_MS. */
    TURN_MS = 1,
    TURNS_MS = 100,
    /* After REFUSED_MOST packets of other senders in REFUSED_MS, no packet is read until that time
     * is over. So a flood of packets costs only a limited time. */
    REFUSED_MOST = 100,
    REFUSED_MS = 100,
    /* The most late answers that are dropped before an exchange. */
    LATE_MOST = 64,
};

enum kind {
    PROBE = 1,
    ANSWER,
    FIRST, /* a probe of a host that has got no answer yet */
    LEAVE, /* the sender has measured a last time; has no answer */
};

/* What has ended a wait. */
enum event {
    NOTHING, /* the time is over */
    CALLED,  /* pw_clockprobe_ask() or pw_clockprobe_stop() */
    PACKET,
};

struct packet {
    uint64_t magic, kind, nonce;
    int64_t time_ns;
    uint64_t code;
};

struct pw_clockprobe {
    struct pw_rendezvous meeting;
    struct pw_testclock clock;
    int64_t interval_ns;
    int nhosts; /* about as many hosts as the job has */
    unsigned char key[PW_KEY_BYTES];
    uint64_t magic; /* first field of this job's packets */
    int64_t refusing_since_ns;
    int refused;           /* packets of other senders since then */
    int call, socket;      /* file descriptors; `call` wakes the thread */
    _Atomic int is_ending; /* 1: the thread must measure a last time and end */
    int present;           /* of the reference: hosts that have come, less those that have left */
    bool is_known;         /* of the others: the reference has answered */
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

static bool is_ending(const struct pw_clockprobe *p)
{
    return atomic_load(&p->is_ending) != 0;
}

/* Waits up to `ms` for a call or, if `with_packets`, a packet. */
static enum event wait_ms(const struct pw_clockprobe *p, int ms, bool with_packets)
{
    struct pollfd fds[] = {{.fd = p->call, .events = POLLIN}, {.fd = p->socket, .events = POLLIN}};
    uint64_t calls;
    if (poll(fds, with_packets ? 2 : 1, ms) <= 0)
        return NOTHING;
    if (!fds[0].revents)
        return PACKET;
    return read(p->call, &calls, sizeof(calls)) == (ssize_t)sizeof(calls) ? CALLED : NOTHING;
}

/* Waits until the next look into the output directory. After a call, looks are frequent again.
 * Returns whether the thread must end. */
static bool wait_to_look(const struct pw_clockprobe *p, int *ms)
{
    if (wait_ms(p, *ms, false) == CALLED)
        *ms = LOOK_MS;
    else
        *ms = 2 * *ms < LOOK_LAST_MS ? 2 * *ms : LOOK_LAST_MS;
    return is_ending(p);
}

/* When it is this host's turn, after a moment at which all hosts could begin to measure. */
static int turn_ms(const struct pw_clockprobe *p)
{
    const int turns = p->nhosts * TURN_MS < TURNS_MS ? p->nhosts * TURN_MS : TURNS_MS;
    return (int)(pw_hash_mix(p->meeting.domain, 0) % (uint64_t)turns);
}

/* ---- the reference's side ---- */

/* Answers one packet. Returns for how many ms no packet may be read after it. */
static int answer(struct pw_clockprobe *p)
{
    struct packet packet = {.kind = 0};
    struct sockaddr_in from;
    socklen_t size = sizeof(from);
    ssize_t n = recvfrom(p->socket, &packet, sizeof(packet), MSG_DONTWAIT | MSG_TRUNC,
                         (struct sockaddr *)&from, &size);
    if (n < 0)
        return 0;
    const enum kind kind = (enum kind)packet.kind;
    if ((kind != PROBE && kind != FIRST && kind != LEAVE) || !is_valid(p, &packet, n, kind))
        return refuse_ms(p);
    p->present += (kind == FIRST) - (kind == LEAVE);
    if (kind == LEAVE)
        return 0;
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
    pw_packet_filter(fd, sizeof(struct packet), &p->magic, 2);
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

/* Answers the next packet. Waits for it up to `ms`; -1: until a call. */
static void answer_for(struct pw_clockprobe *p, int ms)
{
    const int refused_ms = wait_ms(p, ms, true) == PACKET ? answer(p) : 0;
    if (refused_ms > 0)
        wait_ms(p, refused_ms, false);
}

static void serve(struct pw_clockprobe *p)
{
    struct in_addr own;
    int look_ms = LOOK_MS, err = pw_rendezvous_find_peer(&p->meeting, &own);
    while (err == -ENOENT && !wait_to_look(p, &look_ms))
        err = pw_rendezvous_find_peer(&p->meeting, &own);
    if (err == -ENOENT)
        return;
    err = err ? err : listen_on(p, own);
    if (err) {
        pw_debug(PW_LOG_CLOCK, 1, "cannot answer probes: %s", strerror(-err));
        return;
    }
    while (!is_ending(p))
        answer_for(p, -1);
    const int64_t end = pw_local_ns() + LAST_MS * INT64_C(1000000);
    while (p->present > 0 && pw_local_ns() < end)
        answer_for(p, ANSWER_MS);
}

/* ---- the others' side ---- */

static bool await_packet(const struct pw_clockprobe *p, int ms)
{
    struct pollfd packet = {.fd = p->socket, .events = POLLIN};
    return poll(&packet, 1, ms) > 0;
}

static void sign(const struct pw_clockprobe *p, struct packet *packet)
{
    packet->magic = p->magic;
    packet->code = code_of(p, packet);
}

/* Sends one probe and reads its answer. Returns 1; 0 when no answer has come; -ECONNREFUSED when
 * the reference has ended. */
static int exchange(struct pw_clockprobe *p, struct pw_envelope *envelope)
{
    struct packet packet = {.kind = p->is_known ? PROBE : FIRST}, reply;
    if (getrandom(&packet.nonce, sizeof(packet.nonce), 0) != (ssize_t)sizeof(packet.nonce))
        return 0;
    sign(p, &packet);
    int64_t t1 = pw_testclock_now(&p->clock), limit = pw_local_ns() + ANSWER_MS * 1000000;
    if (send(p->socket, &packet, sizeof(packet), MSG_DONTWAIT) < 0)
        return errno == ECONNREFUSED ? -ECONNREFUSED : 0;
    while (pw_local_ns() < limit && await_packet(p, ANSWER_MS)) {
        ssize_t n = recv(p->socket, &reply, sizeof(reply), MSG_DONTWAIT | MSG_TRUNC);
        int64_t t2 = pw_testclock_now(&p->clock);
        if (n < 0 && errno == ECONNREFUSED)
            return -ECONNREFUSED;
        if (!is_valid(p, &reply, n, ANSWER) || reply.nonce != packet.nonce) {
            if (n >= 0 && refuse_ms(p))
                break;
            continue;
        }
        pw_envelope_add(envelope, t1, reply.time_ns, t2);
        p->cost.exchanges++;
        p->is_known = true;
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
    const int64_t limit = pw_local_ns() + LAST_MS * INT64_C(1000000);
    int lost = 0, answered = 0;
    while (answered >= 0 && lost < LOSSES_MOST && !(is_ending(p) && pw_local_ns() > limit) &&
           !pw_envelope_is_settled(&envelope)) {
        answered = exchange(p, &envelope);
        lost += !answered;
    }
    put_knot(p, &envelope);
}

/* Tells the reference that it need not wait for this host. */
static void leave(struct pw_clockprobe *p)
{
    struct packet packet = {.kind = LEAVE};
    sign(p, &packet);
    if (p->is_known)
        send(p->socket, &packet, sizeof(packet), MSG_DONTWAIT);
}

static int connect_to_service(struct pw_clockprobe *p)
{
    struct sockaddr_in service;
    int err = pw_rendezvous_find_service(&p->meeting, PW_SERVICE_PROBES, &service);
    if (err)
        return err;
    p->socket = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const struct packet like = {.magic = p->magic, .kind = ANSWER};
    if (p->socket >= 0)
        pw_packet_filter(p->socket, sizeof(like), &like, 4);
    if (p->socket >= 0 && connect(p->socket, (struct sockaddr *)&service, sizeof(service)) == 0)
        return 0;
    return -errno;
}

static void probe_service(struct pw_clockprobe *p)
{
    int err = connect_to_service(p), look_ms = LOOK_MS;
    while (err == -ENOENT && !is_ending(p)) {
        wait_to_look(p, &look_ms);
        err = connect_to_service(p);
    }
    if (err)
        return;
    /* After a call, all hosts measure; at the end of the programs not, because they do not end at
     * one moment. */
    for (enum event event = CALLED;;) {
        if (event == CALLED && !is_ending(p))
            wait_ms(p, turn_ms(p), false);
        const bool is_last = is_ending(p);
        drop_late(p);
        measure(p);
        if (is_last)
            break;
        event = is_ending(p) ? CALLED : wait_ms(p, (int)(p->interval_ns / 1000000), false);
    }
    leave(p);
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
    p->nhosts = id->local_size > 0 ? id->size / id->local_size + 1 : 1;
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
    p->call = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    err = err ? err : p->call < 0 ? -errno : begin_thread(p);
    if (err) {
        pw_rendezvous_leave(&p->meeting);
        if (p->call >= 0)
            close(p->call);
        free(p);
        return err;
    }
    *out = p;
    return 0;
}

void pw_clockprobe_ask(struct pw_clockprobe *p)
{
    const uint64_t one = 1;
    while (p && write(p->call, &one, sizeof(one)) < 0 && errno == EINTR)
        ;
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
    atomic_store(&p->is_ending, 1);
    pw_clockprobe_ask(p);
    pthread_join(p->thread, NULL);
    *cost = p->cost;
    pw_rendezvous_leave(&p->meeting);
    close(p->call);
    if (p->socket >= 0)
        close(p->socket);
    p->call = p->socket = -1;
    explicit_bzero(p->key, sizeof(p->key));
}

void pw_clockprobe_destroy(struct pw_clockprobe *p)
{
    free(p);
}
