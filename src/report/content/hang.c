/* Writes who is missing in a job that hangs; see hang.h. */
#include "report/content/hang.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analysis/missing.h"
#include "core/ops.h"

enum {
    TOLD = 4,       /* operations; the table of the report has the others */
    MOST_KINDS = 8, /* functions, or sizes, under one number */
};

/* What the dumps call an operation; the names of torch.distributed. */
static const char *word_of(uint32_t op)
{
    switch (op) {
    case PW_OP_Allreduce:
        return "all_reduce";
    case PW_OP_Allgather:
    case PW_OP_Allgatherv:
        return "all_gather";
    case PW_OP_Reduce_scatter_block:
        return "reduce_scatter";
    case PW_OP_Alltoall:
    case PW_OP_Alltoallv:
        return "all_to_all";
    case PW_OP_Bcast:
        return "broadcast";
    case PW_OP_Reduce:
        return "reduce";
    case PW_OP_Barrier:
        return "barrier";
    case PW_OP_Gather:
        return "gather";
    case PW_OP_Scatter:
        return "scatter";
    case PW_OP_Send:
        return "send";
    case PW_OP_Recv:
        return "recv";
    default:
        return pw_op_info(op)->name;
    }
}

static int is_message(const struct pw_row_c_hang *row)
{
    return row->op == PW_OP_Send || row->op == PW_OP_Recv;
}

/* The name of a group is its description and PyTorch's name of it, which is a number or a hash. Of
 * the default group, of which there is one, the latter says nothing. */
static void write_group(const struct pw_row_c_hang *row, struct pw_sentence *s)
{
    static const char whole[] = "default_pg ", none[] = "undefined ";
    static const char inferred[] = "inferred: "; /* its members are not known */
    char text[sizeof(row->comm_name) + 1], *name = text;
    snprintf(text, sizeof(text), "%.*s", (int)sizeof(row->comm_name), row->comm_name);
    if (strncmp(name, inferred, sizeof(inferred) - 1) == 0)
        name += sizeof(inferred) - 1;
    if (strncmp(name, whole, sizeof(whole) - 1) == 0)
        pw_sentence_add(s, "default_pg");
    else if (strncmp(name, none, sizeof(none) - 1) == 0)
        pw_sentence_add(s, "process group %s", name + sizeof(none) - 1);
    else
        pw_sentence_add(s, "%s", name[0] ? name : "a group that is not named");
}

void pw_hang_operation(const struct pw_row_c_hang *row, struct pw_sentence *s)
{
    pw_sentence_add(s, "%s", word_of(row->op));
    if (is_message(row) && row->peer >= 0)
        pw_sentence_add(s, " %s rank %" PRId32, row->op == PW_OP_Send ? "to" : "from", row->peer);
    if (row->seq >= 0)
        pw_sentence_add(s, " %" PRId64, row->seq);
    pw_sentence_add(s, " of ");
    write_group(row, s);
}

size_t pw_hang_rows(const struct pw_cluster *c, size_t first)
{
    size_t n = 0;
    while (first + n < c->nhang && c->hang[first + n].operation == c->hang[first].operation)
        n++;
    return n;
}

/* A span of ranks of the same role that follow each other. */
struct span {
    int32_t first, last;
};

/* Which rows are meant: those with the role, and the function, and size if `is_sized`, of `like`
 * unless it is NULL. */
struct wanted {
    int role;
    const struct pw_row_c_hang *like;
    int is_sized;
};

static int is_wanted(const struct pw_row_c_hang *row, struct wanted wanted)
{
    const struct pw_row_c_hang *like = wanted.like;
    return row->role == wanted.role && (!like || row->op == like->op) &&
           (!like || !wanted.is_sized ||
            pw_missing_is_alike(&(struct pw_missing_size){row->count, row->datatype},
                                &(struct pw_missing_size){like->count, like->datatype}));
}

/* The next span of such rows at or behind row *at, which is moved behind it; 0: there is none. */
static int next_span(const struct pw_row_c_hang *rows, size_t n, struct wanted wanted, size_t *at,
                     struct span *out)
{
    while (*at < n && !is_wanted(&rows[*at], wanted))
        ++*at;
    if (*at == n)
        return 0;
    *out = (struct span){rows[*at].rank, rows[*at].rank};
    for (++*at; *at < n; ++*at) {
        if (!is_wanted(&rows[*at], wanted))
            continue;
        if (rows[*at].rank != out->last + 1)
            break;
        out->last++;
    }
    return 1;
}

