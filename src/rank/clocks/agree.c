/* The agreement: bits in the host's page, packets between hosts, and one exclusive link; see
 * agree.h. */
#include "rank/clocks/agree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/log.h"
#include "rank/clocks/packet.h"
#include "rank/ring/tick.h"

#define MS ((int64_t)1000000)
/* How long without a further registration until "no". All ranks enter MPI_Init within moments of
 * each other, because MPI_Init synchronises them; a rank that has not come by then has no probe. */
#define PATIENCE_NS (5000 * MS)
/* How long a rank waits for its host's leader, which may be stopped, before it decides "no". */
#define LEADER_PATIENCE_NS (7000 * MS)
/* How long a leader waits for a word of rank 0's host, which decides "no" before. */
#define FIRST_PATIENCE_NS (10000 * MS)
/* How long packets may go unanswered before files are used, and how long rank 0's host answers
 * after the decision. Longer by the second value for each rank of the job, because rank 0's host
 * may have too many packets to read. */
#define PACKETS_NS (1000 * MS)
#define PACKETS_RANK_NS (MS / 10)
#define LOOK_FIRST_NS (5 * MS)
#define LOOK_LAST_NS (250 * MS)
/* Between packets: at first, and at most. */
#define SEND_FIRST_NS (4 * MS)
#define SEND_LAST_NS (100 * MS)
/* Longer between packets by this for each rank of the job, because rank 0's host answers all. For
 * the same reason the hosts begin one after another, at this distance, and the last of them after
 * TURN_LAST_NS. */
#define SEND_RANK_NS ((int64_t)20000)
#define TURN_LAST_NS (2000 * MS)

enum {
    WORDS = 64,
    RECEIVE_MOST = 1024,
    TELL_MOST = 1024,
    RECEIVE_BYTES = 1 << 22, /* the kernel gives less where net.core.rmem_max is less */
};

struct packet {
    uint64_t magic;
    int32_t size;  /* of the job */
    int32_t first; /* index of the first word below, in words of 64 ranks */
    int32_t decision, hosted;
    uint64_t registered[WORDS];
    uint64_t code;
};

/* ---- the decision ---- */

static void member_path(const struct pw_agreement *a, int rank, char path[4200])
{
    snprintf(path, 4200, "%s/.sync-%05d", a->meeting.dir, rank);
}

static void decision_path(const struct pw_agreement *a, char path[4200])
{
    snprintf(path, 4200, "%s/.sync-decision", a->meeting.dir);
}

static enum pw_sync_decision decision_of(const struct pw_agreement *a)
{
    return a->page.shared ? (enum pw_sync_decision)atomic_load(&a->page.shared->decision)
                          : PW_SYNC_NO;
}

/* Tells all processes of this host the decision. */
static enum pw_sync_decision settle(const struct pw_agreement *a, enum pw_sync_decision decision)
{
    if (a->page.shared && decision != PW_SYNC_UNDECIDED)
        atomic_store(&a->page.shared->decision, decision);
    return decision;
}

static enum pw_sync_decision read_decision(const struct pw_agreement *a)
{
    char path[4200], text[8] = "";
    decision_path(a, path);
    if (readlink(path, text, sizeof(text) - 1) < 0)
        return PW_SYNC_UNDECIDED;
    return strcmp(text, "yes") == 0 ? PW_SYNC_YES : PW_SYNC_NO;
}

/* Creates the decision `word`, unless there is one. Returns the decision that is valid. */
static enum pw_sync_decision decide(const struct pw_agreement *a, const char *word)
{
    char path[4200];
    decision_path(a, path);
    if (symlink(word, path) == 0)
        return settle(a, strcmp(word, "yes") == 0 ? PW_SYNC_YES : PW_SYNC_NO);
    enum pw_sync_decision found = read_decision(a);
    /* The link could not be created, so no rank can have read a "yes": the decision is "no". */
    return settle(a, found == PW_SYNC_UNDECIDED ? PW_SYNC_NO : found);
}

/* Whether it is time to look into the output directory; looks become rarer. */
static bool is_time_to_look(struct pw_agreement *a, int64_t now)
{
    if (now < a->next_look_ns)
        return false;
    a->gap_ns = a->gap_ns ? 2 * a->gap_ns : LOOK_FIRST_NS;
    if (a->gap_ns > LOOK_LAST_NS)
        a->gap_ns = LOOK_LAST_NS;
    a->next_look_ns = now + a->gap_ns;
    return true;
}

