/* Orders the ends of ranks; see ending.h. */
#include "analysis/ending.h"

#include <signal.h>
#include <string.h>

#include "analysis/hang.h"
#include "core/limits.h"

static enum pw_how how_of(const struct pw_row_c_ending *row, const struct pw_ending_facts *facts)
{
    if (row->exit_signal == SIGKILL && row->oom_kills > 0)
        return PW_HOW_MEMORY;
    /* What calls MPI_Abort after an exception is a handler of exceptions. */
    if (facts->exception_ns >= 0 &&
        !(facts->abort_ns >= 0 && facts->abort_ns < facts->exception_ns))
        return PW_HOW_EXCEPTION;
    if (facts->abort_ns >= 0)
        return PW_HOW_ABORT;
    if (row->mpi_error != PW_MPI_ERROR_NONE)
        return PW_HOW_MPI_ERROR;
    return row->exit_signal > 0 ? PW_HOW_SIGNAL : PW_HOW_EXIT;
}

static int64_t beginning(const struct pw_row_c_ending *row, const struct pw_ending_facts *facts)
{
    switch (row->how) {
    case PW_HOW_ABORT:
        return facts->abort_ns;
    case PW_HOW_EXCEPTION:
        return facts->exception_ns;
    case PW_HOW_MPI_ERROR:
        return facts->error_ns;
    default:
        return row->time;
    }
}

void pw_ending_describe(struct pw_row_c_ending *row, const struct pw_ending_facts *facts)
{
    const int is_known = row->exit_signal > 0 || row->exit_code >= 0;
    const int is_well = row->exit_signal <= 0 && row->exit_code == 0 && row->mpi != PW_MPI_USE_OPEN;
    row->ended = (uint8_t)(!is_known ? PW_ENDED_UNKNOWN : is_well ? PW_ENDED_WELL : PW_ENDED_LATER);
    row->how = (uint8_t)(!is_known ? PW_HOW_UNKNOWN : is_well ? PW_HOW_EXIT : how_of(row, facts));
    row->began = is_known ? beginning(row, facts) : -1;
}

int pw_ending_is_by_launcher(const struct pw_row_c_ending *row)
{
    return row->how == PW_HOW_SIGNAL &&
           (row->exit_signal == SIGTERM || row->exit_signal == SIGKILL ||
            row->exit_signal == SIGINT || row->exit_signal == SIGHUP);
}

static int is_bad(const struct pw_row_c_ending *row)
{
    return row->ended == PW_ENDED_LATER || row->ended == PW_ENDED_FIRST;
}

int pw_ending_is_answer(const char *type, const char *message)
{
    static const char *const types[] = {"ConnectionResetError", "BrokenPipeError",
                                        "DistNetworkError"};
    /* Of Gloo, of torch's TCPStore, of NCCL. */
    static const char *const texts[] = {
        "onnection closed by peer",
        "onnection reset by peer",
        "Broken pipe",
        "Socket closed",
        "imed out waiting",
        "timeout caused pair closure",
        "Socket Timeout",
        "recvValue failed",
        "failed to recv, got 0 bytes",
        "remote process exited",
        "NCCL communicator was",
        "ncclRemoteError",
    };
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (strcmp(type, types[i]) == 0)
            return 1;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        if (strstr(message, texts[i]))
            return 1;
    return 0;
}

int pw_ending_is_error_answer(const struct pw_row_c_ending *row)
{
    return row->how == PW_HOW_MPI_ERROR &&
           (row->mpi_error == PW_MPI_ERROR_PROC_FAILED ||
            row->mpi_error == PW_MPI_ERROR_PROC_FAILED_PENDING ||
            row->mpi_error == PW_MPI_ERROR_PROC_ABORTED || row->mpi_error == PW_MPI_ERROR_REVOKED ||
            /* By these some transports tell of a partner that has gone. */
            row->mpi_error == PW_MPI_ERROR_OTHER || row->mpi_error == PW_MPI_ERROR_INTERN ||
            row->mpi_error == PW_MPI_ERROR_UNKNOWN);
}

