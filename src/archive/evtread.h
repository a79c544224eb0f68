/* The events of one rank of an archive, which become rows of its file: calls of MPI, ranges and
 * steps. read.c calls pw_otf2_events_read() for each location of the rank, one after another, and
 * then pw_otf2_events_write() once. Rows are sorted before they are written: collectives are
 * numbered in the order in which the rank began them. */
#ifndef PW_OTF2_EVTREAD_H
#define PW_OTF2_EVTREAD_H

#include "archive/load.h"
#include "core/tables.h"
#include "import/sorter.h"
#include "rank/file/rankfile.h"

/* What no row can hold, or cannot be used. pw_otf2_lack_words() has the words for it. */
enum pw_otf2_lack {
    PW_OTF2_LACK_DEVICE,     /* events of devices */
    PW_OTF2_LACK_RECORD,     /* of kinds that no table has */
    PW_OTF2_LACK_NEST,       /* that do not nest, or have impossible times */
    PW_OTF2_LACK_COMPLETION, /* receives whose completion is not in the archive */
    PW_OTF2_LACK_COLLECTIVE, /* collectives without a communicator */
    PW_OTF2_LACKS,
};
const char *pw_otf2_lack_words(enum pw_otf2_lack lack);

struct pw_otf2_counts {
    int64_t events, calls, ranges, lacks[PW_OTF2_LACKS];
};

/* The most regions that are open at a time. */
enum { PW_OTF2_DEEPEST = 4096 };

/* A frame of the location that is read: a region that was entered and not left. */
struct pw_otf2_frame {
    int64_t start, sequence;
    const struct pw_otf2_known_region *region; /* NULL: not defined */
    uint32_t category, shapes;                 /* rows of /strings */
    uint8_t kind, recorded, has_step;
    uint8_t has_row, is_begun; /* a message or collective set `row`; the row is that of an
                                  operation that the call began */
    size_t first_done;         /* in the list of ended operations */
    struct pw_row_comm_event row;
};

struct pw_otf2_request {
    uint64_t id;
    int64_t begun_ns; /* time in the call that began it */
    int is_known;     /* its communicator and partner are */
    struct pw_row_comm_event row;
};

struct pw_otf2_events {
    const struct pw_otf2_archive *archive;
    struct pw_rankfile *file;
    int64_t rank;
    struct pw_otf2_counts counts;
    struct pw_sorter *calls, *ranges;
    int32_t *comm_rows; /* [comms.n + windows.n] row of /comms, or -1 */
    uint32_t *texts;    /* [texts.n] row of /strings, or 0 */
    uint32_t ntexts;
    struct pw_row_comms *comms;
    size_t ncomms;
    /* Of the location that is read. */
    uint16_t thread;
    struct pw_otf2_frame *frames;
    size_t depth;
    struct pw_otf2_request *open, *done; /* operations under way; ended in a call that is open */
    size_t nopen, capacity_of_open, ndone, capacity_of_done;
    uint32_t requests;
    int64_t first_ns, last_ns;
    int err;
};

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
