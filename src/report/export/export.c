/* Writes the report for other programs: tables as comma-separated values (RFC 4180), and the call
 * paths of operators as folded stacks (Brendan Gregg's format). A table has the columns of its
 * fields in core/tables.def; only those of operators, and the first ones of step_trace and parts,
 * are written here. Called through report.h. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/figures/figures.h"
#include "core/text.h"
#include "report/content/operatorlist.h"
#include "report/report.h"
#include "report/writing/safenames.h"

/* ---- comma-separated values ---- */

/* Writes a text cell: quoted, and so that no spreadsheet takes it for a formula. */
static void put_text(FILE *out, const char *text, size_t length)
{
    char clean[1024];
    pw_names_printable(clean, sizeof(clean), text, length);
    fputc('"', out);
    if (clean[0] && strchr("=+-@", clean[0]))
        fputc('\'', out);
    for (const char *at = clean; *at; at++) {
        if (*at == '"')
            fputc('"', out);
        fputc(*at, out);
    }
    fputc('"', out);
}

static void put_real(FILE *out, double value)
{
    if (isfinite(value) && value >= 0)
        fprintf(out, "%.9g", value);
}

static void put_field(FILE *out, const struct pw_field *field, const char *at)
{
    int64_t value = 0;
    double real;
    switch (field->type) {
    case PW_F_S16:
    case PW_F_S32:
    case PW_F_S64:
    case PW_F_S256:
    case PW_F_S512:
        put_text(out, at, field->size);
        return;
    case PW_F_F64:
        memcpy(&real, at, sizeof(real));
        put_real(out, real);
        return;
    case PW_F_U64:
        memcpy(&value, at, sizeof(value));
        fprintf(out, "0x%" PRIx64, (uint64_t)value);
        return;
    case PW_F_I32: {
        int32_t narrow;
        memcpy(&narrow, at, sizeof(narrow));
        fprintf(out, "%" PRId32, narrow);
        return;
    }
    default:
        memcpy(&value, at, field->size); /* little-endian, as the files are */
        if (pw_enum_borrow(field->type))
            put_text(out, pw_enum_name(field->type, (int)value), SIZE_MAX);
        else
            fprintf(out, "%" PRId64, value);
    }
}

static void put_table(FILE *out, const char *name, int table, struct pw_cluster_rows all)
{
    const struct pw_table *info = pw_table_borrow(table);
    fprintf(out, "# %s\n", name);
    for (size_t i = 0; i < info->nfields; i++)
        fprintf(out, "%s%s", i ? "," : "", info->fields()[i].name);
    fputc('\n', out);
    for (size_t r = 0; r < all.n; r++)
        for (size_t i = 0; i < info->nfields; i++) {
            const struct pw_field *field = &info->fields()[i];
            put_field(out, field, (const char *)all.rows + r * info->row_size + field->offset);
            fputc(i + 1 < info->nfields ? ',' : '\n', out);
        }
}

static void put_names(FILE *out, int table, size_t first)
{
    const struct pw_table *info = pw_table_borrow(table);
    for (size_t i = first; i < info->nfields; i++)
        fprintf(out, ",%s", info->fields()[i].name);
}

/* Writes a comma, and the time if it is known. */
static void put_ns(FILE *out, int64_t ns)
{
    fputc(',', out);
    if (ns >= 0)
        fprintf(out, "%" PRId64, ns);
}

/* Writes the cells of a row from field `first` on, which are all times. */
static void put_times(FILE *out, int table, size_t first, const void *row)
{
    const struct pw_table *info = pw_table_borrow(table);
    for (size_t i = first; i < info->nfields; i++) {
        int64_t ns;
        memcpy(&ns, (const char *)row + info->fields()[i].offset, sizeof(ns));
        put_ns(out, ns);
    }
}

/* Returns the index of a field, which the table must have. */
static size_t field_index(int table, const char *name)
{
    const struct pw_table *info = pw_table_borrow(table);
    size_t i = 0;
    while (i < info->nfields && strcmp(info->fields()[i].name, name) != 0)
        i++;
    return i;
}

/* Cells of which rows are written together: some ranks of a step, or some steps of all ranks. */
enum { BATCH = 64 };

