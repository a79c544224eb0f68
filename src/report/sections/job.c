/* The job: its end, the verdict about it and what stands beside it; hosts, steps and windows. */
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
