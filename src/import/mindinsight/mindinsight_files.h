/* The directories that MindSpore's profiler made before version 2.4, for MindInsight. mindinsight.c
 * knows whose a file is and reads the steps and the kernels; the reader of the data pipeline
 * (mindinsight_pipeline.c) comes after it. Nothing here is for other formats. */
#ifndef PW_IMPORT_MINDINSIGHT_FILES_H
#define PW_IMPORT_MINDINSIGHT_FILES_H

#include "import/ascend/ascend_profile.h"
#include "import/trace/trace.h"

/* ---- the files of a directory; planner.c looks for such directories ---- */

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

/* ---- the files of a rank while they are read ---- */

struct pw_mindinsight_step {
    int64_t start, end; /* ns */
};

/* A batch that was taken from the host's queue. */
struct pw_mindinsight_batch {
    int64_t step, time; /* index of its step; ns of the host's clock, -1: not told */
};

/* An operator of the data pipeline. */
enum { PW_MINDINSIGHT_OPERATORS = 32 };
struct pw_mindinsight_operator {
    int64_t id, workers; /* -1: not told */
    char name[48];       /* also of its queue, such as Batch_1 */
};

/* The files of a rank while they are read. */
struct pw_mindinsight {
    struct pw_trace_window *window;
    struct pw_trace *trace;
    char directory[PW_ASCEND_PATH];
    int64_t rank;
    struct pw_mindinsight_step *steps; /* in the order of the file */
    size_t nsteps, capacity;
    struct pw_mindinsight_batch *batches; /* read with the queues, as the operators are */
    size_t nbatches;
    struct pw_mindinsight_operator operators[PW_MINDINSIGHT_OPERATORS];
    size_t noperators;
    char *problem; /* [size] what is damaged, if anything is */
    size_t size;
};

/* Writes the path of a file of the rank. Returns 1 if the file is there. */
int pw_mindinsight_has(const struct pw_mindinsight *m, enum pw_mindinsight_file file, char *out,
                       size_t size);

/* Says that a file is not read to its end, unless something was said before. */
void pw_mindinsight_complain(struct pw_mindinsight *m, const char *path, int err);

/* The time on the clock of the steps at which the host's was `time`, ns; -1: not known. */
int64_t pw_mindinsight_convert(const struct pw_mindinsight *m, int64_t time);

/* Read the samples of queues and, after these, those of CPUs. 0 or -ENOMEM; damage is
 * said in m->problem. */
int pw_mindinsight_read_queues(struct pw_mindinsight *m);
int pw_mindinsight_read_cpu(struct pw_mindinsight *m);

#endif
