/* The calls of MPI of a rank, while an archive is read: messages and collectives become parts of
 * the row of the call that they are in, and operations under way are kept until they end. Called by
 * evtread.c; rows are written by pw_otf2_events_write(), in no other place. */
#ifndef PW_OTF2_CALLROWS_H
#define PW_OTF2_CALLROWS_H

#include "archive/evtread.h"
#include "core/tables.h"

struct pw_otf2_keyed_call {
    int64_t key[3];
    struct pw_row_comm_event row;
};

struct pw_otf2_keyed_range {
    int64_t key[3];
    struct pw_row_range row;
};

/* Returns the row of /strings of a string of the archive. */
uint32_t pw_otf2_row_text(struct pw_otf2_events *events, uint32_t text);

/* Begin and end a region; the end adds the call's row. */
void pw_otf2_call_begin(struct pw_otf2_events *events, struct pw_otf2_frame *frame);
void pw_otf2_call_end(struct pw_otf2_events *events, struct pw_otf2_frame *frame, int64_t end);

/* Ends the operations that are still under way, when a location's events end. */
void pw_otf2_calls_forget(struct pw_otf2_events *events);

/* Registers the callbacks of MPI's events. */
void pw_otf2_calls_register(OTF2_EvtReaderCallbacks *on);

#endif
