/* Prints the text report: the lines at the top, then the wanted sections of a table, in its order.
 * Called through report.h. */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "analysis/parts.h"
#include "report/content/firstscreen.h"
#include "report/content/hang.h"
#include "report/content/onefigures.h"
#include "report/report.h"
#include "report/text/sections.h"
#include "report/writing/page.h"

enum { WIDTH_LEAST = 60 };

/* Share of a step from which on waiting for data makes queues worth a look. */
#define DATA_WAIT_LEAST 0.05

static bool has_gpus(const struct pw_cluster *c)
{
    return c->ngpu_ranks > 0;
}

static bool has_hang(const struct pw_cluster *c)
{
    return c->nhang > 0;
}

static bool has_hccl(const struct pw_cluster *c)
{
    return c->nhccl_ranks > 0 || c->nhccl_links > 0;
}

static bool has_msprof(const struct pw_cluster *c)
{
    return c->nmsprof_steps > 0;
}

static bool has_aicore(const struct pw_cluster *c)
{
    return c->nmindinsight_sums > 0;
}

static bool has_epochs(const struct pw_cluster *c)
{
    return c->nepochs > 0;
}

static bool has_flops(const struct pw_cluster *c)
{
    return c->nflops > 0;
}

static bool has_parts(const struct pw_cluster *c)
{
    const struct pw_parts_known known = pw_parts_known(c->part_trace, c->nrank_rows);
    return known.nranks > 0 && (known.has_init || known.has_steps || known.has_finalize);
}

static const struct section {
    const char *name, *title;
    int (*print)(const struct pw_page *page);
    bool (*is_of)(const struct pw_cluster *cluster); /* NULL: every job has it */
    bool is_whole; /* its figures are always of the whole run, also with --steps */
    struct pw_lack (*lacks)(const struct pw_figures *figures); /* NULL: always has data */
} sections[] = {
    {"job", "Job", pw_section_job, NULL, false, NULL},
    {"hang", "Operations that had not ended: who waits, and who is missing", pw_section_hang,
     has_hang, true, NULL},
    {"epochs", "Epochs: each time that the launcher started the ranks", pw_section_epochs,
     has_epochs, true, NULL},
    {"completeness", "What these figures rest on", pw_section_completeness, NULL, false, NULL},
    {"clocks", "Clocks", pw_section_clocks, NULL, true, pw_lack_clocks},
    {"parts", "Parts of the run: the whole wall time of the ranks", pw_section_parts, has_parts,
     true, NULL},
    {"steps", "Steps: where each rank's time goes", pw_section_steps, NULL, false, pw_lack_steps},
    {"phases", "Phases: each rank's own work, without waiting for other ranks", pw_section_phases,
     NULL, false, pw_lack_phases},
    {"operators", "Operators: self time, and ranks on which they take longer", pw_section_operators,
     NULL, true, pw_lack_operators},
    {"flops", "FLOP/s and MFU: what the model needs of what the GPUs can do", pw_section_flops,
     has_flops, true, NULL},
    {"gpu", "GPUs: where their time goes", pw_section_gpu, has_gpus, true, NULL},
    {"kernels", "Kernels: what the GPUs compute, and what launches it", pw_section_kernels,
     has_gpus, true, pw_lack_kernels},
    {"collectives", "Collective operations: waiting and transfer separately",
     pw_section_collectives, NULL, false, pw_lack_collectives},
    {"hccl", "HCCL: transfers, waits and links", pw_section_hccl, has_hccl, true, NULL},
    {"msprof", "msprof-analyze: what it computed of each step and rank", pw_section_msprof,
     has_msprof, true, NULL},
    {"aicore", "Operators on the AI core, as MindSpore's profiler added them up", pw_section_aicore,
     has_aicore, true, NULL},
    {"p2p", "Point-to-point messages", pw_section_p2p, NULL, true, pw_lack_p2p},
    {"stragglers", "Stragglers", pw_section_stragglers, NULL, false, NULL},
    {"whatif", "What if: the run replayed with something changed", pw_section_whatif, NULL, true,
     pw_lack_whatif},
    {"efficiency", "Efficiency", pw_section_efficiency, NULL, true, pw_lack_efficiency},
    {"data_pipeline", "Data pipeline: how full its queues are", pw_section_data_pipeline, NULL,
     true, pw_lack_queues},
    {"utilisation", "What each rank's process used", pw_section_utilisation, NULL, true,
     pw_lack_utilisation},
    {"memory", "Memory", pw_section_memory, NULL, true, pw_lack_memory},
    {"advice", "What to do", pw_section_advice, NULL, false, NULL},
};
enum { SECTIONS = sizeof(sections) / sizeof(sections[0]) };

