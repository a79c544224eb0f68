/* Writes the HTML report: page.html with its parts inserted. A line <!-- put NAME --> of page.html
 * is replaced by the file NAME beside it, by the library D3 (d3), or by this run's data, planes or
 * timelines.
 *
 * Every script has the nonce that the page's content security policy requires: if a name from a
 * file were ever shown as HTML, a script in it would not run. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "analysis/advice/findings.h"
#include "analysis/figures/figures.h"
#include "analysis/statistics.h"
#include "core/comm_kernel.h"
#include "core/safefile.h"
#include "report/content/firstscreen.h"
#include "report/content/onefigures.h"
#include "report/html/html_planes.h"
#include "report/html/html_series.h"
#include "report/html/html_timeline.h"
#include "report/report.h"
#include "report/sections/section.h"
#include "report/writing/json_row.h"
#include "report/writing/safenames.h"
#include "report/writing/words.h"

/* Makes the data of the HTML report. A key with the name of a key of the JSON report has the same
 * meaning. */

/* ---- GPUs ---- */

enum { HEAT_KERNELS = 24, HEAT_CELLS = 1 << 16 };

/* The mean of an int64 field of /gpu_trace for one rank over the measured steps. */
static int64_t mean_of(const struct pw_cluster *c, size_t rank, size_t offset)
{
    struct pw_mean mean = {0};
    for (size_t s = 0; s < c->nstep_rows; s++) {
        if (c->steps[s].recorded == PW_RECORDED_ACTIVE)
            pw_mean_add(&mean, pw_cells_value(&c->gpu_trace, offset, s, rank));
    }
    return pw_mean_value(&mean);
}

static json_t *make_step(const struct pw_figures *f)
{
    const struct pw_cluster *c = f->cluster;
    const struct pw_table *table = pw_table_borrow(PW_TABLE_c_gpu_trace);
    if (!pw_cells_is_known(&c->gpu_trace))
        return json_null();
    json_t *step = json_object();
    bool bad = !step;
    for (size_t i = 0; i < table->nfields && !bad; i++) {
        const struct pw_field *field = &table->fields()[i];
        json_t *means = json_array();
        bad = json_object_set_new(step, field->name, means) != 0;
        for (size_t r = 0; r < f->nranks && !bad; r++)
            bad = json_array_append_new(means, pw_json_int(mean_of(c, r, field->offset))) != 0;
    }
    return pw_json_or_null(step, bad);
}

/* {ranks, step}: ranks as in the JSON report's key; step has, for each field of /gpu_trace, the
 * means over the measured steps in the order of the report's ranks, and is null without steps. null
 * for jobs without GPUs; NULL when memory is short. */
static json_t *pw_html_gpu(const struct pw_figures *f)
{
    if (!f->cluster->ngpu_ranks)
        return json_null();
    json_t *all = json_object();
    bool bad = json_object_set_new(all, "ranks", pw_json_gpu_ranks(f)) != 0;
    bad |= json_object_set_new(all, "step", make_step(f)) != 0;
    bad |= json_object_set_new(all, "gpus", pw_json_gpu_list(f)) != 0;
    return pw_json_or_null(all, bad);
}

/* Returns the time of one kernel on each rank; null for a rank that did not run it. Rows [first,
 * end) are those of the kernel, in the order of ranks. */
static json_t *make_line(const struct pw_cluster *c, size_t first, size_t end)
{
    json_t *line = json_array();
    bool bad = !line;
    for (size_t i = 0; i < c->ngpu_ranks && !bad; i++) {
        while (first < end && c->kernel_ranks[first].rank < c->gpu_ranks[i].rank)
            first++;
        bool has = first < end && c->kernel_ranks[first].rank == c->gpu_ranks[i].rank;
        bad = json_array_append_new(line,
                                    pw_json_int(has ? c->kernel_ranks[first].total_ns : -1)) != 0;
    }
    return pw_json_or_null(line, bad);
}