static size_t write_ranks(const struct pw_row_c_hang *rows, size_t n, struct wanted wanted,
                          struct pw_sentence *s)
{
    enum { SHOWN = 24 };
    char items[SHOWN][32];
    size_t count = 0, nitems = 0, named = 0, at = 0;
    struct span span;
    for (size_t i = 0; i < n; i++)
        count += (size_t)is_wanted(&rows[i], wanted);
    while (next_span(rows, n, wanted, &at, &span)) {
        const int is_short = span.last - span.first < 2; /* "0 and 1", but "0-2" */
        const int32_t step = is_short ? 1 : span.last - span.first + 1;
        for (int32_t r = span.first; r <= span.last && nitems < SHOWN; r += step) {
            named += (size_t)step;
            if (is_short)
                snprintf(items[nitems++], sizeof(items[0]), "%" PRId32, r);
            else
                snprintf(items[nitems++], sizeof(items[0]), "%" PRId32 "-%" PRId32, span.first,
                         span.last);
        }
    }
    for (size_t i = 0; i < nitems; i++)
        pw_sentence_add(s, "%s%s",
                        i == 0                              ? count == 1 ? "rank " : "ranks "
                        : i + 1 == nitems && named == count ? " and "
                                                            : ", ",
                        items[i]);
    if (named < count)
        pw_sentence_add(s, " and %zu more", count - named);
    return count;
}

size_t pw_hang_ranks(const struct pw_row_c_hang *rows, size_t n, int role, struct pw_sentence *s)
{
    return write_ranks(rows, n, (struct wanted){.role = role}, s);
}

static size_t count_role(const struct pw_row_c_hang *rows, size_t n, int role)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += rows[i].role == role;
    return count;
}

/* Writes the ranks as the begin of a sentence. */
static size_t begin_with(const struct pw_row_c_hang *rows, size_t n, int role,
                         struct pw_sentence *s)
{
    const size_t at = s->used < s->size ? s->used : s->size - 1;
    const size_t count = pw_hang_ranks(rows, n, role, s);
    s->out[at] = (char)toupper((unsigned char)s->out[at]);
    return count;
}

/* The row of the first rank that waits. */
static const struct pw_row_c_hang *waiting_row(const struct pw_row_c_hang *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (rows[i].role == PW_REACH_WAITING)
            return &rows[i];
    return rows;
}

/* ", in which ranks 0, 1 and 3 wait"; of a message, what the other side would have called. */
static void write_reached(const struct pw_row_c_hang *rows, size_t n, struct pw_sentence *s)
{
    const struct pw_row_c_hang *row = waiting_row(rows, n);
    if (is_message(row)) {
        pw_sentence_add(s, "%s %s rank %" PRId32 " in ", row->op == PW_OP_Send ? "recv" : "send",
                        row->op == PW_OP_Send ? "from" : "to", row->rank);
        write_group(row, s);
        pw_sentence_add(s, ", for which that rank waits in %s", word_of(row->op));
        return;
    }
    pw_hang_operation(row, s);
    pw_sentence_add(s, ", in which ");
    pw_sentence_add(s, pw_hang_ranks(rows, n, PW_REACH_WAITING, s) == 1 ? " waits" : " wait");
}

/* "; whether rank 4 did is not known, because its dump has no operations". */
static void write_unknown(const struct pw_row_c_hang *rows, size_t n, struct pw_sentence *s)
{
    static const struct {
        int role;
        const char *one, *several;
    } why[] = {
        {PW_REACH_NO_OPERATIONS, "its dump has no operations", "their dumps have no operations"},
        {PW_REACH_NO_DUMP, "it has no dump", "they have no dumps"},
        {PW_REACH_CUT_DUMP, "its dump is cut", "their dumps are cut"},
    };
    for (size_t i = 0; i < sizeof(why) / sizeof(why[0]); i++) {
        if (!count_role(rows, n, why[i].role))
            continue;
        pw_sentence_add(s, "; whether ");
        const size_t count = pw_hang_ranks(rows, n, why[i].role, s);
        pw_sentence_add(s, " did is not known, because %s",
                        count == 1 ? why[i].one : why[i].several);
    }
}

