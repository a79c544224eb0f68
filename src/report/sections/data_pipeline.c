/* The data pipeline: how full its queues are, and the CPU time of its operators. */
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "analysis/figures/figures.h"
#include "analysis/pipeline.h"
#include "report/report.h"
#include "report/sections/section.h"
#include "report/writing/json_row.h"
#include "report/writing/page.h"

/* A rank has its own line when its share of empty samples, or of steps that found the queue empty,
 * differs by this much from that of all ranks. */
#define DIFFERS 0.1

static double steps_share(const struct pw_row_c_queue *q)
{
    return q->steps > 0 ? (double)q->steps_empty / (double)q->steps : -1;
}

static void add_row(struct pw_grid *grid, const struct pw_row_c_queue *q)
{
    char usage[32], empty[32];
    if (q->rank < 0)
        pw_grid_cell(grid, "all");
    else
        pw_grid_cell(grid, "%" PRId32, q->rank);
    pw_grid_cell(grid, "%.64s", q->queue);
    pw_grid_cell(grid, "%.16s", q->side);
    pw_grid_cell(grid, "%.64s", q->filled_by[0] ? q->filled_by : "n/a");
    pw_grid_cell(grid, "%s", pw_page_percent(usage, sizeof(usage), q->usage));
    pw_grid_cell(grid, "%.1f", q->mean_size < 0 ? 0 : q->mean_size);
    pw_grid_cell(grid, "%" PRId64, q->capacity);
    pw_grid_cell(grid, "%s", pw_page_percent(empty, sizeof(empty), q->empty_share));
    pw_grid_cell(grid, "%" PRId64 " of %" PRId64, q->steps_empty, q->steps);
    if (q->filled_by_cpus > 0)
        pw_grid_note(grid, "%.64s used %.2f CPUs", q->filled_by, q->filled_by_cpus);
}

static bool differs(const struct pw_row_c_queue *all, const struct pw_row_c_queue *one)
{
    double samples = one->empty_share - all->empty_share,
           steps = steps_share(one) - steps_share(all);
    return samples > DIFFERS || samples < -DIFFERS || steps > DIFFERS || steps < -DIFFERS;
}

/* Adds the rows: those of all ranks together come first, sorted by place. Returns how many ranks'
 * rows are left out. */
static size_t add_rows(struct pw_grid *grid, const struct pw_cluster *c, size_t top)
{
    size_t nall, left = 0;
    const struct pw_row_c_queue *all = pw_pipeline_of_rank(c->queues, c->nqueues, -1, &nall);
    for (size_t i = 0; i < nall; i++)
        add_row(grid, &all[i]);
    for (size_t i = nall, shown = 0; i < c->nqueues; i++) {
        const struct pw_row_c_queue *q = &c->queues[i];
        if (q->place < 0 || (size_t)q->place >= nall || !differs(&all[q->place], q))
            continue;
        if (shown++ < top)
            add_row(grid, q);
        else
            left++;
    }
    return left;
}

static int print_operators(const struct pw_page *page, const struct pw_pipeline *p)
{
    int err = 0;
    for (size_t i = 0; i < p->noperators && !err; i++) {
        const struct pw_pipeline_operator *op = &p->operators[i];
        if (!op->suspect)
            continue;
        const struct pw_row_c_queue *near = op->right ? op->right : op->left;
        err = pw_page_print(page, 2, 4, "Suspect: %s%.64s%s%s'%.64s'. %s",
                            op->name[0] ? "'" : "what ", op->name, op->name[0] ? "', which " : "",
                            op->right ? "fills " : "empties ", near->queue,
                            pw_pipeline_remedy(pw_pipeline_kind_of(op->name)));
    }
    return err;
}

/* Returns the number of ranks whose own pipeline is too slow; *first: the pipeline of the first
 * one. */
static size_t find_slow(const struct pw_cluster *c, size_t nall, struct pw_pipeline *first)
{
    size_t slow = 0, n;
    for (size_t i = nall; i < c->nqueues; i += n ? n : 1) {
        struct pw_pipeline p;
        const struct pw_row_c_queue *rows =
            pw_pipeline_of_rank(c->queues, c->nqueues, c->queues[i].rank, &n);
        pw_pipeline_judge(rows, n, &p);
        if (p.verdict < PW_PIPELINE_PROCESSING)
            continue;
        if (!slow++)
            *first = p;
    }
    return slow;
}

static const char *verdict_words(const struct pw_pipeline *p)
{
    static const char *const words[] = {
        [PW_PIPELINE_UNKNOWN] = "No verdict: no queue was sampled in a measured step.",
        [PW_PIPELINE_FINE] = "The data pipeline keeps up.",
        [PW_PIPELINE_PROCESSING] =
            "The host's queue is empty in more than 30 % of the samples: data are processed too "
            "slowly.",
        [PW_PIPELINE_TRANSFER] = "The host's queue is filled, but the device's was empty when a "
                                 "step needed data: data are transferred too slowly.",
    };
    if (p->verdict == PW_PIPELINE_PROCESSING && p->is_of_steps)
        return "The host's queue is filled in most steps, but was empty in steps that had to wait: "
               "there, data are processed too slowly.";
    return words[p->verdict];
}

