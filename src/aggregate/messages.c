/* Sends travel to the process that reads the receiver's file, are matched there, and what senders
 * waited travels back; see messages.h. */
#include "aggregate/messages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/events.h"
#include "analysis/message.h"
#include "core/ops.h"
#include "core/sort.h"

/* One side of a message. Times are ns since the job's epoch but for local_enter. */
struct side {
    uint64_t comm_uid;
    int32_t src, dst; /* world ranks */
    int32_t tag, pad;
    struct pw_message_end at;
    int64_t local_enter; /* of the rank's own clock */
    int64_t bytes;
};

struct sides {
    struct side *v;
    size_t n, capacity;
};

/* Sends and receives of a process in memory at a time; more take more rounds over the events. */
enum { MOST_SIDES = 1 << 19 };

struct gathering {
    const struct pw_job *job;
    struct sides sends, receives;
    int32_t round, rounds; /* receivers of this round: rank modulo rounds */
    int failed;
};

static void append(struct gathering *g, struct sides *sides, const struct side *side)
{
    if (sides->n == sides->capacity) {
        size_t capacity = sides->capacity ? 2 * sides->capacity : 256;
        struct side *v = realloc(sides->v, capacity * sizeof(*v));
        if (!v) {
            g->failed = 1;
            return;
        }
        sides->v = v;
        sides->capacity = capacity;
    }
    sides->v[sides->n++] = *side;
}

static int64_t epoch_time(const struct gathering *g, const struct pw_input *input, int64_t local)
{
    return pw_input_time(input, local) - g->job->epoch_ns;
}

static void visit(void *context, const struct pw_input *input,
                  const struct pw_row_comm_event *event)
{
    struct gathering *g = context;
    enum pw_op_class cls = pw_op_info(event->op)->cls;
    int receives = cls == PW_CLASS_RECV || (event->flags & PW_EVENT_RECV_PART);
    if ((cls != PW_CLASS_SEND && cls != PW_CLASS_RECV) || event->peer < 0 ||
        event->peer >= g->job->nranks || event->comm < 0 || (size_t)event->comm >= input->ncomms ||
        (event->flags & (PW_EVENT_ERROR | PW_EVENT_CANCELLED)))
        return;
    if ((receives ? (int32_t)input->rank : event->peer) % g->rounds != g->round)
        return;
    int nonblocking = event->flags & PW_EVENT_NONBLOCKING;
    int64_t stands = nonblocking ? event->wait_start : event->start;
    struct side side = {
        .comm_uid = input->comms[event->comm].uid,
        .src = receives ? event->peer : (int32_t)input->rank,
        .dst = receives ? (int32_t)input->rank : event->peer,
        .tag = event->tag,
        .at = {.enter = epoch_time(g, input, event->start),
               .leave = epoch_time(g, input, event->end),
               .blocked = stands ? epoch_time(g, input, stands) : INT64_MAX},
        .local_enter = event->start,
        .bytes = receives ? event->recv_bytes : event->sent_bytes,
    };
    append(g, receives ? &g->receives : &g->sends, &side);
}

#define COMPARE(a, b)                  \
    do {                               \
        if ((a) != (b))                \
            return (a) < (b) ? -1 : 1; \
    } while (0)

/* By channel: (source, destination), communicator, tag; then by when it began. */
static int by_channel(const void *a, const void *b)
{
    const struct side *x = a, *y = b;
    COMPARE(x->src, y->src);
    COMPARE(x->dst, y->dst);
    COMPARE(x->comm_uid, y->comm_uid);
    COMPARE(x->tag, y->tag);
    COMPARE(x->local_enter, y->local_enter);
    return 0;
}

static int compare_channels(const struct side *x, const struct side *y)
{
    COMPARE(x->src, y->src);
    COMPARE(x->dst, y->dst);
    COMPARE(x->comm_uid, y->comm_uid);
    COMPARE(x->tag, y->tag);
    return 0;
}

/* The process that reads the file of each rank, -1 where none does. */
static int *find_readers(const struct pw_job *job)
{
    int *readers = malloc(sizeof(*readers) * (size_t)job->nranks);
    for (int64_t r = 0; readers && r < job->nranks; r++)
        readers[r] = -1;
    for (size_t i = 0; readers && i < job->ninputs; i++)
        readers[job->inputs[i].rank] = job->process;
    if (readers)
        MPI_Allreduce(MPI_IN_PLACE, readers, (int)job->nranks, MPI_INT, MPI_MAX, job->comm);
    return readers;
}

