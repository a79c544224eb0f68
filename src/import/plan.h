/* The plan of an import: the files that the user named or that are in directories that the user
 * named, with their ranks and formats, sorted by rank and time and checked to be of one job.
 * cmd_import.c makes the plan before anything is written; import.c and matchops.c use it. Only the
 * heads of files are read here, not their events. */
#ifndef PW_IMPORT_PLAN_H
#define PW_IMPORT_PLAN_H

#include "import/trace/format.h"

struct pw_import_file {
    char *path;
    const struct pw_import_format *format;
    struct pw_import_head head;
    int64_t bytes;
    int rank_source; /* enum pw_rank_source (ranknames.h) */
};

struct pw_import_plan {
    struct pw_import_file *files; /* sorted by rank, then by the time of their first events */
    size_t nfiles, capacity;
    size_t kept_texts; /* bytes of texts that the heads keep */
    size_t *first;     /* [nranks + 1] index of each rank's first file, and nfiles */
    size_t nranks;
    int64_t world_size;
    char job[64]; /* the job id for the rank files, the same for all files of a job */
    /* Sentences on what is not imported, or is imported in spite of a doubt; nnotes also counts
     * those that there is no room for. */
    char notes[8][800];
    size_t nnotes;
    /* What msprof-analyze computed from the job's profiles, beside them or in their place; NULL:
     * none was given. */
    struct pw_msprof *msprof;
};

/* What the user asked for. */
struct pw_import_wish {
    char *const *paths; /* [npaths] files and directories */
    size_t npaths;
    const struct pw_import_format *format; /* NULL: find it from the file */
    int64_t rank;                          /* of the one file; -1: find it from the file */
    const char *rank_pattern; /* finds it in the paths; "" or NULL: by the rules of ranknames.h */
    int rank_by_pid;          /* 1: by the order of hosts and process ids in the names */
};

/* Makes the plan from the heads of the files (planner.c). Returns 0 (the caller calls
 * pw_import_plan_fini), or -errno with one sentence in `problem`. */
int pw_import_plan_make(const struct pw_import_wish *wish, struct pw_import_plan *out,
                        char *problem, size_t size);
void pw_import_plan_fini(struct pw_import_plan *plan);

/* Adds a sentence to the notes. */
__attribute__((format(printf, 2, 3))) void pw_import_plan_note(struct pw_import_plan *plan,
                                                               const char *format, ...);

/* Returns how many ranks of the job have no file, and writes them to `out` as "2-5, 7", cut with ",
 * ..." when they do not fit. */
int64_t pw_import_plan_missing(const struct pw_import_plan *plan, char *out, size_t size);

/* ---- for planner.c ---- */

/* Writes "PATH: WHAT" to `problem`; without `what`, what `err` means. Returns `err`. */
int pw_import_plan_fail(char *problem, size_t size, int err, const char *path, const char *what);

void pw_import_file_fini(struct pw_import_file *file);

/* Checks that all files are of one job, and sets the plan's job and world size. 0 or -EINVAL, with
 * one sentence in `problem`. */
int pw_import_plan_check_job(struct pw_import_plan *plan, char *problem, size_t size);

/* Sorts the files, which have their ranks, checks that no rank has files of two processes, and
 * finds the ranks of groups of which no file tells them. 0 or -errno, with one sentence in
 * `problem`. */
int pw_import_plan_sort(struct pw_import_plan *plan, char *problem, size_t size);

#endif
