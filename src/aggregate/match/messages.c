/* Works in rounds of time. In each round, sends go to the process that reads the receiver's file
 * and are matched there, and the senders' waits go back. At the end, process 0 judges the pairs of
 * ranks. See messages.h. */
#include "aggregate/match/messages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/collectives.h"
#include "analysis/network.h"
#include "core/grow.h"
#include "core/sort.h"

/* Keeps a queue for each channel; it holds either sends or receives, never both. */

enum { NOBODY = -1 };

struct pw_channel {
    uint64_t comm_uid;
    int32_t src, dst, tag, window;
    int32_t receives;    /* 1: receives wait; 0: sends do */
    int32_t first, last; /* of the queue; first NOBODY: it is empty */
};

struct pw_waiting {
    struct pw_endpoint endpoint;
    int32_t next; /* next in the queue of the channel, or in the list of free entries */
};

struct pw_channels pw_channels_make(pw_channel_match *match, pw_channel_alone *alone, void *context)
{
    return (struct pw_channels){.match = match,
                                .alone = alone,
                                .context = context,
                                .impossible_ns = INT64_MAX,
                                .first_free = NOBODY};
}

static int is_same(const void *items, int32_t item, const void *key)
{
    const struct pw_channel *channel = (const struct pw_channel *)items + item;
    const struct pw_endpoint *endpoint = key;
    return channel->src == endpoint->src && channel->dst == endpoint->dst &&
           channel->tag == endpoint->tag && channel->window == endpoint->window &&
           channel->comm_uid == endpoint->comm_uid;
}

static uint32_t hash_of(uint64_t comm_uid, int32_t src, int32_t dst, int32_t tag, int32_t window)
{
    uint64_t pair = (uint64_t)(uint32_t)src << 32 | (uint32_t)dst;
    uint64_t which = (uint64_t)(uint32_t)window << 32 | (uint32_t)tag;
    return (uint32_t)pw_hash_mix(pw_hash_mix(comm_uid, pair), which);
}

/* Makes room for one more of n items. Returns the array; NULL when memory is short, or there are
 * INT32_MAX items. */
static void *make_room(void *v, int32_t n, size_t *capacity, size_t size)
{
    return n == INT32_MAX ? NULL : pw_grow(v, (size_t)n, size, capacity);
}

/* Returns the endpoint's channel, which it makes if needed; NULL when memory is short. */
static struct pw_channel *find_channel(struct pw_channels *c, const struct pw_endpoint *endpoint)
{
    uint32_t hash =
        hash_of(endpoint->comm_uid, endpoint->src, endpoint->dst, endpoint->tag, endpoint->window);
    struct pw_channel *v = make_room(c->v, c->n, &c->capacity, sizeof(*v));
    c->v = v ? v : c->v;
    if (!v || pw_hash_reserve(&c->by_key))
        return NULL;
    struct pw_hash_slot *slot = pw_hash_find(&c->by_key, hash, is_same, c->v, endpoint);
    if (slot->item == PW_HASH_NONE) {
        c->v[c->n] = (struct pw_channel){.comm_uid = endpoint->comm_uid,
                                         .src = endpoint->src,
                                         .dst = endpoint->dst,
                                         .tag = endpoint->tag,
                                         .window = endpoint->window,
                                         .first = NOBODY,
                                         .last = NOBODY};
        pw_hash_take(&c->by_key, slot, hash, c->n++);
    }
    return &c->v[slot->item];
}

static int push(struct pw_channels *c, struct pw_channel *channel,
                const struct pw_endpoint *endpoint, int receives)
{
    int32_t at = c->first_free;
    if (at == NOBODY) {
        struct pw_waiting *endpoints =
            make_room(c->endpoints, c->nendpoints, &c->endpoints_capacity, sizeof(*c->endpoints));
        if (!endpoints)
            return -ENOMEM;
        c->endpoints = endpoints;
        at = c->nendpoints++;
    } else {
        c->first_free = c->endpoints[at].next;
    }
    c->endpoints[at] = (struct pw_waiting){*endpoint, NOBODY};
    if (channel->first == NOBODY)
        channel->first = at;
    else
        c->endpoints[channel->last].next = at;
    channel->last = at;
    channel->receives = receives;
    c->waiting++;
    return 0;
}

