/* Writes how a job ended that did not end well, for the headline; see firstscreen.h. */
#include <ctype.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/advice/advice_unrecorded.h"
#include "analysis/ending.h"
#include "core/limits.h"
#include "core/ops.h"
#include "core/search.h"
#include "report/content/firstscreen.h"
#include "report/writing/words.h"

enum { RANKS_TEXT = 96 };

/* The parts of a job's end. `ranks`: scratch of as many numbers as there are rows. */
struct told {
    const struct pw_figures *figures;
    const struct pw_row_c_ending *rows;
    size_t n;
    int32_t *ranks;
    size_t nfirst;
    const struct pw_row_c_ending *first; /* the first of the rows that ended first */
    int64_t began_ns, first_span_ns;     /* when the first began, and how much later the last did */
};

enum { MISSING_SHOWN = 4 }; /* spans of ranks */

static int is_missing(const struct pw_cluster *c, const struct pw_row_c_rank *rank)
{
    (void)c;
    return !rank->present;
}

static int is_unseen(const struct pw_cluster *c, const struct pw_row_c_rank *rank)
{
    return !rank->present || pw_unrecorded_has(c, rank->rank) ||
           pw_unrecorded_is_silent(c, rank->rank);
}

/* Names the ranks that `is_one` accepts, `missing` in all. */
static void write_ranks_that(const struct pw_figures *f,
                             int (*is_one)(const struct pw_cluster *, const struct pw_row_c_rank *),
                             int64_t missing, struct pw_sentence *s)
{
    const struct pw_row_c_rank *ranks = f->cluster->ranks;
    int64_t named = 0;
    int spans = 0;
    for (size_t i = 0, next; i < f->nranks && spans < MISSING_SHOWN; i = next) {
        for (next = i; next < f->nranks && is_one(f->cluster, &ranks[next]);)
            next++;
        if (next == i) {
            next++;
            continue;
        }
        pw_sentence_add(s, "%s%" PRId32,
                        spans++        ? ", "
                        : missing == 1 ? "rank "
                                       : "ranks ",
                        ranks[i].rank);
        if (next - i > 1)
            pw_sentence_add(s, "-%" PRId32, ranks[next - 1].rank);
        named += (int64_t)(next - i);
    }
    if (named && missing > named)
        pw_sentence_add(s, " and %" PRId64 " more", missing - named);
}

void pw_missing_write(const struct pw_figures *f, struct pw_sentence *s)
{
    write_ranks_that(f, is_missing, f->expected - f->present, s);
}

int64_t pw_unseen_write(const struct pw_figures *f, struct pw_sentence *s)
{
    int64_t n = f->expected - (int64_t)f->nranks;
    for (size_t i = 0; i < f->nranks; i++)
        n += is_unseen(f->cluster, &f->cluster->ranks[i]);
    write_ranks_that(f, is_unseen, n, s);
    return n;
}

int pw_ending_is_bad(const struct pw_cluster *c)
{
    for (size_t i = 0; i < c->nendings && c->snapshot <= 0; i++)
        if (c->endings[i].ended == PW_ENDED_FIRST)
            return 1;
    return 0;
}

int64_t pw_ending_count_bad(const struct pw_cluster *c)
{
    int64_t n = 0;
    for (size_t i = 0; i < c->nendings; i++)
        n += c->endings[i].ended == PW_ENDED_FIRST || c->endings[i].ended == PW_ENDED_LATER;
    return n;
}

/* ---- sets of ranks ---- */

typedef int is_in(const struct pw_row_c_ending *row);

static int is_first(const struct pw_row_c_ending *row)
{
    return row->ended == PW_ENDED_FIRST;
}

static int is_well(const struct pw_row_c_ending *row)
{
    return row->ended == PW_ENDED_WELL;
}

static int is_unknown(const struct pw_row_c_ending *row)
{
    return row->ended == PW_ENDED_UNKNOWN;
}

static int has_waited(const struct pw_row_c_ending *row)
{
    return row->waited != 0;
}

static int holds_others(const struct pw_row_c_ending *row)
{
    return row->held > 0;
}

static int is_launched(const struct pw_row_c_ending *row)
{
    return row->ended == PW_ENDED_LATER && pw_ending_is_by_launcher(row);
}

