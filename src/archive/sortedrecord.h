/* What take.c makes of the rows of a rank's file, and what rankout.c writes in the order of time:
 * an interval with what happens at its ends, or a single event. Records are sorted by
 * import/trace/sorter.c, so they begin with its key and have a size that is a multiple of 8. Types
 * only. */
#ifndef PW_OTF2_SORTEDRECORD_H
#define PW_OTF2_SORTEDRECORD_H

#include <stdint.h>

enum pw_otf2_what {
    PW_OTF2_PLAIN, /* an interval: Enter and Leave, and what follows between them */
    PW_OTF2_SEND,
    PW_OTF2_RECV,
    PW_OTF2_ISEND,
    PW_OTF2_IRECV_REQUEST,
    PW_OTF2_COLLECTIVE,
    PW_OTF2_COLLECTIVE_REQUEST,
    PW_OTF2_PUT,
    PW_OTF2_GET,
    PW_OTF2_ATOMIC,
    PW_OTF2_FENCE,
    PW_OTF2_LOCK,
    PW_OTF2_UNLOCK,
    PW_OTF2_POINTS, /* those that follow are single events */
    PW_OTF2_RECV_PART,
    PW_OTF2_ISEND_COMPLETE,
    PW_OTF2_IRECV,
    PW_OTF2_COLLECTIVE_COMPLETE,
    PW_OTF2_CANCELLED,
    PW_OTF2_VALUE,
    PW_OTF2_OFF,
    PW_OTF2_ON,
};

/* What an Enter, Leave or value has besides: bits of `has`. */
enum {
    PW_OTF2_HAS_KIND = 1,
    PW_OTF2_HAS_CATEGORY = 2,
    PW_OTF2_HAS_SHAPES = 4,
    PW_OTF2_HAS_SEQUENCE = 8,
    PW_OTF2_HAS_RECORDED = 16,
    PW_OTF2_HAS_REASON = 32, /* in `kind`; with it LOST, in `number` */
    PW_OTF2_HAS_BYTES = 64,  /* in `sent` */
    PW_OTF2_IS_CALL = 128,   /* of MPI: others are shortened for it, where two overlap */
    PW_OTF2_IS_REAL = 256,   /* of a value: `number` has the bits of a double */
};

struct pw_otf2_record {
    int64_t key[3]; /* lane; time; events before intervals, and longer ones before shorter ones */
    int64_t end;    /* of an interval */
    uint16_t what;  /* enum pw_otf2_what */
    uint16_t has;
    uint32_t region; /* of a value: its metric's instance */
    uint32_t comm;   /* of RMA: the window */
    uint32_t partner, tag;
    uint32_t collective;             /* OTF2_CollectiveOp; of an atomic: OTF2_RmaAtomicType */
    uint32_t kind, category, shapes; /* strings */
    uint64_t sent, received, request;
    int64_t number; /* a sequence, or a value */
};

/* One sequence of events: a thread, a stream of a device, operations of a communicator, samples. */
struct pw_otf2_lane {
    uint8_t kind; /* enum pw_otf2_lane_kind */
    int32_t device;
    uint32_t number;
};

enum pw_otf2_lane_kind {
    PW_OTF2_THREAD,  /* of this number */
    PW_OTF2_STREAM,  /* of this device */
    PW_OTF2_LIBRARY, /* operations of NCCL or HCCL on the communicator in this row of /comms */
    PW_OTF2_SAMPLES,
};

#endif
