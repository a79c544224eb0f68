/* The clocks: the offset, the drift and the error of each rank's. */
#include <inttypes.h>
#include <jansson.h>
#include <stdint.h>

#include "analysis/figures/figures.h"
#include "core/text.h"
#include "report/report.h"
#include "report/sections/section.h"
#include "report/writing/json_row.h"
#include "report/writing/page.h"

/* "+2.00 s", "-5.1 us" */
static void offset_cell(struct pw_grid *grid, int64_t ns)
{
    char time[32];
    uint64_t size = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    pw_text_ns(time, sizeof(time), size > INT64_MAX ? INT64_MAX : (int64_t)size);
    pw_grid_cell(grid, "%s%s", ns < 0 ? "-" : "+", time);
}

static void drift_cell(struct pw_grid *grid, const struct pw_row_c_clock *row)
{
    if (row->drift_error_ppm <= 0 || row->drift_error_ppm > 100)
        pw_grid_cell(grid, "n/a");
    else
        pw_grid_cell(grid, "%+.2f ± %.2f ppm", row->drift_ppm, row->drift_error_ppm);
}

static void domain_cells(struct pw_grid *grid, const struct pw_row_c_clock *row, size_t ranks)
{
    char error[32];
    int is_reference = row->domain == 0, is_known = row->error_ns >= 0;
    if (row->hostname[0])
        pw_grid_cell(grid, "%.64s", row->hostname);
    else
        pw_grid_cell(grid, "not known (rank %" PRId32 ")", row->rank);
    pw_grid_cell(grid, "%zu", ranks);
    if (is_reference || !is_known) {
        pw_grid_cell(grid, is_reference ? "0" : "n/a");
        pw_grid_cell(grid, is_reference ? "0" : "n/a");
    } else {
        offset_cell(grid, row->offset_ns);
        drift_cell(grid, row);
    }
    pw_grid_cell(grid, "%s", pw_text_ns(error, sizeof(error), row->error_ns));
    pw_grid_cell(grid, "%" PRId64, row->active_knots);
    pw_grid_cell(grid, "%" PRId64, row->bounds);
    pw_grid_cell(grid, "%.16s", row->source);
    pw_grid_cell(grid, "%" PRId64 " / %" PRId64, row->violations, row->violations_beyond);
}

/* Returns the number of ranks of the domain if `row` is its first, else 0. */
static size_t ranks_of(const struct pw_cluster *c, size_t row)
{
    size_t ranks = 0;
    for (size_t r = 0; r < c->nclocks; r++) {
        if (c->clocks[r].domain != c->clocks[row].domain)
            continue;
        if (r < row)
            return 0;
        ranks++;
    }
    return ranks;
}

static int print_domains(const struct pw_page *page, size_t *hidden)
{
    static const struct pw_grid_column columns[] = {
        {"host", 1},     {"ranks", 0},  {"offset", 0}, {"drift", 0},      {"error", 0},
        {"measured", 0}, {"bounds", 0}, {"from", 1},   {"violations", 0},
    };
    const struct pw_cluster *c = page->figures->cluster;
    struct pw_grid grid;
    size_t shown = 0;
    pw_grid_init(&grid, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t r = 0; r < c->nclocks; r++) {
        size_t ranks = c->clocks[r].domain < 0 ? 0 : ranks_of(c, r);
        if (ranks == 0)
            continue;
        if (shown < page->top) {
            domain_cells(&grid, &c->clocks[r], ranks);
            shown++;
        } else {
            ++*hidden;
        }
    }
    int err = pw_grid_print(&grid, page);
    pw_grid_fini(&grid);
    return err;
}

static int show_clocks(const struct pw_page *page)
{
    size_t hidden = 0;
    int err = print_domains(page, &hidden);
    if (!err && hidden)
        err = pw_page_print(page, 2, 2, "%zu more are not shown (--top 0).", hidden);
    if (err)
        return err;
    return pw_page_print(
        page, 2, 2,
        "offset: to be added to the host's clock, in the middle of the run; drift: how much faster "
        "it runs than the first; error: bound over the whole run; measured: exchanges with other "
        "hosts; bounds: pairs of events in known order; violations: of these, how many contradict "
        "the corrected times / by more than the error.");
}

static json_t *make_domain(const struct pw_row_c_clock *clock)
{
    int known = clock->error_ns >= 0, drifts = known && clock->drift_error_ppm > 0;
    json_t *row = json_object();
    int bad = json_object_set_new(row, "rank", pw_json_int(clock->rank));
    bad |= json_object_set_new(row, "hostname",
                               pw_json_text(clock->hostname, sizeof(clock->hostname)));
    bad |= json_object_set_new(row, "domain", pw_json_int(clock->domain));
    bad |= json_object_set_new(row, "source", pw_json_text(clock->source, sizeof(clock->source)));
    bad |=
        json_object_set_new(row, "offset_ns", known ? json_integer(clock->offset_ns) : json_null());
    bad |=
        json_object_set_new(row, "drift_ppm", drifts ? json_real(clock->drift_ppm) : json_null());
    bad |= json_object_set_new(row, "drift_error_ppm",
                               drifts ? json_real(clock->drift_error_ppm) : json_null());
    bad |= json_object_set_new(row, "error_ns", pw_json_int(clock->error_ns));
    bad |= json_object_set_new(row, "knots", pw_json_int(clock->knots));
    bad |= json_object_set_new(row, "active_knots", pw_json_int(clock->active_knots));
    bad |= json_object_set_new(row, "bounds", pw_json_int(clock->bounds));
    bad |= json_object_set_new(row, "violations", pw_json_int(clock->violations));
    bad |= json_object_set_new(row, "violations_beyond", pw_json_int(clock->violations_beyond));
    return pw_json_or_null(row, bad);
}

static json_t *make_ranks(const struct pw_cluster *c)
{
    json_t *array = json_array();
    for (size_t r = 0; array && r < c->nclocks; r++)
        if (json_array_append_new(array, make_domain(&c->clocks[r]))) {
            json_decref(array);
            array = NULL;
        }
    return array;
}

/* Returns the value of `clock`; NULL when memory is short. */
static json_t *pw_json_clocks(const struct pw_figures *f)
{
    json_t *clock = json_object();
    int bad = json_object_set_new(clock, "error_median_ns", pw_json_int(f->clock_error_median_ns));
    bad |= json_object_set_new(clock, "error_max_ns", pw_json_int(f->clock_error_max_ns));
    bad |= json_object_set_new(clock, "ranks", make_ranks(f->cluster));
    return pw_json_or_null(clock, bad);
}

static struct pw_lack lack_of_clocks(const struct pw_figures *f)
{
    const struct pw_cluster *c = f->cluster;
    size_t several = 0;
    for (size_t r = 0; r < c->nclocks; r++)
        several |= c->clocks[r].domain > 0;
    return several      ? (struct pw_lack){0}
           : c->nclocks ? (struct pw_lack){"All ranks are on one clock.", NULL}
                        : (struct pw_lack){"Not known: this cluster file does not say.", NULL};
}

const struct pw_section pw_section_clocks = {
    .name = "clocks",
    .title = "Clocks",
    .flags = PW_SECTION_WHOLE | PW_SECTION_PAGE,
    .tables = {PW_TABLE_c_clock},
    .lacks = lack_of_clocks,
    .print = show_clocks,
    .keys = {{"clock", pw_json_clocks}},
};