static int has_failed(const struct pw_row_c_ending *row)
{
    return row->ended == PW_ENDED_LATER && !pw_ending_is_by_launcher(row);
}

/* "ranks 1-3"; "" when the set is empty. Returns how many. */
static size_t write_set(const struct told *t, is_in *has, char text[RANKS_TEXT])
{
    size_t n = 0;
    text[0] = '\0';
    for (size_t i = 0; i < t->n; i++)
        if (has(&t->rows[i]))
            t->ranks[n++] = t->rows[i].rank;
    if (n)
        pw_call_ranks(t->ranks, n, text, RANKS_TEXT);
    return n;
}

/* The row of the set that began to end first; NULL when the set is empty. */
static const struct pw_row_c_ending *first_of(const struct told *t, is_in *has)
{
    const struct pw_row_c_ending *found = NULL;
    for (size_t i = 0; i < t->n; i++)
        if (has(&t->rows[i]) && (!found || t->rows[i].began < found->began))
            found = &t->rows[i];
    return found;
}

static const struct pw_row_c_exception *exception_of(const struct pw_cluster *c, int32_t rank)
{
    const struct pw_row_c_exception *found = NULL;
    for (size_t i = 0; i < c->nexceptions; i++)
        if (c->exceptions[i].rank == rank && c->exceptions[i].is_main)
            found = &c->exceptions[i];
    return found;
}

/* Whether one line of the program ended both, by the same type of exception. */
static int is_same_exception(const struct told *t, int32_t a, int32_t b)
{
    const struct pw_row_c_exception *x = exception_of(t->figures->cluster, a);
    const struct pw_row_c_exception *y = exception_of(t->figures->cluster, b);
    if (!x || !y)
        return x == y;
    return x->line == y->line && strcmp(x->type, y->type) == 0 && strcmp(x->file, y->file) == 0;
}

static int is_same_end(const struct told *t, const struct pw_row_c_ending *a,
                       const struct pw_row_c_ending *b)
{
    return a->how == b->how && a->exit_code == b->exit_code && a->exit_signal == b->exit_signal &&
           a->abort_code == b->abort_code && a->mpi == b->mpi && a->mpi_error == b->mpi_error &&
           (a == b || a->how != PW_HOW_EXCEPTION || is_same_exception(t, a->rank, b->rank));
}

/* ---- calls ---- */

static const struct pw_row_c_ending *row_of(const struct told *t, int32_t rank)
{
    const size_t at = pw_search(t->rows, t->n, PW_SEARCH_KEY(struct pw_row_c_ending, rank), rank);
    return at < t->n && t->rows[at].rank == rank ? &t->rows[at] : NULL;
}

/* Lists in t->ranks those that were in the same call as `call` and are in the set. Open calls are
 * sorted by rank, like the rows. */
static size_t list_callers(const struct told *t, is_in *has, const struct pw_row_c_open_call *call)
{
    const struct pw_cluster *c = t->figures->cluster;
    size_t n = 0, row = 0;
    for (size_t i = 0; i < c->nopen_calls; i++) {
        while (row < t->n && t->rows[row].rank < c->open_calls[i].rank)
            row++;
        if (row == t->n || t->rows[row].rank != c->open_calls[i].rank || !has(&t->rows[row]) ||
            !pw_opencall_is_same(&c->open_calls[i], call) ||
            (n && t->ranks[n - 1] == t->rows[row].rank))
            continue;
        t->ranks[n++] = t->rows[row].rank;
    }
    return n;
}

/* The call in which most ranks waited, of the first ones that did; NULL: no rank waited. */
static const struct pw_row_c_open_call *common_call(const struct told *t)
{
    enum { MOST = 32 };
    const struct pw_cluster *c = t->figures->cluster;
    const struct pw_row_c_open_call *best = NULL;
    size_t most = 0;
    for (size_t i = 0, looked = 0; i < c->nopen_calls && looked < MOST; i++) {
        const struct pw_row_c_ending *row = row_of(t, c->open_calls[i].rank);
        if (!row || !row->waited)
            continue;
        const size_t n = list_callers(t, has_waited, &c->open_calls[i]);
        best = n > most ? &c->open_calls[i] : best;
        most = n > most ? n : most;
        looked++;
    }
    return best;
}