static json_t *make_heat(const struct pw_cluster *c)
{
    json_t *heat = json_object(), *name = json_array(), *total = json_array(), *rank = json_array();
    bool bad = json_object_set_new(heat, "name", name) != 0;
    bad |= json_object_set_new(heat, "total_ns", total) != 0;
    bad |= json_object_set_new(heat, "rank", rank) != 0;
    for (size_t i = 0; i < c->ngpu_ranks && !bad; i++)
        bad = json_array_append_new(rank, json_integer(c->gpu_ranks[i].rank)) != 0;
    size_t lines = 0;
    for (size_t at = 0, end; at < c->nkernel_ranks && !bad; at = end) {
        int32_t row = c->kernel_ranks[at].kernel_row;
        for (end = at + 1; end < c->nkernel_ranks && c->kernel_ranks[end].kernel_row == row;)
            end++;
        if (lines == HEAT_KERNELS || (lines + 1) * c->ngpu_ranks > HEAT_CELLS)
            break;
        const struct pw_row_c_kernel *kernel = &c->kernels[row];
        if (pw_is_comm_kernel(kernel->name))
            continue;
        bad |= json_array_append_new(name, pw_json_text(kernel->name, sizeof(kernel->name))) != 0;
        bad |= json_array_append_new(total, make_line(c, at, end)) != 0;
        lines++;
    }
    return pw_json_or_null(heat, bad);
}

/* {names, by_name, heat}. names and by_name are as in the JSON report; heat is {name, rank,
 * total_ns}, the time by kernel and rank. heat has no NCCL kernels, because their time is shortest
 * on the rank that the others wait for. null for jobs without GPUs; NULL when memory is short. */
static json_t *pw_html_kernels(const struct pw_figures *f)
{
    json_t *kernels = pw_section_key(f, "kernels");
    if (!json_is_object(kernels))
        return kernels;
    bool bad = json_object_del(kernels, "by_rank") != 0; /* the heatmap replaces it */
    bad |= json_object_set_new(kernels, "heat", make_heat(f->cluster)) != 0;
    return pw_json_or_null(kernels, bad);
}

/* ---- operators ---- */

enum { LIST_ROWS = 10000, HEAT_OPERATORS = 24, OPERATOR_HEAT_CELLS = 1 << 16 };

/* Returns the ranks in the order of the file: the columns of the heatmap. */
static json_t *make_operator_ranks(const struct pw_cluster *c)
{
    json_t *array = json_array();
    int bad = !array;
    for (size_t i = 0; i < c->noperator_ranks && !bad; i++)
        if (c->operator_ranks[i].operator_row == -1)
            bad = json_array_append_new(array, json_integer(c->operator_ranks[i].rank));
    return pw_json_or_null(array, bad);
}

/* Returns the own work of one operator on each of `ranks`. Rows [first, end) are those of the
 * operator, in the order of ranks. */
static json_t *make_operator_line(const struct pw_cluster *c, const json_t *ranks, size_t first,
                                  size_t end)
{
    json_t *line = json_array();
    int bad = !line;
    for (size_t i = 0; i < json_array_size(ranks) && !bad; i++) {
        int64_t rank = json_integer_value(json_array_get(ranks, i)), own = 0;
        while (first < end && c->operator_ranks[first].rank < rank)
            first++;
        const struct pw_row_c_operator_rank *row = &c->operator_ranks[first];
        if (first < end && row->rank == rank && row->self_ns > row->self_wait_ns &&
            row->self_wait_ns >= 0)
            own = row->self_ns - row->self_wait_ns;
        bad = json_array_append_new(line, json_integer(own));
    }
    return pw_json_or_null(line, bad);
}

static json_t *make_operator_heat(const struct pw_cluster *c)
{
    json_t *heat = json_object(), *name = json_array(), *type = json_array(), *own = json_array();
    json_t *ranks = make_operator_ranks(c);
    size_t columns = json_array_size(ranks), lines = 0;
    int bad = json_object_set_new(heat, "name", name);
    bad |= json_object_set_new(heat, "type", type);
    bad |= json_object_set_new(heat, "own_ns", own);
    bad |= json_object_set_new(heat, "rank", ranks);
    for (size_t at = 0, end; at < c->noperator_ranks && !bad; at = end) {
        int32_t row = c->operator_ranks[at].operator_row;
        for (end = at + 1; end < c->noperator_ranks && c->operator_ranks[end].operator_row == row;)
            end++;
        if (row < 0 || lines == HEAT_OPERATORS || (lines + 1) * columns > OPERATOR_HEAT_CELLS)
            continue;
        const struct pw_row_c_operator *op = &c->operators[row];
        bad |= json_array_append_new(name, pw_json_text(op->name, sizeof(op->name)));
        bad |= json_array_append_new(type, pw_json_text(op->type, sizeof(op->type)));
        bad |= json_array_append_new(own, make_operator_line(c, ranks, at, end));
        lines++;
    }
    return pw_json_or_null(heat, bad);
}