static int64_t packets_ns(const struct pw_agreement *a)
{
    return PACKETS_NS + PACKETS_RANK_NS * a->size;
}

static void note_progress(const struct pw_agreement *a, int64_t now)
{
    atomic_store(&a->page.shared->progress_ns, now);
}

/* ---- packets ---- */

static uint64_t code_of(const struct pw_agreement *a, const struct packet *packet)
{
    return pw_siphash(a->key, packet, offsetof(struct packet, code));
}

static bool is_valid(const struct pw_agreement *a, const struct packet *packet, ssize_t bytes)
{
    return bytes == (ssize_t)sizeof(*packet) && packet->magic == a->magic &&
           packet->size == a->size && packet->code == code_of(a, packet);
}

static int open_socket(struct pw_agreement *a)
{
    int err = pw_rendezvous_key(&a->meeting, a->key);
    if (err)
        return err;
    a->magic = pw_packet_magic(a->key, "agreement");
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    pw_packet_filter(fd, sizeof(struct packet), &a->magic, 2);
    a->socket = fd;
    return 0;
}

static void close_socket(struct pw_agreement *a)
{
    if (a->socket >= 0)
        close(a->socket);
    a->socket = -1;
}

static void sign(const struct pw_agreement *a, struct packet *packet)
{
    packet->magic = a->magic;
    packet->size = a->size;
    packet->code = code_of(a, packet);
}

/* Returns 0, or -errno when the packet cannot be sent. Then it is as a lost one: it is sent again.
 */
static int send_signed(const struct pw_agreement *a, const struct packet *packet,
                       const struct sockaddr_in *to)
{
    if (sendto(a->socket, packet, sizeof(*packet), MSG_DONTWAIT, (const struct sockaddr *)to,
               sizeof(*to)) >= 0)
        return 0;
    const int err = -errno;
    pw_debug(PW_LOG_CLOCK, 2, "agreement: %s", strerror(-err));
    return err;
}

/* ---- rank 0's host ---- */

/* Opens the port on the address at which other hosts reach this one. Does nothing while there is no
 * other host. */
static void open_port(struct pw_agreement *a)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof(address);
    int err = pw_rendezvous_find_peer(&a->meeting, &address.sin_addr);
    if (err == -ENOENT)
        return;
    err = err ? err : open_socket(a);
    if (!err)
        setsockopt(a->socket, SOL_SOCKET, SO_RCVBUF, &(int){RECEIVE_BYTES}, sizeof(int));
    if (!err && (bind(a->socket, (struct sockaddr *)&address, sizeof(address)) ||
                 getsockname(a->socket, (struct sockaddr *)&address, &size)))
        err = -errno;
    err = err ? err : pw_rendezvous_publish(&a->meeting, PW_SERVICE_AGREEMENT, &address);
    if (err)
        pw_debug(PW_LOG_CLOCK, 1, "no packets for the agreement: %s", strerror(-err));
    a->has_failed = err != 0;
}

static int is_same_host(const void *items, int32_t item, const void *key)
{
    const struct sockaddr_in *x = &((const struct sockaddr_in *)items)[item], *y = key;
    return x->sin_addr.s_addr == y->sin_addr.s_addr && x->sin_port == y->sin_port;
}

/* Notes who must be told the decision, and has `hosted` ranks. Without memory a host learns it when
 * it asks again. */
static void note_host(struct pw_agreement *a, const struct sockaddr_in *from, int hosted)
{
    const uint32_t hash = (uint32_t)pw_hash_mix(from->sin_addr.s_addr, from->sin_port);
    if (pw_hash_reserve(&a->known))
        return;
    struct pw_hash_slot *slot = pw_hash_find(&a->known, hash, is_same_host, a->hosts, from);
    if (slot->item != PW_HASH_NONE)
        return;
    if (a->nhosts == a->capacity) {
        const int capacity = a->capacity ? 2 * a->capacity : 16;
        struct sockaddr_in *grown = realloc(a->hosts, (size_t)capacity * sizeof(*grown));
        if (!grown)
            return;
        a->hosts = grown;
        a->capacity = capacity;
    }
    a->hosted_there += hosted;
    a->hosts[a->nhosts] = *from;
    pw_hash_take(&a->known, slot, hash, a->nhosts++);
}

