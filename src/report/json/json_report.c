/* Writes the JSON report: one function for each key of report.h, in the order of the table at the
 * end. Each returns a new value, or NULL when memory is short. */
#include "report/content/onefigures.h"
#include "report/json/json_keys.h"

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/figures/figures.h"
#include "analysis/figures/goodput.h"
#include "analysis/parts.h"
#include "core/limits.h"
#include "report/content/firstscreen.h"
#include "report/content/hang.h"
#include "report/json/json_row.h"
#include "report/report.h"
#include "report/writing/safenames.h"
#include "report/writing/words.h"

/* The key `clock` of the JSON report: the errors over all ranks, and each rank's clock.
 *
 * Rows are not made by pw_json_rows(): offsets and drifts may
 * be negative. */

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

/* The key `parts` of the JSON report. */

static json_t *time_json(double ns)
{
    return pw_json_int(ns < 0 ? -1 : pw_whole(ns + 0.5));
}

static json_t *part_json(const struct pw_figures *f, const struct pw_parts_known *known, int part,
                         const struct pw_partmean *mean, double run_ns)
{
    const int is_known = mean->mean_ns >= 0;
    const int64_t rank = is_known ? f->cluster->ranks[mean->most_rank].rank : -1;
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "part", pw_enum_name(PW_F_PART, part),
                     "words", pw_words_part(part, known), "mean_ns", time_json(mean->mean_ns),
                     "share", pw_json_real(is_known && run_ns > 0 ? mean->mean_ns / run_ns : -1),
                     "wait_ns", time_json(mean->wait_ns), "longest_own_ns",
                     time_json(mean->most_ns), "longest_rank", pw_json_int(rank));
}

/* Returns the parts of the run: means over ranks, and the rank with most own time; a JSON null when
 * no part is known. NULL when memory is short. */
static json_t *pw_json_parts(const struct pw_figures *f)
{
    const struct pw_cluster *c = f->cluster;
    const struct pw_parts_known known = pw_parts_known(c->part_trace, c->nrank_rows);
    struct pw_partmean means[PW_PARTS];
    if (!known.nranks)
        return json_null();
    pw_partmeans(c->part_trace, c->nrank_rows, &known, means);
    const struct pw_partmean run = pw_partmeans_sum(means);
    json_t *rows = json_array();
    int bad = !rows;
    for (int i = 0; i < PW_PARTS; i++)
        bad |= json_array_append_new(
            rows, part_json(f, &known, PW_PART_START + i, &means[i], run.mean_ns));
    json_t *parts =
        json_pack("{s:I, s:o, s:o, s:o}", "ranks", (json_int_t)known.nranks, "run_ns",
                  time_json(run.mean_ns), "wait_ns", time_json(run.wait_ns), "rows", rows);
    return pw_json_or_null(parts, bad);
}

static json_t *inferred(const struct pw_figures *f)
{
    int64_t value = f->cluster->steps_inferred;
    return value < 0 || !f->measured ? json_null() : json_boolean(value > 0);
}

static json_t *make_highlights(const struct pw_figures *f)
{
    struct pw_highlight found[PW_HIGHLIGHTS];
    size_t n = pw_highlights_find(f, found);
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
        bad |= json_object_set_new(row, "in_headline", json_boolean(one->is_headline));
        bad |= json_array_append_new(all, row);
    }
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
    bad |= json_object_set_new(all, "steps_inferred", inferred(f));
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

static json_t *make_steps(const struct pw_figures *f)
{
    const struct pw_cluster *c = f->cluster;
    json_t *steps = json_object();
    int bad = json_object_set_new(steps, "measured", pw_json_int(f->measured));
    bad |= json_object_set_new(steps, "warmup", pw_json_int(f->warmup));
    bad |= json_object_set_new(steps, "inferred", inferred(f));
    bad |= json_object_set_new(
        steps, "found_by", f->measured ? json_string(pw_words_found_by(f->cluster)) : json_null());
    bad |= json_object_set_new(steps, "mean_ns", pw_json_int(f->step_mean_ns));
    bad |= json_object_set_new(steps, "min_ns", pw_json_int(f->step_min_ns));
    bad |= json_object_set_new(steps, "max_ns", pw_json_int(f->step_max_ns));
    bad |= json_object_set_new(steps, "per_step",
                               c->nstep_rows > PW_REPORT_JSON_STEPS
                                   ? json_null()
                                   : pw_json_rows(PW_TABLE_c_step, c->steps, c->nstep_rows));
    return pw_json_or_null(steps, bad);
}

static json_t *make_rank_means(const struct pw_figures *f)
{
    json_t *array = json_array();
    for (size_t r = 0; array && r < f->nranks; r++) {
        const struct pw_row_c_rank *rank = &f->cluster->ranks[r];
        json_t *row = pw_json_row(PW_TABLE_c_step_trace, &f->trace[r]);
        int bad = json_object_set_new(row, "rank", pw_json_int(rank->rank));
        bad |= json_object_set_new(row, "hostname",
                                   pw_json_text(rank->hostname, sizeof(rank->hostname)));
        bad |= json_object_set_new(row, "steps", pw_json_int(f->samples[r]));
        bad |= json_object_set_new(row, "lossy", json_boolean(pw_figures_is_lossy(f, r)));
        bad |=
            json_object_set_new(row, "phases", pw_json_row(PW_TABLE_c_phase_trace, &f->phases[r]));
        if (json_array_append_new(array, pw_json_or_null(row, bad))) {
            json_decref(array);
            array = NULL;
        }
    }
    return array;
}

