/* What the figures rest on: ranks, calls and events that were not recorded, calls that had not
 * ended, the cost of recording, and the error of the clocks. */
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "analysis/figures/figures.h"
#include "core/limits.h"
#include "core/text.h"
#include "report/content/firstscreen.h"
#include "report/content/hang.h"
#include "report/report.h"
#include "report/sections/section.h"
#include "report/writing/json_row.h"
#include "report/writing/page.h"
#include "report/writing/words.h"

/* Prints what was not recorded. This comes after the ranks, because a complete file may lack MPI
 * calls. */
static int print_unrecorded(const struct pw_page *page)
{
    struct pw_unrecorded_sum sum;
    pw_unrecorded_sum(page->figures->cluster, &sum);
    int err = 0;
    for (int reason = 0; reason < PW_UNRECORDED_REASONS && !err; reason++)
        if (sum.by_reason[reason])
            err =
                pw_page_property(page, "MPI", "not recorded on %" PRId64 " rank%s, because %s; %s",
                                 sum.by_reason[reason], sum.by_reason[reason] == 1 ? "" : "s",
                                 pw_unrecorded_because((enum pw_unrecorded)reason),
                                 pw_unrecorded_remedy((enum pw_unrecorded)reason));
    if (!err && sum.gpu)
        err = pw_page_property(page, "GPUs", "not recorded on %" PRId64 " rank%s: %.*s",
                               sum.gpu_ranks, sum.gpu_ranks == 1 ? "" : "s",
                               (int)sizeof(sum.gpu->detail), sum.gpu->detail);
    if (!err && sum.spawned)
        err = pw_page_property(
            page, "spawned", "%" PRId64 " process%s started by MPI_Comm_spawn %s not recorded",
            sum.spawned, sum.spawned == 1 ? "" : "es", sum.spawned == 1 ? "was" : "were");
    return err;
}

static int print_ranks(const struct pw_page *page)
{
    const struct pw_figures *f = page->figures;
    const int64_t bad = pw_ending_count_bad(f->cluster);
    char failed[64] = "";
    if (bad > 0 || f->failed)
        snprintf(failed, sizeof(failed), "; %" PRId64 " %s", bad > 0 ? bad : f->failed,
                 bad > 0 ? "did not end well" : "ended with an error");
    if (f->present == f->expected && !f->unclosed)
        return pw_page_property(page, "ranks", "all %" PRId64 " present%s%s", f->expected,
                                failed[0] ? "" : " and closed in order", failed);
    char unclosed[64] = "";
    if (f->unclosed)
        snprintf(unclosed, sizeof(unclosed), ", %" PRId64 " of them not closed in order",
                 f->unclosed);
    return pw_page_property(page, "ranks", "%" PRId64 " of %" PRId64 " present%s%s", f->present,
                            f->expected, unclosed, failed);
}

static int print_clock(const struct pw_page *page)
{
    const struct pw_figures *f = page->figures;
    char median[32], most[32];
    if (f->clock_error_max_ns < 0)
        return pw_page_property(page, "clocks",
                                "error not known: times between hosts may be off by any amount");
    if (f->clock_error_max_ns == 0)
        return pw_page_property(page, "clocks", "all ranks are on one clock: no error");
    return pw_page_property(
        page, "clocks", "error median %s, at most %s; times between ranks below it are marked ~",
        pw_text_ns(median, sizeof(median), f->clock_error_median_ns),
        pw_text_ns(most, sizeof(most), f->clock_error_max_ns));
}

static int print_step_source(const struct pw_page *page)
{
    static const char *const how[] = {
        "marked by the program", "inferred from repeated calls; the program marks none",
        "slices of equal length: the program marks none, and no call repeats regularly"};
    const struct pw_figures *f = page->figures;
    const int64_t inferred = f->cluster->steps_inferred;
    if (!f->measured)
        return pw_page_property(page, "steps", "none used");
    return pw_page_property(page, "steps", "%" PRId64 " used; %s", f->measured,
                            how[inferred > 1 ? 2 : inferred > 0]);
}

static int print_overhead(const struct pw_page *page)
{
    const struct pw_figures *f = page->figures;
    char cost[32], of[32], share[32];
    if (f->overhead_of_ns <= 0)
        return pw_page_property(page, "profiling", "cost not known");
    return pw_page_property(
        page, "profiling", "cost %s of %s of rank time (%s of the run)",
        pw_text_ns(cost, sizeof(cost), f->overhead_ns),
        pw_text_ns(of, sizeof(of), f->overhead_of_ns),
        pw_page_percent(share, sizeof(share), pw_figures_share(f->overhead_ns, f->overhead_of_ns)));
}