static size_t count_like(const struct pw_row_c_hang *rows, size_t n, struct wanted wanted)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += (size_t)is_wanted(&rows[i], wanted);
    return count;
}

/* Lists what waiting ranks called, by a row of each: the functions, or with `is_sized` the sizes
 * and types; those of the fewest ranks first. Returns how many. */
static size_t list_kinds(const struct pw_row_c_hang *rows, size_t n, int is_sized,
                         struct wanted kinds[MOST_KINDS])
{
    size_t nkinds = 0, counts[MOST_KINDS];
    for (size_t i = 0; i < n; i++) {
        size_t at = 0;
        while (at < nkinds && !is_wanted(&rows[i], kinds[at]))
            at++;
        if (rows[i].role != PW_REACH_WAITING || at < nkinds || nkinds == MOST_KINDS)
            continue;
        const struct wanted kind = {PW_REACH_WAITING, &rows[i], is_sized};
        const size_t count = count_like(rows, n, kind);
        for (at = nkinds++; at > 0 && counts[at - 1] > count; at--) {
            kinds[at] = kinds[at - 1];
            counts[at] = counts[at - 1];
        }
        kinds[at] = kind;
        counts[at] = count;
    }
    return nkinds;
}

/* Writes " called all_gather"; of those that called the same with other sizes or types " called
 * all_reduce 6 of default_pg with 960 elements", the types where they differ. */
static void write_kind(const struct pw_row_c_hang *rows, size_t n, const struct wanted *kind,
                       int is_first, struct pw_sentence *s)
{
    const struct pw_row_c_hang *row = kind->like, *other = waiting_row(rows, n);
    int has_types = 0, has_counts = row->count >= 0;
    for (; other < rows + n; other++)
        has_types |= other->role == PW_REACH_WAITING &&
                     strncmp(other->datatype, row->datatype, sizeof(row->datatype)) != 0;
    if (!kind->is_sized || is_first)
        pw_sentence_add(s, " called ");
    if (!kind->is_sized)
        pw_sentence_add(s, "%s", word_of(row->op));
    else if (is_first)
        pw_hang_operation(row, s);
    if (!kind->is_sized)
        return;
    pw_sentence_add(s, " with");
    if (has_counts)
        pw_sentence_add(s, " %" PRId64, row->count);
    if (is_first || !has_counts)
        pw_sentence_add(s, row->count == 1 ? " element" : " elements");
    if (has_types)
        pw_sentence_add(s, " of %.*s", (int)sizeof(row->datatype),
                        row->datatype[0] ? row->datatype : "a type that is not known");
}

/* Members that called different functions under the same number, the fewest first: "Rank 2 called
 * all_gather, ranks 0, 1 and 3 called all_reduce as operation 6 of default_pg". Those that called
 * the same with different sizes are told only where no member is absent. Returns 0 when all called
 * the same. */
static int write_mismatch(const struct pw_row_c_hang *rows, size_t n, struct pw_sentence *s)
{
    const struct pw_row_c_hang *first = waiting_row(rows, n);
    const int is_absent =
        count_role(rows, n, PW_REACH_MISSING) || count_role(rows, n, PW_REACH_HELD);
    struct wanted kinds[MOST_KINDS];
    size_t nkinds = first->seq < 0 ? 0 : list_kinds(rows, n, 0, kinds), named = 0;
    const int is_sized = nkinds == 1 && !is_absent;
    if (is_sized)
        nkinds = list_kinds(rows, n, 1, kinds);
    if (nkinds < 2)
        return 0;
    for (size_t i = 0; i < nkinds; i++) {
        pw_sentence_add(s, "%s", i ? ", " : "");
        const size_t at = s->used < s->size ? s->used : s->size - 1;
        named += write_ranks(rows, n, kinds[i], s);
        s->out[at] = i ? s->out[at] : (char)toupper((unsigned char)s->out[at]);
        write_kind(rows, n, &kinds[i], i == 0, s);
    }
    if (named < count_role(rows, n, PW_REACH_WAITING))
        pw_sentence_add(s, ", %zu more ranks otherwise",
                        count_role(rows, n, PW_REACH_WAITING) - named);
    if (!is_sized) {
        pw_sentence_add(s, " as operation %" PRId64 " of ", first->seq);
        write_group(first, s);
    }
    return 1;
}

