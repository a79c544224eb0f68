/* A directory that MindSpore's or torch_npu's profiler leaves for one rank, NAME_TIME_ascend_ms or
 * NAME_TIME_ascend_pt: where its parts are, and which rank of which job it is of. planner.c looks
 * for such directories, ascend.c reads what is beside a trace. No events are read here. */
#ifndef PW_IMPORT_ASCEND_PROFILE_H
#define PW_IMPORT_ASCEND_PROFILE_H

#include "import/trace/format.h"

enum { PW_ASCEND_PATH = 4096 };

/* Profile directories, in the order of their names; free each, and the list. */
struct pw_ascend_found {
    char **paths;
    size_t n, capacity;
};

/* Looks for profiles in a directory and those below it: `path` may be one. 0 or -errno. */
int pw_ascend_find(const char *path, struct pw_ascend_found *out);

void pw_ascend_found_fini(struct pw_ascend_found *found);

/* The file that has the events of the profile: its trace, its database, or its table of kernels,
 * the first that is whole. 0, and `remark` says which is read and why, if another should have been,
 * or is ""; -ENOENT: it has none, and `remark` says what is missing, as the end of a sentence. */
int pw_ascend_main_file(const char *profile, char *out, size_t size, char *remark,
                        size_t remark_size);

/* The file that can be read in the place of one that turned out to be damaged. 0 or -ENOENT. */
int pw_ascend_other_file(const char *profile, const char *damaged, char *out, size_t size);

/* The profile that a file is in, if it is in its ASCEND_PROFILER_OUTPUT. 0 or -ENOENT. */
int pw_ascend_profile_of(const char *path, char *out, size_t size);

/* What the profile says besides events: rank, job, host, versions and groups. */
void pw_ascend_profile_read(const char *profile, struct pw_import_head *head);

#endif
