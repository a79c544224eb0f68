/* What the readers of a MindInsight directory share: mindinsight.c, which knows whose a file is and
 * reads the steps, and the readers of kernels (mindinsight_kernels.c) and of queues
 * (mindinsight_queues.c), which come after it. Nothing here is for other formats. */
#ifndef PW_IMPORT_MINDINSIGHT_H
#define PW_IMPORT_MINDINSIGHT_H

#include "import/mindinsight_profile.h"
#include "import/trace.h"

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

/* Loads minddata_cpu_utilization_N.json (jansson); NULL: there is none, or it is damaged. Its path
 * is written to `path`, which may be NULL. */
struct json_t;
struct json_t *pw_mindinsight_load_cpu(const struct pw_mindinsight *m, char *path, size_t size);

/* The times of its samples, ns of the host's clock, -1: not possible, malloc'ed. Returns how many.
 */
size_t pw_mindinsight_stamps(const struct json_t *cpu, int64_t **out);

/* Read the kernels, the samples of queues and, after these, those of CPUs. 0 or -ENOMEM; damage is
 * said in m->problem. */
int pw_mindinsight_read_kernels(struct pw_mindinsight *m);
int pw_mindinsight_read_queues(struct pw_mindinsight *m);
int pw_mindinsight_read_cpu(struct pw_mindinsight *m);

#endif
