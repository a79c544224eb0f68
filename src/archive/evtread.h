/* The events of one rank of an archive, which become rows of its file: calls of MPI, ranges and
 * steps. read.c calls pw_otf2_events_read() for each location of the rank, one after another, and
 * then pw_otf2_events_write() once. Rows are sorted before they are written: collectives are
 * numbered in the order in which the rank began them. */
#ifndef PW_OTF2_EVTREAD_H
#define PW_OTF2_EVTREAD_H

#include "archive/callrows.h"

/* Returns 0 or -ENOMEM; `dir` is for temporary files. */
int pw_otf2_events_create(struct pw_otf2_events *events, const char *dir);
void pw_otf2_events_destroy(struct pw_otf2_events *events);

/* Reads a location's events. Returns 0; -EINVAL: damaged, what comes before it was taken; -ENOMEM.
 */
int pw_otf2_events_read(struct pw_otf2_events *events,
                        const struct pw_otf2_known_location *location);

/* Writes the rows. Returns 0 or -errno. */
int pw_otf2_events_write(struct pw_otf2_events *events, const char *dir);

#endif
