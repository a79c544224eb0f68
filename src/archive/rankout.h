/* One rank of an archive: collects its records, and writes the events of its locations. write.c
 * creates one for each rank that is written, take.c adds records, and pw_otf2_rank_write() sorts
 * and writes them. Events of a location must rise in time, and Enter and Leave must nest: where
 * rows overlap, one of them is shortened, and counted. */
#ifndef PW_OTF2_RANKOUT_H
#define PW_OTF2_RANKOUT_H

#include "archive/defs.h"
#include "archive/sortedrecord.h"
#include "import/trace/sorter.h"
#include "timeline/rankview.h"

enum { PW_OTF2_OPS = 512 };

struct pw_otf2_rank {
    struct pw_otf2_defs *defs;
    const struct pw_rankview *view;
    int64_t nranks;
    int64_t from, until;    /* the part of the run to write, cluster clock */
    uint32_t group;         /* location group of the rank */
    struct pw_sorter *rows; /* struct pw_otf2_record */
    uint32_t *strings;      /* [view->nstrings] of the archive; UINT32_MAX: not yet known */
    uint32_t *comms;        /* [view->ncomms] of the archive */
    int32_t **numbers;      /* [view->ncomms] number in the communicator by world rank, or NULL */
    struct pw_row_member *members;
    size_t nmembers;
    struct pw_otf2_lane *lanes;
    size_t nlanes, capacity_of_lanes, last_lane;
    uint32_t devices[64], ndevices; /* location groups of devices */
    uint64_t requests;
    size_t first_metric;                 /* the first metric that the rank added */
    int64_t shortened, events, left_out; /* left_out: rows that no record of OTF2 can hold */
    int unread;                          /* 1: a table of the file cannot be read to its end */
    int err;
};

/* Creates the rank's state; `dir` is for temporary files. Returns 0 or -errno. */
int pw_otf2_rank_create(struct pw_otf2_rank *rank, const char *dir);
void pw_otf2_rank_destroy(struct pw_otf2_rank *rank);

/* Returns the number of a lane, which is added if it is new. */
int64_t pw_otf2_lane(struct pw_otf2_rank *rank, enum pw_otf2_lane_kind kind, int32_t device,
                     uint32_t number);

/* Adds records of all tables of the rank's file, and of its samples (take.c). */
void pw_otf2_take(struct pw_otf2_rank *rank);
void pw_otf2_take_samples(struct pw_otf2_rank *rank);

/* Writes the events of all lanes, and adds their locations to the definitions. Returns 0 or
 * -errno. */
int pw_otf2_rank_write(struct pw_otf2_rank *rank, OTF2_Archive *archive);

#endif
