/* The directories that MindSpore's profiler made before version 2.4, for MindInsight: which files
 * they have for each rank. plan.c looks for such directories, mindinsight.c reads the files of a
 * rank. No events are read here. */
#ifndef PW_IMPORT_MINDINSIGHT_PROFILE_H
#define PW_IMPORT_MINDINSIGHT_PROFILE_H

#include "import/ascend_profile.h"

/* The files of a rank that are read, each with the rank's number in its name. */
enum pw_mindinsight_file {
    PW_MINDINSIGHT_STEPS,    /* step_trace_raw_N_detail_time.csv */
    PW_MINDINSIGHT_TIMELINE, /* output_timeline_data_N.txt */
    PW_MINDINSIGHT_AICPU,    /* aicpu_intermediate_N.csv */
    PW_MINDINSIGHT_GPU,      /* activity_execute_timestamp_N.txt */
    PW_MINDINSIGHT_SENT,     /* device_queue_profiling_N.txt */
    PW_MINDINSIGHT_FED,      /* dataset_iterator_profiling_N.txt */
    PW_MINDINSIGHT_GOT,      /* minddata_aicpu_N.txt */
    PW_MINDINSIGHT_GOT_GPU,  /* minddata_getnext_profiling_N.txt */
    PW_MINDINSIGHT_PIPELINE, /* minddata_pipeline_raw_N.csv */
    PW_MINDINSIGHT_DETAIL,   /* aicore_intermediate_N_detail.csv */
    PW_MINDINSIGHT_TYPES,    /* aicore_intermediate_N_type.csv */
    PW_MINDINSIGHT_FILES
};

/* Returns which of the files a path names, and sets the number in it; PW_MINDINSIGHT_FILES: none.
 */
enum pw_mindinsight_file pw_mindinsight_file_of(const char *path, int64_t *rank);

/* Writes the path of a rank's file in a directory. 0 or -ENAMETOOLONG. */
int pw_mindinsight_path(const char *directory, enum pw_mindinsight_file file, int64_t rank,
                        char *out, size_t size);

/* The directory of a path, "." without one. 0 or -ENAMETOOLONG. */
int pw_mindinsight_directory(const char *path, char *out, size_t size);

/* Returns the first of the files that the directory has for the rank, by which the rank is named;
 * PW_MINDINSIGHT_FILES: it has none. */
enum pw_mindinsight_file pw_mindinsight_main(const char *directory, int64_t rank);

/* Looks for the main files of all ranks in a directory and those below it. 0 or -errno. `out` must
 * be passed to pw_ascend_found_fini(). */
int pw_mindinsight_find(const char *path, struct pw_ascend_found *out);

#endif