static int print_verdict(const struct pw_page *page)
{
    const struct pw_cluster *c = page->figures->cluster;
    struct pw_pipeline p, first;
    size_t n;
    const struct pw_row_c_queue *all = pw_pipeline_of_rank(c->queues, c->nqueues, -1, &n);
    pw_pipeline_judge(all, n, &p);
    size_t slow = find_slow(c, n, &first);
    if (!slow)
        return pw_page_print(page, 2, 2, "%s", verdict_words(&p));
    int err = pw_page_print(page, 2, 2, "On rank %" PRId32 "%s: %s", first.operators[0].right->rank,
                            slow > 1 ? ", and more" : "", verdict_words(&first));
    return err ? err : print_operators(page, &first);
}

/* An operator over all ranks. */
struct operator_cpu {
    const struct pw_row_c_pipeline_cpu *most;
    double user, system;
    int64_t ranks;
};

static struct operator_cpu sum_operator(const struct pw_cluster *c, size_t first)
{
    struct operator_cpu sum = {.most = &c->pipeline_cpu[first]};
    for (size_t i = first; i < c->npipeline_cpu; i++) {
        const struct pw_row_c_pipeline_cpu *one = &c->pipeline_cpu[i];
        if (strncmp(one->name, sum.most->name, sizeof(one->name)) != 0)
            continue;
        sum.user += one->user_share;
        sum.system += one->sys_share;
        sum.ranks++;
        if (one->user_share + one->sys_share > sum.most->user_share + sum.most->sys_share)
            sum.most = one;
    }
    return sum;
}

static int is_first(const struct pw_cluster *c, size_t row)
{
    for (size_t i = 0; i < row; i++)
        if (strncmp(c->pipeline_cpu[i].name, c->pipeline_cpu[row].name,
                    sizeof(c->pipeline_cpu[i].name)) == 0)
            return 0;
    return 1;
}

static void add_operator(struct pw_grid *grid, const struct operator_cpu *o)
{
    const double most = o->most->user_share + o->most->sys_share;
    pw_grid_cell(grid, "%.64s", o->most->name);
    if (o->most->workers > 0)
        pw_grid_cell(grid, "%" PRId32, o->most->workers);
    else
        pw_grid_cell(grid, "n/a");
    pw_grid_share(grid, o->user / (double)o->ranks);
    pw_grid_share(grid, o->system / (double)o->ranks);
    pw_grid_share(grid, most);
    pw_grid_cell(grid, "%" PRId32, o->most->rank);
    pw_grid_share(grid, o->most->workers > 0 ? most / o->most->workers : -1);
    pw_grid_share(grid, o->most->max_share);
}

static int print_pipeline_cpu(const struct pw_page *page)
{
    static const struct pw_grid_column columns[] = {
        {"Operator", 1},
        {"Workers", 0},
        {"User", 0},
        {"System", 0},
        {"Most", 0},
        {"on rank", 0},
        {"of it a\nworker", 0},
        {"Most in a\nsample", 0},
    };
    const struct pw_cluster *c = page->figures->cluster;
    struct pw_grid grid;
    if (!c->npipeline_cpu)
        return 0;
    pw_grid_init(&grid, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < c->npipeline_cpu; i++) {
        if (!is_first(c, i))
            continue;
        const struct operator_cpu sum = sum_operator(c, i);
        add_operator(&grid, &sum);
    }
    int err = pw_grid_print(&grid, page);
    pw_grid_fini(&grid);
    return err ? err
               : pw_page_print(
                     page, 2, 2,
                     "CPU time of each operator of the pipeline, all its workers together, "
                     "as MindSpore's profiler sampled it: 100 %% is one CPU. User and "
                     "system are means of the ranks.");
}

static int show_data_pipeline(const struct pw_page *page)
{
    static const struct pw_grid_column columns[] = {
        {"Rank", 0},      {"Queue", 1}, {"Side", 1},
        {"Filled by", 1}, {"Usage", 0}, {"Mean\nsize", 0},
        {"Capacity", 0},  {"Empty", 0}, {"Steps that\nfound it empty", 0},
    };
    const struct pw_cluster *c = page->figures->cluster;
    struct pw_grid grid;
    if (!c->nqueues)
        return print_pipeline_cpu(page);
    pw_grid_init(&grid, columns, sizeof(columns) / sizeof(columns[0]));
    size_t left = add_rows(&grid, c, page->top);
    int err = pw_grid_print(&grid, page);
    pw_grid_fini(&grid);
    if (!err && left)
        err = pw_page_print(page, 2, 2, "%zu more ranks' rows are not shown (--top 0).", left);
    err = err ? err : print_verdict(page);
    if (err)
        return err;
    err = pw_page_print(page, 2, 2,
                        "usage: mean of size / capacity; empty: samples with nothing in it. A "
                        "rank has a line of its own where its values differ by more than 10 %%.");
    return err ? err : print_pipeline_cpu(page);
}