/* As in the JSON report, with fewer rows, and with "heat": {name, type, rank, own_ns}, the own work
 * by operator and rank. null when there are no operators; NULL when memory is short. */
static json_t *pw_html_operators(const struct pw_figures *f)
{
    json_t *operators = pw_json_operators_most(f, LIST_ROWS);
    if (json_is_object(operators) &&
        json_object_set_new(operators, "heat", make_operator_heat(f->cluster))) {
        json_decref(operators);
        return NULL;
    }
    return operators;
}

enum { DUMP_FLAGS = JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(7) };

static json_t *make_steps(const struct pw_figures *f)
{
    const struct pw_cluster *c = f->cluster;
    int64_t *durations = malloc((c->nstep_rows + 1) * sizeof(*durations));
    json_t *steps = durations ? json_object() : NULL;
    size_t n = 0;
    for (size_t s = 0; durations && s < c->nstep_rows; s++)
        if (c->steps[s].recorded == PW_RECORDED_ACTIVE && c->steps[s].duration_ns >= 0)
            durations[n++] = c->steps[s].duration_ns;
    if (n)
        pw_sort_i64(durations, n);
    int bad = json_object_set_new(steps, "measured", pw_json_int(f->measured));
    bad |= json_object_set_new(steps, "warmup", pw_json_int(f->warmup));
    bad |= json_object_set_new(steps, "inferred", json_boolean(c->steps_inferred > 0));
    bad |= json_object_set_new(steps, "found_by", json_string(pw_words_found_by(c)));
    bad |= json_object_set_new(steps, "mean_ns", pw_json_int(f->step_mean_ns));
    bad |= json_object_set_new(steps, "min_ns", pw_json_int(f->step_min_ns));
    bad |= json_object_set_new(steps, "max_ns", pw_json_int(f->step_max_ns));
    bad |= json_object_set_new(steps, "p50_ns",
                               pw_json_int(n ? pw_quantile_i64(durations, n, 0.5) : -1));
    bad |= json_object_set_new(steps, "p95_ns",
                               pw_json_int(n ? pw_quantile_i64(durations, n, 0.95) : -1));
    free(durations);
    return pw_json_or_null(steps, bad);
}

/* Returns an array of an int64_t field; rows are `stride` bytes apart. */
static json_t *column_of(const void *rows, size_t stride, size_t offset, size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; array && i < count; i++) {
        int64_t value;
        memcpy(&value, (const char *)rows + i * stride + offset, sizeof(value));
        if (json_array_append_new(array, pw_json_int(value))) {
            json_decref(array);
            array = NULL;
        }
    }
    return array;
}

/* Adds an array for every field of a table whose fields are all int64_t. */
static int add_columns(json_t *object, int table, const void *rows, size_t count)
{
    const struct pw_table *info = pw_table_borrow(table);
    int bad = 0;
    for (size_t i = 0; i < info->nfields; i++)
        bad |=
            json_object_set_new(object, info->fields()[i].name,
                                column_of(rows, info->row_size, info->fields()[i].offset, count));
    return bad;
}

/* Returns the means of the step trace and the phase trace by rank, as arrays. */
static json_t *make_ranks(const struct pw_figures *f)
{
    json_t *object = json_object(), *rank = json_array(), *host = json_array();
    json_t *lossy = json_array();
    int bad = json_object_set_new(object, "rank", rank);
    bad |= json_object_set_new(object, "hostname", host);
    bad |= json_object_set_new(object, "lossy", lossy);
    for (size_t r = 0; r < f->nranks && !bad; r++) {
        const struct pw_row_c_rank *row = &f->cluster->ranks[r];
        bad |= json_array_append_new(rank, pw_json_int(row->rank));
        bad |= json_array_append_new(host, pw_json_text(row->hostname, sizeof(row->hostname)));
        bad |= json_array_append_new(lossy, json_boolean(pw_figures_is_lossy(f, r)));
    }
    bad |= json_object_set_new(object, "steps",
                               column_of(f->samples, sizeof(*f->samples), 0, f->nranks));
    bad |= add_columns(object, PW_TABLE_c_step_trace, f->trace, f->nranks);
    bad |= add_columns(object, PW_TABLE_c_phase_trace, f->phases, f->nranks);
    return pw_json_or_null(object, bad);
}

