/* Compares the numbers of messages of two ranks; see awaited.h. */
#include "analysis/awaited.h"

#include <stdbool.h>

#include "core/ops.h"
#include "core/search.h"

/* How far the members of a communicator are in its collectives; remembered, because the requests of
 * all ranks ask for few communicators. */
struct progress {
    uint64_t uid;
    int64_t least, members;
};

struct job {
    struct pw_live *ranks;
    size_t n;
    struct progress *progress; /* PROGRESS places, by uid */
};

enum { PROGRESS = 64 };

static const struct pw_live *rank_at(const struct job *job, int32_t rank)
{
    const size_t at = pw_search(job->ranks, job->n, PW_SEARCH_KEY(struct pw_live, rank), rank);
    return rank >= 0 && at < job->n && job->ranks[at].rank == rank ? &job->ranks[at] : NULL;
}

static struct pw_live_pair pair_of(const struct pw_live *rank, uint64_t uid, int32_t peer)
{
    for (size_t i = 0; i < rank->npairs; i++)
        if (rank->pairs[i].comm_uid == uid && rank->pairs[i].peer == peer)
            return rank->pairs[i];
    return (struct pw_live_pair){0};
}

static bool is_both(uint16_t op)
{
    return op == PW_OP_Sendrecv || op == PW_OP_Sendrecv_replace;
}

/* Whether the MPI_Sendrecv of the thread may send to the rank. Its two parts are requests. */
static bool may_send(const struct pw_live *from, size_t thread, int32_t to)
{
    for (size_t i = 0; i < from->nrequests; i++)
        if (from->requests[i].thread == thread && from->requests[i].op == PW_OP_Send)
            return from->requests[i].peer == to;
    return true;
}

/* Sends of blocking calls that have begun. */
static int64_t blocking_sends(const struct pw_live *from, uint64_t uid, int32_t to)
{
    int64_t n = 0;
    for (size_t i = 0; i < from->nthreads; i++) {
        const struct pw_live_thread *t = &from->threads[i];
        n += pw_op_info(t->op)->cls == PW_CLASS_SEND && t->comm_uid == uid &&
             (is_both(t->op) ? may_send(from, i, to) : t->peer == to || t->peer < 0);
    }
    return n;
}

/* Receives from the rank for which calls of `to` wait. */
static int64_t waited_for(const struct pw_live *to, uint64_t uid, int32_t from)
{
    int64_t n = 0;
    for (size_t i = 0; i < to->nthreads; i++)
        n += to->threads[i].op == PW_OP_Recv && to->threads[i].comm_uid == uid &&
             to->threads[i].peer == from;
    for (size_t i = 0; i < to->nrequests; i++)
        if (pw_op_info(to->requests[i].op)->cls == PW_CLASS_RECV &&
            to->requests[i].comm_uid == uid && to->requests[i].peer == from)
            n += to->requests[i].count;
    return n;
}

/* Messages that `from` has sent and `to` has not received; `with_blocked`: with those that may be
 * in a blocking call. -1: not known. */
static int64_t in_transit(const struct pw_live *from, const struct pw_live *to, uint64_t uid,
                          bool with_blocked)
{
    if (!from || !to || !from->pairs_known || !to->pairs_known || !uid)
        return -1;
    const struct pw_live_pair sent = pair_of(from, uid, to->rank);
    const struct pw_live_pair got = pair_of(to, uid, from->rank);
    const int64_t blocked = with_blocked ? blocking_sends(from, uid, to->rank) : 0;
    const int64_t n = sent.sent + sent.sending + blocked - got.received;
    return n > 0 ? n : 0;
}

/* ---- the requests of one thread ---- */

struct waiter {
    const struct job *job;
    struct pw_live *rank;
    struct pw_live_request *list;
    size_t n;
};

static bool is_receive(const struct pw_live_request *r)
{
    return pw_op_info(r->op)->cls == PW_CLASS_RECV;
}

static bool is_collective(const struct pw_live_request *r)
{
    return pw_op_info(r->op)->cls == PW_CLASS_COLL && r->comm_uid && r->seq >= 0;
}

static int64_t receives_from(const struct waiter *w, const struct pw_live_request *like)
{
    int64_t n = 0;
    for (size_t i = 0; i < w->n; i++)
        if (is_receive(&w->list[i]) && w->list[i].peer == like->peer &&
            w->list[i].comm_uid == like->comm_uid)
            n += w->list[i].count;
    return n;
}

static uint8_t need_of_receive(const struct waiter *w, const struct pw_live_request *r)
{
    const struct pw_live *from = rank_at(w->job, r->peer);
    const int64_t most = in_transit(from, w->rank, r->comm_uid, true);
    const int64_t least = in_transit(from, w->rank, r->comm_uid, false);
    const int64_t wanted = receives_from(w, r);
    return most < 0         ? PW_LIVE_UNKNOWN
           : wanted > most  ? PW_LIVE_MISSING
           : wanted > least ? PW_LIVE_UNKNOWN
                            : PW_LIVE_MATCHED;
}