/* Returns the next word of the list at *at, *length bytes without spaces around it. *at moves past
 * the comma; after the last word it is NULL. */
static const char *next_word(const char **at, size_t *length)
{
    const char *word = *at + strspn(*at, " ");
    const char *comma = strchr(word, ',');
    *length = comma ? (size_t)(comma - word) : strlen(word);
    while (*length && word[*length - 1] == ' ')
        --*length;
    *at = comma ? comma + 1 : NULL;
    return word;
}

static bool is_section(const struct section *section, const char *word, size_t length)
{
    return strlen(section->name) == length && strncmp(section->name, word, length) == 0;
}

int pw_report_is_wanted(const char *list, const char *name)
{
    if (!list || !*list)
        return 1;
    for (const char *at = list; at;) {
        size_t length;
        const char *word = next_word(&at, &length);
        if (strlen(name) == length && strncmp(name, word, length) == 0)
            return 1;
    }
    return 0;
}

static void describe_unknown(const char *word, size_t length, char *problem, size_t size)
{
    int shown = length < 40 ? (int)length : 40;
    int n = snprintf(problem, size, "there is no section '%.*s'; sections are", shown, word);
    for (int i = 0; i < SECTIONS && n > 0 && (size_t)n < size; i++)
        n += snprintf(problem + n, size - (size_t)n, "%s %s", i ? "," : "", sections[i].name);
}

int pw_report_sections_check(const char *list, char *problem, size_t size)
{
    for (const char *at = list && *list ? list : NULL; at;) {
        size_t length;
        const char *word = next_word(&at, &length);
        bool known = false;
        for (int i = 0; i < SECTIONS; i++)
            known |= is_section(&sections[i], word, length);
        if (known)
            continue;
        describe_unknown(word, length, problem, size);
        return -EINVAL;
    }
    return 0;
}

static int print_top(const struct pw_page *page)
{
    char text[PW_HEADLINE_BYTES];
    pw_headline_write(page->figures, text, sizeof(text));
    int err = pw_page_print(page, 0, 2, "%s", text);
    pw_headline_missing(page->figures, text, sizeof(text));
    if (!err && text[0])
        err = pw_page_print(page, 0, 2, "Incomplete: %s. Figures cover only what was recorded.",
                            text);
    struct pw_loss losses[PW_LOSSES];
    const struct pw_loss *beside[PW_LOSSES_SHOWN];
    const size_t n = pw_losses_beside(losses, pw_losses_find(page->figures, losses), beside);
    for (size_t i = 0; i < n && !err; i++)
        err = pw_page_print(page, 0, 2, "%s", beside[i]->text);
    pw_basis_write(page->figures, text, sizeof(text));
    if (!err)
        err = pw_page_print(page, 0, 2, "Rests on: %s.", text);
    return err;
}

static struct pw_lack lack_of(const struct section *section, const struct pw_figures *figures)
{
    return section->lacks ? section->lacks(figures) : (struct pw_lack){0};
}