static json_t *make_step_ranks(const struct pw_figures *f, size_t step)
{
    if (f->nranks && f->cluster->nstep_rows > PW_REPORT_JSON_CELLS / f->nranks)
        return json_null();
    struct pw_row_c_step_trace *cells = malloc((f->nranks + 1) * sizeof(*cells));
    if (!cells)
        return NULL;
    if (f->nranks)
        pw_cells_rows(&f->cluster->step_trace, &(struct pw_cells_area){step, 1, 0, f->nranks},
                      cells);
    json_t *array = pw_json_rows(PW_TABLE_c_step_trace, cells, f->nranks);
    free(cells);
    int bad = !array;
    for (size_t r = 0; r < f->nranks && !bad; r++)
        bad = json_object_set_new(json_array_get(array, r), "rank",
                                  pw_json_int(f->cluster->ranks[r].rank));
    return pw_json_or_null(array, bad);
}

static json_t *make_step_means(const struct pw_figures *f)
{
    if (f->cluster->nstep_rows > PW_REPORT_JSON_STEPS)
        return json_null();
    json_t *array = json_array();
    for (size_t s = 0; array && s < f->cluster->nstep_rows; s++) {
        const struct pw_row_c_step *step = &f->cluster->steps[s];
        struct pw_row_c_step_trace mean;
        pw_figures_mean_ranks(f, s, &mean);
        json_t *row = json_object();
        int bad = json_object_set_new(row, "step", pw_json_int(step->step));
        bad |= json_object_set_new(row, "recorded",
                                   json_string(pw_enum_name(PW_F_RECORDED, step->recorded)));
        bad |= json_object_set_new(row, "mean", pw_json_row(PW_TABLE_c_step_trace, &mean));
        bad |= json_object_set_new(row, "ranks", make_step_ranks(f, s));
        if (json_array_append_new(array, pw_json_or_null(row, bad))) {
            json_decref(array);
            array = NULL;
        }
    }
    return array;
}

static json_t *make_step_trace(const struct pw_figures *f)
{
    json_t *trace = json_object();
    int bad = json_object_set_new(trace, "measured_steps", pw_json_int(f->measured));
    bad |= json_object_set_new(trace, "mean", pw_json_row(PW_TABLE_c_step_trace, &f->trace_mean));
    bad |= json_object_set_new(trace, "phase_mean",
                               pw_json_row(PW_TABLE_c_phase_trace, &f->phase_mean));
    bad |= json_object_set_new(trace, "per_rank", make_rank_means(f));
    bad |= json_object_set_new(trace, "per_step", make_step_means(f));
    return pw_json_or_null(trace, bad);
}

json_t *pw_json_collectives_most(const struct pw_figures *f, size_t most)
{
    const struct pw_cluster *c = f->cluster;
    size_t *order = NULL, n = c->ncollective_stats < most ? c->ncollective_stats : most;
    json_t *array = json_array();
    int bad = pw_figures_order_collectives(f, &order);
    for (size_t i = 0; i < n && !bad; i++) {
        const struct pw_row_c_collective_stat *stat = &c->collective_stats[order[i]];
        json_t *row = pw_json_row(PW_TABLE_c_collective_stat, stat);
        int64_t mean = stat->count > 0 ? stat->bytes / stat->count : -1;
        bad |= json_object_set_new(row, "mean_bytes", pw_json_int(mean));
        bad |= json_object_set_new(row, "bandwidth_is_lower_bound",
                                   json_boolean(pw_figures_is_nonblocking(stat->op)));
        bad |= json_array_append_new(array, row);
    }
    free(order);
    return pw_json_or_null(array, bad);
}

static json_t *make_collectives(const struct pw_figures *f)
{
    return pw_json_collectives_most(f, SIZE_MAX);
}

static json_t *make_stragglers(const struct pw_figures *f)
{
    const struct pw_cluster *c = f->cluster;
    json_t *array = pw_json_rows(PW_TABLE_c_straggler, c->stragglers, c->nstragglers);
    int bad = !array;
    for (size_t i = 0; i < c->nstragglers && !bad; i++)
        bad = json_object_set_new(
            json_array_get(array, i), "resolvable",
            f->clock_error_max_ns < 0
                ? json_null()
                : json_boolean(c->stragglers[i].without_clocks ||
                               !pw_figures_is_unresolved(f, c->stragglers[i].excess_ns)));
    return pw_json_or_null(array, bad);
}

