/* Compares the order of collectives; see ordercheck.h. */
#include "run/ordercheck.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "core/ops.h"
#include "core/sort.h"
#include "core/tables.h"
#include "rank/collect/callread.h"

enum {
    BEFORE = 64, /* calls before the difference that are read, too: they tell what used to follow */
    AFTER = 16,  /* and after it */
    STEP = 1 << 18 /* calls that are read at a time */
};

/* What is known of one communicator. */
struct check {
    const struct pw_inquiry *inquiry;
    uint64_t uid;
    struct pw_callorder_sample *samples;
    size_t n;
    struct pw_callorder_split split;
    int is_of_open_calls; /* the samples are the calls that threads are in */
    int is_to_be_proved;  /* the hashes may differ although the calls do not */
};

/* The collective that a thread is in or waits for. */
static uint16_t op_of(const struct pw_live_thread *t)
{
    return t->awaited ? t->awaited : t->op;
}

/* The call on the communicator that the rank is in, or NULL. */
static const struct pw_live_thread *open_call(const struct pw_live *live, uint64_t uid)
{
    for (size_t i = 0; i < live->nthreads; i++)
        if (live->threads[i].queue == PW_LIVE_THREAD && live->threads[i].comm_uid == uid &&
            live->threads[i].seq >= 0 && pw_op_info(op_of(&live->threads[i]))->cls == PW_CLASS_COLL)
            return &live->threads[i];
    return NULL;
}

static int is_signed(uint32_t signature)
{
    return (signature & PW_CALLORDER_REDUCTION_MASK) != PW_REDUCTION_UNKNOWN;
}

/* The hashes that the ranks keep. */
static void take_hashes(struct check *c)
{
    c->n = 0;
    for (size_t row = 0; row < c->inquiry->n; row++) {
        const struct pw_live_comm *comm = pw_live_comm(&c->inquiry->lives[row], c->uid);
        for (size_t i = 0; comm && i < comm->norder; i++)
            c->samples[c->n++] = (struct pw_callorder_sample){comm->order[i].count,
                                                              comm->order[i].hash, (int32_t)row};
    }
}

/* The hash of the rank after `count` collectives. Before the first one it is 0. */
static int hash_after(const struct pw_live_comm *comm, int64_t count, uint64_t *hash)
{
    *hash = 0;
    for (size_t i = 0; i < comm->norder; i++)
        if (comm->order[i].count == count) {
            *hash = comm->order[i].hash;
            return 1;
        }
    return count == 0;
}

/* Adds the hash that each rank will have after the call that it is in. Where it has made a
 * communicator from this one since its last collective, this hash is wrong. */
static void add_next_hashes(struct check *c)
{
    uint64_t before;
    for (size_t row = 0; row < c->inquiry->n; row++) {
        const struct pw_live_comm *comm = pw_live_comm(&c->inquiry->lives[row], c->uid);
        const struct pw_live_thread *t = open_call(&c->inquiry->lives[row], c->uid);
        if (comm && comm->source == PW_SOURCE_MPI && t && is_signed(t->signature) &&
            t->seq < UINT32_MAX && hash_after(comm, t->seq, &before))
            c->samples[c->n++] = (struct pw_callorder_sample){
                (uint32_t)t->seq + 1, before * PW_CALLORDER_FACTOR + t->signature, (int32_t)row};
    }
}

/* The calls that ranks are in now. Where the signature of one is not known, only the operations are
 * compared. */
static void take_open_calls(struct check *c)
{
    int all_signed = 1;
    c->n = 0;
    for (size_t row = 0; row < c->inquiry->n; row++) {
        const struct pw_live_thread *t = open_call(&c->inquiry->lives[row], c->uid);
        all_signed &= !t || is_signed(t->signature);
    }
    for (size_t row = 0; row < c->inquiry->n; row++) {
        const struct pw_live_thread *t = open_call(&c->inquiry->lives[row], c->uid);
        if (t && t->seq < UINT32_MAX)
            c->samples[c->n++] = (struct pw_callorder_sample){
                (uint32_t)t->seq + 1, (uint64_t)op_of(t) << 32 | (all_signed ? t->signature : 0),
                (int32_t)row};
    }
}

