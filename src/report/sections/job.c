/* The job: its end, the verdict about it and what stands beside it; hosts, steps and windows; the
 * epochs; and who hung when dumps were written. */
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "analysis/figures/figures.h"
#include "analysis/figures/goodput.h"
#include "core/limits.h"
#include "core/text.h"
#include "report/content/firstscreen.h"
#include "report/content/hang.h"
#include "report/report.h"
#include "report/sections/section.h"
#include "report/writing/json_row.h"
#include "report/writing/page.h"
#include "report/writing/safenames.h"
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

static int show_job(const struct pw_page *page)
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

static json_t *make_highlights(const struct pw_figures *f)
{
    struct pw_highlight found[PW_HIGHLIGHTS];
    struct pw_loss losses[PW_LOSSES];
    const size_t n = pw_highlights_find(f, found), nlosses = pw_losses_find(f, losses);
    json_t *all = json_array();
    int bad = !all;
    for (size_t i = 0; i < n && !bad; i++) {
        const struct pw_highlight *one = &found[i];
        json_t *row = json_object();
        bad |= json_object_set_new(row, "kind", json_string(one->kind));
        bad |= json_object_set_new(row, "share", pw_json_real(one->share));
        bad |= json_object_set_new(row, "lost_ns", pw_json_int(one->ns));
        bad |= json_object_set_new(row, "rank", pw_json_int(one->rank));
        bad |= json_object_set_new(row, "of_rank", pw_json_real(one->of_rank));
        bad |= json_object_set_new(row, "text", json_string(one->text));
        bad |= json_object_set_new(row, "in_headline",
                                   json_boolean(pw_losses_tells(losses, nlosses, one->kind)));
        bad |= json_array_append_new(all, row);
    }
    return pw_json_or_null(all, bad);
}

/* What the ranks waited for each other and transferred in all. */
static json_t *make_totals(const struct pw_figures *f)
{
    struct pw_total found[PW_TOTALS];
    pw_totals_find(f, found);
    json_t *all = json_array();
    int bad = !all;
    for (int i = 0; i < PW_TOTALS && !bad; i++)
        if (found[i].ns >= 0)
            bad = json_array_append_new(
                all, json_pack("{s:s, s:o, s:o, s:b}", "what", pw_total_name(i), "ns",
                               pw_json_int(found[i].ns), "share", pw_json_real(found[i].share),
                               "in_headline", found[i].is_headline));
    return pw_json_or_null(all, bad);
}

static json_t *make_losses(const struct pw_figures *f)
{
    struct pw_loss found[PW_LOSSES];
    size_t n = pw_losses_find(f, found);
    json_t *all = json_array();
    int bad = !all;
    for (size_t i = 0; i < n && !bad; i++) {
        const struct pw_loss *one = &found[i];
        json_t *row = json_object();
        bad |= json_object_set_new(row, "kind", json_string(one->kind));
        bad |= json_object_set_new(row, "gain_ns", pw_json_int(one->gain_ns));
        bad |= json_object_set_new(row, "together_ns", pw_json_int(one->together_ns));
        bad |= json_object_set_new(row, "lost_ns", pw_json_int(one->lost_ns));
        bad |= json_object_set_new(row, "share", pw_json_real(one->share));
        bad |= json_object_set_new(row, "share_of", json_string(one->share_of));
        bad |= json_object_set_new(row, "rank", pw_json_int(one->rank));
        bad |= json_object_set_new(
            row, "hostname",
            one->hostname[0] ? pw_json_text(one->hostname, sizeof(one->hostname)) : json_null());
        bad |= json_object_set_new(row, "text", pw_json_text(one->text, sizeof(one->text)));
        bad |= json_object_set_new(row, "in_headline", json_boolean(one->is_headline));
        bad |= json_array_append_new(all, row);
    }
    return pw_json_or_null(all, bad);
}

static json_t *make_basis(const struct pw_figures *f)
{
    struct pw_basis found[PW_BASES];
    size_t n = pw_basis_find(f, found);
    json_t *all = json_array();
    int bad = !all;
    for (size_t i = 0; i < n && !bad; i++)
        bad = json_array_append_new(all,
                                    json_pack("{s:s, s:s, s:s}", "what", found[i].what, "mark",
                                              pw_mark_name(found[i].mark), "text", found[i].text));
    return pw_json_or_null(all, bad);
}

static json_t *ranks_that_ended(const struct pw_cluster *c, enum pw_ended when)
{
    json_t *array = json_array();
    int bad = !array;
    for (size_t i = 0; i < c->nendings && !bad; i++)
        if (c->endings[i].ended == when)
            bad = json_array_append_new(array, json_integer(c->endings[i].rank));
    return pw_json_or_null(array, bad);
}

/* How a job ended that did not end well; the verdict about delays is then that of the time before.
 */