/* The rows of a job, and which of them are left out, since they answer the end of another. */
struct ends {
    struct pw_row_c_ending *rows;
    size_t n;
    int64_t error_ns;
    const uint8_t *left_out; /* NULL: none */
};

static int is_candidate(const struct ends *e, size_t i)
{
    return is_bad(&e->rows[i]) && e->rows[i].began >= 0 && !(e->left_out && e->left_out[i]);
}

/* Whether the row, which is no answer, can be the reason for answers. A launcher acts when a
 * process ends, which is later than its exception. So a rank that a signal ended before the first
 * process with an answer was not ended by the launcher. A rank that fails by itself may need longer
 * to end than others need to notice. */
static int is_reason(const struct ends *e, const struct pw_row_c_ending *row, int64_t answered_ns)
{
    const int is_told = row->exit_code == 128 + SIGTERM || row->exit_code == 128 + SIGINT;
    if (e->error_ns < 0)
        return !pw_ending_is_by_launcher(row) && !is_told;
    if (pw_ending_is_by_launcher(row) || is_told)
        return row->time >= 0 && row->time < answered_ns - e->error_ns;
    return row->began < answered_ns + PW_ENDING_ANSWER_NS;
}

/* Whether one of the rows can be the reason for the rows with an answer. */
static int have_reason(const struct ends *e, const uint8_t *answers)
{
    int64_t answered_ns = INT64_MAX - PW_ENDING_ANSWER_NS;
    int has_answer = 0, has = 0;
    for (size_t i = 0; answers && i < e->n; i++)
        if (answers[i] && is_candidate(e, i)) {
            has_answer = 1;
            if (e->rows[i].time >= 0 && e->rows[i].time < answered_ns)
                answered_ns = e->rows[i].time;
        }
    for (size_t i = 0; has_answer && i < e->n; i++)
        has |= !answers[i] && is_candidate(e, i) && is_reason(e, &e->rows[i], answered_ns);
    return has;
}

/* The row that began to end first; NULL: no rank ended other than well at a known time. */
static const struct pw_row_c_ending *earliest(const struct ends *e)
{
    const struct pw_row_c_ending *first = NULL;
    for (size_t i = 0; i < e->n; i++)
        if (is_candidate(e, i) && (!first || e->rows[i].began < first->began))
            first = &e->rows[i];
    return first;
}

/* 1 when row `i` may have begun to end as early as `first`. */
static int is_as_early(const struct ends *e, size_t i, const struct pw_row_c_ending *first)
{
    return is_candidate(e, i) &&
           (e->error_ns < 0 || e->rows[i].began - first->began <= e->error_ns + PW_ENDING_LATE_NS);
}

/* The launcher, or the loss of another rank, ended all ranks whose end was seen. Then those came
 * first that gave no sign of life any more, if there are any. Returns when the first of these was
 * last seen; -1: there is none. */
static int64_t put_unseen_first(struct pw_row_c_ending *rows, size_t n, int64_t began)
{
    int64_t seen_until = -1;
    for (size_t i = 0; i < n; i++) {
        struct pw_row_c_ending *row = &rows[i];
        if (row->ended != PW_ENDED_UNKNOWN || row->seen_until < 0 || row->seen_until > began)
            continue;
        row->ended = PW_ENDED_FIRST;
        row->began = row->seen_until;
        if (seen_until < 0 || row->seen_until < seen_until)
            seen_until = row->seen_until;
    }
    for (size_t i = 0; i < n && seen_until >= 0; i++)
        if (rows[i].ended == PW_ENDED_FIRST && rows[i].how != PW_HOW_UNKNOWN)
            rows[i].ended = PW_ENDED_LATER;
    return seen_until;
}

/* Whether one signal from outside, to the launcher for instance, has ended all ranks that did not
 * end well. */
static int is_from_outside(const struct ends *e, const struct pw_row_c_ending *first)
{
    const int64_t span_ns = PW_ENDING_OUTSIDE_NS + (e->error_ns > 0 ? e->error_ns : 0);
    if (first->exit_signal == SIGKILL)
        return 0;
    for (size_t i = 0; i < e->n; i++) {
        const struct pw_row_c_ending *row = &e->rows[i];
        if (is_bad(row) &&
            (!pw_ending_is_by_launcher(row) || row->exit_signal != first->exit_signal ||
             row->began - first->began > span_ns))
            return 0;
    }
    return 1;
}

