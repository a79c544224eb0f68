/* Which files are whose: the files and directories that the user named, sorted by rank and time,
 * and checked to be of one job. cmd_import.c makes the plan before anything is written; import.c
 * and matchops.c read it. Only the heads of files are read here, not their events. */
#ifndef PW_IMPORT_PLAN_H
#define PW_IMPORT_PLAN_H

#include "import/format.h"

struct pw_import_file {
    char *path;
    const struct pw_import_format *format;
    struct pw_import_head head;
    int64_t bytes;
};

struct pw_import_plan {
    struct pw_import_file *files; /* by rank, then by the time of their first events */
    size_t nfiles, capacity;
    size_t *first; /* [nranks + 1] of the files of each rank that there is */
    size_t nranks;
    int64_t world_size;
    char job[64]; /* the same for all files of a job */
};

/* What the user asked for. */
struct pw_import_wish {
    char *const *paths; /* [npaths] files, and directories to look into */
    size_t npaths;
    const struct pw_import_format *format; /* NULL: tell by the file */
    int64_t rank;                          /* of all files; -1: tell by the file */
};

/* Looks at files and at those in directories. 0, or -errno with one sentence in `problem`. */
int pw_import_plan_make(const struct pw_import_wish *wish, struct pw_import_plan *out,
                        char *problem, size_t size);
void pw_import_plan_fini(struct pw_import_plan *plan);

/* The rank in a file's name ("rank-3.json", "trace_rank3.json.gz"), or -1. */
int64_t pw_import_rank_of_name(const char *path);

/* "2-5, 7" of the ranks that are missing, cut with "…" where it does not fit; how many are. */
int64_t pw_import_plan_missing(const struct pw_import_plan *plan, char *out, size_t size);

#endif
