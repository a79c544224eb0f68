/* Reports over a loaded cluster file: one function for each format. Called by cli/ (`profwrap
 * report`, and the end of `profwrap run`). They write to the given stream, and read no file but
 * those of the HTML page.
 *
 * The text report begins with the one sentence that matters, then has these sections: job,
 * epochs, completeness, clocks, parts, steps, phases, operators, flops, gpu, kernels, collectives,
 * p2p, stragglers, whatif, efficiency, data_pipeline, utilisation, memory, advice.
 *
 * The JSON report is one object with the keys job, epochs, completeness, clock, parts, steps,
 * step_trace, collectives, stragglers, imbalances, roles, hosts, links, trends, network, whatif,
 * efficiency, operators, flops, gpu, kernels, data_pipeline, utilisation, memory, advice. It is
 * always complete: `sections` and `top` are for the text. null means "not known".
 *   - epochs is null where the launcher started the ranks once;
 *   - operators has at most PW_REPORT_JSON_OPERATORS rows in each grouping, most self time first;
 *   - data_pipeline, utilisation and memory are null where nothing was sampled, and their series
 *     where these have more than PW_REPORT_JSON_CELLS points;
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
enum { PW_REPORT_JSON_OPERATORS = 10000 }; /* rows of each of its lists */
enum { PW_REPORT_JSON_LINKS = 10000, PW_REPORT_JSON_STEPS = 20000, PW_REPORT_JSON_CELLS = 16384 };

enum { PW_REPORT_LINE = 1024 }; /* room for the line of pw_report_summary() */

struct pw_report_options {
    const char *sections; /* names separated by commas; NULL or "" for all */
    int top;              /* rows of each table; 0 for all */
    const char *group_by; /* operators by: name (or NULL), shapes, stack, type, rank */
    const char *search;   /* only operators with this text; NULL or "" for all */
    const char *sort;     /* operators by this column, most first; NULL: self_total */
    int width;            /* columns; 0 for PW_REPORT_WIDTH; at least 60 are used */
    const char *page_dir; /* HTML: where page.html and what it names are */
    const char *d3;       /* HTML: D3's file, version 5 or later */
};

/* 0, -ENOMEM, -EINVAL for an unknown section, or -EIO when `out` has an error. */
int pw_report_text(FILE *out, const struct pw_cluster *cluster,
                   const struct pw_report_options *options);
int pw_report_json(FILE *out, const struct pw_cluster *cluster,
                   const struct pw_report_options *options);

/* Tables, each after a line "# name" and with a line of column names: of the sections in
 * options->sections that have one. */
int pw_report_csv(FILE *out, const struct pw_cluster *cluster,
                  const struct pw_report_options *options);

/* Folded stacks, as flame graphs are made of: "outer;inner microseconds", one line for each call
 * path that has time of its own, summed over ranks. */
int pw_report_folded(FILE *out, const struct pw_cluster *cluster,
                     const struct pw_report_options *options);

/* One file that opens without a network: the template, D3 and the data (html/). Also other -errno
 * when a file of the template cannot be read. */
int pw_report_html(FILE *out, const struct pw_cluster *cluster,
                   const struct pw_report_options *options);

/* True when the section is in the list, or the list is NULL or "". */
int pw_report_is_wanted(const char *sections, const char *name);

/* 0 when every name of the list is a section's; else -EINVAL and one sentence in `problem`. */
int pw_report_sections_check(const char *sections, char *problem, size_t size);

/* The sentence that the text report begins with, on one line and without its end of line. 0 or
 * -ENOMEM. */
int pw_report_headline(const struct pw_cluster *cluster, char *out, size_t size);

/* That sentence and, where there are highlights, the one of the largest loss behind it, on one
 * line: for the end of a job's output, or its comment. 0 or -ENOMEM. */
int pw_report_summary(const struct pw_cluster *cluster, char *out, size_t size);

/* Prints that line and nothing else. */
int pw_report_line(FILE *out, const struct pw_cluster *cluster,
                   const struct pw_report_options *options);

#endif
