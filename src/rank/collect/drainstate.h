/* The drain's struct and the functions that drain.c and drainend.c share; no other file includes
 * this. */
#ifndef PW_RANK_COLLECT_DRAINSTATE_H
#define PW_RANK_COLLECT_DRAINSTATE_H

#include "rank/collect/backlog.h"
#include "rank/collect/drain.h"
#include "rank/collect/drainedring.h"
#include "rank/collect/sparecore.h"

struct pw_drain {
    const char *segment_name;
    struct pw_segment_shared *segment;
    struct pw_journal *journal;
    struct pw_intake *intake;
    struct pw_backlog *backlog; /* records that wait for the intake; NULL: there is no backlog */
    struct pw_drained_ring rings[PW_MAX_RINGS];
    const struct pw_collector
        *collectors; /* modules whose `salvage` is called at the end; or NULL */
    struct pw_rankfile *limited_file;
    int64_t limit_bytes;   /* of file and journal; 0: no limit */
    bool is_full;          /* the limit was reached */
    bool needs_spare_core; /* the intake waits until a core is spare */
    struct pw_sparecore spare;
    int64_t taken;           /* records taken since the last look for a spare core */
    bool is_spare_in_load;   /* that look found one, although the program recorded much */
    bool may_process;        /* the intake may process records as soon as they are in the journal */
    bool is_filling;         /* a ring fills so fast that only the journal keeps up with it */
    bool must_go_on;         /* the last run left work that need not wait */
    bool keeps_unwritten;    /* records that the journal cannot take stay in their ring */
    int error;               /* the journal's error because of which records stay; 0: none */
    int readied;             /* number of rings that have memory */
    int64_t last_reading_ns; /* when the clocks were last read */
    int64_t emptied_ns;      /* when the rings were last emptied because it was time to */
    struct pw_record batch[PW_JOURNAL_BATCH];
};

/* Reads both clocks, and adds the reading to the journal and the intake. */
void pw_drain_read_clocks(struct pw_drain *drain);

/* Maps a ring if it is not mapped yet. Returns 0 or -errno, as pw_segment_map_ring(). */
int pw_drain_map_ring(struct pw_drain *drain, int index);

/* Number of rings that are or were used. */
int pw_drain_count_used(const struct pw_drain *drain);

/* Empties all rings once, and commits the journal. Returns the number of records taken. */
int64_t pw_drain_empty_all(struct pw_drain *drain);

/* Whether records must be dropped because of the limit. Once true, this stays true, so that the
 * file has no gaps between its records. */
bool pw_drain_is_full(struct pw_drain *drain);

/* Reads the call that the ring's thread is in. Returns false when it is in none. */
bool pw_drain_read_call(const struct pw_drain *drain, int index, struct pw_shown_call *out);

#endif