/* Ranks that wait in another operation of the table: the first of these. */
static const struct pw_row_c_hang *elsewhere(const struct pw_cluster *c,
                                             const struct pw_row_c_hang *held)
{
    for (size_t i = 0; i < c->nhang; i++)
        if (c->hang[i].rank == held->rank && c->hang[i].role == PW_REACH_WAITING)
            return &c->hang[i];
    return NULL;
}

/* Ranks that did not reach the operation because they wait in others. */
static void write_held(const struct pw_cluster *c, const struct pw_row_c_hang *rows, size_t n,
                       struct pw_sentence *s)
{
    const struct pw_row_c_hang *first = rows;
    while (first->role != PW_REACH_HELD)
        first++;
    const struct pw_row_c_hang *other = elsewhere(c, first);
    const size_t count = begin_with(rows, n, PW_REACH_HELD, s);
    pw_sentence_add(s, " did not reach ");
    write_reached(rows, n, s);
    pw_sentence_add(s, count == 1 ? ": it waits in " : ": they wait in others, as rank ");
    if (count > 1)
        pw_sentence_add(s, "%" PRId32 " in ", first->rank);
    if (other)
        pw_hang_operation(other, s);
    else
        pw_sentence_add(s, "another operation");
}

/* The operation that a rank waits in which did not reach the operation of rows[first]: the index of
 * its first row; c->nhang: there is none. *held becomes that rank. */
static size_t operation_behind(const struct pw_cluster *c, size_t first, int32_t *held)
{
    const size_t end = first + pw_hang_rows(c, first);
    while (first < end && c->hang[first].role != PW_REACH_HELD)
        first++;
    const struct pw_row_c_hang *other = first < end ? elsewhere(c, &c->hang[first]) : NULL;
    if (!other)
        return c->nhang;
    *held = other->rank;
    size_t at = (size_t)(other - c->hang);
    while (at > 0 && c->hang[at - 1].operation == other->operation)
        at--;
    return at;
}

/* Whether each operation waits only for ranks that wait in others, so that none can go on. */
static int is_deadlock(const struct pw_cluster *c)
{
    for (size_t i = 0, n; i < c->nhang; i += n) {
        const struct pw_row_c_hang *rows = &c->hang[i];
        n = pw_hang_rows(c, i);
        const struct wanted alike = {PW_REACH_WAITING, waiting_row(rows, n), 0};
        const size_t held = count_role(rows, n, PW_REACH_HELD);
        if (!held || held + count_like(rows, n, alike) < n)
            return 0;
    }
    return c->nhang > 0;
}

/* The circle of ranks that wait for each other: the index of the operation in it that is told first
 * below; *held becomes the rank that waits there. c->nhang: there is none. Follows the first rank
 * that is held in each operation, until one comes again. */
static size_t find_circle(const struct pw_cluster *c, int32_t *held)
{
    size_t at = 0, fast = 0, known = is_deadlock(c);
    do { /* Floyd's: `fast` takes two steps for each of `at`, and meets it in the circle */
        at = known ? operation_behind(c, at, held) : c->nhang;
        for (int i = 0; i < 2 && known; i++) {
            fast = operation_behind(c, fast, held);
            known = fast < c->nhang;
        }
    } while (known && at != fast);
    if (!known)
        return c->nhang;
    size_t start = at;
    for (size_t next = operation_behind(c, at, held); next != at;
         next = operation_behind(c, next, held))
        start = next < start ? next : start;
    while (operation_behind(c, at, held) != start)
        at = operation_behind(c, at, held);
    return start;
}

/* "Ranks wait for each other: rank 0 waits in all_reduce 1 of tp 1 for rank 1, which waits in
 * all_reduce 1 of dp 2 for rank 0. This is a deadlock, unless ...": a dump does not tell whether a
 * rank stands still in an operation that has not ended. Returns 0 when there is no circle. */