static json_t *make_ending(const struct pw_figures *f)
{
    const struct pw_cluster *c = f->cluster;
    const struct pw_verdict verdict = pw_figures_advice(f).verdict;
    const char *reason = pw_verdict_reason(verdict.wanting);
    char raw[PW_HEADLINE_BYTES], text[PW_HEADLINE_BYTES];
    struct pw_sentence s = pw_sentence_on(raw, sizeof(raw));
    if (!pw_ending_is_bad(c))
        return json_null();
    raw[0] = '\0';
    pw_ending_write(f, &s);
    pw_names_printable(text, sizeof(text), raw, sizeof(raw));
    json_t *ending = json_object();
    int bad = json_object_set_new(ending, "text", pw_json_text(text, sizeof(text)));
    bad |= json_object_set_new(ending, "first", ranks_that_ended(c, PW_ENDED_FIRST));
    bad |= json_object_set_new(ending, "later", ranks_that_ended(c, PW_ENDED_LATER));
    bad |= json_object_set_new(ending, "not_known", ranks_that_ended(c, PW_ENDED_UNKNOWN));
    bad |=
        json_object_set_new(ending, "verdict_before", json_string(pw_verdict_name(verdict.kind)));
    bad |= json_object_set_new(ending, "reason_before", reason ? json_string(reason) : json_null());
    bad |= json_object_set_new(ending, "ranks",
                               pw_json_rows(PW_TABLE_c_ending, c->endings, c->nendings));
    bad |= json_object_set_new(ending, "exceptions",
                               pw_json_rows(PW_TABLE_c_exception, c->exceptions, c->nexceptions));
    return pw_json_or_null(ending, bad);
}

static json_t *make_job(const struct pw_figures *f)
{
    const struct pw_cluster *c = f->cluster;
    char headline[PW_HEADLINE_BYTES], shown[PW_HEADLINE_BYTES], missing[PW_HEADLINE_BYTES];
    pw_headline_write(f, headline, sizeof(headline));
    pw_headline_missing(f, missing, sizeof(missing));
    pw_names_printable(shown, sizeof(shown), headline, sizeof(headline));
    const int is_bad = pw_ending_is_bad(c);
    const struct pw_verdict verdict = pw_figures_advice(f).verdict;
    const int is_hang = pw_hang_has_missing(c);
    const char *reason = is_bad || is_hang        ? NULL
                         : pw_hang_is_of_dumps(c) ? "dumps"
                                                  : pw_verdict_reason(verdict.wanting);
    json_t *job = json_object();
    int bad = json_object_set_new(job, "verdict",
                                  json_string(is_bad    ? "ended"
                                              : is_hang ? "hang"
                                                        : pw_verdict_name(verdict.kind)));
    bad |= json_object_set_new(job, "hang", pw_json_rows(PW_TABLE_c_hang, c->hang, c->nhang));
    bad |= json_object_set_new(job, "imported",
                               c->imported[0] ? json_string(c->imported) : json_null());
    bad |= json_object_set_new(job, "reason", reason ? json_string(reason) : json_null());
    bad |= json_object_set_new(job, "ending", make_ending(f));
    bad |= json_object_set_new(job, "headline", pw_json_text(shown, sizeof(shown)));
    bad |= json_object_set_new(job, "losses", make_losses(f));
    bad |= json_object_set_new(job, "totals", make_totals(f));
    bad |= json_object_set_new(job, "highlights", make_highlights(f));
    bad |= json_object_set_new(job, "basis", make_basis(f));
    bad |= json_object_set_new(job, "incomplete", pw_json_text(missing, sizeof(missing)));
    bad |= json_object_set_new(job, "command", pw_json_text(c->command, sizeof(c->command)));
    bad |= json_object_set_new(job, "job_id", pw_json_text(c->job_id, sizeof(c->job_id)));
    bad |= json_object_set_new(job, "profwrap_version",
                               pw_json_text(c->profwrap_version, sizeof(c->profwrap_version)));
    bad |= json_object_set_new(job, "ranks", pw_json_int(f->expected));
    bad |= json_object_set_new(job, "hosts", pw_json_int(f->nhosts > 0 ? f->nhosts : -1));
    bad |= json_object_set_new(job, "start_unix_ns", pw_json_int(c->start_unix_ns));
    bad |= json_object_set_new(job, "end_unix_ns", pw_json_int(c->end_unix_ns));
    bad |= json_object_set_new(job, "run_ns", pw_json_int(f->run_ns));
    bad |= json_object_set_new(job, "restricted_to_steps",
                               c->restricted_to[0] ? json_string(c->restricted_to) : json_null());
    char restriction[600];
    pw_words_restriction(c, restriction, sizeof(restriction));
    bad |= json_object_set_new(job, "restriction", pw_json_text(restriction, sizeof(restriction)));
    bad |= json_object_set_new(job, "snapshot", json_boolean(c->snapshot > 0));
    bad |= json_object_set_new(job, "windows",
                               pw_json_rows(PW_TABLE_c_window, c->windows, c->nwindows));
    bad |= json_object_set_new(job, "merge_processes", pw_json_int(c->merge_processes));
    return pw_json_or_null(job, bad);
}

