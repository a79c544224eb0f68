/* A directory that MindSpore's or torch_npu's profiler leaves for one rank, NAME_TIME_ascend_ms or
 * NAME_TIME_ascend_pt: where its parts are, and which rank of which job it is of. plan.c looks for
 * such directories, ascend.c reads what is beside a trace. No events are read here. */
#ifndef PW_IMPORT_ASCEND_PROFILE_H
#define PW_IMPORT_ASCEND_PROFILE_H

#include "import/format.h"

enum { PW_ASCEND_PATH = 4096 };

/* Profile directories, in the order of their names; free each, and the list. */
struct pw_ascend_found {
    char **paths;
    size_t n, capacity;
};

/* Looks for profiles in a directory and those below it: `path` may be one. 0 or -errno. */
int pw_ascend_find(const char *path, struct pw_ascend_found *out);
void pw_ascend_found_fini(struct pw_ascend_found *found);

/* The file that has the events of the profile. 0; -ENOENT: it has none, and *why says what is
 * missing, as the end of a sentence. */
int pw_ascend_main_file(const char *profile, char *out, size_t size, const char **why);

/* The profile that a file is in, if it is in its ASCEND_PROFILER_OUTPUT. 0 or -ENOENT. */
int pw_ascend_profile_of(const char *path, char *out, size_t size);

/* Whether a path is a file that msprof-analyze computed from all profiles of a job, or a directory
 * that is or has its cluster_analysis_output. The words follow the path in a sentence. */
int pw_ascend_is_analysis(const char *path);
/* Writes what the cluster_analysis_output in this directory has: names of files, and tables of its
 * database. */
void pw_ascend_analysis_list(const char *path, char *out, size_t size);
#define PW_ASCEND_ANALYSIS_WORDS                                                            \
    "is what msprof-analyze computed from the profiles of a job: give these profiles, the " \
    "*_ascend_pt or *_ascend_ms directories"

/* What the profile says besides events: rank, job, host, versions and groups. */
void pw_ascend_profile_read(const char *profile, struct pw_import_head *head);

/* Adds a group of which the profile does not tell the ranks, if it is not there: plan.c finds them.
 */
void pw_ascend_add_group(struct pw_import_head *head, const char *name);

/* The number that stands for a group's name in events. */
void pw_ascend_group_number(const char *name, char *out, size_t size);

#endif
