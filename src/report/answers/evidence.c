/* What an id stands for: rows of the cluster file, means of them, or a value of the JSON report;
 * see answer.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/cluster.h"
#include "report/answers/answer.h"
#include "report/sections/section.h"
#include "report/writing/json_row.h"

/* ---- making ids ---- */

static const char *name_of(int table)
{
    return pw_table_borrow(table)->path + 1;
}

const char *pw_evidence_row(char out[PW_EVIDENCE_ID], int table, size_t row)
{
    snprintf(out, PW_EVIDENCE_ID, "%s/%zu", name_of(table), row);
    return out;
}

const char *pw_evidence_cell(char out[PW_EVIDENCE_ID], int table, size_t step, size_t rank)
{
    snprintf(out, PW_EVIDENCE_ID, "%s/%zu/%zu", name_of(table), step, rank);
    return out;
}

const char *pw_evidence_mean(char out[PW_EVIDENCE_ID], const char *what, int table, size_t rank)
{
    snprintf(out, PW_EVIDENCE_ID, "%s/%s/%zu", what, name_of(table), rank);
    return out;
}

/* ---- means and medians by rank ---- */

/* The means of all ranks, in row structs of the table. */
static const char *means_of(const struct pw_figures *f, int table)
{
    return table == PW_TABLE_c_step_trace ? (const char *)f->trace : (const char *)f->phases;
}

void pw_evidence_mean_row(const struct pw_figures *f, int table, size_t rank, void *row)
{
    const size_t size = pw_table_borrow(table)->row_size;
    memcpy(row, means_of(f, table) + rank * size, size);
}