/* ---- how and where a rank ended ---- */

static void add_place(const struct pw_row_c_exception *e, struct pw_sentence *s)
{
    char file[sizeof(e->file) + 1];
    snprintf(file, sizeof(file), "%.*s", (int)sizeof(e->file), e->file);
    const char *slash = strrchr(file, '/');
    if (file[0])
        pw_sentence_add(s, " at %s", slash ? slash + 1 : file);
    if (file[0] && e->line > 0)
        pw_sentence_add(s, ":%" PRId32, e->line);
}

static void say_exception(const struct told *t, const struct pw_row_c_ending *row,
                          struct pw_sentence *s)
{
    const struct pw_row_c_exception *e = exception_of(t->figures->cluster, row->rank);
    if (e && strcmp(e->type, "SystemExit") == 0)
        pw_sentence_add(s, "ended by sys.exit(%.40s%s)", e->message,
                        strlen(e->message) > 40 ? "..." : "");
    else
        pw_sentence_add(s, "ended by the exception %.64s", e ? e->type : "not known");
    if (e)
        add_place(e, s);
}

static void say_exit(const struct pw_row_c_ending *row, struct pw_sentence *s)
{
    pw_sentence_add(s, "exited with status %" PRId32 "%s", row->exit_code,
                    row->mpi == PW_MPI_USE_OPEN        ? " without MPI_Finalize"
                    : row->mpi == PW_MPI_USE_FINALIZED ? " after MPI_Finalize"
                                                       : "");
}

static void say_abort(const struct told *t, const struct pw_row_c_ending *row,
                      struct pw_sentence *s)
{
    const struct pw_row_c_open_call *call = pw_opencall_last(t->figures->cluster, row->rank);
    if (call && call->comm_name[0])
        pw_sentence_add(s, "called MPI_Abort(%.64s, %" PRId32 ")", call->comm_name,
                        row->abort_code);
    else
        pw_sentence_add(s, "called MPI_Abort with error code %" PRId32, row->abort_code);
}

/* "was killed by signal 11 (Segmentation fault)"; `be`: was or were. */
static void say_how(const struct told *t, const struct pw_row_c_ending *row, const char *be,
                    struct pw_sentence *s)
{
    switch (row->how) {
    case PW_HOW_EXIT:
        say_exit(row, s);
        break;
    case PW_HOW_SIGNAL:
        pw_sentence_add(s, "%s killed by signal %" PRId32 " (%s)", be, row->exit_signal,
                        strsignal(row->exit_signal));
        break;
    case PW_HOW_MEMORY:
        pw_sentence_add(s,
                        "%s killed by the kernel (signal %" PRId32 "), because %s cgroup ran "
                        "out of memory",
                        be, row->exit_signal, strcmp(be, "was") ? "their" : "its");
        break;
    case PW_HOW_ABORT:
        say_abort(t, row, s);
        break;
    case PW_HOW_EXCEPTION:
        say_exception(t, row, s);
        break;
    case PW_HOW_MPI_ERROR:
        pw_sentence_add(s, "ended by the MPI error %s",
                        pw_enum_name(PW_F_MPI_ERROR, row->mpi_error));
        break;
    default:
        pw_sentence_add(s, "ended in an unknown way");
        break;
    }
}

/* " in step 50, in no MPI call". */
static void say_where(const struct told *t, const struct pw_row_c_ending *row,
                      struct pw_sentence *s)
{
    const int is_killed = row->how == PW_HOW_SIGNAL || row->how == PW_HOW_MEMORY;
    const int has_reason = row->how == PW_HOW_EXCEPTION || row->how == PW_HOW_MPI_ERROR;
    const struct pw_row_c_open_call *call = pw_opencall_last(t->figures->cluster, row->rank);
    char text[PW_CALL_TEXT];
    if (row->step >= 0)
        pw_sentence_add(s, " %s %s %" PRId64, row->in_step ? "in" : "after",
                        pw_words_step(t->figures->cluster), row->step);
    if (call && row->how != PW_HOW_ABORT && call->op != PW_OP_Abort)
        pw_sentence_add(s, "%s in %s", row->step >= 0 ? "," : "", pw_opencall_write(call, text));
    else if (is_killed && row->mpi == PW_MPI_USE_OPEN)
        pw_sentence_add(s, "%s in no MPI call", row->step >= 0 ? "," : "");
    else if (is_killed && row->mpi == PW_MPI_USE_FINALIZED)
        pw_sentence_add(s, "%s after MPI_Finalize", row->step >= 0 ? "," : "");
    if (row->how == PW_HOW_EXCEPTION && row->abort_code)
        pw_sentence_add(s, " (and called MPI_Abort with error code %" PRId32 ")", row->abort_code);
    else if (has_reason && row->exit_signal > 0)
        pw_sentence_add(s, " (and later by signal %" PRId32 ")", row->exit_signal);
    else if (has_reason)
        pw_sentence_add(s, " (exit status %" PRId32 ")", row->exit_code);
}

