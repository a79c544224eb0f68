/* The comparison of several runs as text, JSON, Markdown and JUnit; see compare_runs.h. */
#include "report/compare/compare_runs.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "report/compare/compare_markup.h"
#include "report/compare/compare_words.h"
#include "report/writing/json_row.h"
#include "report/writing/page.h"

enum { CELLS = 7 };

/* A row's cells: name, medians, difference, its interval, verdict. */
struct cells {
    char first[32], second[32], change[32], low[40], high[40];
    const char *verdict;
};

/* "+1.20 s", "-18.0 ms". */
static const char *signed_time(char *out, size_t size, double ns)
{
    char time[32];
    snprintf(out, size, "%c%s", ns < 0 ? '-' : '+', pw_compare_time(time, sizeof(time), fabs(ns)));
    return out;
}

static const char *verdict_of(const struct pw_runs_row *row)
{
    const int sign = pw_runs_sign(row);
    if (row->pairs < PW_RUNS_LEAST)
        return "too few pairs";
    return sign > 0 ? "slower" : sign < 0 ? "faster" : "as before";
}

static void write_cells(const struct pw_runs_row *row, struct cells *out)
{
    pw_compare_time(out->first, sizeof(out->first), row->a);
    pw_compare_time(out->second, sizeof(out->second), row->b);
    pw_compare_percent(out->change, sizeof(out->change), pw_runs_change(row));
    signed_time(out->low, sizeof(out->low), row->difference.low);
    signed_time(out->high, sizeof(out->high), row->difference.high);
    out->verdict = verdict_of(row);
}

/* ---- the first sentence ---- */

/* "its steps take 12.1 ms, then 13.9 ms (+14.9 %, +1.5 ms to +2.1 ms with 94 % confidence)" */
static void add_row(struct pw_sentence *said, const char *what, const struct pw_runs_row *row)
{
    struct cells cells;
    write_cells(row, &cells);
    pw_sentence_add(said, "%s took %s, then %s (%s, %s to %s with %.0f %% confidence)", what,
                    cells.first, cells.second, cells.change, cells.low, cells.high,
                    100 * row->difference.confidence);
}

/* The row of the group that changed most in that direction; NULL: none did, or it may be noise. */
static const struct pw_runs_row *most_changed(const struct pw_runs_comparison *c,
                                              enum pw_compare_group group, int sign)
{
    for (size_t i = 0; i < c->nrows; i++)
        if (c->rows[i].group == group && pw_runs_sign(&c->rows[i]) == sign)
            return &c->rows[i];
    return NULL;
}

/* ", most in backward and on rank 3 (node-a) by 1.8 ms a step" */
static void add_where(struct pw_sentence *said, const struct pw_runs_comparison *c, int sign)
{
    const struct pw_runs_row *phase = most_changed(c, PW_COMPARE_PHASE, sign);
    const struct pw_runs_row *rank = most_changed(c, PW_COMPARE_RANK, sign);
    char time[32];
    if (phase)
        pw_sentence_add(said, ", most in %s", phase->name);
    if (rank)
        pw_sentence_add(said, "%son %s by %s a step", phase ? " and " : ", most ", rank->name,
                        pw_compare_time(time, sizeof(time), fabs(rank->difference.median)));
}

static void add_verdict(struct pw_sentence *said, const struct pw_runs_comparison *c)
{
    switch (c->kind) {
    case PW_COMPARE_SLOWER:
        pw_sentence_add(said, "B is slower than A over %zu pairs of runs", c->pairs);
        break;
    case PW_COMPARE_FASTER:
        pw_sentence_add(said, "B is faster than A over %zu pairs of runs", c->pairs);
        break;
    case PW_COMPARE_SAME:
        pw_sentence_add(said,
                        "B is neither slower nor faster than A beyond what differs from run to "
                        "run, over %zu pairs of runs",
                        c->pairs);
        break;
    default:
        pw_sentence_add(said, "Cannot tell whether B is slower or faster than A: %s", c->why);
        break;
    }
}

