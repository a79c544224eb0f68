/* The epochs of a job, one for each start of its ranks by the launcher. */
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "analysis/figures/figures.h"
#include "analysis/figures/goodput.h"
#include "core/text.h"
#include "report/report.h"
#include "report/sections/section.h"
#include "report/writing/json_row.h"
#include "report/writing/page.h"
#include "report/writing/words.h"

static void count_cell(struct pw_grid *grid, int64_t count)
{
    if (count < 0)
        pw_grid_cell(grid, "n/a");
    else
        pw_grid_cell(grid, "%" PRId64, count);
}

static void epoch_row(struct pw_grid *grid, const struct pw_row_c_epoch *row)
{
    char end[256];
    pw_grid_cell(grid, "%" PRId32 "%s", row->epoch, row->shown ? " *" : "");
    pw_grid_cell(grid, "%" PRId32, row->ranks);
    pw_grid_time(grid, row->ran_ns);
    if (row->steps > 0)
        pw_grid_cell(grid, "%" PRId64 "-%" PRId64, row->first_step, row->last_step);
    else
        pw_grid_cell(grid, "none");
    count_cell(grid, row->kept_steps);
    pw_grid_time(grid, row->kept_ns);
    pw_grid_time(grid, row->restart_ns);
    pw_grid_note(grid, "%s", pw_words_epoch_end(row, end, sizeof(end)));
}

static int print_goodput(const struct pw_page *page)
{
    const struct pw_goodput g = pw_goodput_of(page->figures->cluster);
    char least[32], most[32], wall[32], restarts[32];
    pw_page_percent(least, sizeof(least), g.least);
    pw_page_percent(most, sizeof(most), g.most);
    pw_text_ns(wall, sizeof(wall), g.wall_ns);
    pw_text_ns(restarts, sizeof(restarts), g.restarts_ns);
    if (g.least < 0)
        return pw_page_print(page, 2, 2, "Goodput: n/a, because not all steps were recorded.");
    if (g.begins_anew && g.most > g.least)
        return pw_page_print(
            page, 2, 2,
            "Goodput: between %s and %s of %s; restarts took %s. An epoch numbers its steps from "
            "the beginning, so it is not known which steps it repeats: number them on from the "
            "checkpoint, as in profwrap.step(n).",
            least, most, wall, restarts);
    return pw_page_print(page, 2, 2,
                         "Goodput: %s of %s is the time of the %" PRId64 " steps that were kept, "
                         "of %" PRId64 "; restarts took %s.",
                         least, wall, g.kept_steps, g.steps, restarts);
}

static int show_epochs(const struct pw_page *page)
{
    static const struct pw_grid_column columns[] = {
        {"epoch", 0}, {"ranks", 0},          {"ran", 0},          {"steps", 0},
        {"kept", 0},  {"in kept\nsteps", 0}, {"restart\ntook", 0}};
    const struct pw_cluster *c = page->figures->cluster;
    struct pw_grid grid;
    if (!c->nepochs)
        return pw_page_print(page, 2, 2, "The ranks of this job were started once.");
    pw_grid_init(&grid, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < c->nepochs; i++)
        epoch_row(&grid, &c->epochs[i]);
    int err = pw_grid_print(&grid, page);
    pw_grid_fini(&grid);
    if (!err)
        err = print_goodput(page);
    return err ? err
               : pw_page_print(page, 2, 2,
                               "* this report; 'profwrap report --epoch N DIR' is of another one.");
}

static json_t *make_epoch_rows(const struct pw_cluster *c)
{
    json_t *array = pw_json_rows(PW_TABLE_c_epoch, c->epochs, c->nepochs);
    int bad = !array;
    for (size_t i = 0; i < c->nepochs && !bad; i++) {
        char words[256];
        pw_words_epoch_end(&c->epochs[i], words, sizeof(words));
        bad = json_object_set_new(json_array_get(array, i), "words",
                                  pw_json_text(words, sizeof(words)));
    }
    return pw_json_or_null(array, bad);
}

static json_t *make_epochs(const struct pw_figures *f)
{
    const struct pw_goodput g = pw_goodput_of(f->cluster);
    if (!f->cluster->nepochs)
        return json_null();
    json_t *epochs = json_object();
    int bad = json_object_set_new(epochs, "wall_ns", pw_json_int(g.wall_ns));
    bad |= json_object_set_new(epochs, "restarts_ns", pw_json_int(g.restarts_ns));
    bad |= json_object_set_new(epochs, "steps", pw_json_int(g.steps));
    bad |= json_object_set_new(epochs, "kept_steps", pw_json_int(g.kept_steps));
    bad |= json_object_set_new(epochs, "kept_ns", pw_json_int(g.kept_ns));
    bad |= json_object_set_new(epochs, "goodput_least", pw_json_real(g.least));
    bad |= json_object_set_new(epochs, "goodput_most", pw_json_real(g.most));
    bad |= json_object_set_new(epochs, "rows", make_epoch_rows(f->cluster));
    return pw_json_or_null(epochs, bad);
}

static bool has_epochs(const struct pw_cluster *c)
{
    return c->nepochs > 0;
}

const struct pw_section pw_section_epochs = {
    .name = "epochs",
    .title = "Epochs: each time that the launcher started the ranks",
    .flags = PW_SECTION_WHOLE | PW_SECTION_PAGE,
    .tables = {PW_TABLE_c_epoch},
    .is_of = has_epochs,
    .print = show_epochs,
    .keys = {{"epochs", make_epochs}},
};
