/* Makes rank files from an OTF2 archive: of profwrap, Score-P, EZTrace and others. Called by
 * cli/commands/otf2_main.c. Reads the archive, and writes rank files into a directory that exists;
 * never changes the archive. */
#ifndef PW_OTF2_READ_H
#define PW_OTF2_READ_H

#include <stddef.h>
#include <stdint.h>

#include "archive/load.h"
#include "core/tables.h"
#include "import/trace/sorter.h"
#include "rank/file/rankfile.h"

/* The calls of MPI of a rank, while an archive is read: messages and collectives become parts of
 * the row of the call that they are in, and operations under way are kept until they end. */

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

struct pw_otf2_keyed_call {
    int64_t key[3];
    struct pw_row_comm_event row;
};

struct pw_otf2_keyed_range {
    int64_t key[3];
    struct pw_row_range row;
};

struct pw_otf2_wish {
    const char *path; /* of the file traces.otf2 */
    const char *dir;  /* for the rank files */
    int level;        /* of compression */
};

struct pw_otf2_taken {
    struct pw_otf2_counts counts;
    int64_t ranks, locations, damaged; /* damaged: locations that were not read to their end */
    char job[32];                      /* an id of the archive */
    char problem[512];                 /* why, when it fails */
};

/* Loads the definitions; then result->job is set. Returns 0 or -errno after it has set the problem.
 * The caller closes the archive in any case. */
int pw_otf2_open(const struct pw_otf2_wish *wish, struct pw_otf2_archive *archive,
                 struct pw_otf2_taken *result);

/* Reads all ranks, one after another. Returns as pw_otf2_open(). */
int pw_otf2_take_all(struct pw_otf2_archive *archive, const struct pw_otf2_wish *wish,
                     struct pw_otf2_taken *result);

#endif
