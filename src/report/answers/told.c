/* The questions whose answers are more than rows of one table; see answer.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/cluster.h"
#include "report/answers/answer.h"
#include "report/content/firstscreen.h"
#include "report/content/hang.h"
#include "report/sections/section.h"
#include "report/writing/json_row.h"
#include "report/writing/safenames.h"

/* Takes a member out of an object: a new reference, or null. */
static json_t *take(json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);
    return value ? json_incref(value) : json_null();
}

static void say_member(struct pw_answer *answer, const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    pw_answer_say(answer, "%s", text ? text : "");
}

/* ---- the verdict ---- */

/* The first advice, which the summary of a run has as "do first". */
static void set_advice(const struct pw_figures *f, struct pw_answer *answer)
{
    json_t *advice = pw_section_key(f, "advice"), *first = json_array_get(advice, 0);
    if (first) {
        pw_answer_set(answer, "do_first", take(first, "text"));
        pw_answer_set(answer, "do_first_saves_ns", take(first, "saves_ns"));
        pw_answer_set(answer, "do_first_id", json_string("report/advice/0"));
    }
    json_decref(advice);
}

/* "seen: all 4 ranks". */
static void set_basis(const struct pw_figures *f, struct pw_answer *answer)
{
    struct pw_basis found[PW_BASES];
    const size_t n = pw_basis_find(f, found);
    json_t *texts = json_array();
    for (size_t i = 0; i < n; i++)
        answer->is_failed |=
            json_array_append_new(
                texts, json_sprintf("%s: %s", pw_mark_name(found[i].mark), found[i].text)) != 0;
    pw_answer_set(answer, "rests_on", texts);
}

void pw_answer_verdict(const struct pw_asked *asked, json_t *arguments, struct pw_answer *answer)
{
    (void)arguments;
    json_t *job = pw_section_key(asked->figures, "job"), *ending = json_object_get(job, "ending");
    say_member(answer, job, "headline");
    pw_answer_set(answer, "answer_id", json_string("report/job/headline"));
    pw_answer_set(answer, "verdict", take(job, "verdict"));
    pw_answer_lack(answer, json_string_value(json_object_get(job, "incomplete")), NULL);
    if (json_is_object(ending)) {
        pw_answer_set(answer, "ended_first", take(ending, "first"));
        pw_answer_set(answer, "verdict_before_the_end", take(ending, "verdict_before"));
    }
    set_advice(asked->figures, answer);
    set_basis(asked->figures, answer);
    pw_answer_add_report(answer, "job/losses", take(job, "losses"));
    json_decref(job);
}

void pw_answer_losses(const struct pw_asked *asked, json_t *arguments, struct pw_answer *answer)
{
    (void)arguments;
    json_t *job = pw_section_key(asked->figures, "job"), *losses = take(job, "losses");
    const size_t n = json_array_size(losses);
    if (n)
        pw_answer_say(answer, n == 1 ? "One loss is known." : "%zu losses, the largest first.", n);
    else
        pw_answer_say(answer, "No loss is known.");
    pw_answer_add_report(answer, "job/losses", losses);
    json_decref(job);
}

/* ---- a rank, a step, a phase ---- */

/* The row of /ranks; SIZE_MAX with a problem when there is none. */
static size_t rank_row(const struct pw_figures *f, json_t *arguments, struct pw_answer *answer)
{
    const int64_t row = pw_figures_row(f, json_integer_value(json_object_get(arguments, "rank")));
    if (row < 0)
        answer->problem = "the run has no such rank";
    return row < 0 ? SIZE_MAX : (size_t)row;
}

static void add_mean(const struct pw_figures *f, int table, size_t rank, struct pw_answer *answer)
{
    char id[PW_EVIDENCE_ID], row[512];
    pw_evidence_mean_row(f, table, rank, row);
    json_t *mean = pw_json_row(table, row);
    if (mean)
        json_object_set_new(mean, "rank", json_integer(f->cluster->ranks[rank].rank));
    pw_answer_add(answer, pw_evidence_mean(id, "mean", table, rank), mean);
}

static void add_median(const struct pw_figures *f, int table, size_t rank, struct pw_answer *answer)
{
    char id[PW_EVIDENCE_ID], row[512];
    if (pw_evidence_median_row(f, table, rank, row)) {
        answer->is_failed = true;
        return;
    }
    json_t *median = pw_json_row(table, row);
    if (median)
        json_object_set_new(median, "ranks", json_string("median of the other ranks"));
    pw_answer_add(answer, pw_evidence_mean(id, "median", table, rank), median);
}

