/* The words of a comparison, the comparison of two runs as text and as JSON, and that of several
 * runs as text, JSON, Markdown and JUnit; see compare.h and compare_runs.h. */
#include "report/compare/compare.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "report/compare/compare_runs.h"
#include "report/writing/json_row.h"
#include "report/writing/page.h"
#include "report/writing/safenames.h"
#include "report/writing/words.h"

/* ---- the first sentence ---- */

static const char *length_of(char out[32], double ns)
{
    ns = fabs(ns);
    return pw_text_ns(out, 32, ns < 9e18 ? (int64_t)(ns + 0.5) : INT64_MAX);
}

static void add_ns(struct pw_sentence *said, const char *before, double ns, const char *after)
{
    char time[32];
    pw_sentence_add(said, "%s%s%s", before, length_of(time, ns), after);
}

static void add_pair(struct pw_sentence *said, const char *before, double a, double b)
{
    add_ns(said, before, a, "");
    add_ns(said, ", then ", b, "");
}

static void add_percent(struct pw_sentence *said, const char *format, double share)
{
    char percent[32];
    snprintf(percent, sizeof(percent), fabs(share) < 10 ? "%.1f %%" : "%.0f %%", 100 * share);
    pw_sentence_add(said, format, percent);
}

/* "(+17.0 %, p 0.0001 or less, 100 and 100 steps)" */
static void add_evidence(struct pw_sentence *said, const struct pw_comparison *c, double change,
                         double p)
{
    add_percent(said, change >= 0 ? " (+%s" : " (%s", change);
    pw_sentence_add(said,
                    p < 0.00015 ? ", p 0.0001 or less"
                    : p < 0.01  ? ", p %.4f"
                                : ", p %.2f",
                    p);
    pw_sentence_add(said, ", %zu and %zu steps)", c->steps.runs[0].n, c->steps.runs[1].n);
}

static const struct pw_compare_row *most_changed(const struct pw_comparison *c,
                                                 enum pw_compare_group group, int is_slower)
{
    for (size_t i = 0; i < c->nrows; i++)
        if (c->rows[i].group == group && pw_compare_is_significant(&c->rows[i]) &&
            (c->rows[i].b > c->rows[i].a) == is_slower)
            return &c->rows[i];
    return NULL;
}

/* "on rank 3 (node-a) by 10 ms", "on all 8 ranks alike by up to 10 ms" */
static void add_who(struct pw_sentence *said, const char *name, size_t alike, size_t known,
                    double ns)
{
    if (alike == known)
        pw_sentence_add(said, "on all %zu ranks alike", known);
    else if (alike > 1)
        pw_sentence_add(said, "on %zu of %zu ranks, %s", alike, known, name);
    else
        pw_sentence_add(said, "on %s", name);
    add_ns(said, alike > 1 ? " by up to " : " by ", ns, "");
}

static void add_ranks(struct pw_sentence *said, const struct pw_comparison *c, int is_slower,
                      const char *before)
{
    const struct pw_compare_row *rank = most_changed(c, PW_COMPARE_RANK, is_slower);
    if (!rank || c->ranks_known < 2)
        return;
    pw_sentence_add(said, "%s", before);
    add_who(said, rank->name, c->ranks_alike, c->ranks_known, rank->b - rank->a);
    pw_sentence_add(said, " a step");
}

/* ", most in MPI_Init, on rank 3 (node-a) by 1.50 s" */
static void add_outside(struct pw_sentence *said, const struct pw_comparison *c,
                        const struct pw_compare_difference *d)
{
    const struct pw_compare_outside *out = pw_compare_outside_of(c, d);
    if (!out)
        return;
    pw_sentence_add(said, ", most %s", pw_words_part((int)out->part, &c->parts_known));
    if (out->known < 2)
        return;
    pw_sentence_add(said, ", ");
    add_who(said, out->name, out->alike, out->known, out->b - out->a);
}

/* "in its steps, most in backward and on rank 3 by 2.0 ms a step" */
static void add_steps(struct pw_sentence *said, const struct pw_comparison *c, int is_slower)
{
    const struct pw_compare_row *phase = most_changed(c, PW_COMPARE_PHASE, is_slower);
    pw_sentence_add(said, "in its steps");
    if (phase)
        pw_sentence_add(said,
                        strncmp(phase->name, "outside", 7) == 0 ? ", most %s" : ", most in %s",
                        phase->name);
    add_ranks(said, c, is_slower, phase ? " and " : ", most ");
}