const struct pw_section pw_section_job = {
    .name = "job",
    .title = "Job",
    .flags = PW_SECTION_DUMPS | PW_SECTION_END | PW_SECTION_PAGE,
    .tables = {PW_TABLE_c_rank, PW_TABLE_c_ending, PW_TABLE_c_exception, PW_TABLE_c_window},
    .print = show_job,
    .keys = {{"job", make_job}},
};

/* The epochs of a job, one for each start of its ranks by the launcher. */

static void count_cell(struct pw_grid *grid, int64_t count)
{
    if (count < 0)
        pw_grid_cell(grid, "n/a");
    else
        pw_grid_cell(grid, "%" PRId64, count);
}

static void epoch_row(struct pw_grid *grid, const struct pw_row_c_epoch *row)
{
    char end[256];
    pw_grid_cell(grid, "%" PRId32 "%s", row->epoch, row->shown ? " *" : "");
    pw_grid_cell(grid, "%" PRId32, row->ranks);
    pw_grid_time(grid, row->ran_ns);
    if (row->steps > 0)
        pw_grid_cell(grid, "%" PRId64 "-%" PRId64, row->first_step, row->last_step);
    else
        pw_grid_cell(grid, "none");
    count_cell(grid, row->kept_steps);
    pw_grid_time(grid, row->kept_ns);
    pw_grid_time(grid, row->restart_ns);
    pw_grid_note(grid, "%s", pw_words_epoch_end(row, end, sizeof(end)));
}

static int print_goodput(const struct pw_page *page)
{
    const struct pw_goodput g = pw_goodput_of(page->figures->cluster);
    char least[32], most[32], wall[32], restarts[32];
    pw_page_percent(least, sizeof(least), g.least);
    pw_page_percent(most, sizeof(most), g.most);
    pw_text_ns(wall, sizeof(wall), g.wall_ns);
    pw_text_ns(restarts, sizeof(restarts), g.restarts_ns);
    if (g.least < 0)
        return pw_page_print(page, 2, 2, "Goodput: n/a, because not all steps were recorded.");
    if (g.begins_anew && g.most > g.least)
        return pw_page_print(
            page, 2, 2,
            "Goodput: between %s and %s of %s; restarts took %s. An epoch numbers its steps from "
            "the beginning, so it is not known which steps it repeats: number them on from the "
            "checkpoint, as in profwrap.step(n).",
            least, most, wall, restarts);
    return pw_page_print(page, 2, 2,
                         "Goodput: %s of %s is the time of the %" PRId64 " steps that were kept, "
                         "of %" PRId64 "; restarts took %s.",
                         least, wall, g.kept_steps, g.steps, restarts);
}

static int show_epochs(const struct pw_page *page)
{
    static const struct pw_grid_column columns[] = {
        {"epoch", 0}, {"ranks", 0},          {"ran", 0},          {"steps", 0},
        {"kept", 0},  {"in kept\nsteps", 0}, {"restart\ntook", 0}};
    const struct pw_cluster *c = page->figures->cluster;
    struct pw_grid grid;
    if (!c->nepochs)
        return pw_page_print(page, 2, 2, "The ranks of this job were started once.");
    pw_grid_init(&grid, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < c->nepochs; i++)
        epoch_row(&grid, &c->epochs[i]);
    int err = pw_grid_print(&grid, page);
    pw_grid_fini(&grid);
    if (!err)
        err = print_goodput(page);
    return err ? err
               : pw_page_print(page, 2, 2,
                               "* this report; 'profwrap report --epoch N DIR' is of another one.");
}

static json_t *make_epoch_rows(const struct pw_cluster *c)
{
    json_t *array = pw_json_rows(PW_TABLE_c_epoch, c->epochs, c->nepochs);
    int bad = !array;
    for (size_t i = 0; i < c->nepochs && !bad; i++) {
        char words[256];
        pw_words_epoch_end(&c->epochs[i], words, sizeof(words));
        bad = json_object_set_new(json_array_get(array, i), "words",
                                  pw_json_text(words, sizeof(words)));
    }
    return pw_json_or_null(array, bad);
}