static struct pw_ordered_call call_of(const struct pw_live_thread *t)
{
    return (struct pw_ordered_call){.start = UINT64_MAX,
                                    .seq = t->seq,
                                    .bytes = -1,
                                    .root = t->peer,
                                    .signature = t->signature,
                                    .op = op_of(t)};
}

/* ---- the calls of a rank ---- */

struct calls {
    struct pw_ordered_call *list;
    size_t n;
};

/* Reads the calls first to last from the journal, and adds the call that the rank is in. Calls that
 * are open were recorded by nobody yet. */
static struct calls read_calls(const struct check *c, int32_t row, int64_t first, int64_t last)
{
    char path[PATH_MAX + 32];
    const struct pw_live *live = &c->inquiry->lives[row];
    const struct pw_callread_wanted wanted = {c->uid, first, last};
    struct calls calls = {0};
    snprintf(path, sizeof(path), "%s/rank-%05d.journal", c->inquiry->dir, (int)live->rank);
    const int err = pw_callread(path, &wanted, &calls.list, &calls.n);
    if (err)
        pw_debug(PW_LOG_WATCH, 1, "%s: %s", path, strerror(-err));
    const struct pw_live_thread *t = open_call(live, c->uid);
    if (!t || t->seq < first || t->seq > last)
        return calls;
    for (size_t i = 0; i < calls.n; i++)
        if (calls.list[i].seq == t->seq)
            return calls;
    struct pw_ordered_call *list = realloc(calls.list, (calls.n + 1) * sizeof(*list));
    if (!list)
        return calls;
    list[calls.n] = call_of(t);
    return (struct calls){list, calls.n + 1};
}

static void keep_difference(const struct calls *most, const struct calls *other,
                            const struct pw_callorder_difference *found,
                            struct pw_order_finding *out)
{
    out->kind = found->kind;
    out->seq = found->seq;
    out->of_most = most->list[found->at];
    out->of_others = other->list[found->at];
}

/* Finds the first call that differs between `agreed` and `differ`. */
static void find_call(const struct check *c, struct pw_order_finding *out)
{
    const struct pw_callorder_split *split = &c->split;
    int64_t first = split->agreed > BEFORE ? split->agreed - BEFORE : 0;
    out->kind = PW_CALLORDER_GAP;
    out->seq = -1;
    for (int is_found = 0; !is_found && first < split->differ; first += STEP - BEFORE) {
        const int64_t last =
            first + STEP < split->differ + AFTER ? first + STEP : split->differ + AFTER;
        struct calls most = read_calls(c, split->most, first, last);
        struct calls other = read_calls(c, split->fewest, first, last);
        struct pw_callorder_difference found;
        pw_callorder_compare(most.list, most.n, other.list, other.n, &found);
        is_found = found.kind != PW_CALLORDER_SAME;
        if (is_found && found.kind != PW_CALLORDER_GAP)
            keep_difference(&most, &other, &found, out);
        free(most.list);
        free(other.list);
    }
    if (out->kind != PW_CALLORDER_GAP || !c->is_of_open_calls)
        return;
    /* Earlier calls are not known, but the ranks are in these two now. */
    out->kind = PW_CALLORDER_OTHER;
    out->seq = split->differ - 1;
    out->of_most = call_of(open_call(&c->inquiry->lives[split->most], c->uid));
    out->of_others = call_of(open_call(&c->inquiry->lives[split->fewest], c->uid));
}

/* ---- findings ---- */

static int by_value(const void *a, const void *b)
{
    PW_COMPARE(*(const int32_t *)a, *(const int32_t *)b);
    return 0;
}

static uint64_t hash_of(const struct check *c, int32_t row)
{
    for (size_t i = 0; i < c->split.n; i++)
        if (c->samples[c->split.first + i].row == row)
            return c->samples[c->split.first + i].hash;
    return 0;
}