/* A sentence with the figures of the steps, and how many are longer than all of the other run. */
static void say_steps(struct pw_sentence *said, const struct pw_comparison *c, int is_slower)
{
    const struct pw_steps_summary *a = &c->steps.runs[0], *b = &c->steps.runs[1];
    const struct pw_steps_summary *slow = is_slower ? b : a;
    const double mean = b->rest - a->rest, median = b->median - a->median;
    add_pair(said, "The steps took ", a->rest, b->rest);
    pw_sentence_add(said, " on average");
    add_evidence(said, c, b->rest / a->rest - 1, c->steps.p_mean);
    if (fabs(median) < fabs(mean) / 2 && slow->beyond) {
        pw_sentence_add(said, "; %zu of the %s run's %zu are longer than the slowest of the other",
                        slow->beyond, is_slower ? "second" : "first", slow->n);
        add_pair(said, " (medians ", a->median, b->median);
        pw_sentence_add(said, ")");
    }
    pw_sentence_add(said, ". ");
}

static void add_few(struct pw_sentence *said, const struct pw_comparison *c)
{
    const int i = c->steps.runs[1].few > 0;
    const struct pw_steps_summary *s = &c->steps.runs[i];
    if (s->few > 1) {
        pw_sentence_add(said, "in %zu of the %s run's %zu steps", s->few, i ? "second" : "first",
                        s->n);
        add_ns(said, ", of ", s->few_from, " or more");
    } else {
        pw_sentence_add(said, "in step %" PRId64 " of the %s run", c->few_step,
                        i ? "second" : "first");
        add_ns(said, ", of ", s->slowest, "");
        if (c->few_rank >= 0)
            pw_sentence_add(said, " (most work on rank %" PRId32 ")", c->few_rank);
    }
    add_ns(said, ", where the median is ", s->median, "");
}

static void add_slow_steps(struct pw_sentence *said, const struct pw_comparison *c)
{
    add_pair(said, "in its slowest steps: 90 % are shorter than ", c->steps.runs[0].p90,
             c->steps.runs[1].p90);
    add_evidence(said, c, c->steps.runs[1].p90 / c->steps.runs[0].p90 - 1, c->steps.p_tail);
}

static void add_place(struct pw_sentence *said, const struct pw_comparison *c,
                      const struct pw_compare_difference *d)
{
    const struct pw_runparts *a = &c->parts[0], *b = &c->parts[1];
    switch (d->place) {
    case PW_COMPARE_IN_STEPS:
        add_steps(said, c, d->ns > 0);
        break;
    case PW_COMPARE_IN_FEW_STEPS:
        add_few(said, c);
        break;
    case PW_COMPARE_IN_SLOW_STEPS:
        add_slow_steps(said, c);
        break;
    case PW_COMPARE_BEFORE:
        add_pair(said, "before the first step: ", a->before, b->before);
        add_outside(said, c, d);
        break;
    case PW_COMPARE_BETWEEN:
        add_pair(said, "between steps: ", a->between, b->between);
        break;
    case PW_COMPARE_AFTER:
        add_pair(said, "after the last step: ", a->after, b->after);
        add_outside(said, c, d);
        break;
    default:
        add_pair(said, "before and after the steps: ", a->outside, b->outside);
        add_outside(said, c, d);
        break;
    }
}

/* "The runs took 6.70 s, then 12.1 s." */
static void say_runs(struct pw_sentence *said, const struct pw_comparison *c)
{
    const double a = c->parts[0].run, b = c->parts[1].run;
    if (a <= 0 || b <= 0)
        return;
    add_pair(said, "The runs took ", a, b);
    add_percent(said, b >= a ? " (+%s)" : " (%s)", b / a - 1);
    if (c->has_steps && c->steps.runs[0].n != c->steps.runs[1].n)
        pw_sentence_add(said, " for %zu and %zu steps", c->steps.runs[0].n, c->steps.runs[1].n);
    pw_sentence_add(said, ". ");
}

/* The difference to report: the largest sure one with the sign of the total, else the largest. */
static const struct pw_compare_difference *leading(const struct pw_comparison *c)
{
    for (size_t i = 0; i < c->ndifferences && c->differences[i].is_sure; i++)
        if ((c->differences[i].ns > 0) == (c->ns > 0))
            return &c->differences[i];
    return c->ndifferences ? &c->differences[0] : NULL;
}

static void write_sure(struct pw_sentence *said, const struct pw_comparison *c)
{
    const struct pw_compare_difference *d = leading(c);
    add_ns(said, "The second run is ", c->ns, "");
    add_percent(said, " (%s)", fabs(c->share));
    pw_sentence_add(said, c->ns > 0 ? " slower, " : " faster, ");
    if (fabs(d->ns - c->ns) > 0.05 * fabs(c->ns))
        add_ns(said, "", d->ns, " of it ");
    add_place(said, c, d);
}

