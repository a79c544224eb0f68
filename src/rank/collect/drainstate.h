/* What the parts of the drain share; see drain.h. */
#ifndef PW_RANK_COLLECT_DRAINSTATE_H
#define PW_RANK_COLLECT_DRAINSTATE_H

#include "rank/collect/backlog.h"
#include "rank/collect/drain.h"
#include "rank/collect/ringpage.h"
#include "rank/journal/losstally.h"

struct pw_drained_ring {
    struct pw_ring_shared *shared; /* NULL until mapped */
    uint64_t records;              /* its capacity, as it was mapped */
    uint64_t tail;
    struct pw_losstally unkept;    /* when the file was full */
    struct pw_losstally unwritten; /* by the collector before this one */
};

struct pw_drain {
    const char *segment_name;
    struct pw_segment_shared *segment;
    struct pw_journal *journal;
    struct pw_intake *intake;
    struct pw_backlog *backlog; /* before the intake; NULL: none */
    struct pw_drained_ring rings[PW_MAX_RINGS];
    const struct pw_collector *collectors; /* whose salvage is used; NULL: nobody's */
    struct pw_rankfile *limited_file;
    int64_t limit_bytes;      /* 0: none */
    bool is_full, is_filling; /* pw_drain_is_filling() */
    bool keeps_unwritten;     /* what the journal cannot take stays in its ring */
    int error;                /* the journal's, since when that is so */
    int readied;              /* rings that have memory */
    int64_t last_reading_ns;  /* INT64_MIN before the first */
    struct pw_record batch[PW_JOURNAL_BATCH];
};

/* Empties all rings once, and commits the journal; the records taken. */
int64_t pw_drain_empty_all(struct pw_drain *drain);

/* Rings that are or were used. */
int pw_drain_count_used(const struct pw_drain *drain);

/* Maps a ring unless it is mapped. 0 or -errno, as pw_segment_map_ring(). */
int pw_drain_map_ring(struct pw_drain *drain, int index);

/* Puts a reading of both clocks into journal and intake. */
void pw_drain_read_clocks(struct pw_drain *drain);

/* The call that the ring's thread is in; false when there is none. */
bool pw_drain_read_call(const struct pw_drain *drain, int index, struct pw_shown_call *out);

#endif
