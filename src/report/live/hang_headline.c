/* Writes the one sentence about a hang, and the verdict as JSON; see liveview.h. */
#include <inttypes.h>
#include <string.h>

#include "core/ops.h"
#include "core/text.h"
#include "report/live/liveview.h"
#include "report/writing/json_row.h"
#include "report/writing/words.h"

static void capitalise(char *text)
{
    if (text[0] == 'r')
        text[0] = 'R';
}

/* "which has been computing (in no MPI call) for 63.0 s", "which has been in MPI_Wait for 12.0 s".
 */
static void add_doing(struct pw_sentence *s, const struct pw_live *rank, const char *who)
{
    const struct pw_live_thread *thread = pw_live_main(rank);
    char call[PW_LIVE_CALL_TEXT], time[32];
    if (!thread) {
        pw_sentence_add(s, "%s has not called MPI yet", who);
        return;
    }
    pw_live_time(thread->since_ns, time, sizeof(time));
    const int is_asleep = rank->state == 'S' || rank->state == 'D';
    if (thread->op == PW_OP_None && is_asleep)
        pw_sentence_add(s, "%s has been in no communication call for %s, and is asleep%s", who,
                        time,
                        rank->state == 'D' ? " in the kernel, as when it waits for a disk" : "");
    else if (thread->op == PW_OP_None)
        pw_sentence_add(s, "%s has been computing (in no MPI call) for %s", who, time);
    else
        pw_sentence_add(s, "%s has been in %s for %s", who,
                        pw_live_call(rank, thread, call, sizeof(call)), time);
    if (rank->state == 'T')
        pw_sentence_add(s, "%s", " and is stopped by a signal");
}

static int has_row(const int32_t *rows, size_t n, int32_t row)
{
    for (size_t i = 0; i < n; i++)
        if (rows[i] == row)
            return 1;
    return 0;
}

/* Returns the collective in which most ranks wait, of those that the first root has not entered; or
 * NULL. */
static const struct pw_hang_group *group_of_root(const struct pw_hang *hang)
{
    const struct pw_hang_group *best = NULL;
    for (size_t i = 0; i < hang->ngroups; i++)
        if (has_row(hang->groups[i].missing, hang->groups[i].nmissing, hang->roots[0]) &&
            (!best || hang->groups[i].nwaiting > best->nwaiting))
            best = &hang->groups[i];
    return best;
}

/* Returns the rank that waits longest for a message of `root`, or NULL. */
static const struct pw_live *partner_of(const struct pw_live_view *view, const struct pw_live *root)
{
    const struct pw_live *best = NULL;
    int64_t longest = -1;
    for (size_t r = 0; r < view->n; r++) {
        const struct pw_live_thread *thread = pw_live_main(&view->ranks[r]);
        if (!thread || thread->op == PW_OP_None || thread->peer != root->rank ||
            pw_op_info(thread->op)->cls == PW_CLASS_COLL || thread->since_ns <= longest)
            continue;
        best = &view->ranks[r];
        longest = thread->since_ns;
    }
    return best;
}

static void say_held(const struct pw_live_view *view, struct pw_sentence *s)
{
    const struct pw_hang *hang = view->hang;
    const struct pw_live *root = &view->ranks[hang->roots[0]];
    const struct pw_hang_group *group = group_of_root(hang);
    const struct pw_live *partner = group ? NULL : partner_of(view, root);
    char ranks[PW_LIVE_RANKS_TEXT], call[PW_LIVE_CALL_TEXT], who[48];
    size_t direct = 0;
    if (group) {
        direct = group->nwaiting;
        pw_live_ranks(view, group->waiting, group->nwaiting, ranks, sizeof(ranks));
        pw_sentence_add(s, "%s wait%s in %s for ", ranks, direct == 1 ? "s" : "",
                        pw_live_group(view, group, call, sizeof(call)));
    } else if (partner) {
        direct = 1;
        pw_sentence_add(s, "rank %" PRId32 " waits in %s for ", partner->rank,
                        pw_live_call(partner, pw_live_main(partner), call, sizeof(call)));
    }
    const int32_t *rows = group ? group->missing : hang->roots;
    size_t n = group ? group->nmissing : hang->nroots;
    pw_sentence_add(s, "%s, ", pw_live_ranks(view, rows, n, ranks, sizeof(ranks)));
    snprintf(who, sizeof(who), n == 1 ? "which" : "of which rank %" PRId32, root->rank);
    add_doing(s, root, who);
    if (hang->held > direct)
        pw_sentence_add(s, "; %zu ranks in all wait for %s", hang->held,
                        hang->nroots == 1 ? "it" : "these, directly or through others");
}

