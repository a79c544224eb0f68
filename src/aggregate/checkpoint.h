/* The checkpoint of a merge: its state after matching, kept beside the output until the output is
 * written. A merge that was killed continues from the checkpoint if the same number of processes
 * merges the same files. Called by aggregate.c on all processes together: load when the collectives
 * are numbered, save after matching, remove when the output is written. Each process has a file of
 * its own. A file of another user or of other inputs, or a truncated one, is ignored. */
#ifndef PW_AGGREGATE_CHECKPOINT_H
#define PW_AGGREGATE_CHECKPOINT_H

#include "aggregate/clocks/alignment.h"
#include "aggregate/match/messages.h"

struct pw_matched {
    struct pw_instances instances;
    struct pw_alignment clocks;
    struct pw_messages messages;
    struct pw_graph_parts parts;
};

/* Saves the checkpoint, except for a small job. Without room on the disk there is no checkpoint,
 * and no error. Collective over job->comm. */
void pw_checkpoint_save(const char *output, struct pw_job *job, struct pw_matched *matched);

/* Loads the checkpoint. Returns 1 when all processes have a valid one: `matched` and the job are
 * then as they were saved. Returns 0 when not, and changes neither; -EIO when a file could not be
 * read to its end. The caller has numbered `matched->instances` and begun `matched->parts`.
 * Collective. */
int pw_checkpoint_load(const char *output, struct pw_job *job, struct pw_matched *matched);

/* Deletes the checkpoint. Collective. */
void pw_checkpoint_remove(const char *output, const struct pw_procs *procs);

#endif