int64_t pw_ending_order(struct pw_row_c_ending *rows, size_t n, int64_t error_ns,
                        const uint8_t *answers)
{
    struct ends e = {.rows = rows, .n = n, .error_ns = error_ns};
    if (have_reason(&e, answers))
        e.left_out = answers;
    const struct pw_row_c_ending *found = earliest(&e);
    if (!found)
        return -1;
    const struct pw_row_c_ending first = *found;
    int has_own = 0;
    for (size_t i = 0; i < n; i++)
        has_own |= is_as_early(&e, i, &first) && !pw_ending_is_by_launcher(&rows[i]) &&
                   !(answers && answers[i]);
    const int is_outside = is_from_outside(&e, &first);
    int64_t began = INT64_MAX;
    for (size_t i = 0; i < n; i++) {
        const int is_first =
            (is_as_early(&e, i, &first) || (is_outside && is_candidate(&e, i))) &&
            (has_own ? !pw_ending_is_by_launcher(&rows[i]) : rows[i].how == first.how);
        if (!is_first)
            continue;
        rows[i].ended = PW_ENDED_FIRST;
        began = rows[i].began < began ? rows[i].began : began;
    }
    const int64_t unseen = has_own ? -1 : put_unseen_first(rows, n, began);
    return unseen >= 0 ? unseen : began;
}

int pw_ending_is_together(const struct pw_row_c_ending *rows, size_t n)
{
    const struct pw_row_c_ending *one = NULL;
    int64_t from_ns = INT64_MAX, to_ns = INT64_MIN;
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        const struct pw_row_c_ending *row = &rows[i];
        if (row->ended == PW_ENDED_WELL || row->ended == PW_ENDED_UNKNOWN)
            continue;
        one = one ? one : row;
        if (!pw_ending_is_by_launcher(row) || row->exit_signal != one->exit_signal)
            return 0;
        if (row->exit_signal != SIGKILL && row->ended != PW_ENDED_FIRST)
            return 0;
        from_ns = row->began < from_ns ? row->began : from_ns;
        to_ns = row->began > to_ns ? row->began : to_ns;
        count++;
    }
    return count > 1 &&
           (one->exit_signal != SIGKILL || pw_difference(to_ns, from_ns) <= PW_ENDING_TOGETHER_NS);
}

/* Marks the ranks that the others waited for when all ended together, and sets `held` of their
 * rows. */
static void find_held(struct pw_row_c_ending *rows, const struct pw_live *ranks, size_t n,
                      int32_t *scratch, uint8_t *marks)
{
    int is_kill = 0;
    for (size_t i = 0; i < n; i++)
        is_kill |= rows[i].exit_signal == SIGKILL;
    struct pw_hang hang;
    pw_hang_find(ranks, n, is_kill ? 0 : PW_ENDING_WAIT_NS, scratch, &hang);
    if (hang.kind != PW_HANG_HELD)
        return;
    for (size_t i = 0; i < hang.nroots; i++)
        if (is_kill && !ranks[hang.roots[i]].nthreads)
            return;
    for (size_t i = 0; i < hang.nroots; i++) {
        marks[hang.roots[i]] = 1;
        rows[hang.roots[i]].held = (int32_t)hang.held;
    }
}

void pw_ending_find_waits(struct pw_row_c_ending *rows, const struct pw_live *ranks, size_t n,
                          int32_t *scratch, uint8_t *marks)
{
    const int is_together = pw_ending_is_together(rows, n);
    for (size_t i = 0; i < n; i++)
        marks[i] = !is_together && rows[i].ended == PW_ENDED_FIRST;
    if (is_together)
        find_held(rows, ranks, n, scratch, marks);
    pw_hang_mark(ranks, n, scratch, marks);
    for (size_t i = 0; i < n; i++)
        rows[i].waited = marks[i];
}