/* Sentences about the sure differences other than the leading one. */
static void say_others(struct pw_sentence *said, const struct pw_comparison *c)
{
    const struct pw_compare_difference *d = leading(c);
    for (size_t i = 0; i < c->ndifferences && c->differences[i].is_sure; i++) {
        const struct pw_compare_difference *other = &c->differences[i];
        if (other == d)
            continue;
        add_ns(said, "", other->ns, other->ns > 0 ? " more " : " less ");
        add_place(said, c, other);
        pw_sentence_add(said, ". ");
        if (other->place == PW_COMPARE_IN_STEPS)
            say_steps(said, c, other->ns > 0);
    }
}

static void write_same(struct pw_sentence *said, const struct pw_comparison *c)
{
    const struct pw_steps_summary *a = &c->steps.runs[0], *b = &c->steps.runs[1];
    pw_sentence_add(said, "The second run is neither slower nor faster beyond noise");
    add_pair(said, ": its steps took ", a->mean, b->mean);
    pw_sentence_add(said, " on average");
    add_evidence(said, c, b->mean / a->mean - 1, c->steps.p_mean);
}

static void write_unknown(struct pw_sentence *said, const struct pw_comparison *c)
{
    pw_sentence_add(said, "Cannot tell whether the second run is slower or faster: %s", c->why);
    if (!c->has_steps || !c->ndifferences)
        return;
    const struct pw_compare_difference *d = leading(c);
    add_ns(said, ", most of it (", d->ns, d->ns > 0 ? " more) " : " less) ");
    add_place(said, c, d);
}

void pw_compare_headline(const struct pw_comparison *comparison, char *out, size_t size)
{
    struct pw_sentence said = pw_sentence_on(out, size);
    for (int i = 0; i < 2; i++)
        pw_sentence_add(&said, comparison->ended[i][0] ? "%s " : "%s", comparison->ended[i]);
    switch (comparison->kind) {
    case PW_COMPARE_UNKNOWN:
        write_unknown(&said, comparison);
        break;
    case PW_COMPARE_SAME:
        write_same(&said, comparison);
        break;
    default:
        write_sure(&said, comparison);
        break;
    }
    pw_sentence_add(&said, ".");
}

void pw_compare_details(const struct pw_comparison *c, char *out, size_t size)
{
    struct pw_sentence said = pw_sentence_on(out, size);
    const struct pw_compare_difference *d = c->kind == PW_COMPARE_SAME ? NULL : leading(c);
    out[0] = '\0';
    if (c->has_steps && d && d->place == PW_COMPARE_IN_STEPS)
        say_steps(&said, c, d->ns > 0);
    if (c->kind == PW_COMPARE_SLOWER || c->kind == PW_COMPARE_FASTER)
        say_others(&said, c);
    say_runs(&said, c);
    if (said.used && out[said.used - 1] == ' ')
        out[said.used - 1] = '\0';
}

/* The heading of a group's table. */
static const char *compare_title(enum pw_compare_group group)
{
    static const char *const titles[PW_COMPARE_GROUPS] = {
        "The run",
        "Outside the steps: own time of the rank that changed most",
        "Step time",
        "Where a step's time goes, mean of the steps and ranks",
        "Phases: own work in a step, mean of the steps and ranks",
        "Ranks: own work in a step, mean",
        "Collective operations: mean transfer of a call",
        "Operators: self time in a step, mean of the ranks",
    };
    return titles[group];
}

/* Write "1.20 s" (of a time below 0: "n/a") and "+12.3 %" (of NaN: "n/a"). Return `out`. */
static const char *compare_time(char *out, size_t size, double ns)
{
    return pw_text_ns(out, size, ns < 0 ? -1 : ns < 9e18 ? (int64_t)(ns + 0.5) : INT64_MAX);
}

static const char *compare_percent(char *out, size_t size, double share)
{
    if (isnan(share))
        snprintf(out, size, "n/a");
    else if (share >= 100)
        snprintf(out, size, "> 9999 %%");
    else
        snprintf(out, size, fabs(share) < 10 ? "%+.1f %%" : "%+.0f %%", 100 * share);
    return out;
}

static const char *chance_of(char *out, size_t size, double p)
{
    if (p < 0)
        snprintf(out, size, "n/a");
    else
        snprintf(out, size, p < 0.0001 ? "< 0.0001" : p < 0.01 ? "%.4f" : "%.2f", p);
    return out;
}

static const char *verdict_of(const struct pw_compare_row *row)
{
    if (row->p < 0)
        return "";
    if (!pw_compare_is_significant(row))
        return row->p < PW_COMPARE_UNLIKELY ? "not sure" : "as before";
    return row->b > row->a ? "slower" : "faster";
}