static json_t *make_epochs(const struct pw_figures *f)
{
    const struct pw_goodput g = pw_goodput_of(f->cluster);
    if (!f->cluster->nepochs)
        return json_null();
    json_t *epochs = json_object();
    int bad = json_object_set_new(epochs, "wall_ns", pw_json_int(g.wall_ns));
    bad |= json_object_set_new(epochs, "restarts_ns", pw_json_int(g.restarts_ns));
    bad |= json_object_set_new(epochs, "steps", pw_json_int(g.steps));
    bad |= json_object_set_new(epochs, "kept_steps", pw_json_int(g.kept_steps));
    bad |= json_object_set_new(epochs, "kept_ns", pw_json_int(g.kept_ns));
    bad |= json_object_set_new(epochs, "goodput_least", pw_json_real(g.least));
    bad |= json_object_set_new(epochs, "goodput_most", pw_json_real(g.most));
    bad |= json_object_set_new(epochs, "rows", make_epoch_rows(f->cluster));
    return pw_json_or_null(epochs, bad);
}

static bool has_epochs(const struct pw_cluster *c)
{
    return c->nepochs > 0;
}

const struct pw_section pw_section_epochs = {
    .name = "epochs",
    .title = "Epochs: each time that the launcher started the ranks",
    .flags = PW_SECTION_WHOLE | PW_SECTION_PAGE,
    .tables = {PW_TABLE_c_epoch},
    .is_of = has_epochs,
    .print = show_epochs,
    .keys = {{"epochs", make_epochs}},
};

/* Operations of dumps that had not ended: who waits in each, and who did not reach it. */

static const struct {
    int role;
    const char *words;
} roles[] = {
    {PW_REACH_MISSING, "did not reach it"},
    {PW_REACH_HELD, "did not reach it, wait in others"},
    {PW_REACH_NO_OPERATIONS, "not known, no operations in the dump"},
    {PW_REACH_NO_DUMP, "not known, no dump"},
    {PW_REACH_CUT_DUMP, "not known, the dump is cut"},
    {PW_REACH_WAITING, "wait in it"},
    {PW_REACH_ENDED, "have ended it"},
};

static int print_operation(const struct pw_page *page, const struct pw_row_c_hang *rows, size_t n)
{
    char text[256], ranks[512];
    struct pw_sentence s = pw_sentence_on(text, sizeof(text));
    size_t at = 0;
    while (at + 1 < n && rows[at].role != PW_REACH_WAITING)
        at++;
    text[0] = '\0';
    pw_hang_operation(&rows[at], &s);
    int err = pw_page_print(page, 2, 2, "%s", text);
    for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]) && !err; i++) {
        struct pw_sentence list = pw_sentence_on(ranks, sizeof(ranks));
        if (pw_hang_ranks(rows, n, roles[i].role, &list))
            err = pw_page_print(page, 4, 2, "%s: %s", roles[i].words, ranks);
    }
    return err;
}

/* The calls with which the files of a job end that did not end well: how it ended, and who was in
 * which call for how long. */
static int print_end(const struct pw_page *page)
{
    const struct pw_cluster *c = page->figures->cluster;
    char text[PW_HEADLINE_BYTES] = "", call[PW_CALL_TEXT], time[32];
    struct pw_sentence s = pw_sentence_on(text, sizeof(text));
    pw_ending_write(page->figures, &s);
    int err = s.used ? pw_page_print(page, 2, 2, "%s", text) : 0;
    for (size_t i = 0; i < c->nopen_calls && i < page->top && !err; i++) {
        const struct pw_row_c_open_call *one = &c->open_calls[i];
        err = pw_page_print(
            page, 4, 6, "rank %" PRId32 ": in %s for %s", one->rank, pw_opencall_write(one, call),
            pw_text_ns(time, sizeof(time), pw_difference(one->seen_until, one->start)));
    }
    if (!err && c->nopen_calls > page->top)
        err = pw_page_print(page, 4, 6, "and %zu more, in cluster.h5 /open_calls",
                            c->nopen_calls - page->top);
    return err;
}

static int show_hang(const struct pw_page *page)
{
    const struct pw_cluster *c = page->figures->cluster;
    size_t shown = 0, n;
    int err = 0;
    if (!c->nhang && c->nopen_calls && !pw_hang_is_of_dumps(c))
        return print_end(page);
    if (!c->nhang)
        return pw_page_print(page, 2, 2, "None.");
    for (size_t i = 0; i < c->nhang && !err; i += n) {
        n = pw_hang_rows(c, i);
        if (shown++ == page->top)
            return pw_page_print(page, 2, 2, "and more, in cluster.h5 /hang");
        err = print_operation(page, &c->hang[i], n);
    }
    return err;
}

static bool has_hang(const struct pw_cluster *c)
{
    return c->nhang > 0;
}

const struct pw_section pw_section_hang = {
    .name = "hang",
    .title = "Operations that had not ended: who waits, and who is missing",
    .flags = PW_SECTION_WHOLE | PW_SECTION_DUMPS,
    .tables = {PW_TABLE_c_hang},
    .is_of = has_hang,
    .print = show_hang,
};
