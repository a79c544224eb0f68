/* Reports over a loaded cluster file: one function for each format. Called by cli/ (`profwrap
 * report`, and the end of `profwrap run`). They write to the given stream, and read no files except
 * those of the HTML page.
 *
 * The text report begins with the headline, then has the sections of sections/sections.c. The JSON
 * report is one object with the key `summary` and those of the sections (PW_SECTION_KEYS in
 * sections/section.h). It is always complete: `sections` and `top` apply to the text report only.
 * null means "not known".
 *   - epochs is null where the launcher started the ranks once;
 *   - hccl is null except for imported profiles of Ascend's devices; it has at most
 *     PW_REPORT_JSON_LINKS of the hccl.links_total links, first those that are slower than other
 *     links of their kind;
 *   - msprof, aicore and pipeline_cpu are what other profilers added up, null but in imported jobs;
 *     msprof.steps is null above PW_REPORT_JSON_CELLS rows, aicore has at most
 *     PW_REPORT_JSON_OPERATORS of them;
 *   - operators has at most PW_REPORT_JSON_OPERATORS rows in each grouping, most self time first;
 *   - data_pipeline, utilisation and memory are null when nothing was sampled; their series are
 *     null when they have more than PW_REPORT_JSON_CELLS points;
 *   - hosts has the slow hosts only;
 *   - links has the pairs of ranks that exchanged messages, most bytes first, at most
 *     PW_REPORT_JSON_LINKS of them; `score` is null unless the pair is slow;
 *   - both per_step arrays are null above PW_REPORT_JSON_STEPS steps, and
 *     step_trace.per_step[].ranks when steps x ranks is above PW_REPORT_JSON_CELLS: cluster.h5 has
 *     them in /steps and /step_trace. */
#ifndef PW_REPORT_REPORT_H
#define PW_REPORT_REPORT_H

#include <stddef.h>
#include <stdio.h>

#include "core/cluster.h"

enum { PW_REPORT_WIDTH = 100, PW_REPORT_TOP = 12 };
enum { PW_REPORT_JSON_OPERATORS = 10000 }; /* limit of rows in each list of operators */
enum { PW_REPORT_JSON_LINKS = 10000, PW_REPORT_JSON_STEPS = 20000, PW_REPORT_JSON_CELLS = 16384 };

enum { PW_REPORT_LINE = 1664 }; /* size of the line of pw_report_one_line() */

/* Writes the events of some ranks ("0-3,7") in a time of the cluster clock, as Trace Event JSON of
 * at most about `most_bytes`: report/ itself reads no rank files. Sets the time that the trace
 * calls 0, and the share of the events that it has. Returns 0, -ENOENT without rank files, or
 * another -errno. */
struct pw_report_window {
    const struct pw_cluster *cluster;
    const char *ranks;
    int64_t from, until, most_bytes; /* in */
    int keeps_files;                 /* in: as of struct pw_timeline_options */
    /* in: the times from..until of all windows that are asked for together, one after the other, so
     * that the files need not be read for each; 0: of this one only */
    const int64_t (*spans)[2];
    size_t nspans;
    int64_t base_ns; /* out */
    double share;    /* out */
    int unread;      /* out: rank files that could not be read */
};
enum { PW_REPORT_WINDOW_RANKS = 64 };
typedef int pw_report_timeline(void *context, FILE *out, struct pw_report_window *window);

/* Where the results of a run are, for the last lines of its summary. */
struct pw_report_place {
    const char *dir;       /* as a command names it */
    const char *page;      /* absolute path of report.html; NULL: it is not there */
    const char *link_host; /* the host in links for terminals; NULL: no such links */
};

struct pw_figures;

struct pw_report_options {
    const char *sections; /* names separated by commas; NULL or "": all */
    int top;              /* rows of each table; 0: all */
    const char *group_by; /* operators by: name (or NULL), shapes, stack, type, rank */
    const char *search;   /* only operators with this text; NULL or "": all */
    const char *sort;     /* column to sort operators by, largest first; NULL: self_total */
    int width;            /* width in columns, at least 60; 0: PW_REPORT_WIDTH */
    const struct pw_figures *figures;    /* of the cluster, for several reports on it; NULL: own */
    const struct pw_report_place *place; /* summary: NULL: unknown */
    int is_coloured;                     /* summary: for a terminal with colours */
    const char *page_dir;         /* HTML: the folder of page.html and of the files that it names */
    const char *d3;               /* HTML: the file of D3, version 5 or later */
    pw_report_timeline *timeline; /* HTML: called for each step of interest; NULL: without */
    void *timeline_context;
    int is_served; /* HTML: the page asks a server for timelines, so `timeline` is not called */
};

/* Writes the text report. Returns 0, -ENOMEM, -EINVAL for an unknown section, or -EIO when `out`
 * has an error. */
int pw_report_text(FILE *out, const struct pw_cluster *cluster,
                   const struct pw_report_options *options);

/* Writes the summary: what a person needs first when a run has ended, in at most 22 lines of
 * options->width. Returns 0, -ENOMEM, or -EIO when `out` has an error. */
int pw_report_summary(FILE *out, const struct pw_cluster *cluster,
                      const struct pw_report_options *options);

int pw_report_json(FILE *out, const struct pw_cluster *cluster,
                   const struct pw_report_options *options);

/* Writes the tables of the sections in options->sections as CSV, each after a line "# name" and a
 * line of column names. */
int pw_report_csv(FILE *out, const struct pw_cluster *cluster,
                  const struct pw_report_options *options);

/* Writes folded stacks, from which flame graphs are made: "outer;inner microseconds", one line for
 * each call path with self time, summed over ranks. */
int pw_report_folded(FILE *out, const struct pw_cluster *cluster,
                     const struct pw_report_options *options);

/* Writes an HTML file that needs no network: the template, D3 and the data (html/). Also returns
 * another -errno when a file of the template cannot be read. */
int pw_report_html(FILE *out, const struct pw_cluster *cluster,
                   const struct pw_report_options *options);

/* A timeline that the served page asks for: of one step, or of several that a chart shows as one.
 */
struct pw_report_question {
    int64_t first_step, last_step;
    int64_t rank; /* -1: none in particular */
};

/* Writes the timeline of the asked step as the JSON object that the page expects
 * (html/html_timeline.h), read by options->timeline. `figures` are those of the cluster. Of several
 * steps, it is the one in which the rank's own time was longest, or the longest step. Returns 0;
 * -ESRCH when there is no such step or rank, or no step whose times are known; -ENOENT without rank
 * files; or another -errno. */
struct pw_figures;
int pw_report_html_step(FILE *out, const struct pw_figures *figures,
                        const struct pw_report_options *options,
                        const struct pw_report_question *question);

enum { PW_REPORT_PROBLEM = 512 }; /* room for the sentence of pw_report_sections_check() */

/* Returns 0 when every name in the list is a section; else -EINVAL, with one sentence in
 * `problem`. */
int pw_report_sections_check(const char *sections, char *problem, size_t size);

/* Writes the headline on one line, without a newline. Returns 0 or -ENOMEM. */
int pw_report_headline(const struct pw_cluster *cluster, char *out, size_t size);

/* Writes the headline and, if there are highlights, the one with the largest loss, on one line: for
 * the end of a job's output, or a comment on the job. Returns 0 or -ENOMEM. */
int pw_report_one_line(const struct pw_cluster *cluster, char *out, size_t size);

/* Prints that line only. */
int pw_report_line(FILE *out, const struct pw_cluster *cluster,
                   const struct pw_report_options *options);

#endif