/* Removes the first endpoint of the queue. The result is valid until the next push(). */
static const struct pw_endpoint *pop(struct pw_channels *c, struct pw_channel *channel)
{
    struct pw_waiting *first = &c->endpoints[channel->first];
    int32_t at = channel->first;
    channel->first = first->next;
    first->next = c->first_free;
    c->first_free = at;
    c->waiting--;
    return &first->endpoint;
}

static int is_too_early(const struct pw_channels *c, const struct pw_endpoint *receive,
                        const struct pw_endpoint *send)
{
    return c->impossible_ns != INT64_MAX && receive->at.leave < send->at.enter &&
           send->at.enter - receive->at.leave > c->impossible_ns;
}

int pw_channels_add(struct pw_channels *c, const struct pw_endpoint *endpoint, int receives)
{
    struct pw_channel *channel = find_channel(c, endpoint);
    if (!channel)
        return -ENOMEM;
    while (channel->first != NOBODY && channel->receives && !receives &&
           is_too_early(c, &c->endpoints[channel->first].endpoint, endpoint))
        c->alone(c->context, pop(c, channel), 1);
    if (channel->first == NOBODY || channel->receives == receives)
        return push(c, channel, endpoint, receives);
    if (receives && is_too_early(c, endpoint, &c->endpoints[channel->first].endpoint)) {
        c->alone(c->context, endpoint, 1);
        return 0;
    }
    const struct pw_endpoint *other = pop(c, channel);
    c->match(c->context, receives ? other : endpoint, receives ? endpoint : other);
    return 0;
}

void pw_channels_end(struct pw_channels *c, const int64_t *ends, int64_t time)
{
    int32_t kept = 0;
    pw_hash_clear(&c->by_key);
    for (int32_t i = 0; i < c->n; i++) {
        struct pw_channel *channel = &c->v[i];
        int32_t other = channel->receives ? channel->src : channel->dst;
        int over = ends[other] < time || time == INT64_MAX;
        while (channel->first != NOBODY && over)
            c->alone(c->context, pop(c, channel), channel->receives);
        if (channel->first == NOBODY)
            continue;
        uint32_t hash =
            hash_of(channel->comm_uid, channel->src, channel->dst, channel->tag, channel->window);
        c->v[kept] = *channel;
        pw_hash_take(&c->by_key, pw_hash_free_slot(&c->by_key, hash), hash, kept++);
    }
    c->n = kept;
}

void pw_channels_fini(struct pw_channels *c)
{
    pw_hash_fini(&c->by_key);
    free(c->v);
    free(c->endpoints);
}

/* The rounds of time of a run, so short that the messages of a round fit into memory. Times in
 * rounds are since the end of the first operation (MPI_Init) in the clock domain: so clocks need
 * not be aligned. The cuts do not change the result: an endpoint whose partner is in a later round
 * waits for it. */
struct rounds {
    int64_t *origins; /* [ndomains] local time of 0 */
    int64_t *ends;    /* [nranks] start of the rank's last message; INT64_MIN: it has none */
    int64_t from, to; /* the current round is [from, to); to is INT64_MAX in the last one */
};

/* a + b, limited to int64_t: numbers from a damaged file may have any value. */
static int64_t add(int64_t a, int64_t b)
{
    if (a == INT64_MIN || a == INT64_MAX)
        return a;
    if (b > 0 && a > INT64_MAX - b)
        return INT64_MAX;
    return b < 0 && a < INT64_MIN - b ? INT64_MIN : a + b;
}

/* Converts a time in rounds to the local time of the input; INT64_MIN and INT64_MAX do not
 * change. */
static int64_t round_to_local(const struct rounds *rounds, const struct pw_input *input,
                              int64_t time)
{
    return add(time, rounds->origins[input->domain]);
}

static int64_t round_from_local(const struct rounds *rounds, const struct pw_input *input,
                                int64_t local)
{
    return add(local, -rounds->origins[input->domain]);
}