/* Adds the registrations of one packet and answers it. Returns 0 when there is no packet. */
static int take_registrations(struct pw_agreement *a, int64_t now)
{
    struct packet packet;
    struct sockaddr_in from;
    socklen_t size = sizeof(from);
    ssize_t n = recvfrom(a->socket, &packet, sizeof(packet), MSG_DONTWAIT | MSG_TRUNC,
                         (struct sockaddr *)&from, &size);
    if (n < 0)
        return 0;
    if (!is_valid(a, &packet, n) || packet.first < 0 || packet.first >= pw_hostpage_words(&a->page))
        return 1;
    int added = 0;
    for (int i = 0; i < WORDS && packet.first + i < pw_hostpage_words(&a->page); i++)
        added += pw_hostpage_add_registered(&a->page, packet.first + i, packet.registered[i]);
    if (added) {
        atomic_store(&a->page.shared->by_packets, 1);
        note_progress(a, now);
    }
    note_host(a, &from, packet.hosted);
    packet.decision = (int32_t)decision_of(a);
    sign(a, &packet);
    send_signed(a, &packet, &from);
    return 1;
}

/* Looks for the files of ranks whose packets do not arrive. */
static void look_for_files(struct pw_agreement *a, int64_t now)
{
    DIR *stream = opendir(a->meeting.dir);
    for (struct dirent *e = stream ? readdir(stream) : NULL; e; e = readdir(stream)) {
        char *end;
        if (strncmp(e->d_name, ".sync-", 6) != 0)
            continue;
        const long rank = strtol(e->d_name + 6, &end, 10);
        if (*end || end == e->d_name + 6 || rank < 0 || rank >= a->size)
            continue;
        if (pw_hostpage_set_registered(&a->page, (int)rank)) {
            atomic_store(&a->page.shared->by_files, 1);
            note_progress(a, now);
        }
    }
    if (stream)
        closedir(stream);
    /* Rarely where a look takes long: it delays those that make the files. */
    a->next_list_ns = pw_local_ns() + 10 * (pw_local_ns() - now);
}

/* Whether the clocks of hosts must be compared over MPI, because the collectors cannot do it. */
static bool is_mpi_needed(const struct pw_agreement *a)
{
    const struct pw_hostpage_shared *shared = a->page.shared;
    return atomic_load(&shared->by_files) || (atomic_load(&shared->by_packets) && !a->has_probes);
}

/* Whether nothing is left to wait for: all ranks have registered, or all hosts reach this one. */
static bool is_complete(const struct pw_agreement *a)
{
    return (int)atomic_load(&a->page.shared->registered) == a->size ||
           (a->hosted && a->hosted + a->hosted_there == a->size && !is_mpi_needed(a));
}

static bool is_telling(const struct pw_agreement *a)
{
    return a->socket >= 0 && a->told < a->nhosts && decision_of(a) != PW_SYNC_UNDECIDED;
}

/* Tells the decision to further hosts, as many as the socket takes now. */
static void tell_hosts(struct pw_agreement *a)
{
    struct packet packet = {.decision = (int32_t)decision_of(a)};
    sign(a, &packet);
    for (int i = 0; i < TELL_MOST && a->told < a->nhosts; i++, a->told++) {
        const int err = send_signed(a, &packet, &a->hosts[a->told]);
        if (err == -EAGAIN || err == -ENOBUFS)
            return;
    }
}

static void serve_as_first(struct pw_agreement *a, int64_t now)
{
    struct pw_hostpage_shared *shared = a->page.shared;
    for (int i = 0; a->socket >= 0 && i < RECEIVE_MOST && take_registrations(a, now); i++)
        ;
    if (decision_of(a) == PW_SYNC_UNDECIDED && is_complete(a))
        decide(a, is_mpi_needed(a) ? "yes" : "no");
    else if (decision_of(a) == PW_SYNC_UNDECIDED) {
        if (is_time_to_look(a, now)) {
            settle(a, read_decision(a)); /* a rank may have refused */
            if (a->socket < 0 && !a->has_failed)
                open_port(a);
            if (now - a->began_ns > packets_ns(a) && now >= a->next_list_ns)
                look_for_files(a, now);
        }
        if (decision_of(a) == PW_SYNC_UNDECIDED &&
            now - atomic_load(&shared->progress_ns) > PATIENCE_NS)
            decide(a, "no");
    }
    if (decision_of(a) == PW_SYNC_UNDECIDED || a->socket < 0)
        return;
    if (!a->told_ns)
        a->told_ns = now;
    tell_hosts(a);
    if (now - a->told_ns >= packets_ns(a))
        close_socket(a);
}

