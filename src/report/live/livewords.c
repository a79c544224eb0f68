/* Writes calls, ranks and times; see livewords.h. */
#include "report/live/livewords.h"

#include <stdlib.h>

#include "core/ops.h"
#include "core/text.h"
#include "report/writing/words.h"

/* Returns the request to name of those that the thread waits for: a missing one if there is one.
 * *others: how many more there are of which the same is known. NULL: it waits for none that is
 * known. */
static const struct pw_live_request *
first_awaited(const struct pw_live *rank, const struct pw_live_thread *thread, int64_t *others)
{
    const struct pw_live_request *best = NULL;
    int64_t n[2] = {0, 0};
    for (size_t i = 0; i < rank->nrequests; i++) {
        const struct pw_live_request *r = &rank->requests[i];
        if (&rank->threads[r->thread] != thread || r->need == PW_LIVE_MATCHED)
            continue;
        if (!best || (r->need == PW_LIVE_MISSING && best->need != PW_LIVE_MISSING))
            best = r;
        n[r->need == PW_LIVE_MISSING] += r->count;
    }
    const int is_missing = best && best->need == PW_LIVE_MISSING;
    *others = best ? n[is_missing] - 1 + (is_missing ? 0 : thread->unlisted) : 0;
    return best;
}

const char *pw_live_call(const struct pw_live *rank, const struct pw_live_thread *thread, char *out,
                         size_t size)
{
    if (!thread || thread->op == PW_OP_None) {
        snprintf(out, size, "no MPI call");
        return out;
    }
    int64_t others = 0;
    const struct pw_live_request *awaited = first_awaited(rank, thread, &others);
    const uint64_t uid = awaited ? awaited->comm_uid : thread->comm_uid;
    const struct pw_live_comm *comm = pw_live_comm(rank, uid);
    struct pw_call_words words = {
        .source = thread->source,
        .op = thread->op,
        .awaited = awaited ? awaited->op : thread->awaited,
        .comm_name = comm ? comm->name : "",
        .comm_uid = uid,
        .seq = awaited ? awaited->seq : thread->seq,
        .peer = awaited ? awaited->peer : thread->peer,
        .tag = awaited ? awaited->tag : thread->tag,
        .others = others,
    };
    return pw_call_write(&words, out, size);
}

const char *pw_live_comm_name(const struct pw_live_view *view, uint64_t uid)
{
    for (size_t r = 0; r < view->n; r++) {
        const struct pw_live_comm *comm = pw_live_comm(&view->ranks[r], uid);
        if (comm && comm->name[0])
            return comm->name;
    }
    return "";
}

/* Whose operation it is that the ranks of the group wait in. */
static uint32_t source_of(const struct pw_live_view *view, const struct pw_hang_group *group)
{
    for (size_t i = 0; i < group->nwaiting; i++) {
        const struct pw_live_thread *thread = pw_live_main(&view->ranks[group->waiting[i]]);
        if (thread && thread->comm_uid == group->comm_uid)
            return thread->source;
    }
    return PW_SOURCE_MPI;
}

const char *pw_live_group(const struct pw_live_view *view, const struct pw_hang_group *group,
                          char *out, size_t size)
{
    struct pw_call_words words = {
        .source = source_of(view, group),
        .op = group->op,
        .comm_name = pw_live_comm_name(view, group->comm_uid),
        .comm_uid = group->comm_uid,
        .seq = group->seq,
        .peer = group->root,
    };
    return pw_call_write(&words, out, size);
}

const char *pw_live_ranks(const struct pw_live_view *view, const int32_t *rows, size_t n, char *out,
                          size_t size)
{
    int32_t *ranks = malloc(sizeof(*ranks) * (n + 1));
    for (size_t i = 0; ranks && i < n; i++)
        ranks[i] = view->ranks[rows[i]].rank;
    if (ranks)
        pw_call_ranks(ranks, n, out, size);
    else
        snprintf(out, size, "%zu ranks", n);
    free(ranks);
    return out;
}

const char *pw_live_time(int64_t ns, char *out, size_t size)
{
    if (ns < 0)
        snprintf(out, size, "an unknown time");
    else
        pw_text_ns(out, size, ns);
    return out;
}