static int write_circle(const struct pw_cluster *c, struct pw_sentence *s)
{
    int32_t held = -1;
    const size_t start = find_circle(c, &held);
    if (start == c->nhang)
        return 0;
    size_t at = start, told = 0;
    int has_message = 0;
    pw_sentence_add(s, "Ranks wait for each other: rank %" PRId32, held);
    const int32_t first = held;
    do {
        const struct pw_row_c_hang *row = waiting_row(&c->hang[at], pw_hang_rows(c, at));
        const size_t next = operation_behind(c, at, &held);
        has_message |= row->op == PW_OP_Send || row->op == PW_OP_Recv;
        if (told++ < TOLD) {
            pw_sentence_add(s, told == 1 ? " waits in " : ", which waits in ");
            pw_hang_operation(row, s);
            pw_sentence_add(s, " for rank %" PRId32, held);
        }
        at = next;
    } while (at != start);
    if (told > TOLD)
        pw_sentence_add(s, ", and so on: %zu ranks, the last of which waits for rank %" PRId32,
                        told, first);
    pw_sentence_add(s,
                    ". This is a deadlock, unless a rank called its operation without waiting "
                    "for it and stands still elsewhere%s.",
                    has_message ? ", or a message had been sent: the dumps do not tell" : "");
    return 1;
}

/* "Rank 2 has no dump, so it is not known whether it reached all_reduce 6 of ...; the same of rank
 * 4, which has a dump that is cut". */
static void write_not_known(const struct pw_row_c_hang *rows, size_t n, struct pw_sentence *s)
{
    static const struct {
        int role;
        const char *one, *several;
    } why[] = {
        {PW_REACH_NO_OPERATIONS, "has no operations in the dump",
         "have no operations in the dumps"},
        {PW_REACH_NO_DUMP, "has no dump", "have no dumps"},
        {PW_REACH_CUT_DUMP, "has a dump that is cut", "have dumps that are cut"},
    };
    int has_begun = 0;
    for (size_t i = 0; i < sizeof(why) / sizeof(why[0]); i++) {
        if (!count_role(rows, n, why[i].role))
            continue;
        if (has_begun)
            pw_sentence_add(s, "; the same of ");
        const size_t count = has_begun ? pw_hang_ranks(rows, n, why[i].role, s)
                                       : begin_with(rows, n, why[i].role, s);
        pw_sentence_add(s, "%s%s", has_begun ? ", which " : " ",
                        count == 1 ? why[i].one : why[i].several);
        if (!has_begun) {
            pw_sentence_add(s, ", so it is not known whether %s reached ",
                            count == 1 ? "it" : "they");
            write_reached(rows, n, s);
        }
        has_begun = 1;
    }
}

static void write_one(const struct pw_cluster *c, const struct pw_row_c_hang *rows, size_t n,
                      struct pw_sentence *s)
{
    const struct pw_row_c_hang *row = waiting_row(rows, n);
    if (write_mismatch(rows, n, s)) {
        write_unknown(rows, n, s);
    } else if (count_role(rows, n, PW_REACH_MISSING)) {
        begin_with(rows, n, PW_REACH_MISSING, s);
        pw_sentence_add(s, " did not reach ");
        write_reached(rows, n, s);
        if (count_role(rows, n, PW_REACH_HELD)) {
            pw_sentence_add(s, "; nor did ");
            pw_hang_ranks(rows, n, PW_REACH_HELD, s);
            pw_sentence_add(s, ", which wait%s elsewhere",
                            count_role(rows, n, PW_REACH_HELD) == 1 ? "s" : "");
        }
        if (row->source == PW_SOURCE_GLOO && count_role(rows, n, PW_REACH_MISSING) > 1)
            pw_sentence_add(s,
                            "; those that did not may wait in messages of Gloo, which are not in "
                            "dumps");
        write_unknown(rows, n, s);
    } else if (count_role(rows, n, PW_REACH_NO_OPERATIONS) ||
               count_role(rows, n, PW_REACH_NO_DUMP) || count_role(rows, n, PW_REACH_CUT_DUMP)) {
        write_not_known(rows, n, s);
    } else if (count_role(rows, n, PW_REACH_HELD)) {
        write_held(c, rows, n, s);
    } else {
        const size_t count = begin_with(rows, n, PW_REACH_WAITING, s);
        pw_sentence_add(s, " wait%s in ", count == 1 ? "s" : "");
        pw_hang_operation(row, s);
        if (count_role(rows, n, PW_REACH_ENDED)) {
            pw_sentence_add(s, ", which ");
            pw_sentence_add(s, pw_hang_ranks(rows, n, PW_REACH_ENDED, s) == 1 ? " has ended"
                                                                              : " have ended");
        } else {
            pw_sentence_add(s, is_message(row) && row->peer < 0 ? ""
                               : is_message(row) ? ", which that rank has reached, too"
                               : row->seq < 0    ? ", whose members or number the dumps do not have"
                                                 : ", which all its members have reached");
        }
    }
    pw_sentence_add(s, ".");
}

