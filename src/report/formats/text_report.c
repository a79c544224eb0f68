/* Prints the text report: the lines at the top, then the wanted sections in their order. Called
 * through report.h. */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "analysis/advice/calls.h"
#include "analysis/advice/findings.h"
#include "report/content/firstscreen.h"
#include "report/content/hang.h"
#include "report/content/onefigures.h"
#include "report/report.h"
#include "report/sections/section.h"
#include "report/writing/page.h"

enum { WIDTH_LEAST = 60 };

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

/* Prints a sentence; for a Python program, calls of profwrap.h get their Python names. */
static int print_named(const struct pw_page *page, size_t hang, const char *before,
                       const char *name, const struct pw_lack *lack)
{
    char how[192] = "";
    if (lack->how)
        strncat(how, lack->how, sizeof(how) - 1);
    pw_calls_name(page->figures->cluster, how);
    return pw_page_print(page, 2, hang, "%s%s%s%s%s", before, name, lack->reason, how[0] ? " " : "",
                         how);
}

static int print_section(const struct pw_page *page, const struct pw_section *section)
{
    const bool is_whole =
        (section->flags & PW_SECTION_WHOLE) && page->figures->cluster->restricted_to[0];
    const struct pw_lack lack = pw_section_lack(section, page->figures);
    int err = pw_page_print(page, 0, 0, "%s", "");
    if (!err)
        err = pw_page_print(page, 0, 0, "%s%s", section->title,
                            is_whole ? " (of the whole run)" : "");
    if (err)
        return err;
    return lack.reason ? print_named(page, 2, "", "", &lack) : pw_section_print(section, page);
}

static bool is_asked_for(const struct pw_report_options *options)
{
    return options->sections && *options->sections;
}

/* 1 when the section is printed: sections without data in this job only if the user asks for
 * them. */
static bool is_wanted(const struct pw_section *section, const struct pw_page *page)
{
    const struct pw_cluster *c = page->figures->cluster;
    if (is_asked_for(page->options))
        return pw_section_is_wanted(section, page->options->sections);
    if (pw_hang_is_of_dumps(c) && !(section->flags & PW_SECTION_DUMPS))
        return false;
    if (pw_ended_at_start(c) && !(section->flags & PW_SECTION_END))
        return false;
    return (!section->is_of || section->is_of(c)) &&
           !pw_section_lack(section, page->figures).reason;
}

/* What an imported trace does not have cannot be got by options of profwrap. */
static bool is_imported(const struct pw_cluster *c)
{
    return c->imported[0] != '\0';
}

/* The last lines of a whole report: what is not known, and how to get it. */
static int print_lacks(const struct pw_page *page)
{
    const struct pw_cluster *c = page->figures->cluster;
    int err = 0, n = 0;
    for (size_t i = 0; pw_sections[i] && !is_imported(c) && !err; i++) {
        const struct pw_section *section = pw_sections[i];
        const struct pw_lack lack = pw_section_lack(section, page->figures);
        char before[64];
        if (!lack.how || (section->is_of && !section->is_of(c)) ||
            (section->is_missed && !section->is_missed(page->figures)))
            continue;
        if (!n++)
            err = pw_page_print(page, 0, 0, "%s", "");
        if (!err && n == 1)
            err = pw_page_print(page, 0, 0, "Not known, and how to get it");
        snprintf(before, sizeof(before), "%s: ", section->name);
        err = err ? err : print_named(page, 4, "- ", before, &lack);
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
    for (size_t i = 0; pw_sections[i] && !err; i++)
        if (is_wanted(pw_sections[i], &page))
            err = print_section(&page, pw_sections[i]);
    if (!err && !is_asked_for(options) && !pw_hang_is_of_dumps(cluster) &&
        !pw_ended_at_start(cluster))
        err = print_lacks(&page);
    pw_onefigures_release(&one);
    return err ? err : ferror(out) ? -EIO : 0;
}
