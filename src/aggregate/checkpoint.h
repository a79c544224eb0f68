/* What a merge knows when everything is matched, kept beside its output until that is written: a
 * merge that was killed continues from there if as many processes merge the same files. Called by
 * aggregate.c on all processes together: load when the collectives are numbered, save after
 * matching, remove when the output is written. Each process has a file of its own. A file that is
 * another user's, cut off or of other inputs is ignored. */
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

/* Keeps it. What cannot be written is not kept; nor is that of a run so short that matching it
 * again takes no time. Collective over job->comm. */
void pw_checkpoint_save(const char *output, struct pw_job *job, struct pw_matched *matched);

/* 1 when it was there, on all processes, and fits: `matched` and the job are then as they were. 0
 * leaves both alone. -EIO when it could not be read to its end. `matched->instances` are numbered,
 * `matched->parts` begun. Collective. */
int pw_checkpoint_load(const char *output, struct pw_job *job, struct pw_matched *matched);

/* Collective. */
void pw_checkpoint_remove(const char *output, const struct pw_procs *procs);

#endif
