/* Orders the ends of ranks; see ending.h. */
#include "analysis/ending.h"

#include <signal.h>

#include "analysis/hang.h"

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
    return row->exit_signal > 0 ? PW_HOW_SIGNAL : PW_HOW_EXIT;
}

static int64_t beginning(const struct pw_row_c_ending *row, const struct pw_ending_facts *facts)
{
    switch (row->how) {
    case PW_HOW_ABORT:
        return facts->abort_ns;
    case PW_HOW_EXCEPTION:
        return facts->exception_ns;
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

/* The row that began to end first; NULL: no rank ended other than well at a known time. */
static const struct pw_row_c_ending *earliest(const struct pw_row_c_ending *rows, size_t n)
{
    const struct pw_row_c_ending *first = NULL;
    for (size_t i = 0; i < n; i++)
        if (is_bad(&rows[i]) && rows[i].began >= 0 && (!first || rows[i].began < first->began))
            first = &rows[i];
    return first;
}

/* 1 when the row may have begun to end as early as `first`. */
static int is_as_early(const struct pw_row_c_ending *row, const struct pw_row_c_ending *first,
                       int64_t error_ns)
{
    return is_bad(row) && row->began >= 0 &&
           (error_ns < 0 || row->began - first->began <= error_ns + PW_ENDING_LATE_NS);
}

/* The launcher ended all ranks whose end was seen. Then those came first that gave no sign of life
 * any more, if there are any. Returns when the first of these was last seen; -1: there is none. */
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

int64_t pw_ending_order(struct pw_row_c_ending *rows, size_t n, int64_t error_ns)
{
    const struct pw_row_c_ending *found = earliest(rows, n);
    if (!found)
        return -1;
    const struct pw_row_c_ending first = *found;
    int has_own = 0;
    for (size_t i = 0; i < n; i++)
        has_own |= is_as_early(&rows[i], &first, error_ns) && !pw_ending_is_by_launcher(&rows[i]);
    int64_t began = INT64_MAX;
    for (size_t i = 0; i < n; i++) {
        const int is_first =
            is_as_early(&rows[i], &first, error_ns) &&
            (has_own ? !pw_ending_is_by_launcher(&rows[i]) : rows[i].how == first.how);
        if (!is_first)
            continue;
        rows[i].ended = PW_ENDED_FIRST;
        began = rows[i].began < began ? rows[i].began : began;
    }
    const int64_t unseen = has_own ? -1 : put_unseen_first(rows, n, began);
    return unseen >= 0 ? unseen : began;
}

void pw_ending_find_waits(struct pw_row_c_ending *rows, const struct pw_live *ranks, size_t n,
                          int32_t *scratch, uint8_t *marks)
{
    for (size_t i = 0; i < n; i++)
        marks[i] = rows[i].ended == PW_ENDED_FIRST;
    pw_hang_mark(ranks, n, scratch, marks);
    for (size_t i = 0; i < n; i++)
        rows[i].waited = marks[i];
}