static json_t *make_mean(const struct pw_figures *f)
{
    json_t *mean = pw_json_row(PW_TABLE_c_step_trace, &f->trace_mean);
    json_t *phases = pw_json_row(PW_TABLE_c_phase_trace, &f->phase_mean);
    int bad = !phases || json_object_update(mean, phases);
    json_decref(phases);
    return pw_json_or_null(mean, bad);
}

/* As in the JSON report, with the words of the text report added. */
static json_t *make_stragglers(const struct pw_figures *f)
{
    const struct pw_cluster *c = f->cluster;
    json_t *array = pw_section_key(f, "stragglers");
    int bad = !array;
    for (size_t i = 0; i < c->nstragglers && !bad; i++) {
        json_t *row = json_array_get(array, i);
        char steps[96];
        pw_words_steps(f, &c->stragglers[i], steps, sizeof(steps));
        bad |= json_object_set_new(row, "steps_words", json_string(steps));
        bad |= json_object_set_new(
            row, "of_host", json_boolean(pw_host_of_straggler(c, &c->stragglers[i]) != NULL));
        bad |= json_object_set_new(row, "phase_words",
                                   json_string(pw_words_phase(c->stragglers[i].phase)));
        bad |= json_object_set_new(row, "cause_words",
                                   json_string(pw_cause_title(c->stragglers[i].cause)));
    }
    return pw_json_or_null(array, bad);
}

static json_t *make_whatif(const struct pw_figures *f)
{
    const struct pw_cluster *c = f->cluster;
    json_t *whatif = pw_section_key(f, "whatif");
    json_t *scenarios = json_object_get(whatif, "scenarios");
    int bad = !whatif;
    for (size_t i = 0; i < c->nwhatif && scenarios && !bad; i++) {
        char words[192];
        pw_words_whatif(&c->whatif[i], words, sizeof(words));
        bad = json_object_set_new(json_array_get(scenarios, i), "words",
                                  pw_json_text(words, sizeof(words)));
    }
    return pw_json_or_null(whatif, bad);
}

/* As in the JSON report, with the sentence of the text report added. */
static json_t *make_trends(const struct pw_figures *f)
{
    const struct pw_cluster *c = f->cluster;
    json_t *array = pw_section_key(f, "trends");
    int bad = !array;
    for (size_t i = 0; i < c->ntrends && !bad; i++) {
        char text[320];
        struct pw_sentence s = pw_sentence_on(text, sizeof(text));
        pw_trends_say(c, &c->trends[i], &s);
        bad = json_object_set_new(json_array_get(array, i), "words", json_string(text));
    }
    return pw_json_or_null(array, bad);
}

static json_t *make_slow_links(const struct pw_figures *f)
{
    return pw_json_rows(PW_TABLE_c_link, f->cluster->links_slow, f->cluster->nlinks_slow);
}

/* ---- sections that have no page: their tables ---- */

enum { TABLE_ROWS = 1000 };

static bool is_beside(const struct pw_section *section, const struct pw_cluster *c)
{
    return !(section->flags & PW_SECTION_PAGE) && section->tables[0] &&
           (!section->is_of || section->is_of(c));
}

/* [{name, title}] of the sections on the page "Tables"; the page is there if there are any. */
static json_t *make_sections_beside(const struct pw_figures *f)
{
    json_t *all = json_array();
    int bad = !all;
    for (size_t i = 0; pw_sections[i] && !bad; i++)
        if (is_beside(pw_sections[i], f->cluster))
            bad = json_array_append_new(all, json_pack("{s:s, s:s}", "name", pw_sections[i]->name,
                                                       "title", pw_sections[i]->title));
    return pw_json_or_null(all, bad);
}

/* Returns {section, name, total, rows} of a table, with its first rows as in the JSON report. */
static json_t *make_table(const struct pw_figures *f, const struct pw_section *section, int table)
{
    const struct pw_cluster_rows all = pw_cluster_rows(f->cluster, table);
    const size_t n = all.n < TABLE_ROWS ? all.n : TABLE_ROWS;
    return json_pack("{s:s, s:s, s:I, s:o}", "section", section->name, "name",
                     pw_table_borrow(table)->path, "total", (json_int_t)all.n, "rows",
                     pw_json_rows(table, all.rows, n));
}