static void say_cycle(const struct pw_live_view *view, struct pw_sentence *s)
{
    enum { SHOWN = 4 };
    const struct pw_hang *hang = view->hang;
    char call[PW_LIVE_CALL_TEXT];
    pw_sentence_add(s, "deadlock: ");
    for (size_t i = 0; i < hang->ncycle && i < SHOWN; i++) {
        const struct pw_live *rank = &view->ranks[hang->cycle[i]];
        pw_sentence_add(s, "%srank %" PRId32 " (in %s)",
                        i == 0   ? ""
                        : i == 1 ? " waits for "
                                 : ", which waits for ",
                        rank->rank, pw_live_call(rank, pw_live_main(rank), call, sizeof(call)));
    }
    if (hang->ncycle > SHOWN)
        pw_sentence_add(s, ", and so on through %zu ranks, the last of which waits for",
                        hang->ncycle);
    else
        pw_sentence_add(s, "%s", hang->ncycle == 1 ? " waits for" : ", which waits for");
    pw_sentence_add(s, " rank %" PRId32, view->ranks[hang->cycle[0]].rank);
    if (hang->held)
        pw_sentence_add(s, "; %zu more rank%s wait%s for these", hang->held,
                        hang->held == 1 ? "" : "s", hang->held == 1 ? "s" : "");
}

static const struct pw_hang_group *mismatched(const struct pw_hang *hang)
{
    for (size_t i = 0; i < hang->ngroups; i++)
        if (hang->groups[i].is_mismatched)
            return &hang->groups[i];
    return NULL;
}

static void say_mismatch(const struct pw_live_view *view, const struct pw_hang_group *group,
                         struct pw_sentence *s)
{
    const struct pw_live *first = NULL, *other = NULL;
    char a[PW_LIVE_CALL_TEXT], b[PW_LIVE_CALL_TEXT];
    for (size_t i = 0; i < group->nwaiting && !other; i++) {
        const struct pw_live *rank = &view->ranks[group->waiting[i]];
        if (!first)
            first = rank;
        else if (pw_live_main(rank)->op != pw_live_main(first)->op)
            other = rank;
    }
    if (!other)
        return;
    pw_sentence_add(s,
                    "ranks disagree about a collective: rank %" PRId32
                    " is in %s, but rank %" PRId32 " in %s",
                    first->rank, pw_live_call(first, pw_live_main(first), a, sizeof(a)),
                    other->rank, pw_live_call(other, pw_live_main(other), b, sizeof(b)));
}

/* It is not known which rank the others wait for: writes which rank waits longest, and in which
 * call. */
static void say_unknown(const struct pw_live_view *view, struct pw_sentence *s)
{
    const struct pw_live *longest = NULL;
    char call[PW_LIVE_CALL_TEXT], time[32], ranks[PW_LIVE_RANKS_TEXT];
    for (size_t r = 0; r < view->n; r++) {
        const struct pw_live_thread *thread = pw_live_main(&view->ranks[r]);
        if (thread && thread->op != PW_OP_None &&
            (!longest || thread->since_ns > pw_live_main(longest)->since_ns))
            longest = &view->ranks[r];
    }
    if (!longest)
        return;
    pw_sentence_add(s, "%zu of %zu ranks wait in MPI calls, rank %" PRId32 " longest: in %s for %s",
                    view->hang->waiting, view->n, longest->rank,
                    pw_live_call(longest, pw_live_main(longest), call, sizeof(call)),
                    pw_live_time(pw_live_main(longest)->since_ns, time, sizeof(time)));
    if (view->nsilent)
        pw_sentence_add(s, "; %s did not answer",
                        pw_call_ranks(view->silent, view->nsilent, ranks, sizeof(ranks)));
    else
        pw_sentence_add(s, "; the rank that they wait for is not known");
}