/* ---- the other hosts ---- */

/* A number below `range` that differs from host to host. */
static int64_t scatter(const struct pw_agreement *a, int64_t range)
{
    const uint64_t hash = pw_hash_mix(a->meeting.domain + (uint64_t)a->rank, a->nsent);
    return range > 0 ? (int64_t)(hash % (uint64_t)range) : 0;
}

/* How long after its first registration a host begins. It takes the other hosts to have as many
 * ranks as itself. */
static int64_t turn_ns(const struct pw_agreement *a, uint32_t registered)
{
    const int64_t all_ns = SEND_RANK_NS * a->size / (registered ? registered : 1);
    return scatter(a, all_ns < TURN_LAST_NS ? all_ns : TURN_LAST_NS);
}

static void send_registrations(struct pw_agreement *a)
{
    const int words = pw_hostpage_words(&a->page);
    a->unanswered = 0;
    for (int first = 0; first < words; first += WORDS) {
        struct packet packet = {.first = first, .hosted = a->hosted};
        uint64_t any = 0;
        for (int i = 0; i < WORDS && first + i < words; i++)
            any |= packet.registered[i] = pw_hostpage_registered(&a->page, first + i);
        if (!any)
            continue;
        sign(a, &packet);
        send_signed(a, &packet, &a->first);
        a->unanswered++;
    }
    a->nsent++;
}

/* Plans the next sending at about `gap_ns` from now, but for each host at another moment. */
static void send_after(struct pw_agreement *a, int64_t now, int64_t gap_ns)
{
    const int64_t longest = SEND_LAST_NS + SEND_RANK_NS * a->size;
    a->send_gap_ns = gap_ns < longest ? gap_ns : longest;
    a->next_send_ns = now + a->send_gap_ns / 2 + scatter(a, a->send_gap_ns / 2);
}

static void hear_answers(struct pw_agreement *a, int64_t now)
{
    struct packet packet;
    for (int i = 0; i < RECEIVE_MOST; i++) {
        ssize_t n = recv(a->socket, &packet, sizeof(packet), MSG_DONTWAIT | MSG_TRUNC);
        if (n < 0 && errno != ECONNREFUSED)
            return;
        if (n < 0 || !is_valid(a, &packet, n))
            continue;
        a->heard_ns = now;
        /* Further packets only ask for the decision: the packet that brings it may be lost. */
        if (--a->unanswered == 0)
            send_after(a, now, INT64_MAX);
        if (packet.decision == PW_SYNC_YES || packet.decision == PW_SYNC_NO)
            settle(a, (enum pw_sync_decision)packet.decision);
    }
}

/* Shows rank 0's host that there is another one. Containers on one machine can have one clock and
 * different shared memory, so that each has a page and a leader: then the domain's link exists, and
 * the leader makes one of its own. */
static void show(struct pw_agreement *a)
{
    struct pw_rendezvous own = a->meeting;
    own.domain = pw_hash_mix(own.domain, (uint64_t)a->rank + 1);
    int err = pw_rendezvous_lead(&a->meeting);
    a->link_domain = err == -EEXIST ? own.domain : a->meeting.domain;
    if (err == -EEXIST)
        err = pw_rendezvous_lead(&own);
    a->has_link = err == 0;
    a->has_shown = true;
}

/* Finds the address of rank 0's host, and connects to it. */
static void find_first(struct pw_agreement *a)
{
    struct sockaddr_in first;
    if (!a->has_shown)
        show(a);
    int err = pw_rendezvous_find_service(&a->meeting, PW_SERVICE_AGREEMENT, &first);
    if (err == -ENOENT)
        return;
    err = err || a->socket >= 0 ? err : open_socket(a);
    if (!err && connect(a->socket, (struct sockaddr *)&first, sizeof(first)))
        err = -errno;
    if (err)
        pw_debug(PW_LOG_CLOCK, 1, "no packets for the agreement: %s", strerror(-err));
    a->first = first;
    if (!err && !a->is_connected)
        a->heard_ns = pw_local_ns(); /* from now on it may be silent */
    a->is_connected = err == 0;
}

static void make_files(struct pw_agreement *a, uint32_t registered)
{
    char path[4200];
    atomic_store(&a->page.shared->has_files, 1);
    for (int rank = 0; rank < a->size; rank++) {
        if (!(pw_hostpage_registered(&a->page, rank / 64) >> rank % 64 & 1))
            continue;
        member_path(a, rank, path);
        int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd >= 0)
            close(fd);
    }
    a->filed = registered;
}