/* Prepares the rounds. Collective. Returns 0 or -ENOMEM, the same on all processes. */
static int begin_rounds(struct rounds *rounds, const struct pw_job *job)
{
    *rounds = (struct rounds){.from = INT64_MIN, .to = INT64_MIN};
    rounds->origins = malloc(sizeof(int64_t) * ((size_t)job->world.ndomains + 1));
    rounds->ends = malloc(sizeof(int64_t) * ((size_t)job->world.nranks + 1));
    if (!pw_procs_all_ok(&job->procs, rounds->origins && rounds->ends))
        return -ENOMEM;
    for (int32_t d = 0; d < job->world.ndomains; d++)
        rounds->origins[d] = INT64_MAX;
    for (size_t i = 0; i < job->ninputs; i++) {
        const struct pw_input *input = &job->inputs[i];
        int64_t *origin = &rounds->origins[input->domain];
        if (input->event_rows.rows && input->first_ns < *origin)
            *origin = input->first_ns > -INT64_MAX ? input->first_ns : -INT64_MAX;
    }
    pw_ex_allreduce(PW_EX_IN_PLACE, rounds->origins, job->world.ndomains, PW_EX_INT64_T, PW_EX_MIN,
                    job->procs.comm);
    for (int64_t r = 0; r < job->world.nranks; r++)
        rounds->ends[r] = INT64_MIN;
    for (size_t i = 0; i < job->ninputs; i++) {
        const struct pw_input *input = &job->inputs[i];
        if (input->messages)
            rounds->ends[input->rank] = round_from_local(
                rounds, input, input->start_index.latest[input->start_index.blocks - 1]);
    }
    pw_ex_allreduce(PW_EX_IN_PLACE, rounds->ends, (int)job->world.nranks, PW_EX_INT64_T, PW_EX_MAX,
                    job->procs.comm);
    return 0;
}

/* About how many sends and receives of this process start before a time. */
static double count_begun(const struct rounds *rounds, const struct pw_job *job, int64_t time)
{
    double sum = 0;
    for (size_t i = 0; i < job->ninputs; i++)
        sum += pw_start_index_count(&job->inputs[i].start_index,
                                    round_to_local(rounds, &job->inputs[i], time));
    return sum;
}

/* Finds the first and the last start of this process's sends and receives. */
static void find_span(const struct rounds *rounds, const struct pw_job *job, int64_t *first,
                      int64_t *last)
{
    *first = INT64_MAX;
    *last = INT64_MIN;
    for (size_t i = 0; i < job->ninputs; i++) {
        const struct pw_input *input = &job->inputs[i];
        if (!input->messages)
            continue;
        int64_t begin = round_from_local(rounds, input, input->start_index.earliest[0]);
        int64_t end = rounds->ends[input->rank];
        *first = begin < *first ? begin : *first;
        *last = end > *last ? end : *last;
    }
}

/* Returns the earliest time before which `most` more sends and receives start. It may be more than
 * `most`, because a round must not be empty when many start at the same time. */