static json_t *make_tables(const struct pw_figures *f)
{
    json_t *tables = json_array();
    int bad = !tables;
    for (size_t i = 0; pw_sections[i]; i++)
        for (const int *table = pw_sections[i]->tables; *table && !bad; table++)
            if (is_beside(pw_sections[i], f->cluster))
                bad = json_array_append_new(tables, make_table(f, pw_sections[i], *table));
    return pw_json_or_null(tables, bad);
}

/* Whether the late keys below have anything: a page without data has no tab. */
static json_t *make_recorded(const struct pw_figures *f)
{
    const struct pw_cluster *c = f->cluster;
    return json_pack("{s:b, s:b, s:b, s:b, s:b, s:b}", "operators", c->noperators > 0, "gpu",
                     c->ngpu_ranks > 0, "gpu_series", c->ngpu_series > 0, "collectives",
                     c->ncollectives > 0, "hccl", c->nhccl_ranks > 0 || c->nhccl_links > 0,
                     "messages", c->np2p > 0);
}

static const struct key {
    const char *name;
    json_t *(*make)(const struct pw_figures *f); /* NULL: as in the JSON report */
} keys[] = {
    {"job", NULL},
    {"epochs", NULL},
    {"completeness", NULL},
    {"clock", NULL},
    {"parts", NULL},
    {"steps", make_steps},
    {"mean", make_mean},
    {"ranks", make_ranks},
    {"stragglers", make_stragglers},
    {"imbalances", NULL},
    {"hosts", NULL},
    {"trends", make_trends},
    {"network", NULL},
    {"collectives", pw_html_collective_stats},
    {"collective_totals", pw_html_collective_totals},
    {"slow_links", make_slow_links},
    {"whatif", make_whatif},
    {"efficiency", NULL},
    {"flops", NULL},
    {"data_pipeline", pw_html_data_pipeline},
    {"utilisation", pw_html_utilisation},
    {"memory", NULL},
    {"advice", NULL},
    {"sections_beside", make_sections_beside},
    {"recorded", make_recorded},
};

/* Long keys that only one page shows. They are packed, so that the first page need not parse them;
 * a page reads them with `await lateKey(NAME)` (page/planes.js). */
static const struct key late_keys[] = {
    {"operators", pw_html_operators},
    {"gpu", pw_html_gpu},
    {"kernels", pw_html_kernels},
    {"gpu_series", pw_html_gpu_series},
    {"collective_list", pw_html_collectives},
    {"hccl", NULL},
    {"messages", pw_traffic_messages},
    {"tables", make_tables},
};

/* Makes all text in the value printable: names may contain terminal escapes, or characters that
 * reorder a line. */
static int make_printable(json_t *value)
{
    const char *key;
    json_t *item;
    size_t i;
    int bad = 0;
    json_object_foreach(value, key, item) bad |= make_printable(item);
    json_array_foreach(value, i, item) bad |= make_printable(item);
    if (!json_is_string(value))
        return bad;
    char text[1024];
    return json_string_set(value, pw_names_printable(text, sizeof(text), json_string_value(value),
                                                     json_string_length(value)));
}

/* Escapes characters that could end the script element. In JSON they occur in strings only, where
 * an escape means the same. */
static void write_escaped(FILE *out, const char *text)
{
    for (size_t n; *text; text += n) {
        n = strcspn(text, "<>&");
        fwrite(text, 1, n, out);
        if (text[n])
            fprintf(out, "\\u%04x", (unsigned)(unsigned char)text[n++]);
    }
}

static json_t *make_key(const struct key *key, const struct pw_figures *figures)
{
    return key->make ? key->make(figures) : pw_section_key(figures, key->name);
}

static int write_late(FILE *out, const struct key *key, const struct pw_figures *figures)
{
    json_t *value = make_key(key, figures);
    char *text = NULL;
    if (value && make_printable(value) == 0)
        text = json_dumps(value, DUMP_FLAGS | JSON_ENCODE_ANY);
    json_decref(value);
    if (!text)
        return -ENOMEM;
    fprintf(out, "<script type=\"text/plain\" id=\"late-%s\">", key->name);
    int err = pw_packed_write(out, text, strlen(text), PW_PACKED_TEXT);
    free(text);
    return fputs("</script>\n", out) == EOF ? -EIO : err;
}

/* Writes <script type="application/json" id="data">, and packed JSON (html_planes.h) as <script
 * type="text/plain" id="late-NAME"> for data that only one page shows. All text is printable
 * (safenames.h) and ASCII, and cannot end the element. Returns 0, -ENOMEM or -EIO. */