static int print_section(const struct pw_page *page, const struct section *section)
{
    bool is_part = page->figures->cluster->restricted_to[0];
    int err = pw_page_print(page, 0, 0, "%s", "");
    if (!err)
        err = pw_page_print(page, 0, 0, "%s%s", section->title,
                            section->is_whole && is_part ? " (of the whole run)" : "");
    if (err)
        return err;
    const struct pw_lack lack = lack_of(section, page->figures);
    return lack.reason ? pw_lack_print(page, &lack) : section->print(page);
}

static bool is_asked_for(const struct pw_report_options *options)
{
    return options->sections && *options->sections;
}

/* Dumps after a hang have what was called, and not how long it took. */
static bool is_of_dumps(const struct section *section)
{
    return pw_report_is_wanted("job,hang,completeness,collectives,p2p,advice", section->name);
}

/* The sections that say how a job ended. */
static bool is_about_end(const struct section *section)
{
    return section->print == pw_section_job || section->print == pw_section_completeness ||
           section->print == pw_section_advice;
}

/* 1 when the section is printed: sections without data in this job only if the user asks for
 * them. */
static bool is_wanted(const struct section *section, const struct pw_page *page)
{
    if (!is_asked_for(page->options) && pw_hang_is_of_dumps(page->figures->cluster) &&
        !is_of_dumps(section))
        return false;
    if (is_asked_for(page->options))
        return pw_report_is_wanted(page->options->sections, section->name);
    if (pw_ended_at_start(page->figures->cluster) && !is_about_end(section))
        return false;
    return (!section->is_of || section->is_of(page->figures->cluster)) &&
           !lack_of(section, page->figures).reason;
}

/* Queues that ranks hardly wait for are not missed. */
static bool is_missed(const struct section *section, const struct pw_figures *figures)
{
    return section->lacks != pw_lack_queues || figures->data_wait_share >= DATA_WAIT_LEAST;
}

/* What an imported trace does not have cannot be got by options of profwrap. */
static bool is_imported(const struct pw_cluster *c)
{
    return c->imported[0] != '\0';
}

/* The last lines of a whole report: what is not known, and how to get it. */
static int print_lacks(const struct pw_page *page)
{
    int err = 0;
    for (int i = 0, n = 0; i < SECTIONS && !err; i++) {
        const struct pw_lack lack = lack_of(&sections[i], page->figures);
        if (!lack.how || !is_missed(&sections[i], page->figures) ||
            is_imported(page->figures->cluster) ||
            (sections[i].is_of && !sections[i].is_of(page->figures->cluster)))
            continue;
        if (!n++)
            err = pw_page_print(page, 0, 0, "%s", "");
        if (!err && n == 1)
            err = pw_page_print(page, 0, 0, "Not known, and how to get it");
        err = err ? err : pw_lack_list(page, sections[i].name, &lack);
    }
    return err;
}

int pw_report_text(FILE *out, const struct pw_cluster *cluster,
                   const struct pw_report_options *options)
{
    char problem[256];
    struct pw_onefigures one;
    int err = pw_report_sections_check(options->sections, problem, sizeof(problem));
    if (!err)
        err = pw_onefigures_take(cluster, options, &one);
    if (err)
        return err;
    size_t width = options->width > 0 ? (size_t)options->width : PW_REPORT_WIDTH;
    struct pw_page page = {
        .out = out,
        .width = width < WIDTH_LEAST ? WIDTH_LEAST : width,
        .top = options->top > 0 ? (size_t)options->top : SIZE_MAX,
        .figures = one.figures,
        .options = options,
    };
    err = print_top(&page);
    for (int i = 0; i < SECTIONS && !err; i++)
        if (is_wanted(&sections[i], &page))
            err = print_section(&page, &sections[i]);
    if (!err && !is_asked_for(options) && !pw_hang_is_of_dumps(cluster) &&
        !pw_ended_at_start(cluster))
        err = print_lacks(&page);
    pw_onefigures_release(&one);
    return err ? err : ferror(out) ? -EIO : 0;
}
