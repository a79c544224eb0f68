/* What each rank's process used, the network cards of its host, and memory over the steps. */
#include <inttypes.h>
#include <stdlib.h>

#include "core/text.h"
#include "report/report.h"
#include "report/sections/section.h"
#include "report/writing/json_row.h"
#include "report/writing/page.h"

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

static int show_utilisation(const struct pw_page *page)
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

static int show_memory(const struct pw_page *page)
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

static json_t *make_utilisation(const struct pw_figures *f)
{
    const struct pw_cluster *c = f->cluster;
    if (!c->nutilisation)
        return json_null();
    json_t *object = json_object();
    int bad = json_object_set_new(
        object, "ranks", pw_json_rows(PW_TABLE_c_utilisation, c->utilisation, c->nutilisation));
    bad |=
        json_object_set_new(object, "series",
                            pw_json_rows_up_to(PW_REPORT_JSON_CELLS, PW_TABLE_c_utilisation_series,
                                               c->utilisation_series, c->nutilisation_series));
    bad |= json_object_set_new(
        object, "network_cards",
        pw_json_rows_up_to(PW_REPORT_JSON_CELLS, PW_TABLE_c_netcard, c->netcards, c->nnetcards));
    return pw_json_or_null(object, bad);
}

/* Sets slopes, which may be negative; elsewhere, negative means "not known". */
static int set_slopes(json_t *row, const struct pw_row_c_memory *m)
{
    int known = m->steps > 1;
    int bad = json_object_set_new(row, "bytes_per_step",
                                  known ? json_real(m->bytes_per_step) : json_null());
    return bad | json_object_set_new(row, "later_bytes_per_step",
                                     known ? json_real(m->later_bytes_per_step) : json_null());
}

static json_t *make_memory(const struct pw_figures *f)
{
    const struct pw_cluster *c = f->cluster;
    if (!c->nmemory)
        return json_null();
    json_t *array = pw_json_rows(PW_TABLE_c_memory, c->memory, c->nmemory);
    int bad = !array;
    for (size_t i = 0; i < c->nmemory && !bad; i++)
        bad = set_slopes(json_array_get(array, i), &c->memory[i]);
    return pw_json_or_null(array, bad);
}

static const char sample[] = "Record with --sample-hz above 0.";

static struct pw_lack lack_of_utilisation(const struct pw_figures *f)
{
    return f->cluster->nutilisation ? (struct pw_lack){0}
                                    : (struct pw_lack){"Processes were not sampled.", sample};
}

static struct pw_lack lack_of_memory(const struct pw_figures *f)
{
    return f->cluster->nmemory
               ? (struct pw_lack){0}
               : (struct pw_lack){"Memory was not sampled.", f->cluster->nutilisation
                                                                 ? "Mark steps, so that it can be "
                                                                   "compared from step to step."
                                                                 : sample};
}

const struct pw_section pw_section_utilisation = {
    .name = "utilisation",
    .title = "What each rank's process used",
    .flags = PW_SECTION_WHOLE | PW_SECTION_PAGE,
    .tables = {PW_TABLE_c_utilisation, PW_TABLE_c_netcard},
    .lacks = lack_of_utilisation,
    .print = show_utilisation,
    .keys = {{"utilisation", make_utilisation}},
};

const struct pw_section pw_section_memory = {
    .name = "memory",
    .title = "Memory",
    .flags = PW_SECTION_WHOLE | PW_SECTION_PAGE,
    .tables = {PW_TABLE_c_memory},
    .lacks = lack_of_memory,
    .print = show_memory,
    .keys = {{"memory", make_memory}},
};