static json_t *queue_name(const struct pw_row_c_queue *queue)
{
    return queue ? pw_json_text(queue->queue, sizeof(queue->queue)) : json_null();
}

static json_t *make_operators(const struct pw_pipeline *p)
{
    json_t *array = json_array();
    int bad = !array;
    for (size_t i = 0; i < p->noperators && !bad; i++) {
        const struct pw_pipeline_operator *op = &p->operators[i];
        json_t *row = json_object();
        bad |= json_object_set_new(row, "operator", pw_json_text(op->name, sizeof(pw_type_S64)));
        bad |= json_object_set_new(row, "left", queue_name(op->left));
        bad |= json_object_set_new(row, "right", queue_name(op->right));
        bad |= json_object_set_new(row, "suspect", json_boolean(op->suspect));
        bad |= json_array_append_new(array, row);
    }
    return pw_json_or_null(array, bad);
}

/* Returns the ranks whose own data pipeline is too slow. */
static json_t *slow_ranks(const struct pw_cluster *c, size_t nall)
{
    json_t *array = json_array();
    size_t n;
    int bad = !array;
    for (size_t i = nall; i < c->nqueues && !bad; i += n ? n : 1) {
        struct pw_pipeline p;
        const struct pw_row_c_queue *rows =
            pw_pipeline_of_rank(c->queues, c->nqueues, c->queues[i].rank, &n);
        pw_pipeline_judge(rows, n, &p);
        if (p.verdict >= PW_PIPELINE_PROCESSING)
            bad = json_array_append_new(array, json_integer(c->queues[i].rank));
    }
    return pw_json_or_null(array, bad);
}

static json_t *make_data_pipeline(const struct pw_figures *f)
{
    static const char *const verdicts[] = {
        [PW_PIPELINE_UNKNOWN] = "unknown",
        [PW_PIPELINE_FINE] = "fine",
        [PW_PIPELINE_PROCESSING] = "processing",
        [PW_PIPELINE_TRANSFER] = "transfer",
    };
    const struct pw_cluster *c = f->cluster;
    struct pw_pipeline p;
    size_t nall;
    if (!c->nqueues)
        return json_null();
    const struct pw_row_c_queue *all = pw_pipeline_of_rank(c->queues, c->nqueues, -1, &nall);
    pw_pipeline_judge(all, nall, &p);
    json_t *object = json_object();
    int bad = json_object_set_new(object, "verdict", json_string(verdicts[p.verdict]));
    bad |= json_object_set_new(object, "ranks_slow", slow_ranks(c, nall));
    bad |= json_object_set_new(object, "queues", pw_json_rows(PW_TABLE_c_queue, all, nall));
    bad |= json_object_set_new(object, "operators", make_operators(&p));
    bad |=
        json_object_set_new(object, "ranks",
                            pw_json_rows_up_to(PW_REPORT_JSON_CELLS, PW_TABLE_c_queue, all + nall,
                                               c->nqueues - nall - (size_t)(all - c->queues)));
    bad |= json_object_set_new(object, "series",
                               pw_json_rows_up_to(PW_REPORT_JSON_CELLS, PW_TABLE_c_queue_series,
                                                  c->queue_series, c->nqueue_series));
    return pw_json_or_null(object, bad);
}

static json_t *make_pipeline_cpu(const struct pw_figures *f)
{
    const struct pw_cluster *c = f->cluster;
    return c->npipeline_cpu
               ? pw_json_rows(PW_TABLE_c_pipeline_cpu, c->pipeline_cpu, c->npipeline_cpu)
               : json_null();
}

/* Share of a step from which on waiting for data makes queues worth a look. */
#define DATA_WAIT_LEAST 0.05

static struct pw_lack lack_of_queues(const struct pw_figures *f)
{
    static const char none[] = "No queue was sampled.";
    if (f->cluster->nqueues || f->cluster->npipeline_cpu)
        return (struct pw_lack){0};
    if (!pw_figures_advice(f).is_training)
        return (struct pw_lack){none, NULL};
    return (struct pw_lack){none, "profwrap_queue() records how full a queue is; that of "
                                  "PyTorch's DataLoader is recorded when it has workers."};
}

/* Queues that ranks hardly wait for are not missed. */
static bool is_missed(const struct pw_figures *f)
{
    return f->data_wait_share >= DATA_WAIT_LEAST;
}

const struct pw_section pw_section_data_pipeline = {
    .name = "data_pipeline",
    .title = "Data pipeline: how full its queues are",
    .flags = PW_SECTION_WHOLE | PW_SECTION_PAGE,
    .tables = {PW_TABLE_c_queue, PW_TABLE_c_pipeline_cpu},
    .lacks = lack_of_queues,
    .is_missed = is_missed,
    .print = show_data_pipeline,
    .keys = {{"data_pipeline", make_data_pipeline}, {"pipeline_cpu", make_pipeline_cpu}},
};