/* ---- the ranks that ended first ---- */

static int is_killed(const struct pw_row_c_ending *row)
{
    return row->how == PW_HOW_SIGNAL && row->exit_signal == SIGKILL;
}

/* 1 when the launcher may have killed all ranks. Hydra does so when one of them has had an error
 * that MPI does not return, before that rank can exit. Then nothing tells which rank that was. */
static int may_be_killed_by_launcher(const struct told *t)
{
    return pw_ending_is_together(t->rows, t->n) && is_killed(t->first) &&
           pw_opencall_last(t->figures->cluster, t->first->rank) != NULL;
}

/* Says the rank's exception is about another one: no rank was found that can be the reason. */
static void say_answer(const struct told *t, struct pw_sentence *s)
{
    const struct pw_row_c_exception *e = exception_of(t->figures->cluster, t->first->rank);
    if (t->first->how == PW_HOW_EXCEPTION && e && pw_ending_is_answer(e->type, e->message))
        pw_sentence_add(s, ", because another rank did not answer or had gone");
}

/* By how much a rank's memory grew from its first sample to its last, bytes; -1: not known. */
static int64_t growth_of(const struct pw_cluster *c, int32_t rank)
{
    int64_t first = -1, last = -1;
    for (size_t i = 0; i < c->nutilisation_series; i++) {
        const struct pw_row_c_utilisation_series *row = &c->utilisation_series[i];
        if (row->rank != rank || row->rss_bytes < 0)
            continue;
        first = first < 0 ? row->rss_bytes : first;
        last = row->rss_bytes;
    }
    return first < 0 ? -1 : pw_difference(last, first);
}

/* Of several ranks that were killed for lack of memory, the one whose memory grew most: the kernel
 * may kill another one first. The first one where that is not known. */
static const struct pw_row_c_ending *taker_of_memory(const struct told *t)
{
    const struct pw_cluster *c = t->figures->cluster;
    const struct pw_row_c_ending *most = t->first;
    int64_t growth = growth_of(c, t->first->rank);
    for (size_t i = 0; i < t->n && t->first->how == PW_HOW_MEMORY && growth >= 0; i++) {
        const int64_t one = growth_of(c, t->rows[i].rank);
        if (t->rows[i].how != PW_HOW_MEMORY || one <= growth)
            continue;
        growth = one;
        most = &t->rows[i];
    }
    return most;
}

/* "Rank 3 on node1, whose memory grew most (1.2 GB; first to end: rank 1)". */
static void say_taker(const struct told *t, const struct pw_row_c_ending *row,
                      struct pw_sentence *s)
{
    char grown[32];
    if (row == t->first)
        return;
    pw_sentence_add(s, ", whose memory grew most (%s; first to end: rank %" PRId32 "),",
                    pw_text_bytes(grown, sizeof(grown), growth_of(t->figures->cluster, row->rank)),
                    t->first->rank);
}

static void say_one(const struct told *t, struct pw_sentence *s)
{
    const struct pw_row_c_ending *row = taker_of_memory(t);
    const int64_t at = pw_figures_row(t->figures, row->rank);
    const char *host = at < 0 ? "" : t->figures->cluster->ranks[at].hostname;
    pw_sentence_add(s, "Rank %" PRId32, row->rank);
    if (host[0])
        pw_sentence_add(s, " on %.64s", host);
    say_taker(t, row, s);
    pw_sentence_add(s, " ");
    say_how(t, row, "was", s);
    say_where(t, row, s);
    say_answer(t, s);
}