void pw_compare_cells_write(const struct pw_compare_row *row, struct pw_compare_cells *out)
{
    compare_time(out->text[0], sizeof(out->text[0]), row->a);
    compare_time(out->text[1], sizeof(out->text[1]), row->b);
    compare_percent(out->text[2], sizeof(out->text[2]), pw_compare_change(row));
    chance_of(out->text[3], sizeof(out->text[3]), row->p);
    out->verdict = verdict_of(row);
}

/* A comparison of two runs, or of several, as the writers below see it. */
struct printed {
    const void *of;
    size_t nrows;
    enum pw_compare_group (*group)(const void *of, size_t row);
    /* Writes a row's cells. Returns its name. */
    const char *(*cells)(const void *of, size_t row, struct pw_compare_cells *out);
    json_t *(*json)(const void *of, size_t row);
    const struct pw_grid_column *columns; /* the name, those of the cells' text, the verdict */
    size_t ncolumns;
    int has_parts; /* PW_COMPARE_PART is compared */
    char headline[2048], details[1024];
    const char *unlike;
    const char *note; /* what the columns mean; NULL: there are no tables */
};

static int print_group(const struct pw_page *page, const struct printed *c,
                       enum pw_compare_group group)
{
    struct pw_grid grid;
    size_t shown = 0, rows = 0;
    pw_grid_init(&grid, c->columns, c->ncolumns);
    for (size_t i = 0; i < c->nrows; i++) {
        struct pw_compare_cells cells;
        if (c->group(c->of, i) != group || rows++ >= page->top)
            continue;
        pw_grid_cell(&grid, "%s", c->cells(c->of, i, &cells));
        for (size_t k = 0; k + 2 < c->ncolumns; k++)
            pw_grid_cell(&grid, "%s", cells.text[k]);
        pw_grid_cell(&grid, "%s", cells.verdict);
        shown++;
    }
    int err = shown ? pw_page_print(page, 0, 0, "%s", "") : 0;
    err = !err && shown ? pw_page_print(page, 0, 0, "%s", compare_title(group)) : err;
    err = !err && shown ? pw_grid_print(&grid, page) : err;
    if (!err && rows > shown)
        err = pw_page_print(page, 2, 2, "%zu more changed less; --top 0 lists them.", rows - shown);
    pw_grid_fini(&grid);
    return err;
}

static int put_text(FILE *out, const struct printed *c, int top)
{
    const struct pw_page page = {
        .out = out, .width = PW_REPORT_WIDTH, .top = top > 0 ? (size_t)top : SIZE_MAX};
    int err = pw_page_print(&page, 0, 2, "%s", c->headline);
    if (!err && c->details[0])
        err = pw_page_print(&page, 0, 2, "%s", c->details);
    if (!err && c->unlike[0])
        err = pw_page_print(&page, 0, 2, "The runs differ: %s.", c->unlike);
    for (int group = 0; group < PW_COMPARE_GROUPS && !err; group++)
        err = print_group(&page, c, (enum pw_compare_group)group);
    if (!err && c->note)
        err = pw_page_print(&page, 0, 0, "%s", "");
    if (!err && c->note)
        err = pw_page_print(&page, 0, 2, "%s", c->note);
    return err ? err : ferror(out) ? -EIO : 0;
}

/* ---- JSON ---- */

/* Keys of the groups in JSON, and the word for a verdict there. */
static const char *compare_key(enum pw_compare_group group)
{
    static const char *const keys[PW_COMPARE_GROUPS] = {
        "run", "parts", "steps", "times", "phases", "ranks", "collectives", "operators",
    };
    return keys[group];
}

/* Adds the tables, writes the whole and frees it. */
static int put_json(FILE *out, const struct printed *c, json_t *root)
{
    int err = !root;
    for (int group = 0; group < PW_COMPARE_GROUPS && !err; group++) {
        if (group == PW_COMPARE_PART && !c->has_parts)
            continue;
        json_t *rows = json_array();
        for (size_t i = 0; i < c->nrows; i++)
            if ((int)c->group(c->of, i) == group)
                err |= json_array_append_new(rows, c->json(c->of, i));
        err |= json_object_set_new(root, compare_key((enum pw_compare_group)group), rows);
    }
    err = err ? -ENOMEM : 0;
    if (!err && (json_dumpf(root, out, JSON_INDENT(1)) || fputc('\n', out) == EOF))
        err = -EIO;
    json_decref(root);
    return err;
}

static const char *compare_kind_name(enum pw_compare_kind kind)
{
    static const char *const names[] = {"unknown", "same", "slower", "faster"};
    return names[kind];
}

