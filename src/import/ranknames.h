/* The ranks of files that do not say them: from their names, by one rule for all of them, or as the
 * user told. planner.c calls this once all heads have been read; docs/import.md has the rules as a
 * table. */
#ifndef PW_IMPORT_RANKNAMES_H
#define PW_IMPORT_RANKNAMES_H

#include "import/plan.h"

/* How the rank of a file is known. */
enum pw_rank_source {
    PW_RANK_TOLD,    /* the file says it */
    PW_RANK_OPTION,  /* --rank */
    PW_RANK_PATTERN, /* --rank-pattern */
    PW_RANK_PROCESS, /* --rank-by-pid */
    PW_RANK_WORD,    /* the number behind "rank", "r" or "worker" in its name */
    PW_RANK_END,     /* the number at the end of its name */
    PW_RANK_ONLY,    /* the only file of a program that is not distributed */
};

/* Gives each file its rank. Returns 0, or -EINVAL with one sentence in `problem`: a file has none,
 * two would have the same by --rank, or a name can be read in two ways. */
int pw_rank_names_find(struct pw_import_plan *plan, const struct pw_import_wish *wish,
                       char *problem, size_t size);

/* Returns the rule that gave ranks, in words for "ranks by ..."; NULL: the files say all of them.
 */
const char *pw_rank_names_rule(const struct pw_import_plan *plan);

/* Returns the number at the end of a file's name without its suffixes, 2 for "/x/_dump_2.json.gz";
 * -1: none, or it is that of "local_rank_2" or "node2". */
int64_t pw_rank_of_end(const char *path);

/* Whether the pattern is an extended regular expression with one group. Returns 0, or -EINVAL with
 * the reason in `problem`. */
int pw_rank_pattern_check(const char *pattern, char *problem, size_t size);

#endif
