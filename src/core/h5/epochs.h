/* Reads the rank files of all epochs of a job, and determines what ended each epoch, how long the
 * restarts took, and which steps were kept. An epoch is the time from the start of the ranks to
 * their end. A job has several epochs when the launcher restarted the ranks (core/epochdir.h).
 * Called by the merge, for /epochs, and at the end of a run. Tool code; prints nothing. */
#ifndef PW_CORE_H5_EPOCHS_H
#define PW_CORE_H5_EPOCHS_H

#include <stddef.h>

#include "core/tables.h"

/* Reads the epochs, in order, of the job to which the epoch in `dir` belongs. For a job without
 * restarts *n is 0. Epochs whose files are of another job are ignored. *rows is malloc'ed. Returns
 * 0 or -ENOMEM. */
int pw_epochs_read(const char *dir, struct pw_row_c_epoch **rows, size_t *n);

/* A step that all ranks of an epoch ended, and its mean duration over the ranks. */
struct pw_epoch_step {
    int64_t step, duration_ns;
};

struct pw_epoch_steps {
    struct pw_epoch_step *v; /* sorted by number */
    size_t n;
    int64_t first; /* the first step that any rank began; -1: none */
    int is_whole;  /* 0: some steps were not recorded */
};

/* Fills the fields that relate epochs to each other: restart_ns, begins_anew, and which steps were
 * kept. A pure function. */
void pw_epochs_relate(struct pw_row_c_epoch *rows, const struct pw_epoch_steps *steps, size_t n);

#endif