/* Returns the number of rows from `first` on that are the same loss of consecutive ranks. */
static size_t count_like_losses(const struct pw_cluster *c, size_t first)
{
    const struct pw_row_c_completeness *row = &c->completeness[first];
    size_t n = 1;
    while (first + n < c->ncompleteness && row->rank >= 0 && row[n].rank >= 0 &&
           row[n].rank == (int64_t)row->rank + (int64_t)n && row[n].count == row->count &&
           memcmp(row[n].what, row->what, sizeof(row->what)) == 0 &&
           memcmp(row[n].detail, row->detail, sizeof(row->detail)) == 0)
        n++;
    return n;
}

/* Prints the losses that the merge found. They do not depend on `top`. */
static int print_losses(const struct pw_page *page)
{
    const struct pw_cluster *c = page->figures->cluster;
    enum { SHOWN = 40 };
    int err = 0;
    size_t shown = 0, i = 0;
    for (size_t alike; i < c->ncompleteness && shown < SHOWN && !err; i += alike, shown++) {
        const struct pw_row_c_completeness *row = &c->completeness[i];
        char count[32] = "", rank[48] = "all";
        alike = count_like_losses(c, i);
        if (row->count > 1 || (row->count == 1 && alike == 1))
            snprintf(count, sizeof(count), alike > 1 ? " (%" PRId64 " each)" : " (%" PRId64 ")",
                     row->count);
        if (alike > 1)
            snprintf(rank, sizeof(rank), "ranks %" PRId32 "-%" PRId64, row->rank,
                     (int64_t)row->rank + (int64_t)alike - 1);
        else if (row->rank >= 0)
            snprintf(rank, sizeof(rank), "rank %" PRId32, row->rank);
        err = pw_page_property(page, rank, "%.32s%s%s%.256s", row->what, count,
                               row->detail[0] ? ": " : "", row->detail);
    }
    if (!err && i < c->ncompleteness)
        err = pw_page_property(page, "and", "%zu more of these, in cluster.h5 /completeness",
                               c->ncompleteness - i);
    return err;
}

/* Returns the row of a rank in /ranks, which tells how it ended; NULL when there is none. */
static const struct pw_row_c_rank *end_of(const struct pw_page *page, int32_t rank)
{
    int64_t row = pw_figures_row(page->figures, rank);
    return row < 0 ? NULL : &page->figures->cluster->ranks[row];
}

static int is_alike(const struct pw_page *page, const struct pw_row_c_open_call *a,
                    const struct pw_row_c_open_call *b)
{
    const struct pw_row_c_rank *x = end_of(page, a->rank), *y = end_of(page, b->rank);
    return a->source == b->source && a->op == b->op && a->comm_uid == b->comm_uid &&
           a->seq == b->seq && a->peer == b->peer && x && y && x->exit_signal == y->exit_signal &&
           x->exit_code == y->exit_code;
}

/* Returns the number of rows from `first` on with consecutive ranks that ended in the same way in
 * the same call. */
static size_t count_alike(const struct pw_page *page, size_t first)
{
    const struct pw_cluster *c = page->figures->cluster;
    const struct pw_row_c_open_call *call = &c->open_calls[first];
    size_t n = 1;
    while (first + n < c->nopen_calls && call[n].rank == (int64_t)call->rank + (int64_t)n &&
           is_alike(page, call, &call[n]))
        n++;
    return n;
}

/* "killed by signal 9 in MPI_Allreduce #17 on MPI_COMM_WORLD, entered 12.3 s before". */
static int print_open_call(const struct pw_page *page, const struct pw_row_c_open_call *call,
                           size_t alike)
{
    const struct pw_row_c_rank *end = end_of(page, call->rank);
    char rank[48], how[64] = "ended", text[PW_CALL_TEXT], ago[32];
    if (alike == 1)
        snprintf(rank, sizeof(rank), "rank %" PRId32, call->rank);
    else
        snprintf(rank, sizeof(rank), "ranks %" PRId32 "-%" PRId64, call->rank,
                 (int64_t)call->rank + (int64_t)alike - 1);
    if (end && end->exit_signal > 0)
        snprintf(how, sizeof(how), "killed by signal %" PRId32, end->exit_signal);
    else if (end && end->exit_code >= 0)
        snprintf(how, sizeof(how), "exited with status %" PRId32, end->exit_code);
    return pw_page_property(
        page, rank, "%s in %s, entered %s before", how, pw_opencall_write(call, text),
        pw_text_ns(ago, sizeof(ago), pw_difference(call->seen_until, call->start)));
}