/* Writes the rows of the cells in the area. */
static void put_cells(FILE *out, const struct pw_cluster *c, const struct pw_cells_area *area,
                      size_t ours)
{
    struct pw_row_c_step_trace rows[BATCH];
    struct pw_row_c_phase_trace phases[BATCH];
    pw_cells_rows(&c->step_trace, area, rows);
    pw_cells_rows(&c->phase_trace, area, phases);
    for (size_t i = 0; i < area->steps * area->ranks; i++) {
        const struct pw_row_c_step_trace *row = &rows[i];
        const struct pw_row_c_step *step = &c->steps[area->step + i / area->ranks];
        fprintf(out, "%" PRId64 ",%" PRId32, step->step,
                c->ranks[area->rank + i % area->ranks].rank);
        const int64_t known[] = {step->start,      step->end,     row->total_ns,
                                 row->interval_ns, row->fp_bp_ns, row->tail_ns};
        for (size_t k = 0; k < sizeof(known) / sizeof(known[0]); k++)
            put_ns(out, known[k]);
        put_times(out, PW_TABLE_c_step_trace, ours, row);
        put_times(out, PW_TABLE_c_phase_trace, 0, &phases[i]);
        fputc('\n', out);
    }
}

/* Writes a row for each rank in each step: first the columns of MindSpore's step trace, with its
 * names, then the table's fields from compute_ns on. */
static void put_step_trace(FILE *out, const struct pw_cluster *c)
{
    const size_t ours = field_index(PW_TABLE_c_step_trace, "compute_ns");
    const size_t nranks = c->nrank_rows, cells = nranks * c->nstep_rows;
    fputs(
        "# step_trace\nstep_num,rank,start_point,end_point,total,iteration_interval,fp_and_bp,tail",
        out);
    put_names(out, PW_TABLE_c_step_trace, ours);
    put_names(out, PW_TABLE_c_phase_trace, 0);
    fputc('\n', out);
    for (size_t at = 0, n; at < cells; at += n) {
        const size_t step = at / nranks, rank = at % nranks;
        const size_t steps = nranks < BATCH ? BATCH / nranks : 1;
        const size_t left = c->nstep_rows - step, ranks = nranks - rank;
        const struct pw_cells_area area = {step, steps < left ? steps : left, rank,
                                           ranks < BATCH ? ranks : BATCH};
        put_cells(out, c, &area, ours);
        n = area.steps * area.ranks;
    }
}

/* Writes a row for each rank in each part of the run. */
static void put_parts(FILE *out, const struct pw_cluster *c)
{
    fputs("# parts\nrank,part", out);
    put_names(out, PW_TABLE_c_part_trace, 0);
    fputc('\n', out);
    for (size_t i = 0; c->part_trace && i < PW_PART_END * c->nrank_rows; i++) {
        const int part = PW_PART_START + (int)(i / c->nrank_rows);
        fprintf(out, "%" PRId32 ",%s", c->ranks[i % c->nrank_rows].rank,
                pw_enum_name(PW_F_PART, part));
        put_times(out, PW_TABLE_c_part_trace, 0, &c->part_trace[i]);
        fputc('\n', out);
    }
}

static void put_operator(FILE *out, const struct pw_cluster *c, const char *group,
                         const struct pw_oprow *row)
{
    char label[PW_OPLIST_LABEL];
    pw_operators_label(c, group, row, label, sizeof(label));
    put_text(out, label, sizeof(label));
    fputc(',', out);
    put_text(out, row->type, *row->type ? sizeof(c->operators->type) : 0);
    fputc(',', out);
    put_text(out, row->shapes, *row->shapes ? sizeof(c->operator_shapes->shapes) : 0);
    const int64_t *figures = &row->calls;
    for (int i = 0; i < PW_OPROW_FIGURES; i++)
        if (figures[i] < 0 && &figures[i] != &row->alloc_bytes &&
            &figures[i] != &row->self_alloc_bytes)
            fputc(',', out);
        else
            fprintf(out, ",%" PRId64, figures[i]);
    fputc(',', out);
    put_real(out, row->share);
    fputc(',', out);
    put_real(out, row->imbalance);
    fputc('\n', out);
}

static int put_operators(FILE *out, const struct pw_cluster *c,
                         const struct pw_report_options *options)
{
    struct pw_oplist list = {0};
    int err = pw_operators_list(c, options->group_by, options->search, options->sort, &list);
    if (err)
        return err;
    fputs("# operators\nname,type,shapes,calls,total_ns,self_ns,self_wait_ns,min_ns,mean_ns,max_ns,"
          "p50_ns,p95_ns,alloc_bytes,self_alloc_bytes,peak_alloc_bytes,share,imbalance\n",
          out);
    for (size_t i = 0; i < list.n; i++)
        put_operator(out, c, options->group_by, &list.rows[i]);
    free(list.rows);
    return 0;
}