static void serve_as_other(struct pw_agreement *a, int64_t now)
{
    const uint32_t registered = atomic_load(&a->page.shared->registered);
    const int64_t heard_ns = a->heard_ns > a->began_ns ? a->heard_ns : a->began_ns;
    const bool is_silent = now - heard_ns > packets_ns(a);
    if (a->socket >= 0)
        hear_answers(a, now);
    if (decision_of(a) != PW_SYNC_UNDECIDED)
        return;
    if (!a->is_connected && now < a->began_ns + turn_ns(a, registered))
        return;
    if ((!a->is_connected || is_silent) && is_time_to_look(a, now)) {
        find_first(a);
        if (is_silent)
            settle(a, read_decision(a));
    }
    if (is_silent && a->filed != registered)
        make_files(a, registered);
    if (a->is_connected && (now >= a->next_send_ns || a->sent != registered)) {
        send_after(a, now, a->sent != registered ? SEND_FIRST_NS : 2 * a->send_gap_ns);
        a->sent = registered;
        send_registrations(a);
    }
    if (decision_of(a) == PW_SYNC_UNDECIDED && now - heard_ns > FIRST_PATIENCE_NS)
        decide(a, "no");
}

/* ---- for the caller ---- */

void pw_agree_init(struct pw_agreement *a, const char *dir, uint64_t domain, int rank, int size)
{
    *a = (struct pw_agreement){.rank = rank, .size = size, .socket = -1};
    a->meeting.domain = domain;
    snprintf(a->meeting.dir, sizeof(a->meeting.dir), "%s", dir);
    if (size <= 1 || rank < 0 || rank >= size || pw_hostpage_open(&a->page, dir, domain, size))
        return;
    if (rank == 0)
        atomic_store(&a->page.shared->has_rank_0, 1);
}

bool pw_agree_serve(struct pw_agreement *a)
{
    if (!a->page.shared)
        return false;
    const bool is_open = decision_of(a) == PW_SYNC_UNDECIDED;
    if ((!is_open && a->socket < 0) || !pw_hostpage_lead(&a->page))
        return is_open && atomic_load(&a->page.shared->registered);
    const int64_t now = pw_local_ns();
    atomic_store(&a->page.shared->leader_ns, now);
    if (!atomic_load(&a->page.shared->registered))
        return false;
    if (!a->began_ns)
        a->began_ns = now;
    if (atomic_load(&a->page.shared->has_rank_0))
        serve_as_first(a, now);
    else if (is_open)
        serve_as_other(a, now);
    else
        close_socket(a);
    return decision_of(a) == PW_SYNC_UNDECIDED || is_telling(a);
}

enum pw_sync_decision pw_agree_poll(struct pw_agreement *a)
{
    if (a->size <= 1)
        return PW_SYNC_NO;
    if (!a->page.shared)
        return decide(a, "no");
    const int64_t now = pw_local_ns();
    if (!a->registered_ns) {
        a->registered_ns = now;
        if (pw_hostpage_set_registered(&a->page, a->rank))
            note_progress(a, now);
    }
    pw_agree_serve(a);
    if (decision_of(a) == PW_SYNC_UNDECIDED && now - a->registered_ns > LEADER_PATIENCE_NS &&
        now - atomic_load(&a->page.shared->leader_ns) > LEADER_PATIENCE_NS)
        decide(a, "no");
    return decision_of(a);
}

void pw_agree_refuse(struct pw_agreement *a)
{
    if (a->size > 1)
        decide(a, "no");
}

void pw_agree_end(struct pw_agreement *a)
{
    if (a->has_link) {
        a->meeting.domain = a->link_domain;
        pw_rendezvous_leave(&a->meeting);
        a->has_link = false;
    }
    close_socket(a);
    pw_hash_fini(&a->known);
    free(a->hosts);
    a->hosts = NULL;
    a->nhosts = a->capacity = 0;
    explicit_bzero(a->key, sizeof(a->key));
    pw_hostpage_close(&a->page);
}

void pw_agree_fini(struct pw_agreement *a, bool last)
{
    char path[4200];
    if (a->page.shared && atomic_load(&a->page.shared->has_files)) {
        member_path(a, a->rank, path);
        unlink(path);
    }
    decision_path(a, path);
    if (last)
        unlink(path);
    pw_agree_end(a);
}