void pw_runs_headline(const struct pw_runs_comparison *c, char *out, size_t size)
{
    struct pw_sentence said = pw_sentence_on(out, size);
    if (c->has_failed) {
        pw_sentence_add(&said, "Nothing was compared: %s.", c->why);
        return;
    }
    add_verdict(&said, c);
    if (c->steps) {
        add_row(&said, ": the steps", c->steps);
        if (pw_runs_sign(c->steps))
            add_where(&said, c, pw_runs_sign(c->steps));
    }
    if (c->run)
        add_row(&said, c->steps ? "; the runs" : ": the runs", c->run);
    pw_sentence_add(&said, ".");
}

/* ---- text ---- */

static const char note[] =
    "first, second: medians of the runs. low, high: confidence interval of the median of the "
    "pairs' differences, second - first (of order statistics, Thompson 1936). Where it holds zero, "
    "no change is claimed. Of rows that did not change, one in 16 or fewer is outside by chance.";

static int print_group(const struct pw_page *page, const struct pw_runs_comparison *c,
                       enum pw_compare_group group)
{
    static const struct pw_grid_column columns[CELLS] = {
        {"what", PW_GRID_TEXT},     {"first", PW_GRID_NUMBER}, {"second", PW_GRID_NUMBER},
        {"change", PW_GRID_NUMBER}, {"low", PW_GRID_NUMBER},   {"high", PW_GRID_NUMBER},
        {"", PW_GRID_TEXT}};
    struct pw_grid grid;
    size_t shown = 0, rows = 0;
    pw_grid_init(&grid, columns, CELLS);
    for (size_t i = 0; i < c->nrows; i++) {
        struct cells cells;
        if (c->rows[i].group != group || rows++ >= page->top)
            continue;
        write_cells(&c->rows[i], &cells);
        const char *const texts[CELLS] = {c->rows[i].name, cells.first, cells.second, cells.change,
                                          cells.low,       cells.high,  cells.verdict};
        for (size_t k = 0; k < CELLS; k++)
            pw_grid_cell(&grid, "%s", texts[k]);
        shown++;
    }
    int err = shown ? pw_page_print(page, 0, 0, "%s", "") : 0;
    err = !err && shown ? pw_page_print(page, 0, 0, "%s", pw_compare_title(group)) : err;
    err = !err && shown ? pw_grid_print(&grid, page) : err;
    if (!err && rows > shown)
        err = pw_page_print(page, 2, 2, "%zu more changed less; --top 0 lists them.", rows - shown);
    pw_grid_fini(&grid);
    return err;
}

int pw_runs_text(FILE *out, const struct pw_runs_comparison *c, int top)
{
    const struct pw_page page = {
        .out = out, .width = PW_REPORT_WIDTH, .top = top > 0 ? (size_t)top : SIZE_MAX};
    char text[2048];
    pw_runs_headline(c, text, sizeof(text));
    int err = pw_page_print(&page, 0, 2, "%s", text);
    if (!err && c->unlike[0])
        err = pw_page_print(&page, 0, 2, "The runs differ: %s.", c->unlike);
    for (int group = 0; group < PW_COMPARE_GROUPS && !err; group++)
        err = print_group(&page, c, (enum pw_compare_group)group);
    if (!err && c->nrows)
        err = pw_page_print(&page, 0, 0, "%s", "");
    if (!err && c->nrows)
        err = pw_page_print(&page, 0, 2, "%s", note);
    return err ? err : ferror(out) ? -EIO : 0;
}

/* ---- Markdown and JUnit ---- */

static void put_table(FILE *out, const struct pw_runs_comparison *c, enum pw_compare_group group,
                      size_t top)
{
    size_t rows = 0;
    for (size_t i = 0; i < c->nrows; i++) {
        struct cells cells;
        if (c->rows[i].group != group || rows++ >= top)
            continue;
        if (rows == 1) {
            fprintf(out, "\n#### %s\n\n", pw_compare_title(group));
            fputs("| what | first | second | change | low | high | |\n", out);
            fputs("|---|--:|--:|--:|--:|--:|---|\n", out);
        }
        write_cells(&c->rows[i], &cells);
        fputs("| ", out);
        pw_markup_markdown(out, c->rows[i].name, sizeof(c->rows[i].name));
        fprintf(out, " | %s | %s | %s | %s | %s | %s |\n", cells.first, cells.second, cells.change,
                cells.low, cells.high, cells.verdict);
    }
    if (rows > top)
        fprintf(out, "\n%zu more changed less.\n", rows - top);
}