static int print_open_calls(const struct pw_page *page)
{
    const struct pw_cluster *c = page->figures->cluster;
    enum { SHOWN = 20 };
    int err = 0;
    size_t shown = 0, alike;
    if (pw_hang_is_of_dumps(c)) /* they have a section of their own */
        return 0;
    for (size_t i = 0; i < c->nopen_calls && shown < SHOWN && !err; i += alike, shown++) {
        alike = count_alike(page, i);
        err = print_open_call(page, &c->open_calls[i], alike);
        if (shown + 1 == SHOWN && i + alike < c->nopen_calls && !err)
            err = pw_page_property(page, "and", "%zu more of these, in cluster.h5 /open_calls",
                                   c->nopen_calls - i - alike);
    }
    return err;
}

/* The texts of exceptions, of which the headline has only the type and the line. */
static int print_exceptions(const struct pw_page *page)
{
    const struct pw_cluster *c = page->figures->cluster;
    enum { SHOWN = 8 };
    int err = 0;
    for (size_t i = 0; i < c->nexceptions && i < SHOWN && !err; i++) {
        const struct pw_row_c_exception *e = &c->exceptions[i];
        char rank[32], at[320] = "";
        snprintf(rank, sizeof(rank), "rank %" PRId32, e->rank);
        if (e->file[0])
            snprintf(at, sizeof(at), ", at %.256s:%" PRId32, e->file, e->line);
        err = pw_page_property(page, rank, "exception %.64s%s%s%.256s%s", e->type,
                               e->is_main ? "" : " in a thread", e->message[0] ? ": " : "",
                               e->message, at);
    }
    if (!err && c->nexceptions > SHOWN)
        err = pw_page_property(page, "and", "%zu more of these, in cluster.h5 /exceptions",
                               c->nexceptions - SHOWN);
    return err;
}

static int show_completeness(const struct pw_page *page)
{
    const struct pw_figures *f = page->figures;
    int err = print_ranks(page);
    err = err ? err : print_unrecorded(page);
    if (!err)
        err = pw_page_property(page, "events", "%" PRId64 " recorded, %" PRId64 " dropped",
                               f->events, f->dropped_events);
    const int is_dump = pw_hang_is_of_dumps(f->cluster); /* no times are compared */
    if (!err && !is_dump)
        err = print_clock(page);
    if (!err && !is_dump)
        err = print_step_source(page);
    if (!err && !is_dump)
        err = print_overhead(page);
    if (!err)
        err = print_open_calls(page);
    if (!err)
        err = print_exceptions(page);
    return err ? err : print_losses(page);
}

static json_t *make_completeness(const struct pw_figures *f)
{
    const struct pw_cluster *c = f->cluster;
    bool priced = f->overhead_of_ns > 0;
    struct pw_unrecorded_sum unrecorded;
    pw_unrecorded_sum(c, &unrecorded);
    json_t *all = json_object();
    int bad = json_object_set_new(all, "ranks_expected", pw_json_int(f->expected));
    bad |= json_object_set_new(all, "ranks_present", pw_json_int(f->present));
    bad |= json_object_set_new(all, "ranks_not_closed", pw_json_int(f->unclosed));
    bad |= json_object_set_new(all, "ranks_failed", pw_json_int(f->failed));
    bad |= json_object_set_new(all, "ranks_mpi_not_recorded", pw_json_int(unrecorded.ranks));
    bad |= json_object_set_new(all, "ranks_gpu_not_recorded", pw_json_int(unrecorded.gpu_ranks));
    bad |= json_object_set_new(all, "spawned_not_recorded", pw_json_int(unrecorded.spawned));
    bad |= json_object_set_new(all, "gpu_processes_not_recorded",
                               pw_json_int(unrecorded.gpu_processes));
    bad |= json_object_set_new(all, "events", pw_json_int(f->events));
    bad |= json_object_set_new(all, "dropped_events", pw_json_int(f->dropped_events));
    bad |= json_object_set_new(all, "steps_used", pw_json_int(f->measured));
    bad |= json_object_set_new(all, "steps_inferred", pw_json_steps_inferred(f));
    bad |= json_object_set_new(all, "overhead_ns", pw_json_int(priced ? f->overhead_ns : -1));
    bad |= json_object_set_new(all, "overhead_of_ns", pw_json_int(priced ? f->overhead_of_ns : -1));
    bad |= json_object_set_new(all, "overhead_share",
                               pw_json_real(pw_figures_share(f->overhead_ns, f->overhead_of_ns)));
    bad |= json_object_set_new(
        all, "losses", pw_json_rows(PW_TABLE_c_completeness, c->completeness, c->ncompleteness));
    bad |= json_object_set_new(all, "open_calls",
                               pw_json_rows(PW_TABLE_c_open_call, c->open_calls, c->nopen_calls));
    bad |= json_object_set_new(all, "ranks", pw_json_rows(PW_TABLE_c_rank, c->ranks, f->nranks));
    return pw_json_or_null(all, bad);
}