static int html_data_write(FILE *out, const struct pw_columns *columns)
{
    const struct pw_figures *f = columns->figures;
    json_t *root = json_object();
    int bad = json_object_set_new(root, "columns", pw_columns_json(columns));
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        bad |= json_object_set_new(root, keys[i].name, make_key(&keys[i], f));
    bad |= make_printable(root);
    char *text = bad ? NULL : json_dumps(root, DUMP_FLAGS);
    int err = text ? 0 : -ENOMEM;
    if (!err) {
        fputs("<script type=\"application/json\" id=\"data\">", out);
        write_escaped(out, text);
        err = fputs("</script>\n", out) == EOF ? -EIO : 0;
    }
    free(text);
    json_decref(root);
    for (size_t i = 0; i < sizeof(late_keys) / sizeof(late_keys[0]) && !err; i++)
        err = write_late(out, &late_keys[i], f);
    return err;
}

struct page {
    FILE *out;
    const struct pw_report_options *options;
    const struct pw_columns *columns;
    char nonce[33];
};

static void make_nonce(char nonce[33])
{
    uint8_t bytes[16] = {0};
    if (getrandom(bytes, sizeof(bytes), 0) < 0)
        bytes[0] = 1; /* without random bytes, the page still opens */
    for (int i = 0; i < 16; i++)
        snprintf(nonce + (ptrdiff_t)2 * i, 3, "%02x", bytes[i]);
}

static int put_file(FILE *out, const char *path)
{
    char block[16384];
    size_t n;
    FILE *in = pw_fopen_regular(path);
    if (!in)
        return -errno;
    while ((n = fread(block, 1, sizeof(block), in)) > 0)
        fwrite(block, 1, n, out);
    int err = ferror(in) ? -EIO : 0;
    fclose(in);
    return err;
}

static int put(const struct page *page, const char *name)
{
    char path[PATH_MAX];
    if (strcmp(name, "data") == 0)
        return html_data_write(page->out, page->columns);
    if (strcmp(name, "planes") == 0)
        return pw_planes_write(page->out, page->columns);
    if (strcmp(name, "timelines") == 0)
        return pw_html_timelines_write(page->out, page->columns->figures, page->options);
    if (strcmp(name, "d3") == 0)
        return put_file(page->out, page->options->d3);
    if (snprintf(path, sizeof(path), "%s/%s", page->options->page_dir, name) >= (int)sizeof(path))
        return -ENAMETOOLONG;
    return put_file(page->out, path);
}

/* Writes a line of the template, with NONCE and CONNECT replaced: the served page may ask its
 * server, others nobody. */
static void put_line(const struct page *page, const char *line)
{
    const struct {
        const char *mark, *text;
    } marks[] = {{"NONCE", page->nonce}, {"CONNECT", page->options->is_served ? "self" : "none"}};
    while (*line) {
        size_t n = 1;
        const char *text = NULL;
        for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]) && !text; i++)
            if (strncmp(line, marks[i].mark, strlen(marks[i].mark)) == 0) {
                n = strlen(marks[i].mark);
                text = marks[i].text;
            }
        fwrite(text ? text : line, 1, text ? strlen(text) : 1, page->out);
        line += n;
    }
}

static int put_page(const struct page *page, FILE *template)
{
    char line[1024], name[64];
    int err = 0;
    while (!err && fgets(line, sizeof(line), template)) {
        int end = 0;
        if (sscanf(line, " <!-- put %63[a-z0-9_.] -->%n", name, &end) == 1 && end)
            err = put(page, name);
        else
            put_line(page, line);
    }
    if (!err && (ferror(template) || ferror(page->out)))
        err = -EIO;
    return err;
}

int pw_report_html(FILE *out, const struct pw_cluster *cluster,
                   const struct pw_report_options *options)
{
    char path[PATH_MAX];
    struct pw_onefigures one;
    if (snprintf(path, sizeof(path), "%s/page.html", options->page_dir) >= (int)sizeof(path))
        return -ENAMETOOLONG;
    FILE *template = pw_fopen_regular(path);
    if (!template)
        return -errno;
    int err = pw_onefigures_take(cluster, options, &one);
    if (!err) {
        struct pw_columns columns;
        struct page page = {.out = out, .options = options, .columns = &columns};
        make_nonce(page.nonce);
        pw_columns_init(one.figures, &columns);
        err = put_page(&page, template);
        pw_onefigures_release(&one);
    }
    fclose(template);
    return err;
}