int pw_hang_is_of_dumps(const struct pw_cluster *c)
{
    return strcmp(c->imported, "flight") == 0;
}

int pw_hang_has_missing(const struct pw_cluster *c)
{
    const struct pw_row_c_hang *first = NULL; /* that waits in the same operation */
    for (const struct pw_row_c_hang *row = c->hang; row < c->hang + c->nhang; row++) {
        if (row->role != PW_REACH_WAITING && row->role != PW_REACH_ENDED)
            return 1;
        if (row->role == PW_REACH_ENDED)
            continue;
        if (!first || first->operation != row->operation)
            first = row;
        if (row->seq >= 0 && !is_wanted(row, (struct wanted){PW_REACH_WAITING, first, 1}))
            return 1;
    }
    return 0;
}

/* Of the ranks without operations it is not known whether they wait. */
static void write_none(const struct pw_cluster *c, struct pw_sentence *s)
{
    size_t told = 0, empty = 0, absent = 0;
    int64_t unread = 0;
    for (int64_t i = 0; i < c->nranks; i++) {
        told += c->ranks[i].present && c->ranks[i].events > 0;
        empty += c->ranks[i].present && c->ranks[i].events <= 0;
        absent += !c->ranks[i].present;
        unread += c->ranks[i].dropped_events > 0 ? c->ranks[i].dropped_events : 0;
    }
    if (!told)
        pw_sentence_add(s, "Whether a rank waits is not known, because the dumps have no "
                           "operations");
    else if (empty || absent || unread)
        pw_sentence_add(s,
                        "Whether a rank waits is not known: the operations that the dumps of "
                        "%zu of %zu ranks have had ended when they were written",
                        told, told + empty + absent);
    else
        pw_sentence_add(s, "No rank waits in an operation that the dumps have: all had ended when "
                           "they were written. Not in dumps are new_group(), monitored_barrier() "
                           "and messages of Gloo");
    if (told && empty)
        pw_sentence_add(s, ", and %zu dump%s no operations", empty, empty == 1 ? " has" : "s have");
    if (told && absent)
        pw_sentence_add(s, ", and %zu rank%s no dump", absent, absent == 1 ? " has" : "s have");
    if (unread)
        pw_sentence_add(s, "%s %" PRId64 " entr%s could not be read", told ? ", and" : " but",
                        unread, unread == 1 ? "y" : "ies");
    pw_sentence_add(s, ".");
}

void pw_hang_write(const struct pw_cluster *c, struct pw_sentence *s)
{
    size_t told = 0, n;
    if (!pw_hang_is_of_dumps(c))
        return;
    if (!c->nhang && c->nopen_calls)
        pw_sentence_add(s,
                        "No rank is missing: %zu operations had not ended when the dumps were "
                        "written, and both sides of each had been reached.",
                        c->nopen_calls);
    else if (!c->nhang)
        write_none(c, s);
    const int is_begun = write_circle(c, s);
    for (size_t i = 0; i < c->nhang; i += n) {
        n = pw_hang_rows(c, i);
        if (told++ < TOLD) {
            pw_sentence_add(s, told > 1 || is_begun ? " " : "");
            write_one(c, &c->hang[i], n, s);
        }
    }
    if (told > TOLD)
        pw_sentence_add(s, " Ranks wait in %zu more operations.", told - TOLD);
}