const struct pw_section pw_section_completeness = {
    .name = "completeness",
    .title = "What these figures rest on",
    .flags = PW_SECTION_DUMPS | PW_SECTION_END | PW_SECTION_PAGE,
    .tables = {PW_TABLE_c_completeness, PW_TABLE_c_open_call},
    .print = show_completeness,
    .keys = {{"completeness", make_completeness}},
};

/* The clocks: the offset, the drift and the error of each rank's. */

/* "+2.00 s", "-5.1 us" */
static void offset_cell(struct pw_grid *grid, int64_t ns)
{
    char time[32];
    uint64_t size = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    pw_text_ns(time, sizeof(time), size > INT64_MAX ? INT64_MAX : (int64_t)size);
    pw_grid_cell(grid, "%s%s", ns < 0 ? "-" : "+", time);
}

static void drift_cell(struct pw_grid *grid, const struct pw_row_c_clock *row)
{
    if (row->drift_error_ppm <= 0 || row->drift_error_ppm > 100)
        pw_grid_cell(grid, "n/a");
    else
        pw_grid_cell(grid, "%+.2f ± %.2f ppm", row->drift_ppm, row->drift_error_ppm);
}

static void domain_cells(struct pw_grid *grid, const struct pw_row_c_clock *row, size_t ranks)
{
    char error[32];
    int is_reference = row->domain == 0, is_known = row->error_ns >= 0;
    if (row->hostname[0])
        pw_grid_cell(grid, "%.64s", row->hostname);
    else
        pw_grid_cell(grid, "not known (rank %" PRId32 ")", row->rank);
    pw_grid_cell(grid, "%zu", ranks);
    if (is_reference || !is_known) {
        pw_grid_cell(grid, is_reference ? "0" : "n/a");
        pw_grid_cell(grid, is_reference ? "0" : "n/a");
    } else {
        offset_cell(grid, row->offset_ns);
        drift_cell(grid, row);
    }
    pw_grid_cell(grid, "%s", pw_text_ns(error, sizeof(error), row->error_ns));
    pw_grid_cell(grid, "%" PRId64, row->active_knots);
    pw_grid_cell(grid, "%" PRId64, row->bounds);
    pw_grid_cell(grid, "%.16s", row->source);
    pw_grid_cell(grid, "%" PRId64 " / %" PRId64, row->violations, row->violations_beyond);
}

/* Returns the number of ranks of the domain if `row` is its first, else 0. */
static size_t ranks_of(const struct pw_cluster *c, size_t row)
{
    size_t ranks = 0;
    for (size_t r = 0; r < c->nclocks; r++) {
        if (c->clocks[r].domain != c->clocks[row].domain)
            continue;
        if (r < row)
            return 0;
        ranks++;
    }
    return ranks;
}