/* 1 when all rows ended as the first one did, and in one step if `in_step`. */
static int are_alike(const struct told *t, is_in *has, int in_step)
{
    for (size_t i = 0; i < t->n; i++)
        if (has(&t->rows[i]) && (!is_same_end(t, &t->rows[i], t->first) ||
                                 (in_step && (t->rows[i].step != t->first->step ||
                                              t->rows[i].in_step != t->first->in_step))))
            return 0;
    return 1;
}

/* What the ranks did that a signal from outside ended, which may show why the job was ended:
 * "; ranks 0-2 were in MPI_Barrier #7 on MPI_COMM_WORLD, rank 3 in MPI_Finalize". */
static void say_calls(const struct told *t, is_in *has, struct pw_sentence *s)
{
    enum { SHOWN = 3 };
    const struct pw_cluster *c = t->figures->cluster;
    const struct pw_row_c_open_call *shown[SHOWN];
    char ranks[RANKS_TEXT], text[PW_CALL_TEXT];
    size_t nshown = 0;
    for (size_t i = 0; i < c->nopen_calls && nshown < SHOWN; i++) {
        const struct pw_row_c_open_call *call = &c->open_calls[i];
        size_t k = 0;
        while (k < nshown && !pw_opencall_is_same(call, shown[k]))
            k++;
        const size_t n = k == nshown ? list_callers(t, has, call) : 0;
        if (!n)
            continue;
        pw_call_ranks(t->ranks, n, ranks, sizeof(ranks));
        pw_sentence_add(s, "%s %s%s in %s", nshown ? "," : ";", ranks,
                        nshown   ? ""
                        : n == 1 ? " was"
                                 : " were",
                        pw_opencall_write(call, text));
        shown[nshown++] = call;
    }
}

/* The ranks that the others waited for: "; rank 3, for which ranks 0-2 waited, was in
 * MPI_Finalize". */
static void say_holders(const struct told *t, struct pw_sentence *s)
{
    char ranks[RANKS_TEXT], waiting[RANKS_TEXT], text[PW_CALL_TEXT];
    const struct pw_row_c_ending *row = first_of(t, holds_others);
    const struct pw_row_c_open_call *call =
        row ? pw_opencall_last(t->figures->cluster, row->rank) : NULL;
    const size_t n = write_set(t, holds_others, ranks);
    if (!n)
        return;
    write_set(t, has_waited, waiting);
    pw_sentence_add(s, "; %s, for which %s waited, ", ranks, waiting);
    if (is_well(row))
        pw_sentence_add(s, "had ended");
    else if (!call)
        pw_sentence_add(s, "%s in no MPI call", n == 1 ? "was" : "were");
    else if (list_callers(t, holds_others, call) == n)
        pw_sentence_add(s, "%s in %s", n == 1 ? "was" : "were", pw_opencall_write(call, text));
    else
        pw_sentence_add(s, "were in different calls");
}

/* What ranks did when one signal ended all of them. */
static void say_together(const struct told *t, is_in *has, struct pw_sentence *s)
{
    const int is_known = first_of(t, holds_others) != NULL;
    say_holders(t, s);
    say_calls(t, is_known ? has_waited : has, s);
}

/* Those of the first ranks that ended like this one: ": rank 0 ended by the exception ...". */
static void say_alike(const struct told *t, const struct pw_row_c_ending *one, const char *before,
                      struct pw_sentence *s)
{
    char ranks[RANKS_TEXT];
    size_t n = 0;
    for (size_t i = 0; i < t->n; i++)
        if (is_first(&t->rows[i]) && is_same_end(t, &t->rows[i], one))
            t->ranks[n++] = t->rows[i].rank;
    pw_sentence_add(s, "%s %s ", before, pw_call_ranks(t->ranks, n, ranks, sizeof(ranks)));
    say_how(t, one, n == 1 ? "was" : "were", s);
}

