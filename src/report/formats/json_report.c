/* Writes the JSON report: the summary, and the keys of each section. */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/figures/figures.h"
#include "report/content/onefigures.h"
#include "report/content/runsummary.h"
#include "report/report.h"
#include "report/sections/section.h"
#include "report/writing/json_row.h"
#include "report/writing/safenames.h"

/* ---- the key summary: what the summary of a run shows, as fields ---- */

static json_t *clean(const char *text)
{
    char shown[PW_HEADLINE_BYTES];
    return pw_json_text(pw_names_printable(shown, sizeof(shown), text, strlen(text)),
                        sizeof(shown));
}

static json_t *losses_json(const struct pw_runsummary *s)
{
    json_t *rows = json_array();
    int bad = !rows;
    for (size_t i = 0; i < s->nlosses; i++)
        bad |= json_array_append_new(rows, json_pack("{s:s, s:o, s:o}", "kind", s->losses[i].kind,
                                                     "gain_ns", pw_json_int(s->losses[i].gain_ns),
                                                     "text", clean(s->losses[i].text)));
    return pw_json_or_null(rows, bad);
}

static json_t *time_json(const struct pw_runtime *t)
{
    if (!t->of)
        return json_null();
    const int has_rank = t->rank >= 0;
    json_t *rows = json_array();
    int bad = !rows;
    for (size_t i = 0; i < t->nparts; i++)
        bad |= json_array_append_new(rows, json_pack("{s:s, s:o, s:o}", "part", t->parts[i].name,
                                                     "mean_ns", pw_json_int(t->parts[i].mean_ns),
                                                     "rank_ns", pw_json_int(t->parts[i].rank_ns)));
    json_t *time = json_pack("{s:s, s:I, s:o, s:o, s:b, s:o, s:o, s:o, s:o}", "of", t->of, "ranks",
                             (json_int_t)t->ranks, "mean_ns", pw_json_int(t->mean_ns), "rank",
                             pw_json_int(t->rank), "held_back", has_rank && t->is_named, "rank_ns",
                             pw_json_int(has_rank ? t->rank_ns : -1), "hidden_communication_ns",
                             pw_json_int(t->hidden_ns), "rank_hidden_communication_ns",
                             pw_json_int(has_rank ? t->rank_hidden_ns : -1), "parts", rows);
    return pw_json_or_null(time, bad);
}

static json_t *advice_json(const struct pw_runsummary *s)
{
    if (!s->advice.of)
        return json_null();
    return json_pack("{s:s, s:o, s:o, s:o, s:I}", "rule", s->advice.rule, "saves_ns",
                     pw_json_int(s->advice.saves_ns > 0 ? s->advice.saves_ns : -1), "share",
                     pw_json_real(s->advice.saves_ns > 0 ? s->advice_share : -1), "text",
                     clean(s->advice.text), "further", (json_int_t)s->further_advice);
}

static json_t *rests_on_json(const struct pw_figures *f, const struct pw_runsummary *s)
{
    json_t *cautions = json_array();
    int bad = !cautions;
    for (size_t i = 0; i < s->ncautions; i++)
        bad |= json_array_append_new(cautions,
                                     json_pack("{s:s, s:s, s:o}", "what", s->cautions[i].what,
                                               "mark", pw_mark_name(s->cautions[i].mark), "text",
                                               clean(s->cautions[i].text)));
    json_t *rests =
        json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "ranks", pw_json_int(f->present),
                  "ranks_expected", pw_json_int(f->expected), "hosts",
                  pw_json_int(f->nhosts > 0 ? f->nhosts : -1), "steps", pw_json_int(f->measured),
                  "steps_left_out", pw_json_int(f->warmup), "clock_error_max_ns",
                  pw_json_int(f->clock_error_max_ns), "events", pw_json_int(f->events),
                  "dropped_events", pw_json_int(f->dropped_events), "cautions", cautions);
    return pw_json_or_null(rests, bad);
}

/* Returns a new value, or NULL when memory is short. */
static json_t *summary_json(const struct pw_figures *f)
{
    struct pw_runsummary *s = malloc(sizeof(*s));
    if (!s)
        return NULL;
    pw_runsummary_make(f, s);
    json_t *summary = json_pack(
        "{s:o, s:b, s:o, s:o, s:o, s:o, s:o}", "headline", clean(s->headline), "ended_badly",
        s->is_bad_end, "incomplete", clean(s->missing), "losses", losses_json(s), "time",
        time_json(&s->time), "do_first", advice_json(s), "rests_on", rests_on_json(f, s));
    free(s);
    return summary;
}

/* ---- the report ---- */

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
    int bad = json_object_set_new(root, "summary", summary_json(one.figures));
    for (size_t i = 0; pw_sections[i]; i++)
        bad |= pw_section_set_keys(pw_sections[i], one.figures, root);
    if (bad)
        err = -ENOMEM;
    else if (json_dumpf(root, out, DUMP_FLAGS) || fputc('\n', out) < 0)
        err = -EIO;
    json_decref(root);
    pw_onefigures_release(&one);
    return err;
}