static int print_domains(const struct pw_page *page, size_t *hidden)
{
    static const struct pw_grid_column columns[] = {
        {"host", 1},     {"ranks", 0},  {"offset", 0}, {"drift", 0},      {"error", 0},
        {"measured", 0}, {"bounds", 0}, {"from", 1},   {"violations", 0},
    };
    const struct pw_cluster *c = page->figures->cluster;
    struct pw_grid grid;
    size_t shown = 0;
    pw_grid_init(&grid, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t r = 0; r < c->nclocks; r++) {
        size_t ranks = c->clocks[r].domain < 0 ? 0 : ranks_of(c, r);
        if (ranks == 0)
            continue;
        if (shown < page->top) {
            domain_cells(&grid, &c->clocks[r], ranks);
            shown++;
        } else {
            ++*hidden;
        }
    }
    int err = pw_grid_print(&grid, page);
    pw_grid_fini(&grid);
    return err;
}

static int show_clocks(const struct pw_page *page)
{
    size_t hidden = 0;
    int err = print_domains(page, &hidden);
    if (!err && hidden)
        err = pw_page_print(page, 2, 2, "%zu more are not shown (--top 0).", hidden);
    if (err)
        return err;
    return pw_page_print(
        page, 2, 2,
        "offset: to be added to the host's clock, in the middle of the run; drift: how much faster "
        "it runs than the first; error: bound over the whole run; measured: exchanges with other "
        "hosts; bounds: pairs of events in known order; violations: of these, how many contradict "
        "the corrected times / by more than the error.");
}

static json_t *make_domain(const struct pw_row_c_clock *clock)
{
    int known = clock->error_ns >= 0, drifts = known && clock->drift_error_ppm > 0;
    json_t *row = json_object();
    int bad = json_object_set_new(row, "rank", pw_json_int(clock->rank));
    bad |= json_object_set_new(row, "hostname",
                               pw_json_text(clock->hostname, sizeof(clock->hostname)));
    bad |= json_object_set_new(row, "domain", pw_json_int(clock->domain));
    bad |= json_object_set_new(row, "source", pw_json_text(clock->source, sizeof(clock->source)));
    bad |=
        json_object_set_new(row, "offset_ns", known ? json_integer(clock->offset_ns) : json_null());
    bad |=
        json_object_set_new(row, "drift_ppm", drifts ? json_real(clock->drift_ppm) : json_null());
    bad |= json_object_set_new(row, "drift_error_ppm",
                               drifts ? json_real(clock->drift_error_ppm) : json_null());
    bad |= json_object_set_new(row, "error_ns", pw_json_int(clock->error_ns));
    bad |= json_object_set_new(row, "knots", pw_json_int(clock->knots));
    bad |= json_object_set_new(row, "active_knots", pw_json_int(clock->active_knots));
    bad |= json_object_set_new(row, "bounds", pw_json_int(clock->bounds));
    bad |= json_object_set_new(row, "violations", pw_json_int(clock->violations));
    bad |= json_object_set_new(row, "violations_beyond", pw_json_int(clock->violations_beyond));
    return pw_json_or_null(row, bad);
}

static json_t *make_ranks(const struct pw_cluster *c)
{
    json_t *array = json_array();
    for (size_t r = 0; array && r < c->nclocks; r++)
        if (json_array_append_new(array, make_domain(&c->clocks[r]))) {
            json_decref(array);
            array = NULL;
        }
    return array;
}

/* Returns the value of `clock`; NULL when memory is short. */
static json_t *pw_json_clocks(const struct pw_figures *f)
{
    json_t *clock = json_object();
    int bad = json_object_set_new(clock, "error_median_ns", pw_json_int(f->clock_error_median_ns));
    bad |= json_object_set_new(clock, "error_max_ns", pw_json_int(f->clock_error_max_ns));
    bad |= json_object_set_new(clock, "ranks", make_ranks(f->cluster));
    return pw_json_or_null(clock, bad);
}

static struct pw_lack lack_of_clocks(const struct pw_figures *f)
{
    const struct pw_cluster *c = f->cluster;
    size_t several = 0;
    for (size_t r = 0; r < c->nclocks; r++)
        several |= c->clocks[r].domain > 0;
    return several      ? (struct pw_lack){0}
           : c->nclocks ? (struct pw_lack){"All ranks are on one clock.", NULL}
                        : (struct pw_lack){"Not known: this cluster file does not say.", NULL};
}

const struct pw_section pw_section_clocks = {
    .name = "clocks",
    .title = "Clocks",
    .flags = PW_SECTION_WHOLE | PW_SECTION_PAGE,
    .tables = {PW_TABLE_c_clock},
    .lacks = lack_of_clocks,
    .print = show_clocks,
    .keys = {{"clock", pw_json_clocks}},
};