/* ---- Markdown ----
 *
 * For merge requests: texts in which no character has a meaning of the markup. */

/* Writes a text with replacements for some of its characters. */
static void put_escaped(FILE *out, const char *text, size_t length,
                        const char *(*escape)(char character))
{
    char clean[2048];
    pw_names_printable(clean, sizeof(clean), text, length);
    for (const char *at = clean; *at; at++) {
        const char *other = escape(*at);
        if (other)
            fputs(other, out);
        else
            fputc(*at, out);
    }
}

static const char *escape_markdown(char character)
{
    switch (character) {
    case '|':
        return "\\|";
    case '*':
        return "\\*";
    case '_':
        return "\\_";
    case '`':
        return "\\`";
    case '[':
        return "\\[";
    case '\\':
        return "\\\\";
    case '<':
        return "&lt;";
    case '&':
        return "&amp;";
    default:
        return NULL;
    }
}

/* Writes the text as Markdown. */
static void markup_markdown(FILE *out, const char *text)
{
    put_escaped(out, text, strlen(text), escape_markdown);
}

/* Below a row of titles, which columns of numbers align to the right. */
static void put_titles(FILE *out, const struct printed *c)
{
    for (size_t k = 0; k < c->ncolumns; k++) {
        fputs(k ? " " : "| ", out);
        for (const char *at = c->columns[k].title; *at; at++)
            fputc(*at == '\n' ? ' ' : *at, out);
        fputs(c->columns[k].title[0] ? " |" : "|", out);
    }
    fputs("\n|", out);
    for (size_t k = 0; k < c->ncolumns; k++)
        fputs(c->columns[k].kind == PW_GRID_NUMBER ? "--:|" : "---|", out);
    fputc('\n', out);
}

static void put_table(FILE *out, const struct printed *c, enum pw_compare_group group, size_t top)
{
    size_t rows = 0;
    for (size_t i = 0; i < c->nrows; i++) {
        struct pw_compare_cells cells;
        if (c->group(c->of, i) != group || rows++ >= top)
            continue;
        if (rows == 1) {
            fprintf(out, "#### %s\n\n", compare_title(group));
            put_titles(out, c);
        }
        fputs("| ", out);
        markup_markdown(out, c->cells(c->of, i, &cells));
        for (size_t k = 0; k + 2 < c->ncolumns; k++)
            fprintf(out, " | %s", cells.text[k]);
        fprintf(out, " | %s |\n", cells.verdict);
    }
    if (rows > top)
        fprintf(out, "\n%zu more changed less.\n", rows - top);
    if (rows)
        fputc('\n', out);
}

static int put_markdown(FILE *out, const struct printed *c, int top)
{
    fputs("**", out);
    markup_markdown(out, c->headline);
    fputs("**\n", out);
    if (c->details[0]) {
        fputc('\n', out);
        markup_markdown(out, c->details);
        fputc('\n', out);
    }
    if (c->unlike[0]) {
        fputs("\nThe runs differ: ", out);
        markup_markdown(out, c->unlike);
        fputs(".\n", out);
    }
    if (!c->note)
        return ferror(out) ? -EIO : 0;
    fprintf(out, "\n<details>\n<summary>Tables</summary>\n\n%s", c->has_parts ? "" : "\n");
    for (int group = 0; group < PW_COMPARE_GROUPS; group++)
        put_table(out, c, (enum pw_compare_group)group, top > 0 ? (size_t)top : SIZE_MAX);
    fprintf(out, "%s\n\n</details>\n", c->note);
    return ferror(out) ? -EIO : 0;
}

/* ---- JUnit ----
 *
 * For CI servers: the elements are those of the schema that Jenkins and GitLab read (testsuites,
 * testsuite, testcase with failure or skipped). */

enum junit_outcome { JUNIT_PASSED, JUNIT_FAILURE, JUNIT_ERROR, JUNIT_SKIPPED };

struct junit_case {
    const char *name; /* "the run is not slower", without " by more than 5 %" */
    double threshold; /* share */
    double ns;        /* how long the run took; -1: not known */
    enum junit_outcome outcome;
    const char *message; /* why it did not pass */
};

static const char *escape_xml(char character)
{
    switch (character) {
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '&':
        return "&amp;";
    case '"':
        return "&quot;";
    default:
        return NULL;
    }
}

/* Line by line: a control character would make the XML invalid. */
static void put_report(FILE *out, const char *text)
{
    fputs("    <system-out>", out);
    for (const char *line = text; *line;) {
        const size_t length = strcspn(line, "\n");
        put_escaped(out, line, length, escape_xml);
        fputc('\n', out);
        line += length + (line[length] == '\n');
    }
    fputs("</system-out>\n", out);
}