/* How the first ranks ended, each way with the ranks that ended so. */
static void say_each(const struct told *t, struct pw_sentence *s)
{
    enum { SHOWN = 3 };
    const struct pw_row_c_ending *shown[SHOWN];
    size_t nshown = 0;
    for (size_t i = 0; i < t->n; i++) {
        size_t k = 0;
        while (k < nshown && !is_same_end(t, &t->rows[i], shown[k]))
            k++;
        if (!is_first(&t->rows[i]) || k < nshown)
            continue;
        if (nshown == SHOWN) {
            pw_sentence_add(s, ", and so on");
            return;
        }
        say_alike(t, &t->rows[i], nshown ? "," : ":", s);
        shown[nshown++] = &t->rows[i];
    }
}

/* Ranks of which the clocks do not tell which was first. */
static void say_several(const struct told *t, struct pw_sentence *s)
{
    const int are_all = t->nfirst == t->n && (int64_t)t->n == t->figures->expected;
    const int is_alike = are_alike(t, is_first, 0);
    char ranks[RANKS_TEXT];
    write_set(t, is_first, ranks);
    ranks[0] = (char)toupper((unsigned char)ranks[0]);
    pw_sentence_add(s, "%s ", are_all ? "All ranks" : ranks);
    if (is_alike)
        say_how(t, t->first, "were", s);
    else
        pw_sentence_add(s, "%s", are_all ? "ended" : "ended first");
    if (are_alike(t, is_first, 1) && t->first->step >= 0)
        pw_sentence_add(s, " %s %s %" PRId64, t->first->in_step ? "in" : "after",
                        pw_words_step(t->figures->cluster), t->first->step);
    pw_words_add_ns(s, " within ", t->first_span_ns);
    if (is_alike && taker_of_memory(t) != t->first)
        pw_sentence_add(s, "; rank %" PRId32 "'s memory grew most", taker_of_memory(t)->rank);
    if (is_alike)
        say_answer(t, s);
    if (is_alike && are_all && pw_ending_is_by_launcher(t->first)) {
        pw_sentence_add(s, ": the signal came from outside the job");
        say_together(t, is_first, s);
    } else if (pw_ending_is_together(t->rows, t->n) && first_of(t, holds_others)) {
        say_together(t, is_first, s); /* the others had ended, without what these waited for */
    }
    if (!is_alike)
        say_each(t, s);
}

/* The first exception of a thread before the first end. A program that goes on without this thread
 * may wait for ever, or end in another way. */
static void say_thread(const struct told *t, struct pw_sentence *s)
{
    const struct pw_cluster *c = t->figures->cluster;
    const struct pw_row_c_exception *found = NULL;
    for (size_t i = 0; i < c->nexceptions; i++) {
        const struct pw_row_c_exception *one = &c->exceptions[i];
        if (!one->is_main && one->time <= t->began_ns && (!found || one->time < found->time))
            found = one;
    }
    if (!found)
        return;
    pw_sentence_add(s, "; before, a thread of rank %" PRId32 " had ended by the exception %.64s",
                    found->rank, found->type);
    add_place(found, s);
}

/* ---- the others ---- */

static void say_waiting(const struct told *t, struct pw_sentence *s)
{
    char ranks[RANKS_TEXT], text[PW_CALL_TEXT];
    const struct pw_row_c_open_call *call = common_call(t);
    const size_t all = write_set(t, has_waited, ranks);
    const char *whom = t->nfirst == 1 ? "it" : "them";
    if (!all)
        return;
    const size_t n = call ? list_callers(t, has_waited, call) : 0;
    if (!n) {
        pw_sentence_add(s, "; %s waited for %s", ranks, whom);
        return;
    }
    pw_sentence_add(s, "; %s waited for %s in %s", pw_call_ranks(t->ranks, n, ranks, sizeof(ranks)),
                    whom, pw_opencall_write(call, text));
    if (all > n)
        pw_sentence_add(s, ", and %zu more in other calls", all - n);
}

/* The rank that ended first was in a collective: who was in it, too. */
static void say_same_call(const struct told *t, struct pw_sentence *s)
{
    const struct pw_row_c_open_call *call =
        t->nfirst == 1 ? pw_opencall_last(t->figures->cluster, t->first->rank) : NULL;
    char ranks[RANKS_TEXT];
    if (!call || call->seq < 0)
        return;
    size_t n = list_callers(t, is_launched, call);
    if (!n)
        n = list_callers(t, has_failed, call);
    if (n)
        pw_sentence_add(s, "; %s %s in this call, too",
                        pw_call_ranks(t->ranks, n, ranks, sizeof(ranks)), n == 1 ? "was" : "were");
}

