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

/* The files of a rank while they are read. */
struct pw_mindinsight {
    struct pw_trace_window *window;
    struct pw_trace *trace;
    char directory[PW_ASCEND_PATH];
    int64_t rank;
    struct pw_mindinsight_step *steps; /* in the order of the file */
    size_t nsteps, capacity;
    char *problem; /* [size] what is damaged, if anything is */
    size_t size;
};

/* Writes the path of a file of the rank. Returns 1 if the file is there. */
int pw_mindinsight_has(const struct pw_mindinsight *m, enum pw_mindinsight_file file, char *out,
                       size_t size);

/* Says that a file is not read to its end, unless something was said before. */
void pw_mindinsight_complain(struct pw_mindinsight *m, const char *path, int err);

/* Read the kernels and the samples of queues. 0 or -ENOMEM; damage is said in m->problem. */
int pw_mindinsight_read_kernels(struct pw_mindinsight *m);
int pw_mindinsight_read_queues(struct pw_mindinsight *m);

#endif