/* The rows of a table that are about this rank. */
static void add_rows_of_rank(const struct pw_asked *asked, int table, int32_t rank,
                             struct pw_answer *answer)
{
    const struct pw_table *info = pw_table_borrow(table);
    const struct pw_cluster_rows all = pw_cluster_rows(asked->figures->cluster, table);
    size_t k = 0;
    while (k < info->nfields && strcmp(info->fields()[k].name, "rank") != 0)
        k++;
    for (size_t i = 0; k < info->nfields && i < all.n; i++) {
        const char *row = (const char *)all.rows + i * info->row_size;
        char id[PW_EVIDENCE_ID];
        if (pw_field_integer(&info->fields()[k], row) == rank)
            pw_answer_add(answer, pw_evidence_row(id, table, i), pw_json_row(table, row));
    }
}

static void say_of_rank(const struct pw_figures *f, size_t row, struct pw_answer *answer)
{
    const int32_t rank = f->cluster->ranks[row].rank;
    char raw[512] = "", text[512];
    struct pw_sentence s = pw_sentence_on(raw, sizeof(raw));
    size_t i = 0;
    while (i < f->cluster->nstragglers && f->cluster->stragglers[i].rank != rank)
        i++;
    if (i < f->cluster->nstragglers)
        pw_straggler_say(f, &f->cluster->stragglers[i], &s);
    else
        pw_sentence_add(&s, "Rank %" PRId32 " is not among the ranks that held the job back", rank);
    pw_names_printable(text, sizeof(text), raw, sizeof(raw));
    pw_answer_say(answer, "%s.", text);
}

void pw_answer_rank(const struct pw_asked *asked, json_t *arguments, struct pw_answer *answer)
{
    static const int about[] = {PW_TABLE_c_straggler, PW_TABLE_c_ending,      PW_TABLE_c_exception,
                                PW_TABLE_c_open_call, PW_TABLE_c_utilisation, PW_TABLE_c_clock};
    const struct pw_figures *f = asked->figures;
    const size_t rank = rank_row(f, arguments, answer);
    if (rank == SIZE_MAX)
        return;
    say_of_rank(f, rank, answer);
    add_rows_of_rank(asked, about[0], f->cluster->ranks[rank].rank, answer);
    if (f->measured) {
        add_mean(f, PW_TABLE_c_step_trace, rank, answer);
        add_median(f, PW_TABLE_c_step_trace, rank, answer);
        add_mean(f, PW_TABLE_c_phase_trace, rank, answer);
        add_median(f, PW_TABLE_c_phase_trace, rank, answer);
    } else {
        pw_answer_lack(answer, "No steps are known, so this rank is not compared with the others.",
                       PW_HOW_TO_MARK);
    }
    for (size_t i = 1; i < sizeof(about) / sizeof(about[0]); i++)
        add_rows_of_rank(asked, about[i], f->cluster->ranks[rank].rank, answer);
}

struct keyed {
    int64_t key;
    size_t row;
};

static int by_key(const void *a, const void *b)
{
    const struct keyed *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? 1 : -1;
    return x->row < y->row ? -1 : 1;
}

/* The ranks of a step, those with most own time first. */
static void add_ranks_of_step(const struct pw_figures *f, size_t step, struct pw_answer *answer)
{
    const struct pw_cells *cells = &f->cluster->step_trace;
    struct keyed *order = calloc(f->nranks + 1, sizeof(*order));
    answer->is_failed |= !order;
    if (!order || !pw_cells_is_known(cells)) {
        free(order);
        return;
    }
    for (size_t r = 0; r < f->nranks; r++)
        order[r] = (struct keyed){
            pw_cells_value(cells, offsetof(struct pw_row_c_step_trace, own_ns), step, r), r};
    qsort(order, f->nranks, sizeof(*order), by_key);
    for (size_t i = 0; i < f->nranks; i++) {
        const struct pw_cells_area area = {step, 1, order[i].row, 1};
        struct pw_row_c_step_trace row;
        char id[PW_EVIDENCE_ID];
        pw_cells_rows(cells, &area, &row);
        json_t *one = pw_json_row(PW_TABLE_c_step_trace, &row);
        if (one)
            json_object_set_new(one, "rank", json_integer(f->cluster->ranks[order[i].row].rank));
        pw_answer_add(answer, pw_evidence_cell(id, PW_TABLE_c_step_trace, step, order[i].row), one);
    }
    free(order);
}

void pw_answer_step(const struct pw_asked *asked, json_t *arguments, struct pw_answer *answer)
{
    const struct pw_cluster *c = asked->figures->cluster;
    const int64_t step = json_integer_value(json_object_get(arguments, "step"));
    size_t i = 0;
    char id[PW_EVIDENCE_ID];
    while (i < c->nstep_rows && c->steps[i].step != step)
        i++;
    if (i == c->nstep_rows) {
        answer->problem = "the run has no such step";
        return;
    }
    pw_answer_say(answer, "Step %" PRId64 " and its ranks, those with most own time first.", step);
    pw_answer_add(answer, pw_evidence_row(id, PW_TABLE_c_step, i),
                  pw_json_row(PW_TABLE_c_step, &c->steps[i]));
    add_ranks_of_step(asked->figures, i, answer);
}