/* Lists the ranks of the two groups. Returns 0, or -1 when memory is short. */
static int list_ranks(const struct check *c, struct pw_order_finding *out)
{
    const uint64_t most = hash_of(c, c->split.most), fewest = hash_of(c, c->split.fewest);
    out->most = malloc(sizeof(*out->most) * (c->split.n + 1));
    out->others = malloc(sizeof(*out->others) * (c->split.n + 1));
    if (!out->most || !out->others)
        return -1;
    for (size_t i = 0; i < c->split.n; i++) {
        const struct pw_callorder_sample *sample = &c->samples[c->split.first + i];
        const int32_t rank = c->inquiry->lives[sample->row].rank;
        if (sample->hash == most)
            out->most[out->nmost++] = rank;
        else if (sample->hash == fewest)
            out->others[out->nothers++] = rank;
        else
            out->nmore++;
    }
    pw_sort(out->most, out->nmost, sizeof(*out->most), by_value);
    pw_sort(out->others, out->nothers, sizeof(*out->others), by_value);
    return 0;
}

/* Where a rank is in Python, if it is in this call. */
static void note_site(const struct check *c, int32_t row, int64_t seq, char site[PW_LIVE_PLACE])
{
    const struct pw_live *live = &c->inquiry->lives[row];
    const struct pw_live_thread *t = open_call(live, c->uid);
    for (size_t i = 0; t && t->seq == seq && i < live->nstacks; i++)
        if (live->stacks[i].tid == t->tid)
            memcpy(site, live->stacks[i].place, PW_LIVE_PLACE);
}

static void free_finding(struct pw_order_finding *f)
{
    free(f->most);
    free(f->others);
}

static void add_finding(const struct check *c, struct pw_order_findings *out)
{
    if (out->n == PW_ORDER_FINDINGS) {
        out->more += !c->is_to_be_proved; /* what is not proved may be alike */
        return;
    }
    struct pw_order_finding *f = &out->list[out->n];
    *f = (struct pw_order_finding){.comm_uid = c->uid,
                                   .is_even = c->split.is_even,
                                   .agreed = c->split.agreed,
                                   .differ = c->split.differ};
    for (size_t row = 0; row < c->inquiry->n && !f->comm_name[0]; row++) {
        const struct pw_live_comm *comm = pw_live_comm(&c->inquiry->lives[row], c->uid);
        if (!comm)
            continue;
        memcpy(f->comm_name, comm->name, sizeof(f->comm_name));
        f->source = comm->source;
    }
    if (list_ranks(c, f) == 0)
        find_call(c, f);
    note_site(c, c->split.most, f->seq, f->site_of_most);
    note_site(c, c->split.fewest, f->seq, f->site_of_others);
    out->n += !c->is_to_be_proved || f->kind != PW_CALLORDER_GAP;
    if (c->is_to_be_proved && f->kind == PW_CALLORDER_GAP)
        free_finding(f);
}

/* Whether all answers let the order on the communicator be compared. */
static int is_comparable(const struct check *c)
{
    for (size_t row = 0; row < c->inquiry->n; row++) {
        const struct pw_live_comm *comm = pw_live_comm(&c->inquiry->lives[row], c->uid);
        if (comm && comm->order_state != PW_CALLORDER_COMPARED)
            return 0;
    }
    return 1;
}

static int is_alike(const struct pw_live_thread *a, const struct pw_live_thread *b)
{
    return op_of(a) == op_of(b) && a->peer == b->peer;
}

/* The least number of a collective that a rank is in and another one has left; -1: there is none.
 */
static int64_t first_late(const struct check *c)
{
    int64_t most = 0, first = -1;
    for (size_t row = 0; row < c->inquiry->n; row++) {
        const struct pw_live_comm *comm = pw_live_comm(&c->inquiry->lives[row], c->uid);
        most = comm && comm->reached > most ? comm->reached : most;
    }
    for (size_t row = 0; row < c->inquiry->n; row++) {
        const struct pw_live_thread *t = open_call(&c->inquiry->lives[row], c->uid);
        if (t && t->seq < most && t->seq < UINT32_MAX && (first < 0 || t->seq < first))
            first = t->seq;
    }
    return first;
}

