/* Prints the data pipeline, the usage of the ranks' processes, and memory over the steps; see
 * sections.h. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

#include "analysis/pipeline.h"
#include "core/text.h"
#include "report/text/sections.h"
#include "report/writing/page.h"

/* ---- the queues of the data pipeline, the operators between them, and ranks that differ ---- */

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

int pw_section_data_pipeline(const struct pw_page *page)
{
    static const struct pw_grid_column columns[] = {
        {"Rank", 0},      {"Queue", 1}, {"Side", 1},
        {"Filled by", 1}, {"Usage", 0}, {"Mean\nsize", 0},
        {"Capacity", 0},  {"Empty", 0}, {"Steps that\nfound it empty", 0},
    };
    const struct pw_cluster *c = page->figures->cluster;
    struct pw_grid grid;
    if (!c->nqueues)
        return pw_print_pipeline_cpu(page);
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
    return err ? err : pw_print_pipeline_cpu(page);
}

static void add_number(struct pw_grid *grid, double number)
{
    if (number < 0)
        pw_grid_cell(grid, "n/a");
    else
        pw_grid_cell(grid, "%.0f", number);
}

static void add_usage(struct pw_grid *grid, const struct pw_row_c_utilisation *u)
{
    pw_grid_cell(grid, "%" PRId32, u->rank);
    pw_grid_cell(grid, "%.64s", u->hostname);
    pw_grid_share(grid, u->cpu_user_share);
    pw_grid_share(grid, u->cpu_sys_share);
    pw_grid_share(grid, u->main_cpu_share);
    pw_grid_share(grid, u->runq_share);
    add_number(grid, u->involuntary_cs_per_s);
    add_number(grid, (double)u->major_faults);
    pw_grid_bytes(grid, u->rss_max_bytes);
    pw_grid_bytes(grid, u->read_bytes);
    pw_grid_bytes(grid, u->write_bytes);
    pw_grid_share(grid, u->host_busy_share);
}

/* The processes that the rank's program started, below its row. */
static void note_workers(struct pw_grid *grid, const struct pw_row_c_utilisation *u)
{
    char cpu[32], read[32], io[64] = "";
    if (u->workers_max <= 0 || u->workers_cpu_share < 0)
        return;
    pw_page_percent(cpu, sizeof(cpu), u->workers_cpu_share);
    pw_text_bytes(read, sizeof(read), u->workers_read_bytes);
    if (u->workers_io_share >= 0) {
        char share[32];
        snprintf(io, sizeof(io), ", waited %s for disks",
                 pw_page_percent(share, sizeof(share), u->workers_io_share));
    }
    pw_grid_note(grid, "its %" PRId32 " worker process%s: CPU %s, read %s%s", u->workers_max,
                 u->workers_max == 1 ? "" : "es", cpu, read, io);
}

static double runq_key(const struct pw_figures *f, size_t row)
{
    return f->cluster->utilisation[row].runq_share;
}

static void add_card(struct pw_grid *grid, const struct pw_row_c_netcard *card)
{
    pw_grid_cell(grid, "%.64s", card->hostname);
    pw_grid_cell(grid, "%.32s", card->card);
    pw_grid_bytes(grid, card->recv_bytes);
    pw_grid_bytes(grid, card->recv_bytes_per_s < 0 ? -1 : (int64_t)card->recv_bytes_per_s);
    pw_grid_bytes(grid, card->sent_bytes);
    pw_grid_bytes(grid, card->sent_bytes_per_s < 0 ? -1 : (int64_t)card->sent_bytes_per_s);
    add_number(grid, (double)card->recv_packets);
    add_number(grid, (double)card->sent_packets);
    add_number(grid, (double)card->errors);
    add_number(grid, (double)card->drops);
}

static double card_key(const struct pw_figures *f, size_t row)
{
    const struct pw_row_c_netcard *card = &f->cluster->netcards[row];
    return (double)card->recv_bytes + (double)card->sent_bytes;
}

/* The cards of all hosts, the one that moved most first; cards that moved nothing are left out. */
static int print_cards(const struct pw_page *page)
{
    static const struct pw_grid_column columns[] = {
        {"Host", 1},     {"Card", 1},        {"Received", 0},     {"a second", 0}, {"Sent", 0},
        {"a second", 0}, {"Packets\nin", 0}, {"Packets\nout", 0}, {"Errors", 0},   {"Dropped", 0},
    };
    size_t *order, n = page->figures->cluster->nnetcards, shown = 0, moving = 0;
    int err = pw_figures_order(page->figures, n, card_key, &order);
    if (err)
        return err;
    struct pw_grid grid;
    pw_grid_init(&grid, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < n; i++) {
        moving += card_key(page->figures, order[i]) > 0;
        if (card_key(page->figures, order[i]) > 0 && shown < page->top)
            add_card(&grid, &page->figures->cluster->netcards[order[shown++]]);
    }
    if (shown)
        err = pw_page_print(page, 2, 2, "Network cards, of the whole host:");
    if (shown && !err)
        err = pw_grid_print(&grid, page);
    pw_grid_fini(&grid);
    free(order);
    if (!err && shown < moving)
        err = pw_page_print(page, 2, 2, "%zu more cards are not shown (--top 0).", moving - shown);
    return err;
}