static struct progress progress_of(const struct job *job, uint64_t uid)
{
    struct progress *place = &job->progress[uid % PROGRESS];
    if (place->uid == uid)
        return *place;
    *place = (struct progress){.uid = uid, .least = INT64_MAX};
    for (size_t i = 0; i < job->n; i++) {
        const struct pw_live_comm *comm = pw_live_comm(&job->ranks[i], uid);
        if (comm && comm->reached < place->least)
            place->least = comm->reached;
        place->members += comm != NULL;
    }
    return *place;
}

static uint8_t need_of_collective(const struct waiter *w, const struct pw_live_request *r)
{
    const struct progress all = progress_of(w->job, r->comm_uid);
    const struct pw_live_comm *own = pw_live_comm(w->rank, r->comm_uid);
    if (all.least <= r->seq)
        return PW_LIVE_MISSING;
    return own && all.members == own->size ? PW_LIVE_MATCHED : PW_LIVE_UNKNOWN;
}

static uint8_t need_of(const struct waiter *w, const struct pw_live_request *r)
{
    if (is_collective(r))
        return need_of_collective(w, r);
    if (r->peer < 0)
        return PW_LIVE_UNKNOWN;
    if (is_receive(r))
        return need_of_receive(w, r);
    if (pw_op_info(r->op)->cls != PW_CLASS_SEND)
        return PW_LIVE_UNKNOWN;
    const struct pw_live *to = rank_at(w->job, r->peer);
    const int64_t open = in_transit(w->rank, to, r->comm_uid, true);
    return open >= 0 && open <= waited_for(to, r->comm_uid, w->rank->rank) ? PW_LIVE_MATCHED
                                                                           : PW_LIVE_UNKNOWN;
}

static bool has_one_partner(const struct pw_live_request *a, const struct pw_live_request *b)
{
    if (is_collective(a) || is_collective(b))
        return is_collective(a) && is_collective(b) && a->comm_uid == b->comm_uid &&
               a->seq == b->seq;
    return a->peer >= 0 && a->peer == b->peer;
}

/* If the requests that may be missing have one partner, they are missing. Not if these are sends,
 * and a receive is matched: by the numbers of messages, which do not tell that the tags differ. */
static void settle_alone(const struct waiter *w)
{
    const struct pw_live_request *first = NULL;
    bool has_send = false, has_matched = false;
    for (size_t i = 0; i < w->n; i++) {
        const struct pw_live_request *r = &w->list[i];
        has_matched |= r->need == PW_LIVE_MATCHED && is_receive(r);
        if (r->need == PW_LIVE_MATCHED)
            continue;
        has_send |= pw_op_info(r->op)->cls == PW_CLASS_SEND;
        first = first ? first : r;
        if (!has_one_partner(first, r))
            return;
    }
    if (has_send && has_matched)
        return;
    for (size_t i = 0; first && i < w->n; i++)
        if (w->list[i].need != PW_LIVE_MATCHED)
            w->list[i].need = PW_LIVE_MISSING;
}

static size_t count(const struct waiter *w, uint8_t need)
{
    size_t n = 0;
    for (size_t i = 0; i < w->n; i++)
        n += w->list[i].need == need;
    return n;
}

static bool needs_all(uint16_t op)
{
    return op == PW_OP_Wait || op == PW_OP_Waitall || op == PW_OP_Test || op == PW_OP_Testall ||
           is_both(op);
}

/* Whether the partners of all requests are known, one rank each. */
static bool has_partners(const struct waiter *w)
{
    for (size_t i = 0; i < w->n; i++)
        if (w->list[i].peer < 0 || is_collective(&w->list[i]))
            return false;
    return true;
}

/* A call that returns after any of its requests waits for all of them: none can complete. So that
 * one is missing does not tell that its partner is to blame; only one partner of all does. */
static void settle_thread(const struct waiter *w, const struct pw_live_thread *thread)
{
    const bool all = needs_all(thread->op);
    for (size_t i = 0; i < w->n; i++)
        w->list[i].need = all ? need_of(w, &w->list[i]) : PW_LIVE_UNKNOWN;
    if (count(w, PW_LIVE_MATCHED) == w->n) /* one of them is not: the tags differ, for example */
        for (size_t i = 0; i < w->n; i++)
            w->list[i].need = PW_LIVE_UNKNOWN;
    if (!count(w, PW_LIVE_MISSING) && !thread->unlisted)
        settle_alone(w);
    if (!all && !count(w, PW_LIVE_MISSING) && !thread->unlisted && has_partners(w))
        for (size_t i = 0; i < w->n; i++)
            w->list[i].need = PW_LIVE_EITHER;
}

void pw_awaited_settle(struct pw_live *ranks, size_t n)
{
    struct progress progress[PROGRESS] = {{0}};
    const struct job job = {ranks, n, progress};
    for (size_t r = 0; r < n; r++) {
        struct pw_live *rank = &ranks[r];
        for (size_t i = 0; i < rank->nrequests;) {
            struct waiter w = {.job = &job, .rank = rank, .list = &rank->requests[i]};
            while (i < rank->nrequests && rank->requests[i].thread == w.list->thread) {
                w.n++;
                i++;
            }
            settle_thread(&w, &rank->threads[w.list->thread]);
        }
    }
}