/* Returns the pair's mean transfer time / that of similar pairs; null unless the pair is slow. */
static json_t *score_of(const struct pw_cluster *c, const struct pw_row_c_p2p *pair)
{
    for (size_t i = 0; i < c->nlinks_slow; i++)
        if (c->links_slow[i].src == pair->src && c->links_slow[i].dst == pair->dst)
            return pw_json_real(c->links_slow[i].ratio);
    return json_null();
}

static json_t *make_links(const struct pw_figures *f)
{
    size_t *order = NULL;
    json_t *array = json_array();
    int bad = pw_figures_order_p2p(f, &order);
    for (size_t i = 0; i < f->cluster->np2p && i < PW_REPORT_JSON_LINKS && !bad; i++) {
        json_t *row = pw_json_row(PW_TABLE_c_p2p, &f->cluster->p2p[order[i]]);
        bad |= json_object_set_new(row, "score", score_of(f->cluster, &f->cluster->p2p[order[i]]));
        bad |= json_array_append_new(array, row);
    }
    free(order);
    return pw_json_or_null(array, bad);
}

static json_t *make_hosts(const struct pw_figures *f)
{
    return pw_json_rows(PW_TABLE_c_host, f->cluster->hosts_slow, f->cluster->nhosts_slow);
}

static json_t *make_trends(const struct pw_figures *f)
{
    return pw_json_rows(PW_TABLE_c_trend, f->cluster->trends, f->cluster->ntrends);
}

static json_t *make_network(const struct pw_figures *f)
{
    return pw_json_rows(PW_TABLE_c_network, f->cluster->network, f->cluster->nnetwork);
}

static json_t *make_roles(const struct pw_figures *f)
{
    return pw_json_rows(PW_TABLE_c_role, f->cluster->roles, f->cluster->nroles);
}

static json_t *make_imbalances(const struct pw_figures *f)
{
    return pw_json_rows(PW_TABLE_c_imbalance, f->cluster->imbalances, f->cluster->nimbalances);
}

static json_t *make_whatif(const struct pw_figures *f)
{
    const struct pw_cluster *c = f->cluster;
    if (c->nwhatif == 0 || f->has_silent_ranks)
        return json_null();
    json_t *whatif = json_object();
    int bad = json_object_set_new(whatif, "scenarios",
                                  pw_json_rows(PW_TABLE_c_whatif, c->whatif, c->nwhatif));
    bad |= json_object_set_new(whatif, "critical_path",
                               pw_json_rows(PW_TABLE_c_path, c->path, c->npath));
    return pw_json_or_null(whatif, bad);
}

static json_t *make_efficiency(const struct pw_figures *f)
{
    const struct pw_row_c_efficiency *row = pw_figures_efficiency(f);
    return row ? pw_json_row(PW_TABLE_c_efficiency, row) : json_null();
}

static const struct key {
    const char *name;
    json_t *(*make)(const struct pw_figures *f);
} keys[] = {
    {"summary", pw_json_summary},
    {"job", make_job},
    {"epochs", make_epochs},
    {"completeness", make_completeness},
    {"clock", pw_json_clocks},
    {"parts", pw_json_parts},
    {"steps", make_steps},
    {"step_trace", make_step_trace},
    {"collectives", make_collectives},
    {"hccl", pw_json_hccl},
    {"msprof", pw_json_msprof},
    {"aicore", pw_json_aicore},
    {"pipeline_cpu", pw_json_pipeline_cpu},
    {"stragglers", make_stragglers},
    {"imbalances", make_imbalances},
    {"roles", make_roles},
    {"hosts", make_hosts},
    {"links", make_links},
    {"trends", make_trends},
    {"network", make_network},
    {"whatif", make_whatif},
    {"efficiency", make_efficiency},
    {"operators", pw_json_operators},
    {"flops", pw_json_flops},
    {"gpu", pw_json_gpu},
    {"kernels", pw_json_kernels},
    {"data_pipeline", pw_json_data_pipeline},
    {"utilisation", pw_json_utilisation},
    {"memory", pw_json_memory},
    {"advice", pw_json_advice},
};

json_t *pw_json_key(const struct pw_figures *figures, const char *name)
{
    size_t i = 0;
    while (strcmp(keys[i].name, name) != 0)
        i++;
    return keys[i].make(figures);
}

/* The output is ASCII: a name may contain characters that control a terminal (C1 controls) or
 * reverse the direction of text, and JSON itself escapes only characters below 0x20. */
enum { DUMP_FLAGS = JSON_INDENT(1) | JSON_REAL_PRECISION(12) | JSON_ENSURE_ASCII };

int pw_report_json(FILE *out, const struct pw_cluster *cluster,
                   const struct pw_report_options *options)
{
    struct pw_onefigures one;
    int err = pw_onefigures_take(cluster, options, &one);
    if (err)
        return err;
    json_t *root = json_object();
    int bad = 0;
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        bad |= json_object_set_new(root, keys[i].name, keys[i].make(one.figures));
    if (bad)
        err = -ENOMEM;
    else if (json_dumpf(root, out, DUMP_FLAGS) || fputc('\n', out) < 0)
        err = -EIO;
    json_decref(root);
    pw_onefigures_release(&one);
    return err;
}