static const struct pw_field *find_phase(const char *name)
{
    const struct pw_table *info = pw_table_borrow(PW_TABLE_c_phase_trace);
    const size_t n = strlen(name);
    for (size_t i = 0; i < info->nfields; i++) {
        const char *field = info->fields()[i].name;
        if (strncmp(field, name, n) == 0 && strcmp(field + n, "_ns") == 0)
            return &info->fields()[i];
    }
    return NULL;
}

void pw_answer_phase(const struct pw_asked *asked, json_t *arguments, struct pw_answer *answer)
{
    const struct pw_figures *f = asked->figures;
    const char *name = json_string_value(json_object_get(arguments, "phase"));
    const struct pw_field *field = find_phase(name);
    if (!field || !f->measured) {
        answer->problem = field ? "no steps are known, so no phases are"
                                : "there is no such phase: data, forward, backward, allreduce, "
                                  "optimizer, other";
        return;
    }
    struct keyed *order = calloc(f->nranks + 1, sizeof(*order));
    answer->is_failed |= !order;
    for (size_t r = 0; order && r < f->nranks; r++)
        order[r] = (struct keyed){pw_field_integer(field, &f->phases[r]), r};
    if (order)
        qsort(order, f->nranks, sizeof(*order), by_key);
    for (size_t i = 0; order && i < f->nranks; i++) {
        const size_t r = order[i].row;
        char id[PW_EVIDENCE_ID];
        pw_answer_add(answer, pw_evidence_mean(id, "mean", PW_TABLE_c_phase_trace, r),
                      json_pack("{s:i, s:o, s:o}", "rank", (int)f->cluster->ranks[r].rank,
                                "hostname",
                                pw_json_text(f->cluster->ranks[r].hostname,
                                             sizeof(f->cluster->ranks[r].hostname)),
                                field->name, pw_json_int(order[i].key)));
    }
    free(order);
    pw_answer_say(
        answer,
        "The ranks by their mean time in %s a step, the longest first; `rank` compares one "
        "with the others.",
        name);
}

/* ---- where the time went, and what is not known ---- */

void pw_answer_ledger(const struct pw_asked *asked, json_t *arguments, struct pw_answer *answer)
{
    (void)arguments;
    json_t *parts = pw_section_key(asked->figures, "parts");
    if (json_is_object(parts)) {
        pw_answer_say(answer, "The parts of the run: means over its ranks, shares of its time, and "
                              "the rank with the longest own time.");
        pw_answer_set(answer, "run_ns", take(parts, "run_ns"));
        pw_answer_set(answer, "wait_ns", take(parts, "wait_ns"));
        pw_answer_set(answer, "totals_id", json_string("report/parts"));
        pw_answer_add_report(answer, "parts/rows", take(parts, "rows"));
    } else {
        pw_answer_lack(answer, "The parts of the run are not known.", NULL);
    }
    json_decref(parts);
}

void pw_answer_completeness(const struct pw_asked *asked, json_t *arguments,
                            struct pw_answer *answer)
{
    const struct pw_figures *f = asked->figures;
    json_t *all = pw_section_key(f, "completeness");
    (void)arguments;
    json_object_del(all, "ranks");
    json_object_del(all, "losses");
    json_object_del(all, "open_calls");
    pw_answer_say(answer, "What was recorded, and what is not known.");
    pw_answer_add(answer, "report/completeness", all);
    for (size_t i = 0; pw_sections[i]; i++) {
        const struct pw_lack lack = pw_section_lack(pw_sections[i], f);
        const bool is_missed = !pw_sections[i]->is_missed || pw_sections[i]->is_missed(f);
        if (lack.reason && lack.how && is_missed)
            pw_answer_add(answer, NULL,
                          json_pack("{s:s, s:s, s:s}", "not_known_of", pw_sections[i]->name,
                                    "reason", lack.reason, "how_to_know", lack.how));
    }
}

void pw_answer_hang(const struct pw_asked *asked, json_t *arguments, struct pw_answer *answer)
{
    static const struct pw_question calls = {.tables = {PW_TABLE_c_open_call}},
                                    dumps = {.tables = {PW_TABLE_c_hang}};
    const struct pw_cluster *c = asked->figures->cluster;
    char raw[1024] = "", text[1024];
    struct pw_sentence s = pw_sentence_on(raw, sizeof(raw));
    pw_answer_table(c->nhang ? &dumps : &calls, asked, arguments, answer);
    if (c->nhang) {
        pw_hang_write(c, &s);
        pw_names_printable(text, sizeof(text), raw, sizeof(raw));
        pw_answer_say(answer, "%s", text);
    } else {
        pw_answer_say(answer, c->nopen_calls
                                  ? "The calls in which ranks were when their recording ended."
                                  : "No rank was in a call when its recording ended.");
    }
}
