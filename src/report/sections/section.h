/* The sections of a report: what each is about, and how each format shows it. A file of this folder
 * has one section or a few. sections.c lists them. The text, JSON, CSV and HTML reports go through
 * that list. HTML also asks for keys by name (pw_section_key()). A section reads the cluster file
 * in memory only, and computes no verdict: those are of analysis/, so all formats say the same. */
#ifndef PW_REPORT_SECTIONS_SECTION_H
#define PW_REPORT_SECTIONS_SECTION_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "analysis/figures/figures.h"
#include "report/writing/page.h"

/* What a section lacks, as whole sentences. */
struct pw_lack {
    const char *reason; /* why it is empty; NULL: it is not */
    const char *how;    /* how to get it; NULL: nothing is unknown, or another section says it */
};

/* The `how` of sections that lack marks of the program. */
#define PW_HOW_TO_MARK "Name parts of a step with profwrap_range_push() and _pop() of profwrap.h."

enum {
    PW_SECTION_WHOLE = 1, /* its figures are always of the whole run, also with --steps */
    PW_SECTION_DUMPS = 2, /* also shown for dumps after a hang: these have calls, but no times */
    PW_SECTION_END = 4,   /* it says how a job ended, so jobs that ended at their start have it */
    PW_SECTION_PAGE = 8,  /* a page of the HTML report shows it; the page "Tables" has the others */
};

/* A key of the JSON report. `make` returns a new value, a JSON null for "not recorded", or NULL
 * when memory is short. */
struct pw_section_key {
    const char *name; /* NULL: no more keys */
    json_t *(*make)(const struct pw_figures *figures);
};

enum { PW_SECTION_KEYS = 4, PW_SECTION_TABLES = 4 };

struct pw_section {
    const char *name;  /* for --section; also the key of the JSON report if `keys` has none */
    const char *title; /* of the text report */
    int flags;         /* PW_SECTION_... */

    /* Tables of the cluster file (enum pw_table_id), 0 after the last one. CSV shows all their
     * rows. Text shows them if there is no `print`, HTML if the section has no page (the first rows
     * in both), and JSON shows the rows of the first table if there are no `keys`. */
    int tables[PW_SECTION_TABLES + 1];

    bool (*is_of)(const struct pw_cluster *cluster);           /* NULL: every job has it */
    struct pw_lack (*lacks)(const struct pw_figures *figures); /* NULL: always has data */

    /* The `how` for jobs that were imported: who has only a trace cannot use options of a run.
     * NULL: there is none. */
    const char *how_imported;

    /* Whether a whole report says how to get what the section lacks. NULL: always. */
    bool (*is_missed)(const struct pw_figures *figures);

    /* The text below the title. Returns 0 or -ENOMEM. NULL: the columns of the tables. Not called
     * for a section that lacks its data. */
    int (*print)(const struct pw_page *page);

    struct pw_section_key keys[PW_SECTION_KEYS + 1]; /* none: the rows of the first table */

    /* CSV beside that of the tables. Returns 0 or -ENOMEM. */
    int (*csv)(FILE *out, const struct pw_figures *figures,
               const struct pw_report_options *options);
};

/* The sections in the order of the text report, and NULL after the last one. */
extern const struct pw_section *const pw_sections[];

/* Returns 1 when the section is in the list of names, or the list is NULL or "". */
int pw_section_is_wanted(const struct pw_section *section, const char *names);

struct pw_lack pw_section_lack(const struct pw_section *section, const struct pw_figures *figures);

/* Calls section->print or prints the rows of its tables. */
int pw_section_print(const struct pw_section *section, const struct pw_page *page);

/* Adds the keys of the section to the object. Returns 0, or -1 when memory is short. */
int pw_section_set_keys(const struct pw_section *section, const struct pw_figures *figures,
                        json_t *object);

/* The value of the key `name` of the JSON report, which must be one of a section. */
json_t *pw_section_key(const struct pw_figures *figures, const char *name);

/* ---- values of keys that the HTML report shows in another form ---- */

/* "collectives", with at most `most` rows: those that took most time. */
json_t *pw_json_collectives_most(const struct pw_figures *figures, size_t most);

/* "operators", with at most `most` (and PW_REPORT_JSON_OPERATORS) rows in each list. */
json_t *pw_json_operators_most(const struct pw_figures *figures, size_t most);

/* "gpu.ranks", all GPUs of a rank together, and "gpu.gpus", each GPU once. Always arrays. */
json_t *pw_json_gpu_ranks(const struct pw_figures *figures);
json_t *pw_json_gpu_list(const struct pw_figures *figures);

/* "steps.inferred": whether steps were found in the calls of the ranks; null: no step is known. */
json_t *pw_json_steps_inferred(const struct pw_figures *figures);

#endif
