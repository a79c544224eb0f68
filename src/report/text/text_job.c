/* Prints the job, the completeness of the data, and the clocks; see sections.h. */
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "core/limits.h"
#include "core/text.h"
#include "report/content/firstscreen.h"
#include "report/content/hang.h"
#include "report/content/opencall.h"
#include "report/text/sections.h"
#include "report/writing/page.h"
#include "report/writing/words.h"

enum { HOSTS_SHOWN = 4, WINDOWS_SHOWN = 8 };

/* Prints "node-a: ranks 0-3; node-b: ranks 4-7". The host of a rank without a file is not known. */
static int print_hosts(const struct pw_page *page)
{
    const struct pw_row_c_rank *ranks = page->figures->cluster->ranks;
    size_t n = page->figures->nranks, shown = 0, used = 0;
    char text[HOSTS_SHOWN * 160 + 32] = "";
    for (size_t first = 0, last; first < n && shown <= HOSTS_SHOWN; first = last + 1, shown++) {
        for (last = first; last + 1 < n && strncmp(ranks[last + 1].hostname, ranks[first].hostname,
                                                   sizeof(pw_type_S64)) == 0;)
            last++;
        char span[64];
        const char *host = ranks[first].hostname[0] ? ranks[first].hostname : "not known";
        if (first == last)
            snprintf(span, sizeof(span), "rank %" PRId32, ranks[first].rank);
        else
            snprintf(span, sizeof(span), "ranks %" PRId32 "-%" PRId32, ranks[first].rank,
                     ranks[last].rank);
        int bytes = shown == HOSTS_SHOWN ? snprintf(text + used, sizeof(text) - used, "; …")
                                         : snprintf(text + used, sizeof(text) - used, "%s%.64s: %s",
                                                    shown ? "; " : "", host, span);
        used += bytes > 0 ? (size_t)bytes : 0;
    }
    return shown ? pw_page_property(page, "hosts", "%s", text) : 0;
}

static int print_steps(const struct pw_page *page)
{
    const struct pw_figures *f = page->figures;
    char mean[32], least[32], most[32], warmup[64] = "";
    if (f->warmup)
        snprintf(warmup, sizeof(warmup), "; %" PRId64 " %s left out", f->warmup,
                 pw_words_left_out(f));
    if (!f->measured)
        return pw_page_property(page, "steps", "none known%s", warmup);
    return pw_page_property(page, "steps", "%" PRId64 " measured: mean %s, least %s, most %s%s",
                            f->measured, pw_text_ns(mean, sizeof(mean), f->step_mean_ns),
                            pw_text_ns(least, sizeof(least), f->step_min_ns),
                            pw_text_ns(most, sizeof(most), f->step_max_ns), warmup);
}

/* Writes the steps of the windows, "A-B, C-D", or with `warmup` their warm-up steps. */
static void write_spans(const struct pw_cluster *c, bool warmup, char *out, size_t size)
{
    struct pw_sentence s = {out, size, 0};
    int n = 0;
    out[0] = '\0';
    for (size_t i = 0; i < c->nwindows; i++) {
        const struct pw_row_c_window *w = &c->windows[i];
        int64_t first = warmup ? w->warmup_first_step : w->first_step;
        int64_t last = warmup ? w->warmup_last_step : w->last_step;
        if (first < 0 || ++n > WINDOWS_SHOWN)
            continue;
        pw_sentence_add(&s, "%s%" PRId64, n > 1 ? ", " : "", first);
        if (last > first)
            pw_sentence_add(&s, "-%" PRId64, last);
    }
    if (n > WINDOWS_SHOWN)
        pw_sentence_add(&s, " and %d more", n - WINDOWS_SHOWN);
}

/* Prints the windows, if recording was paused in the run. */
static int print_windows(const struct pw_page *page)
{
    const struct pw_cluster *c = page->figures->cluster;
    char active[400], warmup[400], time[32];
    int64_t recorded_ns = 0;
    if (c->nwindows == 0 || (c->nwindows == 1 && c->windows[0].cause == PW_OPENED_RUN))
        return 0;
    for (size_t i = 0; i < c->nwindows; i++)
        if (c->windows[i].start >= 0 && c->windows[i].end > c->windows[i].start)
            recorded_ns = pw_sum(recorded_ns, c->windows[i].end - c->windows[i].start);
    pw_text_ns(time, sizeof(time), recorded_ns);
    write_spans(c, false, active, sizeof(active));
    write_spans(c, true, warmup, sizeof(warmup));
    return pw_page_property(page, "recorded", "%s%s%s%s, %s in %zu window%s",
                            active[0] ? "steps " : "", active[0] ? active : "outside steps",
                            warmup[0] ? "; warm-up " : "", warmup, time, c->nwindows,
                            c->nwindows == 1 ? "" : "s");
}

/* Prints FLOP/s and MFU, if the FLOPs that the model needs are known. */
static int print_flops(const struct pw_page *page)
{
    const struct pw_cluster *c = page->figures->cluster;
    char reached[32], peak[32], share[32];
    if (!c->nflops)
        return 0;
    const struct pw_row_c_flops *all = &c->flops[0];
    pw_text_flops(reached, sizeof(reached), all->flops_per_s);
    pw_text_flops(peak, sizeof(peak), all->peak_flops);
    if (all->mfu < 0)
        return pw_page_property(page, "FLOP/s", "%s/s on %" PRId32 " rank%s; MFU not known",
                                reached, all->ranks, all->ranks == 1 ? "" : "s");
    return pw_page_property(page, "MFU", "%s: %s/s on %" PRId32 " rank%s, of %s/s in %.16s",
                            pw_words_mfu(share, sizeof(share), all->mfu), reached, all->ranks,
                            all->ranks == 1 ? "" : "s", peak, all->type);
}

static int print_restriction(const struct pw_page *page)
{
    char text[600];
    pw_words_restriction(page->figures->cluster, text, sizeof(text));
    return text[0] ? pw_page_property(page, "only", "%s", text) : 0;
}

int pw_section_job(const struct pw_page *page)
{
    const struct pw_figures *f = page->figures;
    const struct pw_cluster *c = f->cluster;
    char run[32], hosts[48] = "", recorded[48] = "";
    int err = 0;
    if (c->command[0])
        err = pw_page_property(page, "command", "%.*s", (int)sizeof(c->command), c->command);
    if (!err && c->job_id[0])
        err = pw_page_property(page, "job", "%.*s", (int)sizeof(c->job_id), c->job_id);
    if (f->nhosts > 0)
        snprintf(hosts, sizeof(hosts), " on %" PRId64 "%s host%s", f->nhosts,
                 f->present < f->expected ? " known" : "", f->nhosts == 1 ? "" : "s");
    if (f->present < f->expected)
        snprintf(recorded, sizeof(recorded), " (%" PRId64 " recorded)", f->present);
    if (!err)
        err = pw_page_property(page, "ran", "%" PRId64 " rank%s%s%s for %s", f->expected,
                               f->expected == 1 ? "" : "s", recorded, hosts,
                               pw_text_ns(run, sizeof(run), f->run_ns));
    if (!err)
        err = print_hosts(page);
    err = err ? err : print_steps(page);
    err = err ? err : print_flops(page);
    err = err ? err : print_windows(page);
    return err ? err : print_restriction(page);
}

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

int pw_section_completeness(const struct pw_page *page)
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

/* ---- the clocks: the offset, the drift and the error of each domain ---- */

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

int pw_section_clocks(const struct pw_page *page)
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