/* Writes a JUnit report with this one test case, and its output. */
static void put_case(FILE *out, const struct junit_case *given, const char *report)
{
    static const char *const names[] = {"", "failure", "error", "skipped"};
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n", out);
    fprintf(out,
            "  <testsuite name=\"profwrap compare\" tests=\"1\" failures=\"%d\" errors=\"%d\" "
            "skipped=\"%d\">\n    <testcase classname=\"profwrap\" "
            "name=\"%s by more than %g %%\" time=\"%.3f\">\n",
            given->outcome == JUNIT_FAILURE, given->outcome == JUNIT_ERROR,
            given->outcome == JUNIT_SKIPPED, given->name, 100 * given->threshold,
            given->ns > 0 ? given->ns / 1e9 : 0);
    if (given->outcome != JUNIT_PASSED) {
        fprintf(out, "    <%s message=\"", names[given->outcome]);
        put_escaped(out, given->message, strlen(given->message), escape_xml);
        fputs("\"/>\n", out);
    }
    put_report(out, report);
    fputs("    </testcase>\n  </testsuite>\n</testsuites>\n", out);
}

static int put_junit(FILE *out, const struct printed *c, int top, const struct junit_case *given)
{
    char *report = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&report, &size);
    int err = memory ? put_text(memory, c, top) : -ENOMEM;
    if (memory && fclose(memory) && !err)
        err = -ENOMEM;
    if (!err)
        put_case(out, given, report);
    free(report);
    return err ? err : ferror(out) ? -EIO : 0;
}

/* ---- two runs ---- */

static enum pw_compare_group group_of_two(const void *of, size_t row)
{
    return ((const struct pw_comparison *)of)->rows[row].group;
}

static const char *cells_of_two(const void *of, size_t row, struct pw_compare_cells *out)
{
    const struct pw_compare_row *given = &((const struct pw_comparison *)of)->rows[row];
    pw_compare_cells_write(given, out);
    return given->name;
}

/* Returns a row as JSON. NULL when memory is short: then json_array_append_new() fails. */
static json_t *json_of_two(const void *of, size_t i)
{
    const struct pw_compare_row *row = &((const struct pw_comparison *)of)->rows[i];
    double change = pw_compare_change(row);
    return json_pack("{s:o, s:o, s:o, s:o, s:I, s:I, s:o, s:b}", "what",
                     pw_json_text(row->name, sizeof(row->name)), "first_ns", pw_json_real(row->a),
                     "second_ns", pw_json_real(row->b), "change",
                     isfinite(change) ? json_real(change) : json_null(), "first_samples",
                     (json_int_t)row->a_steps, "second_samples", (json_int_t)row->b_steps, "p",
                     pw_json_real(row->p), "significant", pw_compare_is_significant(row));
}

static struct printed printed_two(const struct pw_comparison *c)
{
    static const struct pw_grid_column columns[] = {
        {"what", PW_GRID_TEXT},     {"first\nrun", PW_GRID_NUMBER}, {"second\nrun", PW_GRID_NUMBER},
        {"change", PW_GRID_NUMBER}, {"p", PW_GRID_NUMBER},          {"", PW_GRID_TEXT}};
    static const char note[] =
        "p: how likely the steps' spread alone makes such a difference (permutation test of means, "
        "Mann-Whitney of medians). slower, faster: p is below 0.001; not sure: below 0.05. It does "
        "not "
        "cover what differs from run to run, such as placement "
        "and other jobs.";

    struct printed out = {.of = c,
                          .nrows = c->nrows,
                          .group = group_of_two,
                          .cells = cells_of_two,
                          .json = json_of_two,
                          .columns = columns,
                          .ncolumns = sizeof(columns) / sizeof(columns[0]),
                          .has_parts = 1,
                          .unlike = c->unlike,
                          .note = note};
    pw_compare_headline(c, out.headline, sizeof(out.headline));
    pw_compare_details(c, out.details, sizeof(out.details));
    return out;
}

int pw_compare_text(FILE *out, const struct pw_comparison *comparison, int top)
{
    const struct printed printed = printed_two(comparison);
    return put_text(out, &printed, top);
}

static const char *place_name(enum pw_compare_place place)
{
    static const char *const names[PW_COMPARE_PLACES] = {
        "steps",         "few_steps",   "slow_steps",   "before_steps",
        "between_steps", "after_steps", "outside_steps"};
    return names[place];
}