/* "; 1.3 s later, " or "; from 1.3 s later on, ", of `n` ranks of which the first is `row`. */
static void say_when(const struct told *t, const struct pw_row_c_ending *row, size_t n,
                     struct pw_sentence *s)
{
    const int64_t later_ns = pw_difference(row->began, t->began_ns);
    pw_sentence_add(s, "; ");
    if (row->began < 0 || later_ns <= 0)
        return;
    pw_words_add_ns(s, n > 1 ? "from " : "", later_ns);
    pw_sentence_add(s, n > 1 ? " later on, " : " later, ");
}

static void say_launched(const struct told *t, struct pw_sentence *s)
{
    char ranks[RANKS_TEXT], waiting[RANKS_TEXT];
    const size_t n = write_set(t, is_launched, ranks), waited = write_set(t, has_waited, waiting);
    const struct pw_row_c_ending *row = first_of(t, is_launched);
    if (!n)
        return;
    /* The same signal may have come from the same place. */
    if (pw_ending_is_by_launcher(t->first) && row->exit_signal == t->first->exit_signal) {
        say_when(t, row, n, s);
        pw_sentence_add(s, "%s ", ranks);
        say_how(t, row, n == 1 ? "was" : "were", s);
        return;
    }
    if (n == waited && strcmp(ranks, waiting) == 0) {
        pw_sentence_add(s, ", and the launcher ended %s", n == 1 ? "it" : "them");
        if (row->began > t->began_ns)
            pw_words_add_ns(s, " ", pw_difference(row->began, t->began_ns));
        pw_sentence_add(s, "%s", row->began > t->began_ns ? " later" : "");
    } else {
        say_when(t, row, 1, s);
        pw_sentence_add(s, "the launcher ended %s", ranks);
    }
    pw_sentence_add(s, " (signal %" PRId32 ")", row->exit_signal);
}

static void say_failed(const struct told *t, struct pw_sentence *s)
{
    char ranks[RANKS_TEXT];
    const size_t n = write_set(t, has_failed, ranks);
    const struct pw_row_c_ending *row = first_of(t, has_failed);
    int is_alike = 1;
    if (!n)
        return;
    for (size_t i = 0; i < t->n; i++)
        is_alike &= !has_failed(&t->rows[i]) || is_same_end(t, &t->rows[i], row);
    say_when(t, row, n, s);
    pw_sentence_add(s, "%s ", ranks);
    if (is_alike && row->how != PW_HOW_EXCEPTION) {
        say_how(t, row, n == 1 ? "was" : "were", s);
    } else {
        if (n > 1)
            pw_sentence_add(s, "failed, too: rank %" PRId32 " ", row->rank);
        say_how(t, row, "was", s);
    }
}

static void say_rest(const struct told *t, struct pw_sentence *s)
{
    char ranks[RANKS_TEXT];
    const size_t well = write_set(t, is_well, ranks);
    if (well)
        pw_sentence_add(s, "; %s ended well",
                        well > 1 && well + t->nfirst == t->n ? "the other ranks" : ranks);
    if (write_set(t, is_unknown, ranks))
        pw_sentence_add(s, "; how %s ended is not known", ranks);
    if (t->figures->present < t->figures->expected) {
        pw_sentence_add(s, "; how ");
        pw_missing_write(t->figures, s);
        pw_sentence_add(s, " ended is not known");
    }
}

/* ---- the sentence ---- */

/* All ranks were killed, perhaps by the launcher: none is said to be the first. */
static void say_killed(const struct told *t, struct pw_sentence *s)
{
    char ranks[RANKS_TEXT];
    int64_t span_ns = 0;
    int64_t next_ns = INT64_MAX;
    const size_t n = write_set(t, is_killed, ranks);
    for (size_t i = 0; i < t->n; i++) {
        const int64_t later_ns = pw_difference(t->rows[i].began, t->first->began);
        span_ns = is_killed(&t->rows[i]) && later_ns > span_ns ? later_ns : span_ns;
        if (&t->rows[i] != t->first && is_killed(&t->rows[i]) && later_ns < next_ns)
            next_ns = later_ns;
    }
    ranks[0] = (char)toupper((unsigned char)ranks[0]);
    pw_sentence_add(s, "%s ", (int64_t)n == t->figures->expected ? "All ranks" : ranks);
    say_how(t, t->first, "were", s);
    pw_words_add_ns(s, " within ", span_ns);
    if (t->nfirst == 1 && n > 1) {
        pw_sentence_add(s, ", rank %" PRId32 " first", t->first->rank);
        pw_words_add_ns(s, ", ", next_ns);
        pw_sentence_add(s, " before the next");
    }
    pw_sentence_add(s, ", perhaps by the launcher after an MPI error of one of them");
    say_together(t, is_killed, s);
    say_thread(t, s);
    say_rest(t, s);
}