static int put_advice(FILE *out, const struct pw_cluster *c)
{
    struct pw_figures *figures;
    struct pw_advice advice[PW_ADVICE_MAX];
    struct pw_row_c_advice rows[PW_ADVICE_MAX];
    int err = pw_figures_create(c, &figures);
    if (err)
        return err;
    struct pw_advice_input input = pw_figures_advice(figures);
    size_t n = pw_advice_collect(&input, advice);
    for (size_t i = 0; i < n; i++)
        rows[i] = pw_advice_row(&input, &advice[i]);
    put_table(out, "advice", PW_TABLE_c_advice, (struct pw_cluster_rows){rows, n});
    pw_figures_destroy(figures);
    return 0;
}

int pw_report_csv(FILE *out, const struct pw_cluster *c, const struct pw_report_options *options)
{
    const struct {
        const char *section;
        int table;
    } tables[] = {
        {"job", PW_TABLE_c_rank},
        {"epochs", PW_TABLE_c_epoch},
        {"completeness", PW_TABLE_c_completeness},
        {"clocks", PW_TABLE_c_clock},
        {"steps", PW_TABLE_c_step},
        {"flops", PW_TABLE_c_flops},
        {"gpu", PW_TABLE_c_gpu_rank},
        {"kernels", PW_TABLE_c_kernel},
        {"collectives", PW_TABLE_c_collective_stat},
        {"p2p", PW_TABLE_c_p2p},
        {"stragglers", PW_TABLE_c_straggler},
        {"whatif", PW_TABLE_c_whatif},
        {"efficiency", PW_TABLE_c_efficiency},
        {"data_pipeline", PW_TABLE_c_queue},
        {"utilisation", PW_TABLE_c_utilisation},
        {"utilisation", PW_TABLE_c_netcard},
        {"memory", PW_TABLE_c_memory},
        {"hccl", PW_TABLE_c_hccl_rank},
        {"hccl", PW_TABLE_c_hccl_link},
        {"msprof", PW_TABLE_c_msprof_step},
        {"aicore", PW_TABLE_c_mindinsight_sum},
        {"data_pipeline", PW_TABLE_c_pipeline_cpu},
    };
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
        if (pw_report_is_wanted(options->sections, tables[i].section))
            put_table(out, tables[i].section, tables[i].table, pw_cluster_rows(c, tables[i].table));
    int err = 0;
    if (pw_report_is_wanted(options->sections, "parts"))
        put_parts(out, c);
    if (pw_report_is_wanted(options->sections, "steps"))
        put_step_trace(out, c);
    if (pw_report_is_wanted(options->sections, "operators"))
        err = put_operators(out, c, options);
    if (!err && pw_report_is_wanted(options->sections, "advice"))
        err = put_advice(out, c);
    return err ? err : ferror(out) ? -EIO : 0;
}

/* ---- folded stacks, for flame graphs ---- */

/* Writes a path. In this format a semicolon ends a frame and a newline ends a path, so both are
 * replaced in names. */
static void print_path(FILE *out, const struct pw_cluster *c, int32_t row, char *path, size_t size)
{
    static const char mark[] = "\x1f"; /* separates names; printable names do not contain it */
    pw_operators_path(c, row, mark, path, size);
    for (char *at = path; *at; at++)
        *at = *at == ';' ? ':' : *at == mark[0] ? ';' : *at;
    fputs(path, out);
}

int pw_report_folded(FILE *out, const struct pw_cluster *c, const struct pw_report_options *options)
{
    enum { PATH_BYTES = 1 << 16 };
    char *path = malloc(PATH_BYTES);
    (void)options;
    if (!path)
        return -ENOMEM;
    for (size_t i = 0; i < c->noperator_stacks; i++) {
        int64_t us = c->operator_stacks[i].exclusive_ns / 1000;
        if (us <= 0)
            continue;
        print_path(out, c, (int32_t)i, path, PATH_BYTES);
        fprintf(out, " %" PRId64 "\n", us);
    }
    free(path);
    return ferror(out) ? -EIO : 0;
}