int pw_section_utilisation(const struct pw_page *page)
{
    static const struct pw_grid_column columns[] = {
        {"Rank", 0},         {"Host", 1},           {"CPU\nuser", 0},        {"CPU\nsystem", 0},
        {"Main\nthread", 0}, {"Without\na CPU", 0}, {"Switched\nout /s", 0}, {"Major\nfaults", 0},
        {"Most\nmemory", 0}, {"Read", 0},           {"Written", 0},          {"Host\nbusy", 0},
    };
    const struct pw_cluster *c = page->figures->cluster;
    size_t *order, n = c->nutilisation, count = n < page->top ? n : page->top;
    int err = pw_figures_order(page->figures, n, runq_key, &order);
    if (err)
        return err;
    struct pw_grid grid;
    pw_grid_init(&grid, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < count; i++) {
        add_usage(&grid, &c->utilisation[order[i]]);
        note_workers(&grid, &c->utilisation[order[i]]);
    }
    err = pw_grid_print(&grid, page);
    pw_grid_fini(&grid);
    free(order);
    if (!err && count < n)
        err = pw_page_print(page, 2, 2, "%zu more ranks are not shown (--top 0).", n - count);
    err = err ? err : print_cards(page);
    if (err)
        return err;
    return pw_page_print(
        page, 2, 2,
        "Shares of the time in the measured steps (of the run, where these have fewer than 3 "
        "samples); CPU of all threads, so that it may be above 100 %%. "
        "Without a CPU: the main thread was ready to run but did not run; switched out: it had to "
        "stop for another thread, or yielded to one, as MPI does while it waits. Longest time "
        "without a CPU first.");
}

static double peak_key(const struct pw_figures *f, size_t row)
{
    return (double)f->cluster->memory[row].peak_bytes;
}

static void add_slope(struct pw_grid *grid, int64_t steps, double slope)
{
    char text[32];
    int64_t bytes = (int64_t)(slope < 0 ? -slope : slope);
    if (steps < 2)
        pw_grid_cell(grid, "n/a");
    else
        pw_grid_cell(grid, "%s%s", slope < 0 && bytes ? "-" : "",
                     pw_text_bytes(text, sizeof(text), bytes));
}

static void add_memory(struct pw_grid *grid, const struct pw_row_c_memory *m)
{
    pw_grid_cell(grid, "%" PRId32, m->rank);
    pw_grid_cell(grid, "%.16s", m->what);
    if (m->device < 0)
        pw_grid_cell(grid, "host");
    else
        pw_grid_cell(grid, "%" PRId32, m->device);
    pw_grid_bytes(grid, m->peak_bytes);
    pw_grid_bytes(grid, m->end_bytes);
    add_slope(grid, m->steps, m->bytes_per_step);
    add_slope(grid, m->steps, m->later_bytes_per_step);
    pw_grid_share(grid, m->steps < 2 ? -1 : m->fit);
}

int pw_section_memory(const struct pw_page *page)
{
    static const struct pw_grid_column columns[] = {
        {"Rank", 0}, {"What", 1},           {"Device", 1},      {"Peak", 0},
        {"End", 0},  {"Growth\na step", 0}, {"later\nhalf", 0}, {"Fit", 0},
    };
    const struct pw_cluster *c = page->figures->cluster;
    size_t *order, n = c->nmemory, count = n < page->top ? n : page->top;
    int err = pw_figures_order(page->figures, n, peak_key, &order);
    if (err)
        return err;
    struct pw_grid grid;
    pw_grid_init(&grid, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < count; i++)
        add_memory(&grid, &c->memory[order[i]]);
    err = pw_grid_print(&grid, page);
    pw_grid_fini(&grid);
    free(order);
    if (!err && count < n)
        err = pw_page_print(page, 2, 2, "%zu more are not shown (--top 0).", n - count);
    if (err)
        return err;
    return pw_page_print(
        page, 2, 2,
        "rss: resident memory of the process; allocated: as recorded by the program or CUPTI; "
        "pools: device memory that CUDA's pools hold. Growth: slope of a line through the memory "
        "at the end of each step; fit: share of the variance that it explains.");
}