/* All ranks returned the same status in order: their order tells nothing. */
static int say_all_exited(const struct told *t, struct pw_sentence *s)
{
    const struct pw_row_c_ending *one = t->first;
    if (t->n < 2 || (int64_t)t->n != t->figures->expected || one->how != PW_HOW_EXIT ||
        (one->mpi != PW_MPI_USE_FINALIZED && one->exit_code != 0))
        return 0;
    for (size_t i = 0; i < t->n; i++)
        if (is_well(&t->rows[i]) || is_unknown(&t->rows[i]) || !is_same_end(t, &t->rows[i], one))
            return 0;
    pw_sentence_add(s, "All ranks ");
    say_exit(one, s);
    return 1;
}

static struct told look_at(const struct pw_figures *f)
{
    struct told t = {.figures = f, .rows = f->cluster->endings, .n = f->cluster->nendings};
    t.first = first_of(&t, is_first);
    for (size_t i = 0; i < t.n; i++) {
        if (!is_first(&t.rows[i]))
            continue;
        t.nfirst++;
        const int64_t span_ns = pw_difference(t.rows[i].began, t.first->began);
        t.first_span_ns = span_ns > t.first_span_ns ? span_ns : t.first_span_ns;
    }
    t.began_ns = t.first ? t.first->began : -1;
    return t;
}

void pw_ending_write(const struct pw_figures *f, struct pw_sentence *s)
{
    struct told t = look_at(f);
    t.ranks = pw_ending_is_bad(f->cluster) ? malloc(sizeof(*t.ranks) * (t.n + 1)) : NULL;
    if (!t.ranks)
        return;
    if (may_be_killed_by_launcher(&t)) {
        say_killed(&t, s);
    } else if (!say_all_exited(&t, s)) {
        if (t.nfirst == 1)
            say_one(&t, s);
        else
            say_several(&t, s);
        say_thread(&t, s);
        if (!pw_ending_is_together(t.rows, t.n))
            say_waiting(&t, s);
        say_same_call(&t, s);
        say_launched(&t, s);
        say_failed(&t, s);
        say_rest(&t, s);
    }
    pw_sentence_add(s, ".");
    free(t.ranks);
}

/* ---- the calls in which ranks ended ---- */

const struct pw_row_c_open_call *pw_opencall_last(const struct pw_cluster *c, int32_t rank)
{
    const struct pw_row_c_open_call *found = NULL;
    for (size_t i = 0; i < c->nopen_calls; i++)
        if (c->open_calls[i].rank == rank && (!found || c->open_calls[i].start > found->start))
            found = &c->open_calls[i];
    return found;
}

int pw_opencall_is_same(const struct pw_row_c_open_call *a, const struct pw_row_c_open_call *b)
{
    return a->source == b->source && a->op == b->op && a->awaited == b->awaited &&
           a->comm_uid == b->comm_uid && a->seq == b->seq && a->peer == b->peer && a->tag == b->tag;
}

const char *pw_opencall_write(const struct pw_row_c_open_call *call, char text[PW_CALL_TEXT])
{
    char name[sizeof(call->comm_name) + 1]; /* the name in the file may have no NUL */
    snprintf(name, sizeof(name), "%.*s", (int)sizeof(call->comm_name), call->comm_name);
    const struct pw_call_words words = {
        .source = call->source,
        .op = call->op,
        .awaited = call->awaited,
        .comm_name = name,
        .comm_uid = call->comm_uid,
        .seq = call->seq,
        .peer = call->peer,
        .tag = call->tag,
    };
    return pw_call_write(&words, text, PW_CALL_TEXT);
}