static int64_t choose_cut(const struct rounds *rounds, const struct pw_job *job, double most)
{
    int64_t low, high;
    find_span(rounds, job, &low, &high);
    if (low > high)
        return INT64_MAX;
    low = low > rounds->to ? low : rounds->to;
    double wanted = count_begun(rounds, job, rounds->to) + most;
    if (count_begun(rounds, job, INT64_MAX) <= wanted)
        return INT64_MAX;
    /* Before `low`, fewer than `wanted` start; before `high`, at least `wanted`. */
    high = add(high, 1);
    while (low < high && (uint64_t)high - (uint64_t)low > 1) {
        int64_t middle = low + (int64_t)(((uint64_t)high - (uint64_t)low) / 2);
        if (count_begun(rounds, job, middle) < wanted)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* Begins the next round, with at most about `most` sends and receives on each process. The first
 * round begins at INT64_MIN. Returns 0 when there is no round left. Collective. */
static int next_round(struct rounds *rounds, const struct pw_job *job, int64_t most)
{
    if (rounds->to == INT64_MAX)
        return 0;
    int64_t cut = choose_cut(rounds, job, (double)most);
    rounds->from = rounds->to;
    pw_ex_allreduce(&cut, &rounds->to, 1, PW_EX_INT64_T, PW_EX_MIN, job->procs.comm);
    return 1;
}

static void rounds_fini(struct rounds *rounds)
{
    free(rounds->origins);
    free(rounds->ends);
}

/* ---- exchange of items between the processes ---- */

/* Returns the process that reads the file of each rank (-1: no process does), malloc'ed.
 * Collective. NULL on all processes when memory is short on one. */
static int *list_readers(const struct pw_job *job)
{
    int *readers = malloc(sizeof(*readers) * (size_t)job->world.nranks);
    if (!pw_procs_all_ok(&job->procs, readers != NULL)) {
        free(readers);
        return NULL;
    }
    for (int64_t r = 0; r < job->world.nranks; r++)
        readers[r] = -1;
    for (size_t i = 0; i < job->ninputs; i++)
        readers[job->inputs[i].rank] = job->procs.process;
    pw_ex_allreduce(PW_EX_IN_PLACE, readers, (int)job->world.nranks, PW_EX_INT, PW_EX_MAX,
                    job->procs.comm);
    return readers;
}

/* Counts and offsets of the items for each process, or from it; [processes] each. */
struct traffic {
    int *counts, *starts, *in_counts, *in_starts, *next;
};

static size_t count_items(const struct pw_procs *procs, struct traffic *t, const int *destination,
                          size_t n)
{
    int total = 0;
    for (size_t i = 0; i < n; i++)
        if (destination[i] >= 0)
            t->counts[destination[i]]++;
    pw_ex_alltoall(t->counts, 1, PW_EX_INT, t->in_counts, 1, PW_EX_INT, procs->comm);
    for (int q = 0; q < procs->processes; q++) {
        t->starts[q] = t->next[q] = q ? t->starts[q - 1] + t->counts[q - 1] : 0;
        t->in_starts[q] = total;
        total += t->in_counts[q];
    }
    return (size_t)total;
}

static void swap(const struct pw_procs *procs, const struct traffic *t, const char *out,
                 size_t size, char *in)
{
    pw_ex_type type;
    pw_ex_type_contiguous((int)size, PW_EX_BYTE, &type);
    pw_ex_alltoallv(out, t->counts, t->starts, type, in, t->in_counts, t->in_starts, type,
                    procs->comm);
    pw_ex_type_free(&type);
}

/* Items of `size` bytes, and the destination of each; -1: it goes to no process. */
struct shipment {
    const void *items;
    size_t n, size;
    const int *destination;
};

/* Sends the items to their destinations. *arrived (malloc'ed) gets *count items, sorted by sending
 * process; those of one process keep their order. Collective. Returns 0 or -ENOMEM, the same on all
 * processes. */
static int exchange(const struct pw_procs *procs, const struct shipment *s, void **arrived,
                    size_t *count)
{
    const size_t p = (size_t)procs->processes, n = s->n, size = s->size;
    const int *destination = s->destination;
    int *numbers = calloc(5 * p, sizeof(*numbers));
    char *out = malloc(n * size + 1), *in = NULL;
    int ok = pw_procs_all_ok(procs, numbers && out);
    if (ok) {
        struct traffic t = {numbers, numbers + p, numbers + 2 * p, numbers + 3 * p,
                            numbers + 4 * p};
        size_t total = count_items(procs, &t, destination, n);
        in = malloc(total * size + 1);
        for (size_t i = 0; i < n; i++)
            if (destination[i] >= 0)
                memcpy(out + (size_t)t.next[destination[i]]++ * size,
                       (const char *)s->items + i * size, size);
        ok = pw_procs_all_ok(procs, in != NULL);
        if (ok) {
            swap(procs, &t, out, size, in);
            *arrived = in;
            *count = total;
        }
    }
    free(numbers);
    free(out);
    if (!ok)
        free(in);
    return ok ? 0 : -ENOMEM;
}

/* Limit of the sends and receives in memory on each process; a longer run takes more rounds. */
enum { MOST_ENDPOINTS = 1 << 19 };

struct endpoints {
    struct pw_endpoint *v;
    size_t n, capacity;
};

struct matching {
    struct pw_job *job;
    struct rounds rounds;
    int *readers; /* [nranks] the process that reads the rank's file */
    struct pw_endpoint_reader reader;
    struct endpoints sends, receives; /* from this process's files, started in this round */
    struct pw_channels channels;
    struct pw_message_sums sums;
    pw_message_visitor *visit; /* NULL: sums and waits are kept */
    void *context;
    int failed;
};

static void append(struct matching *m, struct endpoints *endpoints,
                   const struct pw_endpoint *endpoint)
{
    struct pw_endpoint *v = pw_grow(endpoints->v, endpoints->n, sizeof(*v), &endpoints->capacity);
    m->failed |= !v;
    if (!v)
        return;
    endpoints->v = v;
    endpoints->v[endpoints->n++] = *endpoint;
}

static void take(void *context, const struct pw_input *input, const struct pw_endpoint_read *read)
{
    struct matching *m = context;
    struct pw_endpoint endpoint = read->endpoint;
    if (!read->receives) {
        append(m, &m->sends, &endpoint);
        return;
    }
    /* All receives that a call completes count as started before its end, except those that are too
     * far out of order. */
    int64_t until = round_from_local(&m->rounds, input, read->end);
    if (!m->visit)
        endpoint.completion = pw_message_sums_call(&m->sums, endpoint.dst, read->end,
                                                   read->begun > read->end ? INT64_MIN : until);
    append(m, &m->receives, &endpoint);
}

static void on_match(void *context, const struct pw_endpoint *send,
                     const struct pw_endpoint *receive)
{
    struct matching *m = context;
    if (m->visit)
        m->visit(m->context, send->src, send->dst, send->at.enter, receive->at.leave);
    else
        pw_message_sums_match(&m->sums, send, receive);
}

static void on_alone(void *context, const struct pw_endpoint *endpoint, int receives)
{
    struct matching *m = context;
    if (!m->visit)
        pw_message_sums_alone(&m->sums, endpoint, receives);
}

/* Returns the worst error of all processes, the same on all. Collective. */
static int agree(const struct matching *m, int err)
{
    return pw_procs_worst(&m->job->procs, m->failed || m->sums.failed ? -ENOMEM : err);
}

static int gather(struct matching *m)
{
    int err = 0;
    m->sends.n = m->receives.n = 0;
    for (size_t i = 0; i < m->job->ninputs && !err; i++) {
        struct pw_input *input = &m->job->inputs[i];
        int64_t from = round_to_local(&m->rounds, input, m->rounds.from);
        int64_t to = round_to_local(&m->rounds, input, m->rounds.to);
        err = pw_endpoints_read(&m->reader, input, from, to);
    }
    return agree(m, err);
}

static int exchange_sends(const struct matching *m, struct pw_endpoint **sends, size_t *n)
{
    int *destination = malloc(sizeof(*destination) * (m->sends.n + 1)), err = -ENOMEM;
    void *arrived;
    for (size_t i = 0; destination && i < m->sends.n; i++)
        destination[i] = m->readers[m->sends.v[i].dst];
    const struct shipment s = {m->sends.v, m->sends.n, sizeof(*m->sends.v), destination};
    err = agree(m, destination ? 0 : -ENOMEM);
    err = err ? err : exchange(&m->job->procs, &s, &arrived, n);
    free(destination);
    if (!err)
        *sends = arrived;
    return err;
}

/* Sends the waits of senders to the processes that read the senders' files. */
static int return_waits(struct matching *m)
{
    struct pw_message_sums *t = &m->sums;
    int *destination = malloc(sizeof(*destination) * (t->nback + 1));
    void *arrived;
    size_t n;
    for (size_t i = 0; destination && i < t->nback; i++)
        destination[i] = m->readers[t->back[i].rank];
    const struct shipment s = {t->back, t->nback, sizeof(*t->back), destination};
    int err = agree(m, destination ? 0 : -ENOMEM);
    err = err ? err : exchange(&m->job->procs, &s, &arrived, &n);
    free(destination);
    if (err)
        return err;
    pw_message_sums_add_waits(t, arrived, n);
    t->nback = 0;
    free(arrived);
    return 0;
}

/* Finds the sends that waited for room in MPI's buffers, after all messages are matched. */
static int match_flows(struct matching *m)
{
    struct pw_flows *flows = &m->sums.flows;
    int err = agree(m, pw_flows_find(flows, m->job));
    for (size_t i = 0; i < flows->n && !err; i++)
        pw_message_sums_add_flow(&m->sums, &flows->v[i]);
    err = err ? err : agree(m, 0);
    return err ? err : return_waits(m);
}

static int match_round(struct matching *m)
{
    struct pw_endpoint *sends = NULL;
    size_t nsends = 0;
    int err = gather(m);
    err = err ? err : exchange_sends(m, &sends, &nsends);
    if (err)
        return err;
    for (size_t i = 0; i < nsends && !err; i++)
        err = pw_channels_add(&m->channels, &sends[i], 0);
    free(sends);
    for (size_t i = 0; i < m->receives.n && !err; i++)
        err = pw_channels_add(&m->channels, &m->receives.v[i], 1);
    pw_channels_end(&m->channels, m->rounds.ends, m->rounds.to);
    if (!m->visit)
        pw_message_sums_calls_until(&m->sums, m->rounds.to);
    err = agree(m, err);
    return err || m->visit ? err : return_waits(m);
}

/* How many endpoints may be read in the next round: the limit minus those that wait for a partner,
 * but at least a quarter of the limit. */
static int64_t most_new_endpoints(const struct matching *m)
{
    size_t waiting = m->channels.waiting;
    return waiting < MOST_ENDPOINTS / 4 * 3 ? (int64_t)(MOST_ENDPOINTS - waiting)
                                            : MOST_ENDPOINTS / 4;
}

/* Adds the events to the progress: they are read once. Blocks that two rounds read are counted
 * once. */
static void expect_reading(struct pw_job *job)
{
    for (size_t i = 0; i < job->ninputs; i++)
        if (job->inputs[i].messages)
            job->progress.total += (int64_t)job->inputs[i].event_rows.rows;
}

static int match_all(struct matching *m, struct pw_job *job)
{
    m->job = job;
    m->reader = (struct pw_endpoint_reader){
        .world = &job->world, .take = take, .context = m, .between_domains = m->visit != NULL};
    m->channels = pw_channels_make(on_match, on_alone, m);
    if (job->world.has_pauses && job->world.clock_error_max_ns >= 0)
        m->channels.impossible_ns = 2 * job->world.clock_error_max_ns;
    m->readers = list_readers(job);
    expect_reading(job);
    int err = m->readers ? begin_rounds(&m->rounds, job) : -ENOMEM;
    while (!err && next_round(&m->rounds, job, most_new_endpoints(m)))
        err = match_round(m);
    if (!err && !m->visit)
        err = match_flows(m);
    free(m->sends.v);
    free(m->receives.v);
    free(m->readers);
    pw_channels_fini(&m->channels);
    pw_endpoint_reader_fini(&m->reader);
    rounds_fini(&m->rounds);
    return err;
}

int pw_messages_match(struct pw_messages *out, struct pw_job *job, struct pw_graph_parts *graph)
{
    struct matching m = {.sums = pw_message_sums_make(out, graph, pw_flows_make(&job->world))};
    *out = (struct pw_messages){0};
    int err = match_all(&m, job);
    if (!err) {
        pw_message_sums_finish(&m.sums);
        err = agree(&m, 0);
    }
    pw_message_sums_fini(&m.sums);
    return err;
}

int pw_messages_visit(struct pw_job *job, pw_message_visitor *visitor, void *context)
{
    struct matching m = {.visit = visitor, .context = context};
    return match_all(&m, job);
}

void pw_messages_fini(struct pw_messages *messages)
{
    free(messages->pairs);
    free(messages->waits);
}

/* ---- rows of /p2p and /links ---- */

static struct pw_row_c_p2p pair_row(const struct pw_pair *pair)
{
    int known = pair->matched > 0;
    return (struct pw_row_c_p2p){
        .src = pair->src,
        .dst = pair->dst,
        .messages = pair->messages,
        .bytes = pair->bytes,
        .late_sender_ns = known ? pair->late_sender_ns : -1,
        .late_receiver_ns = known ? pair->late_receiver_ns : -1,
        .transfer_ns = known ? pair->transfer_ns : -1,
    };
}

/* The link of a pair. Links with messages of about the same size, and both inside a host or both
 * between hosts, are of one kind. */
static struct pw_link link_of(const struct pw_world *world, const struct pw_pair *pair)
{
    const struct pw_row_c_rank *src = &world->ranks[pair->src], *dst = &world->ranks[pair->dst];
    int inside = memcmp(src->hostname, dst->hostname, sizeof(src->hostname)) == 0;
    int known = src->clock_error_ns >= 0 && dst->clock_error_ns >= 0;
    return (struct pw_link){
        .dst = pair->dst,
        .kind = 2 * pw_size_class(pair->messages ? pair->bytes / pair->messages : 0) + inside,
        .messages = pair->unhidden,
        .sum_ns = (double)pair->unhidden_ns,
        .squares_ns =
            (double)pair->unhidden_squares_ns.high * 0x1p64 + (double)pair->unhidden_squares_ns.low,
        .error_ns = known ? src->clock_error_ns + dst->clock_error_ns : -1,
    };
}

static struct pw_row_c_link link_row(const struct pw_pair *pair, const struct pw_link_found *found)
{
    return (struct pw_row_c_link){
        .src = pair->src,
        .dst = pair->dst,
        .messages = pair->messages,
        .bytes = pair->bytes,
        .transfer_ns = (int64_t)found->transfer_ns,
        .others_ns = (int64_t)found->others_ns,
        .ratio = found->transfer_ns / found->others_ns,
        .confidence = found->confidence,
    };
}

static int find_links(struct pw_pairs *out, const struct pw_world *world,
                      const struct pw_pair *pairs)
{
    size_t n = out->n;
    struct pw_link *links = malloc(sizeof(*links) * (n + 1));
    struct pw_link_found *found = malloc(sizeof(*found) * (n + 1));
    int64_t *scratch = malloc(sizeof(*scratch) * (n + 1));
    out->links = calloc(n + 1, sizeof(*out->links));
    int err = links && found && scratch && out->links ? 0 : -ENOMEM;
    for (size_t i = 0; i < n && !err; i++)
        links[i] = link_of(world, &pairs[i]);
    out->nlinks = err ? 0 : pw_links_find(links, n, found, n, scratch);
    for (size_t i = 0; i < out->nlinks; i++)
        out->links[i] = link_row(&pairs[found[i].link], &found[i]);
    free(links);
    free(found);
    free(scratch);
    return err;
}

int pw_pairs_make(struct pw_pairs *out, const struct pw_job *job,
                  const struct pw_messages *messages)
{
    void *all;
    size_t n = pw_procs_allgather(&job->procs, messages->pairs, messages->npairs,
                                  sizeof(*messages->pairs), &all);
    struct pw_pair *pairs = all;
    int err = 0;
    *out = (struct pw_pairs){0};
    if (job->procs.process == 0) {
        out->rows = calloc(n + 1, sizeof(*out->rows));
        out->n = out->rows ? n : 0;
        pw_sort(pairs, n, sizeof(*pairs), pw_pair_by_ranks);
        for (size_t i = 0; i < out->n; i++)
            out->rows[i] = pair_row(&pairs[i]);
        err = out->rows ? find_links(out, &job->world, pairs) : -ENOMEM;
    }
    free(all);
    pw_ex_bcast(&err, 1, PW_EX_INT, 0, job->procs.comm);
    return err;
}

void pw_pairs_fini(struct pw_pairs *pairs)
{
    free(pairs->rows);
    free(pairs->links);
    *pairs = (struct pw_pairs){0};
}