/* Returns the rank that causes the difference; -1: no single rank does. */
static int64_t rank_of(const struct pw_comparison *c, const struct pw_compare_difference *d,
                       const struct pw_compare_outside *out)
{
    if (d->place == PW_COMPARE_IN_FEW_STEPS)
        return c->few_rank;
    return out && out->alike == 1 ? out->rank : -1;
}

static json_t *differences_json(const struct pw_comparison *c)
{
    json_t *all = json_array();
    for (size_t i = 0; i < c->ndifferences; i++) {
        const struct pw_compare_difference *d = &c->differences[i];
        const struct pw_compare_outside *out = pw_compare_outside_of(c, d);
        json_t *one =
            json_pack("{s:s, s:f, s:f, s:b, s:o, s:o}", "where", place_name(d->place),
                      "difference_ns", d->ns, "p", d->p, "sure", d->is_sure, "part",
                      out ? json_string(pw_enum_name(PW_F_PART, (int)out->part)) : json_null(),
                      "rank", pw_json_int(rank_of(c, d, out)));
        if (json_array_append_new(all, one)) {
            json_decref(all);
            return NULL;
        }
    }
    return all;
}

int pw_compare_json(FILE *out, const struct pw_comparison *comparison)
{
    const struct printed printed = printed_two(comparison);
    json_t *root = json_pack(
        "{s:o, s:o, s:s, s:o, s:f, s:f, s:o, s:b, s:f, s:o}", "headline",
        pw_json_text(printed.headline, sizeof(printed.headline)), "details",
        pw_json_text(printed.details, sizeof(printed.details)), "verdict",
        compare_kind_name(comparison->kind), "reason",
        pw_json_text(comparison->why, sizeof(comparison->why)), "difference_ns", comparison->ns,
        "share", comparison->share, "differences", differences_json(comparison), "slower",
        pw_compare_is_slower(comparison), "threshold", comparison->threshold, "unlike",
        pw_json_text(comparison->unlike, sizeof(comparison->unlike)));
    return put_json(out, &printed, root);
}

int pw_compare_markdown(FILE *out, const struct pw_comparison *comparison, int top)
{
    const struct printed printed = printed_two(comparison);
    return put_markdown(out, &printed, top);
}

int pw_compare_junit(FILE *out, const struct pw_comparison *comparison, int top)
{
    const struct printed printed = printed_two(comparison);
    const struct junit_case only = {
        .name = "the run is not slower",
        .threshold = comparison->threshold,
        .ns = comparison->parts[1].run,
        .outcome = comparison->kind == PW_COMPARE_UNKNOWN ? JUNIT_SKIPPED
                   : pw_compare_is_slower(comparison)     ? JUNIT_FAILURE
                                                          : JUNIT_PASSED,
        .message = printed.headline,
    };
    return put_junit(out, &printed, top, &only);
}

/* ---- several runs of each program ---- */

/* "+1.20 s", "-18.0 ms". */
static const char *signed_time(char *out, size_t size, double ns)
{
    char time[32];
    snprintf(out, size, "%c%s", ns < 0 ? '-' : '+', compare_time(time, sizeof(time), fabs(ns)));
    return out;
}

static const char *verdict_of_runs(const struct pw_runs_row *row)
{
    const int sign = pw_runs_sign(row);
    if (row->pairs < PW_RUNS_LEAST)
        return "too few pairs";
    return sign > 0 ? "slower" : sign < 0 ? "faster" : "as before";
}

static void write_runs_row(const struct pw_runs_row *row, struct pw_compare_cells *out)
{
    compare_time(out->text[0], sizeof(out->text[0]), row->a);
    compare_time(out->text[1], sizeof(out->text[1]), row->b);
    compare_percent(out->text[2], sizeof(out->text[2]), pw_runs_change(row));
    signed_time(out->text[3], sizeof(out->text[3]), row->difference.low);
    signed_time(out->text[4], sizeof(out->text[4]), row->difference.high);
    out->verdict = verdict_of_runs(row);
}

/* "its steps take 12.1 ms, then 13.9 ms (+14.9 %, +1.5 ms to +2.1 ms with 94 % confidence)" */
static void add_row(struct pw_sentence *said, const char *what, const struct pw_runs_row *row)
{
    struct pw_compare_cells cells;
    write_runs_row(row, &cells);
    pw_sentence_add(said, "%s took %s, then %s (%s, %s to %s with %.0f %% confidence)", what,
                    cells.text[0], cells.text[1], cells.text[2], cells.text[3], cells.text[4],
                    100 * row->difference.confidence);
}