static int by_value(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Of an even number of values, the mean of the two in the middle. */
static int64_t median(int64_t *values, size_t n)
{
    qsort(values, n, sizeof(*values), by_value);
    return n % 2 ? values[n / 2] : values[n / 2 - 1] + (values[n / 2] - values[n / 2 - 1]) / 2;
}

int pw_evidence_median_row(const struct pw_figures *f, int table, size_t rank, void *row)
{
    const struct pw_table *info = pw_table_borrow(table);
    int64_t *values = malloc((f->nranks + 1) * sizeof(*values));
    if (!values)
        return -ENOMEM;
    for (size_t k = 0; k < info->nfields; k++) {
        const size_t offset = info->fields()[k].offset;
        size_t n = 0;
        for (size_t r = 0; r < f->nranks; r++) {
            int64_t value;
            memcpy(&value, means_of(f, table) + r * info->row_size + offset, sizeof(value));
            if (r != rank && value >= 0)
                values[n++] = value;
        }
        const int64_t middle = n ? median(values, n) : -1;
        memcpy((char *)row + offset, &middle, sizeof(middle));
    }
    free(values);
    return 0;
}

/* ---- what an id stands for ---- */

/* An id in its parts. */
struct id {
    char words[4][64]; /* between the slashes; the column behind a point is not in the last one */
    size_t n;
    char column[64];
    size_t at[2]; /* the numbers that the last words are */
    size_t nat;
};

static bool read_number(const char *word, size_t *out)
{
    char *end;
    if (word[0] < '0' || word[0] > '9' || strlen(word) > 12)
        return false;
    *out = strtoul(word, &end, 10);
    return *end == '\0';
}

static bool parse(const char *text, struct id *id)
{
    char copy[PW_EVIDENCE_ID];
    *id = (struct id){0};
    if (snprintf(copy, sizeof(copy), "%s", text) >= (int)sizeof(copy))
        return false;
    char *point = strchr(copy, '.'), *rest = copy;
    if (point) {
        *point = '\0';
        snprintf(id->column, sizeof(id->column), "%.63s", point + 1);
    }
    for (char *word; (word = strsep(&rest, "/"));) {
        if (id->n == 4 || strlen(word) >= sizeof(id->words[0]))
            return false;
        snprintf(id->words[id->n++], sizeof(id->words[0]), "%s", word);
    }
    for (size_t i = 1; i < id->n; i++)
        if (read_number(id->words[i], &id->at[id->nat < 2 ? id->nat : 0]))
            id->nat += id->nat < 2;
    return true;
}

static int find_table(const char *name)
{
    for (int table = PW_RANK_TABLE_COUNT; table < PW_TABLE_COUNT; table++)
        if (pw_table_borrow(table)->path[0] && strcmp(name_of(table), name) == 0)
            return table;
    return -1;
}

/* The field of the key of a row's JSON: some keys have a unit that the field's name lacks. */
static const struct pw_field *field_of(int table, const char *key)
{
    const struct pw_table *info = pw_table_borrow(table);
    const struct pw_field *found = NULL;
    for (size_t i = 0; i < info->nfields; i++) {
        const char *name = info->fields()[i].name;
        const size_t n = strlen(name);
        if (strcmp(key, name) == 0 || (!found && strncmp(key, name, n) == 0 && key[n] == '_'))
            found = &info->fields()[i];
    }
    return found;
}

/* Says what a column is. The answer's value is that of the column only. */
static void explain_column(struct pw_answer *answer, int table, const char *key, json_t *row)
{
    const struct pw_field *field = key[0] ? field_of(table, key) : NULL;
    json_t *value = key[0] ? json_object_get(row, key) : row;
    if (key[0] && !value) {
        answer->problem = "the row of this id has no such column";
        return;
    }
    if (field) {
        pw_answer_set(answer, "unit", json_string(field->unit[0] ? field->unit : "none"));
        pw_answer_set(answer, "meaning", json_string(field->meaning));
    }
    pw_answer_set_known(answer, value);
}

/* Sets the command that prints rows of a dataset, from the first of each dimension on. */
static void set_command(struct pw_answer *answer, const struct pw_asked *asked, int table,
                        const char *from, const char *count)
{
    char file[PW_ANSWER_QUOTED];
    const char *path = pw_table_borrow(table)->path;
    pw_answer_set(answer, "dataset", json_string(path));
    pw_answer_set(answer, "command",
                  json_sprintf("h5dump -d %s -s %s -c %s %s", path, from, count,
                               pw_answer_quoted(asked->file, file)));
}

/* "step_trace/3/1": one row of a table by step and rank. */
static bool resolve_cell(const struct pw_asked *asked, const struct id *id, int table,
                         struct pw_answer *answer)
{
    struct pw_cluster *c = (struct pw_cluster *)asked->figures->cluster;
    const struct pw_cells *cells = pw_cluster_cells(c, table);
    if (id->n != 3 || id->nat != 2 || id->at[0] >= cells->nsteps || id->at[1] >= cells->nranks ||
        !pw_cells_is_known(cells))
        return false;
    const struct pw_cells_area area = {id->at[0], 1, id->at[1], 1};
    char row[512];
    pw_cells_rows(cells, &area, row);
    json_t *value = pw_json_row(table, row);
    char from[64];
    snprintf(from, sizeof(from), "%zu,%zu", id->at[0], id->at[1]);
    set_command(answer, asked, table, from, "1,1");
    explain_column(answer, table, id->column, value);
    json_decref(value);
    return true;
}

/* "stragglers/0": one row of a table. */
static bool resolve_row(const struct pw_asked *asked, const struct id *id, struct pw_answer *answer)
{
    const int table = id->nat ? find_table(id->words[0]) : -1;
    if (table < 0 || pw_cluster_where(table) == PW_CLUSTER_FILE)
        return false;
    if (pw_cluster_where(table) == PW_CLUSTER_CELLS)
        return resolve_cell(asked, id, table, answer);
    const struct pw_cluster_rows all = pw_cluster_rows(asked->figures->cluster, table);
    if (id->n != 2 || id->at[0] >= all.n)
        return false;
    json_t *row =
        pw_json_row(table, (const char *)all.rows + id->at[0] * pw_table_borrow(table)->row_size);
    char from[32];
    snprintf(from, sizeof(from), "%zu", id->at[0]);
    set_command(answer, asked, table, from, "1");
    explain_column(answer, table, id->column, row);
    json_decref(row);
    return true;
}

/* "mean/step_trace/1" and "median/step_trace/1". */
static bool resolve_mean(const struct pw_asked *asked, const struct id *id,
                         struct pw_answer *answer)
{
    const struct pw_figures *f = asked->figures;
    const int table = id->n == 3 ? find_table(id->words[1]) : -1;
    const bool is_mean = strcmp(id->words[0], "mean") == 0;
    if ((table != PW_TABLE_c_step_trace && table != PW_TABLE_c_phase_trace) || id->nat != 1 ||
        id->at[0] >= f->nranks)
        return false;
    char row[512], how[320];
    if (is_mean)
        pw_evidence_mean_row(f, table, id->at[0], row);
    else
        answer->is_failed |= pw_evidence_median_row(f, table, id->at[0], row) != 0;
    if (is_mean)
        snprintf(
            how, sizeof(how),
            "mean over the measured steps of %s[steps, %zu], without -1; these are the rows of "
            "/steps that are recorded `active`",
            pw_table_borrow(table)->path, id->at[0]);
    else
        snprintf(how, sizeof(how),
                 "median of these means of all ranks but row %zu of /ranks: mean over the measured "
                 "steps of %s",
                 id->at[0], pw_table_borrow(table)->path);
    json_t *value = pw_json_row(table, row);
    char from[64], count[64];
    snprintf(from, sizeof(from), "0,%zu", is_mean ? id->at[0] : 0);
    snprintf(count, sizeof(count), "%zu,%zu", f->cluster->nstep_rows, is_mean ? 1 : f->nranks);
    set_command(answer, asked, table, from, count);
    pw_answer_set(answer, "how", json_string(how));
    explain_column(answer, table, id->column, value);
    json_decref(value);
    return true;
}

/* Sets the value, as far as there is room: rows of an array are paged, and the members of an object
 * that are too long are named. */
static void set_part(struct pw_answer *answer, const char *path, json_t *value)
{
    enum { ROOM = 5000 };
    json_t *shown = json_object(), *left = json_array(), *member;
    const char *key;
    if (json_is_array(value)) {
        pw_answer_add_report(answer, path, json_incref(value));
    } else if (json_is_string(value)) {
        pw_answer_set(answer, "value", pw_answer_text(value));
    } else if (!json_is_object(value)) {
        pw_answer_set(answer, "value", json_incref(value));
    } else {
        size_t room = ROOM;
        json_object_foreach(value, key, member)
        {
            const size_t n =
                json_dumpb(member, NULL, 0, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_ENCODE_ANY);
            if (n + strlen(key) < room)
                answer->is_failed |= json_object_set(shown, key, member) != 0;
            else
                answer->is_failed |= json_array_append_new(left, json_string(key)) != 0;
            room -= n + strlen(key) < room ? n + strlen(key) : 0;
        }
        pw_answer_set(answer, "value", json_incref(shown));
        if (json_array_size(left))
            pw_answer_set(answer, "left_out", json_incref(left));
    }
    json_decref(shown);
    json_decref(left);
}

/* "report/parts/rows/3": a value of the JSON report. */
static bool resolve_report(const struct pw_asked *asked, const char *path, struct pw_answer *answer)
{
    char copy[PW_EVIDENCE_ID], file[PW_ANSWER_QUOTED], filter[3 * PW_EVIDENCE_ID], *rest = copy;
    snprintf(copy, sizeof(copy), "%s", path);
    for (char *at = copy; *at; at++)
        *at = *at == '.' ? '/' : *at;
    const char *key = strsep(&rest, "/");
    json_t *root = pw_section_key(asked->figures, key), *value = root;
    int n = snprintf(filter, sizeof(filter), ".%s", key);
    for (char *word; value && rest && (word = strsep(&rest, "/"));) {
        size_t index;
        const bool is_row = json_is_array(value) && read_number(word, &index);
        value = is_row ? json_array_get(value, index) : json_object_get(value, word);
        n += snprintf(filter + n, sizeof(filter) - (size_t)n, is_row ? "[%s]" : ".%s", word);
    }
    const bool found = value && !json_is_null(value);
    /* Nothing but words and numbers: whoever runs the command gives it to a shell. */
    const bool is_plain =
        filter[strspn(filter, "abcdefghijklmnopqrstuvwxyz_.[]0123456789")] == '\0';
    if (found) {
        pw_answer_set(answer, "command",
                      json_sprintf("profwrap report --format json %s | jq '%s'",
                                   pw_answer_quoted(asked->file, file), is_plain ? filter : "."));
        pw_answer_set(answer, "how",
                      json_string("a value of the JSON report, which is made of the "
                                  "cluster file: docs/metrics.md"));
        set_part(answer, path, value);
    }
    json_decref(root);
    return found;
}

void pw_answer_evidence(const struct pw_asked *asked, json_t *arguments, struct pw_answer *answer)
{
    const char *text = json_string_value(json_object_get(arguments, "id"));
    struct id id;
    bool found = false;
    if (strncmp(text, "report/", 7) == 0 && strlen(text) < PW_EVIDENCE_ID)
        found = resolve_report(asked, text + 7, answer);
    else if (parse(text, &id) && strcmp(id.words[0], "compare") == 0)
        found = id.n == 3 && id.nat == 1 &&
                pw_answer_compared(asked, id.words[1], id.at[0], id.column, answer);
    else if (id.n)
        found = strcmp(id.words[0], "mean") == 0 || strcmp(id.words[0], "median") == 0
                    ? resolve_mean(asked, &id, answer)
                    : resolve_row(asked, &id, answer);
    if (!found && !answer->problem)
        answer->problem = "there is no such id in this run; answers have the ids of their rows";
}
