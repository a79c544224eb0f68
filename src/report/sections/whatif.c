/* The run replayed with something changed, its critical path, and slow parts of the network. */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "analysis/advice/findings.h"
#include "analysis/figures/figures.h"
#include "core/text.h"
#include "report/report.h"
#include "report/sections/section.h"
#include "report/writing/json_row.h"
#include "report/writing/page.h"
#include "report/writing/words.h"

static int print_scenarios(const struct pw_page *page)
{
    static const struct pw_grid_column columns[] = {
        {"with", 1}, {"job\ntakes", 0}, {"gain", 0}, {"speed-up", 0}};
    const struct pw_cluster *c = page->figures->cluster;
    struct pw_grid grid;
    char text[192];
    pw_grid_init(&grid, columns, 4);
    for (size_t i = 0; i < c->nwhatif; i++) {
        const struct pw_row_c_whatif *row = &c->whatif[i];
        if (row->gain_ns < row->elapsed_ns / 1000) /* less than 0.1 % */
            continue;
        pw_grid_cell(&grid, "%s", pw_words_whatif(row, text, sizeof(text)));
        pw_grid_time(&grid, row->without_ns);
        pw_grid_time(&grid, row->gain_ns);
        pw_grid_cell(&grid, "%.3f", row->slowdown);
    }
    int err = grid.ncells ? pw_grid_print(&grid, page)
                          : pw_page_print(page, 2, 2, "No change would gain 0.1 %% or more.");
    pw_grid_fini(&grid);
    return err;
}

/* Prints the longest pieces of the critical path. */
static int print_path(const struct pw_page *page)
{
    enum { SHOWN = 5 };
    const struct pw_cluster *c = page->figures->cluster;
    char line[512] = "";
    double above = 2;
    for (int k = 0; k < SHOWN; k++) {
        const struct pw_row_c_path *most = NULL;
        char share[32];
        for (size_t i = 0; i < c->npath; i++)
            if (c->path[i].share < above && (!most || c->path[i].share > most->share))
                most = &c->path[i];
        if (!most)
            break;
        above = most->share;
        size_t used = strlen(line);
        snprintf(line + used, sizeof(line) - used, "%srank %" PRId32 " in %.16s %s", k ? ", " : "",
                 most->rank, most->what, pw_page_percent(share, sizeof(share), most->share));
    }
    return line[0] ? pw_page_print(page, 2, 4, "Critical path, longest pieces: %s.", line) : 0;
}

static int print_groups(const struct pw_page *page)
{
    const struct pw_cluster *c = page->figures->cluster;
    char a[32], b[32];
    int err = 0;
    for (size_t i = 0; i < c->nhosts_slow && !err; i++)
        err = pw_page_print(
            page, 2, 4,
            "Host %.64s is slow: %" PRId32 " of its %" PRId32 " ranks, by %s in steps %" PRId64
            "-%" PRId64 "; gain %s.",
            c->hosts_slow[i].hostname, c->hosts_slow[i].slow_ranks, c->hosts_slow[i].nranks,
            pw_text_ns(a, sizeof(a), c->hosts_slow[i].excess_ns), c->hosts_slow[i].first_step,
            c->hosts_slow[i].last_step, pw_text_ns(b, sizeof(b), c->hosts_slow[i].gain_ns));
    for (size_t i = 0; i < c->nnetwork && i < page->top && !err; i++) {
        char text[320];
        struct pw_sentence s = pw_sentence_on(text, sizeof(text));
        pw_network_say(&c->network[i], &s);
        err = pw_page_print(page, 2, 4, "%s.", text);
    }
    for (size_t i = 0; i < c->nlinks_slow && i < page->top && !err; i++)
        err = pw_page_print(page, 2, 4,
                            "Messages from rank %" PRId32 " to %" PRId32
                            " take %s, those of similar pairs %s: %.1f times as long.",
                            c->links_slow[i].src, c->links_slow[i].dst,
                            pw_text_ns(a, sizeof(a), c->links_slow[i].transfer_ns),
                            pw_text_ns(b, sizeof(b), c->links_slow[i].others_ns),
                            c->links_slow[i].ratio);
    return err;
}

static int show_whatif(const struct pw_page *page)
{
    const struct pw_cluster *c = page->figures->cluster;
    char time[32], residual[32];
    if (c->nwhatif == 0 || page->figures->has_silent_ranks) {
        int err = pw_page_print(page, 2, 2, "Not replayed: it needs %s.",
                                page->figures->has_silent_ranks
                                    ? "the communication of all ranks, which was not recorded"
                                    : "steps");
        return err ? err : print_groups(page);
    }
    int err = print_scenarios(page);
    err = err ? err : print_path(page);
    err = err ? err : print_groups(page);
    double off = fabs(c->whatif[0].residual);
    return err ? err
               : pw_page_print(
                     page, 2, 4,
                     "Replayed: steps %" PRId64 "-%" PRId64
                     ", %s. The replay without a change differs from the measured time by %s.",
                     c->whatif[0].first_step, c->whatif[0].last_step,
                     pw_text_ns(time, sizeof(time), c->whatif[0].elapsed_ns),
                     pw_page_percent(residual, sizeof(residual), off));
}

static json_t *make_network(const struct pw_figures *f)
{
    return pw_json_rows(PW_TABLE_c_network, f->cluster->network, f->cluster->nnetwork);
}

static json_t *make_whatif(const struct pw_figures *f)
{
    const struct pw_cluster *c = f->cluster;
    if (c->nwhatif == 0 || f->has_silent_ranks)
        return json_null();
    json_t *whatif = json_object();
    int bad = json_object_set_new(whatif, "scenarios",
                                  pw_json_rows(PW_TABLE_c_whatif, c->whatif, c->nwhatif));
    bad |= json_object_set_new(whatif, "critical_path",
                               pw_json_rows(PW_TABLE_c_path, c->path, c->npath));
    return pw_json_or_null(whatif, bad);
}

static struct pw_lack lack_of_whatif(const struct pw_figures *f)
{
    const struct pw_cluster *c = f->cluster;
    if ((c->nwhatif && !f->has_silent_ranks) || c->nhosts_slow || c->nnetwork || c->nlinks_slow)
        return (struct pw_lack){0};
    if (f->has_silent_ranks)
        return (struct pw_lack){"Not replayed: it needs the communication of all ranks, which was "
                                "not recorded.",
                                "See --activities."};
    return (struct pw_lack){"Not replayed: it needs steps.", NULL};
}

const struct pw_section pw_section_whatif = {
    .name = "whatif",
    .title = "What if: the run replayed with something changed",
    .flags = PW_SECTION_WHOLE | PW_SECTION_PAGE,
    .tables = {PW_TABLE_c_whatif, PW_TABLE_c_path, PW_TABLE_c_network},
    .lacks = lack_of_whatif,
    .print = show_whatif,
    .keys = {{"whatif", make_whatif}, {"network", make_network}},
};
