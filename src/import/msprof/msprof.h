/* What msprof-analyze computed from the profiles of a job, its cluster_analysis_output: each rank's
 * times of steps, of operations of HCCL, and of links. planner.c reads it once for all ranks,
 * before the rank files are made. Beside profiles it is compared with them, else rank files are
 * made of it (msprof.c). Its numbers are never mixed with those of profiles. */
#ifndef PW_MSPROF_H
#define PW_MSPROF_H

#include "import/trace/format.h"
#include "import/trace/trace.h"

struct pw_msprof_step {
    int32_t rank;
    struct pw_row_msprof_step row;
};

/* Texts belong to struct pw_msprof. */
struct pw_msprof_time {
    int32_t rank;
    const char *name, *group; /* hcom_allReduce__483_2_1; the number or name of its group */
    int64_t step, start_ns, elapsed_ns, transfer_ns, wait_ns, sync_ns; /* -1: not told */
};

struct pw_msprof_link {
    int32_t src, dst; /* ranks of the job */
    const char *name, *group, *transport;
    int64_t step, bytes, transfer_ns;
};

struct pw_msprof_host {
    int32_t rank;
    const char *name;
};

struct pw_msprof {
    char *directory;
    struct pw_msprof_step *steps; /* all by rank and step */
    size_t nsteps, steps_capacity;
    struct pw_msprof_time *times;
    size_t ntimes, times_capacity;
    struct pw_msprof_link *links; /* by source */
    size_t nlinks, links_capacity;
    struct pw_group *groups; /* whose ranks are told */
    size_t ngroups;
    struct pw_msprof_host *hosts;
    size_t nhosts, hosts_capacity;
    char **texts;
    size_t ntexts, texts_capacity;
    int64_t world_size; /* -1: not told */
    int64_t incomplete; /* rows without possible numbers */
    char files[300];    /* that were read */
    char problem[400];  /* what is damaged; "": nothing */
    int failed;         /* memory was short */
};

/* The cluster_analysis_output that a path is, has, or is a file of. 0 or -ENOENT. */
int pw_msprof_find(const char *path, char *directory, size_t size);

/* 1: the path is such a directory, or a file of one, and not just a directory that has one. */
int pw_msprof_is(const char *path);

/* Reads the directory. 0; -ENOENT: nothing in it can be read, and *out says why; or -ENOMEM. The
 * caller calls pw_msprof_destroy() whenever *out is not NULL. */
int pw_msprof_read(const char *directory, struct pw_msprof **out);
void pw_msprof_destroy(struct pw_msprof *msprof);

/* The ranks that it has anything of, sorted, malloc'ed. Returns how many; 0 also when memory is
 * short. */
size_t pw_msprof_ranks(const struct pw_msprof *msprof, int32_t **out);

/* ---- for its readers (msprof.c) ---- */

/* Add rows; names of operations have "@GROUP". A row whose numbers are not possible is only
 * counted. */
void pw_msprof_add_step(struct pw_msprof *msprof, const struct pw_msprof_step *step);
void pw_msprof_add_time(struct pw_msprof *msprof, const struct pw_msprof_time *time);
void pw_msprof_add_link(struct pw_msprof *msprof, const struct pw_msprof_link *link);

/* Says what is damaged in a file, unless something was said before. */
__attribute__((format(printf, 2, 3))) void pw_msprof_complain(struct pw_msprof *msprof,
                                                              const char *format, ...);

/* Whether the sums of imported profiles are those that msprof-analyze computed of them. import.c
 * compares each rank when its events are written; cmd_import.c adds up the results and prints one
 * line. Where definitions differ (docs/import.md), nothing is compared. */

/* What was compared. */
enum pw_msprof_kind {
    PW_MSPROF_OF_STEPS,
    PW_MSPROF_OF_OPERATIONS,
    PW_MSPROF_OF_LINKS,
    PW_MSPROF_KINDS
};

/* The largest difference. */
struct pw_msprof_difference {
    int64_t rank, step, other; /* step -1: none; other: where the link ends, -1: no link */
    char column[32];           /* as msprof-analyze calls it */
    int64_t theirs, ours;      /* ns, or bytes */
    int is_bytes;
};

struct pw_msprof_compared {
    int64_t values[PW_MSPROF_KINDS], different[PW_MSPROF_KINDS];
    int64_t crossed; /* steps that are not compared, because tasks cross their borders */
    int64_t unknown; /* of theirs: steps, sums and links that the imported profiles do not have */
    struct pw_msprof_difference worst;
};

/* Compares the rank of a trace whose windows are written. */
void pw_msprof_compare(const struct pw_trace *trace, struct pw_msprof_compared *out);

/* Adds the result of another rank. */
void pw_msprof_compare_add(struct pw_msprof_compared *sum, const struct pw_msprof_compared *one);

/* Writes the line, without what it is about. Returns `out`. */
const char *pw_msprof_compare_say(const struct pw_msprof_compared *sum, char *out, size_t size);

#endif