/* The row of the group that changed most in that direction; NULL: none did, or it may be noise. */
static const struct pw_runs_row *most_changed_runs(const struct pw_runs_comparison *c,
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
    const struct pw_runs_row *phase = most_changed_runs(c, PW_COMPARE_PHASE, sign);
    const struct pw_runs_row *rank = most_changed_runs(c, PW_COMPARE_RANK, sign);
    char time[32];
    if (phase)
        pw_sentence_add(said, ", most in %s", phase->name);
    if (rank)
        pw_sentence_add(said, "%son %s by %s a step", phase ? " and " : ", most ", rank->name,
                        compare_time(time, sizeof(time), fabs(rank->difference.median)));
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

static enum pw_compare_group group_of_runs(const void *of, size_t row)
{
    return ((const struct pw_runs_comparison *)of)->rows[row].group;
}

static const char *cells_of_runs(const void *of, size_t row, struct pw_compare_cells *out)
{
    const struct pw_runs_row *given = &((const struct pw_runs_comparison *)of)->rows[row];
    write_runs_row(given, out);
    return given->name;
}

/* Returns a row as JSON. NULL when memory is short: then json_array_append_new() fails. */
static json_t *json_of_runs(const void *of, size_t i)
{
    const struct pw_runs_row *row = &((const struct pw_runs_comparison *)of)->rows[i];
    const double change = pw_runs_change(row);
    const struct pw_median_interval *d = &row->difference;
    return json_pack("{s:o, s:I, s:o, s:o, s:f, s:f, s:f, s:f, s:o, s:b}", "what",
                     pw_json_text(row->name, sizeof(row->name)), "pairs", (json_int_t)row->pairs,
                     "first_ns", pw_json_real(row->a), "second_ns", pw_json_real(row->b),
                     "difference_ns", d->median, "low_ns", d->low, "high_ns", d->high, "confidence",
                     d->confidence, "change", isfinite(change) ? json_real(change) : json_null(),
                     "significant", pw_runs_sign(row) != 0);
}

static struct printed printed_runs(const struct pw_runs_comparison *c)
{
    static const struct pw_grid_column columns[] = {
        {"what", PW_GRID_TEXT},     {"first", PW_GRID_NUMBER}, {"second", PW_GRID_NUMBER},
        {"change", PW_GRID_NUMBER}, {"low", PW_GRID_NUMBER},   {"high", PW_GRID_NUMBER},
        {"", PW_GRID_TEXT}};
    static const char note[] =
        "first, second: medians of the runs. low, high: confidence interval of the median of the "
        "pairs' differences, second - first (of order statistics, Thompson 1936). Where it holds "
        "zero, "
        "no change is claimed. Of rows that did not change, one in 16 or fewer is outside by "
        "chance.";

    struct printed out = {.of = c,
                          .nrows = c->nrows,
                          .group = group_of_runs,
                          .cells = cells_of_runs,
                          .json = json_of_runs,
                          .columns = columns,
                          .ncolumns = sizeof(columns) / sizeof(columns[0]),
                          .unlike = c->unlike,
                          .note = c->nrows ? note : NULL};
    pw_runs_headline(c, out.headline, sizeof(out.headline));
    return out;
}

int pw_runs_text(FILE *out, const struct pw_runs_comparison *c, int top)
{
    const struct printed printed = printed_runs(c);
    return put_text(out, &printed, top);
}

int pw_runs_json(FILE *out, const struct pw_runs_comparison *c)
{
    const struct printed printed = printed_runs(c);
    json_t *root =
        json_pack("{s:o, s:s, s:o, s:I, s:b, s:b, s:f, s:o}", "headline",
                  pw_json_text(printed.headline, sizeof(printed.headline)), "verdict",
                  compare_kind_name(c->kind), "reason", pw_json_text(c->why, sizeof(c->why)),
                  "pairs", (json_int_t)c->pairs, "failed", c->has_failed, "slower", c->is_slower,
                  "threshold", c->threshold, "unlike", pw_json_text(c->unlike, sizeof(c->unlike)));
    return put_json(out, &printed, root);
}

int pw_runs_markdown(FILE *out, const struct pw_runs_comparison *c, int top)
{
    const struct printed printed = printed_runs(c);
    return put_markdown(out, &printed, top);
}

int pw_runs_junit(FILE *out, const struct pw_runs_comparison *c, int top)
{
    const struct printed printed = printed_runs(c);
    const struct junit_case only = {
        .name = "B is not slower than A",
        .threshold = c->threshold,
        .ns = c->run ? c->run->b : -1,
        .outcome = c->has_failed                   ? JUNIT_ERROR
                   : c->kind == PW_COMPARE_UNKNOWN ? JUNIT_SKIPPED
                   : c->is_slower                  ? JUNIT_FAILURE
                                                   : JUNIT_PASSED,
        .message = printed.headline,
    };
    return put_junit(out, &printed, top, &only);
}