void pw_live_headline(const struct pw_live_view *view, char *out, size_t size)
{
    struct pw_sentence s = {.out = out, .size = size};
    const struct pw_hang_group *wrong = mismatched(view->hang);
    out[0] = '\0';
    if (wrong)
        say_mismatch(view, wrong, &s);
    if (!out[0]) {
        switch (view->hang->kind) {
        case PW_HANG_CYCLE:
            say_cycle(view, &s);
            break;
        case PW_HANG_HELD:
            say_held(view, &s);
            break;
        case PW_HANG_UNKNOWN:
            say_unknown(view, &s);
            break;
        default:
            pw_sentence_add(&s, "no rank waits any more");
            break;
        }
    }
    capitalise(out);
    if (strncmp(out, "deadlock", 8) == 0)
        out[0] = 'D';
    if (strncmp(out, "no ", 3) == 0)
        out[0] = 'N';
}

/* ---- the verdict as JSON ---- */

static json_t *ranks_of(const struct pw_live_view *view, const int32_t *rows, size_t n)
{
    json_t *array = json_array();
    for (size_t i = 0; array && i < n; i++)
        json_array_append_new(array, json_integer(view->ranks[rows[i]].rank));
    return array;
}

static json_t *group_json(const struct pw_live_view *view, const struct pw_hang_group *group)
{
    char uid[24];
    const char *name = pw_live_comm_name(view, group->comm_uid);
    snprintf(uid, sizeof(uid), "0x%" PRIx64, group->comm_uid);
    return json_pack("{s:s, s:o, s:o, s:o, s:I, s:o, s:o, s:o, s:I, s:o, s:b}", "op",
                     pw_op_info(group->op)->name, "comm_uid",
                     group->comm_uid ? json_string(uid) : json_null(), "comm_name",
                     pw_json_text(name, PW_LIVE_NAME), "seq", pw_json_int(group->seq), "size",
                     (json_int_t)group->size, "root", pw_json_int(group->root), "waiting",
                     ranks_of(view, group->waiting, group->nwaiting), "missing",
                     ranks_of(view, group->missing, group->nmissing), "unknown_members",
                     (json_int_t)group->unknown, "waited_ns", pw_json_int(group->waited_ns),
                     "mismatched", group->is_mismatched);
}

static const char *kind_name(enum pw_hang_kind kind)
{
    static const char *const names[] = {
        [PW_HANG_NOBODY] = "nobody_waits",
        [PW_HANG_HELD] = "held",
        [PW_HANG_CYCLE] = "deadlock",
        [PW_HANG_UNKNOWN] = "unknown",
    };
    return names[kind];
}

json_t *pw_live_hang_json(const struct pw_live_view *view)
{
    const struct pw_hang *hang = view->hang;
    char headline[PW_LIVE_HEADLINE];
    pw_live_headline(view, headline, sizeof(headline));
    json_t *groups = json_array(), *silent = json_array();
    for (size_t i = 0; i < hang->ngroups; i++)
        json_array_append_new(groups, group_json(view, &hang->groups[i]));
    for (size_t i = 0; i < view->nsilent; i++)
        json_array_append_new(silent, json_integer(view->silent[i]));
    return json_pack("{s:o, s:s, s:o, s:o, s:I, s:I, s:o, s:o}", "headline",
                     pw_json_text(headline, sizeof(headline)), "kind", kind_name(hang->kind),
                     "roots", ranks_of(view, hang->roots, hang->nroots), "cycle",
                     ranks_of(view, hang->cycle, hang->ncycle), "held", (json_int_t)hang->held,
                     "waiting", (json_int_t)hang->waiting, "collectives", groups, "silent", silent);
}