int pw_runs_markdown(FILE *out, const struct pw_runs_comparison *c, int top)
{
    char text[2048];
    pw_runs_headline(c, text, sizeof(text));
    fputs("**", out);
    pw_markup_markdown(out, text, sizeof(text));
    fputs("**\n", out);
    if (c->unlike[0]) {
        fputs("\nThe runs differ: ", out);
        pw_markup_markdown(out, c->unlike, sizeof(c->unlike));
        fputs(".\n", out);
    }
    if (!c->nrows)
        return ferror(out) ? -EIO : 0;
    pw_markup_fold(out);
    for (int group = 0; group < PW_COMPARE_GROUPS; group++)
        put_table(out, c, (enum pw_compare_group)group, top > 0 ? (size_t)top : SIZE_MAX);
    fprintf(out, "\n%s\n", note);
    pw_markup_unfold(out);
    return ferror(out) ? -EIO : 0;
}

int pw_runs_junit(FILE *out, const struct pw_runs_comparison *c, int top)
{
    char text[2048], *report = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&report, &size);
    int err = memory ? pw_runs_text(memory, c, top) : -ENOMEM;
    if (memory && fclose(memory) && !err)
        err = -ENOMEM;
    pw_runs_headline(c, text, sizeof(text));
    const struct pw_junit_case only = {
        .name = "B is not slower than A",
        .threshold = c->threshold,
        .ns = c->run ? c->run->b : -1,
        .outcome = c->has_failed                   ? PW_JUNIT_ERROR
                   : c->kind == PW_COMPARE_UNKNOWN ? PW_JUNIT_SKIPPED
                   : c->is_slower                  ? PW_JUNIT_FAILURE
                                                   : PW_JUNIT_PASSED,
        .message = text,
        .report = report,
    };
    if (!err)
        pw_markup_junit(out, &only);
    free(report);
    return err ? err : ferror(out) ? -EIO : 0;
}

/* ---- JSON ---- */

/* Returns a row as JSON. NULL when memory is short: then json_array_append_new() fails. */
static json_t *row_json(const struct pw_runs_row *row)
{
    const double change = pw_runs_change(row);
    const struct pw_median_interval *d = &row->difference;
    return json_pack("{s:o, s:I, s:o, s:o, s:f, s:f, s:f, s:f, s:o, s:b}", "what",
                     pw_json_text(row->name, sizeof(row->name)), "pairs", (json_int_t)row->pairs,
                     "first_ns", pw_json_real(row->a), "second_ns", pw_json_real(row->b),
                     "difference_ns", d->median, "low_ns", d->low, "high_ns", d->high, "confidence",
                     d->confidence, "change", isfinite(change) ? json_real(change) : json_null(),
                     "significant", pw_runs_sign(row) != 0);
}

static int fill(json_t *root, const struct pw_runs_comparison *c)
{
    int err = 0;
    for (int group = 0; group < PW_COMPARE_GROUPS; group++) {
        json_t *rows = json_array();
        for (size_t i = 0; i < c->nrows; i++)
            if ((int)c->rows[i].group == group)
                err |= json_array_append_new(rows, row_json(&c->rows[i]));
        if (group == PW_COMPARE_PART)
            json_decref(rows);
        else
            err |= json_object_set_new(root, pw_compare_key((enum pw_compare_group)group), rows);
    }
    return err;
}

int pw_runs_json(FILE *out, const struct pw_runs_comparison *c)
{
    char headline[2048];
    pw_runs_headline(c, headline, sizeof(headline));
    json_t *root =
        json_pack("{s:o, s:s, s:o, s:I, s:b, s:b, s:f, s:o}", "headline",
                  pw_json_text(headline, sizeof(headline)), "verdict",
                  pw_compare_kind_name(c->kind), "reason", pw_json_text(c->why, sizeof(c->why)),
                  "pairs", (json_int_t)c->pairs, "failed", c->has_failed, "slower", c->is_slower,
                  "threshold", c->threshold, "unlike", pw_json_text(c->unlike, sizeof(c->unlike)));
    int err = !root || fill(root, c) ? -ENOMEM : 0;
    if (!err && (json_dumpf(root, out, JSON_INDENT(1)) || fputc('\n', out) == EOF))
        err = -EIO;
    json_decref(root);
    return err;
}