/* Takes the ranks that have left the collective, and those that are in it by the same operation and
 * root. */
static void take_late(struct check *c, const struct pw_live_thread *like)
{
    c->n = 0;
    for (size_t row = 0; row < c->inquiry->n; row++) {
        const struct pw_live_comm *comm = pw_live_comm(&c->inquiry->lives[row], c->uid);
        const struct pw_live_thread *t = open_call(&c->inquiry->lives[row], c->uid);
        const int is_late = t && t->seq == like->seq && is_alike(t, like);
        if (is_late || (comm && comm->reached > like->seq))
            c->samples[c->n++] = (struct pw_callorder_sample){(uint32_t)like->seq + 1,
                                                              (uint64_t)is_late, (int32_t)row};
    }
}

/* Compares the operation and the root of the call that a rank is in with what the others that have
 * left it recorded: the signature of a call that has not ended is not always known. */
static void check_late(struct check *c, struct pw_order_findings *out)
{
    const int64_t seq = first_late(c);
    const struct pw_live_thread *last = NULL;
    const size_t found = out->n + out->more;
    for (size_t row = 0; seq >= 0 && row < c->inquiry->n && out->n + out->more == found; row++) {
        const struct pw_live_thread *t = open_call(&c->inquiry->lives[row], c->uid);
        if (!t || t->seq != seq || (last && is_alike(t, last)))
            continue;
        last = t;
        take_late(c, t);
        if (!pw_callorder_split(c->samples, c->n, &c->split))
            continue;
        c->split.agreed = seq;
        add_finding(c, out);
    }
}

static void check_comm(struct check *c, struct pw_order_findings *out)
{
    if (!is_comparable(c)) {
        out->uncompared++;
        return;
    }
    out->compared++;
    c->is_of_open_calls = c->is_to_be_proved = 0;
    take_hashes(c);
    if (pw_callorder_split(c->samples, c->n, &c->split)) {
        add_finding(c, out);
        return;
    }
    /* With those that have gone on, too: this tells more than what ranks are in now. */
    const size_t found = out->n + out->more;
    c->is_to_be_proved = 1;
    add_next_hashes(c);
    if (pw_callorder_split(c->samples, c->n, &c->split))
        add_finding(c, out);
    if (out->n + out->more == found)
        check_late(c, out);
    if (out->n + out->more > found)
        return;
    c->is_to_be_proved = 0;
    c->is_of_open_calls = 1;
    take_open_calls(c);
    if (pw_callorder_split(c->samples, c->n, &c->split)) {
        c->split.agreed = c->split.differ - 1;
        add_finding(c, out);
    }
}

/* Whether an earlier answer has the communicator, too. */
static int is_seen(const struct pw_inquiry *inquiry, size_t row, uint64_t uid)
{
    for (size_t r = 0; r < row; r++)
        if (pw_live_comm(&inquiry->lives[r], uid))
            return 1;
    return 0;
}

void pw_ordercheck_find(const struct pw_inquiry *inquiry, struct pw_order_findings *out)
{
    struct check c = {.inquiry = inquiry};
    memset(out, 0, sizeof(*out));
    c.samples = malloc(sizeof(*c.samples) * (inquiry->n + 1) * (PW_CALLORDER_LEVELS + 1));
    for (size_t row = 0; row < inquiry->n && c.samples; row++)
        for (size_t i = 0; i < inquiry->lives[row].ncomms; i++) {
            const struct pw_live_comm *comm = &inquiry->lives[row].comms[i];
            if (comm->size == 1 || is_seen(inquiry, row, comm->uid)) /* 0: not known */
                continue;
            c.uid = comm->uid;
            check_comm(&c, out);
        }
    free(c.samples);
}

void pw_ordercheck_fini(struct pw_order_findings *findings)
{
    for (size_t i = 0; i < findings->n; i++)
        free_finding(&findings->list[i]);
    findings->n = 0;
}