/* Sends item i to the process destination[i] (-1: nobody); *count items arrive. Collective. */
static void *exchange(const struct pw_job *job, const char *items, size_t n, size_t size,
                      const int *destination, size_t *count)
{
    size_t p = (size_t)job->processes;
    int *counts = calloc(4 * p, sizeof(*counts));
    int *starts = counts + p, *in_counts = counts + 2 * p, *in_starts = counts + 3 * p;
    char *out = malloc(n * size + 1);
    MPI_Datatype type;
    for (size_t i = 0; i < n; i++)
        if (destination[i] >= 0)
            counts[destination[i]]++;
    for (size_t q = 1; q < p; q++)
        starts[q] = starts[q - 1] + counts[q - 1];
    int *next = malloc(sizeof(*next) * p);
    memcpy(next, starts, sizeof(*next) * p);
    for (size_t i = 0; i < n; i++)
        if (destination[i] >= 0)
            memcpy(out + (size_t)next[destination[i]]++ * size, items + i * size, size);
    MPI_Alltoall(counts, 1, MPI_INT, in_counts, 1, MPI_INT, job->comm);
    size_t total = 0;
    for (size_t q = 0; q < p; q++) {
        in_starts[q] = (int)total;
        total += (size_t)in_counts[q];
    }
    char *in = malloc(total * size + 1);
    MPI_Type_contiguous((int)size, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    MPI_Alltoallv(out, counts, starts, type, in, in_counts, in_starts, type, job->comm);
    MPI_Type_free(&type);
    free(counts);
    free(next);
    free(out);
    *count = total;
    return in;
}

static void *exchange_sides(const struct pw_job *job, const struct sides *sides, const int *readers,
                            size_t *count)
{
    int *destination = malloc(sizeof(*destination) * (sides->n + 1));
    for (size_t i = 0; i < sides->n; i++)
        destination[i] = readers[sides->v[i].dst];
    void *in =
        exchange(job, (const char *)sides->v, sides->n, sizeof(*sides->v), destination, count);
    free(destination);
    return in;
}

/* A matched receive: what one call completed has the same rank and end. */
struct arrival {
    int64_t leave, ready, transfer;
    int32_t dst;
    uint32_t pair;
};

struct matching {
    pw_message_visitor *visit; /* NULL: sums and waits are kept */
    void *context;
    struct pw_messages *out;
    struct pw_graph_parts *graph;
    struct pw_message_wait *back; /* for the senders */
    size_t nback;
    struct arrival *arrivals;
    size_t narrivals;
};

static struct pw_pair *pair_of(struct pw_messages *m, const struct side *side)
{
    struct pw_pair *last = m->npairs ? &m->pairs[m->npairs - 1] : NULL;
    if (last && last->src == side->src && last->dst == side->dst)
        return last;
    last = &m->pairs[m->npairs++];
    *last = (struct pw_pair){.src = side->src, .dst = side->dst};
    return last;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* A side stood still for so long: when that began, of its rank's own clock. */
static struct pw_message_wait wait_of(const struct side *side, int32_t rank, int64_t waited)
{
    int64_t start = side->local_enter + (side->at.blocked - side->at.enter);
    return (struct pw_message_wait){rank, start, start + waited};
}

static void match_one(struct matching *m, const struct side *send, const struct side *receive)
{
    if (m->visit) {
        m->visit(m->context, send->src, send->dst, send->at.enter, receive->at.leave);
        return;
    }
    struct pw_messages *out = m->out;
    struct pw_pair *pair = pair_of(out, send);
    int64_t late_sender = pw_message_waited(&receive->at, &send->at);
    int64_t late_receiver = pw_message_waited(&send->at, &receive->at);
    int64_t sent = pw_message_came(&send->at, &receive->at);
    int64_t received = pw_message_came(&receive->at, &send->at);
    struct pw_graph_link link = {send->local_enter, receive->local_enter, send->src, send->dst};
    if (send->at.enter < m->graph->until_ns)
        pw_graph_add_link(m->graph, &link);
    pair->messages++;
    pair->matched++;
    pair->bytes += send->bytes;
    pair->late_sender_ns += late_sender;
    /* A send that was gone before its receive came had not waited for it. */
    if (send->at.leave < receive->at.enter)
        late_receiver = 0;
    pair->late_receiver_ns += late_receiver;
    int64_t ready = larger(sent, received), transfer = larger(0, receive->at.leave - ready);
    pair->transfer_ns += transfer;
    m->arrivals[m->narrivals++] = (struct arrival){receive->at.leave, ready, transfer, receive->dst,
                                                   (uint32_t)(pair - out->pairs)};
    if (late_sender > 0)
        out->waits[out->nwaits++] = wait_of(receive, receive->dst, late_sender);
    if (late_receiver > 0)
        m->back[m->nback++] = wait_of(send, send->src, late_receiver);
}

/* A merge join of two sorted lists; the k-th send of a channel meets its k-th receive. */
static void match_all(struct matching *m, const struct side *sends, size_t nsends,
                      const struct side *receives, size_t nreceives)
{
    size_t s = 0, r = 0;
    while (s < nsends || r < nreceives) {
        int order = r == nreceives ? -1
                    : s == nsends  ? 1
                                   : compare_channels(&sends[s], &receives[r]);
        if (order == 0) {
            match_one(m, &sends[s++], &receives[r++]);
        } else if (order < 0) {
            struct pw_pair *pair = pair_of(m->out, &sends[s]);
            pair->messages++;
            pair->bytes += sends[s++].bytes;
            m->out->unmatched++;
        } else {
            m->out->unmatched++;
            m->arrivals[m->narrivals++] =
                (struct arrival){receives[r].at.leave, INT64_MAX, 0, receives[r].dst, UINT32_MAX};
            r++;
        }
    }
}

static int by_completion(const void *a, const void *b)
{
    const struct arrival *x = a, *y = b;
    COMPARE(x->dst, y->dst);
    COMPARE(x->leave, y->leave);
    COMPARE(y->ready, x->ready);
    COMPARE(x->pair, y->pair);
    return 0;
}

/* A call that completes several messages ends with the last of them: only the transfer of the one
 * that was begun last is not hidden behind the waiting for another. */
static void sum_unhidden(struct matching *m)
{
    pw_sort(m->arrivals, m->narrivals, sizeof(*m->arrivals), by_completion);
    for (size_t i = 0; i < m->narrivals; i++) {
        const struct arrival *a = &m->arrivals[i];
        if ((i && a[-1].dst == a->dst && a[-1].leave == a->leave) || a->pair == UINT32_MAX)
            continue; /* one without a partner may have been the last */
        struct pw_pair *pair = &m->out->pairs[a->pair];
        pair->unhidden++;
        pair->unhidden_ns += (double)a->transfer;
        pair->unhidden_squares_ns += (double)a->transfer * (double)a->transfer;
    }
}

static int by_rank(const void *a, const void *b)
{
    const struct pw_message_wait *x = a, *y = b;
    COMPARE(x->rank, y->rank);
    COMPARE(x->start, y->start);
    COMPARE(x->end, y->end);
    return 0;
}

/* Sorts the waits, and joins those of a rank that overlap: for one call that completed several
 * messages, only one is left. */
static void join_waits(struct pw_messages *m)
{
    size_t kept = 0;
    pw_sort(m->waits, m->nwaits, sizeof(*m->waits), by_rank);
    for (size_t i = 0; i < m->nwaits; i++) {
        struct pw_message_wait *last = kept ? &m->waits[kept - 1] : NULL;
        if (last && last->rank == m->waits[i].rank && m->waits[i].start <= last->end)
            last->end = larger(last->end, m->waits[i].end);
        else
            m->waits[kept++] = m->waits[i];
    }
    m->nwaits = kept;
}

/* Brings what senders waited to the processes that read their files. */
static int return_waits(struct matching *m, const struct pw_job *job, const int *readers)
{
    struct pw_messages *out = m->out;
    int *destination = malloc(sizeof(*destination) * (m->nback + 1));
    size_t n;
    for (size_t i = 0; i < m->nback; i++)
        destination[i] = readers[m->back[i].rank];
    void *arrived =
        exchange(job, (const char *)m->back, m->nback, sizeof(*m->back), destination, &n);
    free(destination);
    struct pw_message_wait *waits = realloc(out->waits, sizeof(*waits) * (out->nwaits + n + 1));
    if (waits) {
        memcpy(waits + out->nwaits, arrived, sizeof(*waits) * n);
        out->waits = waits;
        out->nwaits += n;
        join_waits(out);
    }
    free(arrived);
    return waits ? 0 : -ENOMEM;
}

/* Makes room for what this round may add. */
static int make_room(struct matching *m, size_t nsends, size_t nreceives)
{
    struct pw_messages *out = m->out;
    m->nback = m->narrivals = 0;
    m->back = malloc(sizeof(*m->back) * (nsends + 1));
    m->arrivals = malloc(sizeof(*m->arrivals) * (nsends + nreceives + 1));
    struct pw_pair *pairs = realloc(out->pairs, sizeof(*pairs) * (out->npairs + nsends + 1));
    out->pairs = pairs ? pairs : out->pairs;
    struct pw_message_wait *waits =
        realloc(out->waits, sizeof(*waits) * (out->nwaits + nsends + 1));
    out->waits = waits ? waits : out->waits;
    return m->back && m->arrivals && pairs && waits;
}

static int match_here(struct matching *m, const struct pw_job *job, const int *readers,
                      struct gathering *g)
{
    size_t nsends;
    struct side *sends = exchange_sides(job, &g->sends, readers, &nsends);
    int ok = sends && make_room(m, nsends, g->receives.n), all_ok;
    MPI_Allreduce(&ok, &all_ok, 1, MPI_INT, MPI_MIN, job->comm);
    if (all_ok) {
        if (g->receives.n)
            pw_sort(g->receives.v, g->receives.n, sizeof(*g->receives.v), by_channel);
        pw_sort(sends, nsends, sizeof(*sends), by_channel);
        match_all(m, sends, nsends, g->receives.v, g->receives.n);
        sum_unhidden(m);
        all_ok = return_waits(m, job, readers) == 0;
    }
    free(sends);
    free(m->arrivals);
    free(m->back);
    return all_ok ? 0 : -ENOMEM;
}

static int32_t count_rounds(const struct pw_job *job)
{
    int64_t sides = 0, most;
    for (size_t i = 0; i < job->ninputs; i++)
        sides += job->inputs[i].messages;
    MPI_Allreduce(&sides, &most, 1, MPI_INT64_T, MPI_MAX, job->comm);
    int64_t rounds = (most + MOST_SIDES - 1) / MOST_SIDES;
    return (int32_t)(rounds < 1 ? 1 : rounds < job->nranks ? rounds : job->nranks);
}

static int match_round(struct matching *m, struct pw_job *job, const int *readers, int32_t round,
                       int32_t rounds)
{
    struct gathering g = {.job = job, .round = round, .rounds = rounds};
    for (size_t i = 0; i < job->ninputs; i++)
        if (job->inputs[i].messages) {
            job->progress.total += (int64_t)job->inputs[i].event_rows.rows;
            pw_events_read(&job->inputs[i], visit, &g); /* damage is noted by another pass */
        }
    int err = readers && !g.failed ? 0 : -ENOMEM, worst;
    MPI_Allreduce(&err, &worst, 1, MPI_INT, MPI_MIN, job->comm);
    if (!worst)
        err = match_here(m, job, readers, &g);
    free(g.sends.v);
    free(g.receives.v);
    MPI_Allreduce(&err, &worst, 1, MPI_INT, MPI_MIN, job->comm);
    return worst;
}

static int match_with(struct matching *m, struct pw_job *job)
{
    int *readers = find_readers(job);
    int32_t rounds = count_rounds(job);
    int err = 0;
    for (int32_t round = 0; round < rounds && !err; round++)
        err = match_round(m, job, readers, round, rounds);
    free(readers);
    return err;
}

int pw_messages_match(struct pw_messages *out, struct pw_job *job, struct pw_graph_parts *graph)
{
    struct matching m = {.out = out, .graph = graph};
    *out = (struct pw_messages){0};
    return match_with(&m, job);
}

int pw_messages_visit(struct pw_job *job, pw_message_visitor *visitor, void *context)
{
    struct pw_messages none = {0};
    struct matching m = {.visit = visitor, .context = context, .out = &none};
    int err = match_with(&m, job);
    pw_messages_fini(&none);
    return err;
}

void pw_messages_fini(struct pw_messages *messages)
{
    free(messages->pairs);
    free(messages->waits);
}
