/* The definitions of an archive that is read: ranks and their locations, regions, communicators,
 * windows and metrics. read.c loads them and looks them up. References of OTF2 may be
 * any numbers, so all lookups are by reference. Nothing of an archive is trusted: a lookup of what
 * is not defined gives NULL or -1. */
#ifndef PW_OTF2_LOAD_H
#define PW_OTF2_LOAD_H

#include <stddef.h>
#include <stdint.h>

#include <otf2/otf2.h>

#include "core/hash.h"

/* A list of definitions, found by reference. Each begins with its reference. */
struct pw_otf2_table {
    char *rows;
    size_t size, n, capacity;
    struct pw_hash hash;
};

struct pw_otf2_text {
    uint64_t ref;
    char *text;
};

struct pw_otf2_known_region {
    uint64_t ref;
    uint32_t name, op; /* string; the MPI function, or PW_OP_None */
    uint8_t paradigm, role;
};

struct pw_otf2_known_group {
    uint64_t
        ref; /* and COMM_LOCATIONS in bit 32: EZTrace gives such a group the number of another */
    uint8_t type, paradigm;
    uint32_t n;
    uint64_t *members;
};

struct pw_otf2_known_comm {
    uint64_t ref;
    uint32_t name;
    uint64_t groups[2]; /* of an intercommunicator both sides; else the second is undefined */
    int32_t *members;   /* [n] world ranks; -1: not known. Of MPI_COMM_SELF none */
    int32_t n;
    uint8_t is_self;
};

struct pw_otf2_known_location {
    uint64_t ref, events; /* events: as the archive says; EZTrace's are wrong */
    uint32_t name, group;
    uint8_t type;
    int32_t rank; /* -1: of no rank */
};

struct pw_otf2_known_process {
    uint64_t ref;
    uint32_t name, node, creator;
    uint8_t type;
    int32_t rank;
};

struct pw_otf2_known_node {
    uint64_t ref;
    uint32_t name, parent;
    uint8_t is_host;
};

struct pw_otf2_known_window {
    uint64_t ref;
    uint32_t name, comm;
};

struct pw_otf2_known_member {
    uint64_t ref;
    uint32_t name;
};

struct pw_otf2_known_metric {
    uint64_t ref;
    uint32_t metric; /* of an instance its class, else undefined */
    uint32_t member; /* of a class its first member */
    uint32_t members;
};

struct pw_otf2_archive {
    OTF2_Reader *reader;
    struct pw_otf2_table texts, regions, groups, comms, locations, processes, nodes, windows,
        members, metrics, attributes;
    uint64_t resolution, offset, since; /* clock: ticks/s, first tick, Unix time of it */
    int64_t nranks;
    int is_ours, is_eztrace;
    int err;
    char creator[64];
};

/* Opens an archive and loads its definitions. Returns 0; -EINVAL when it is none or is damaged, and
 * pw_otf2_error() may say why; or -ENOMEM. The caller closes it in any case. */
int pw_otf2_load(const char *path, struct pw_otf2_archive *out);
void pw_otf2_close(struct pw_otf2_archive *archive);

const void *pw_otf2_find(const struct pw_otf2_table *table, uint64_t ref);

/* Returns the text of a string, "" when there is none. */
const char *pw_otf2_text(const struct pw_otf2_archive *archive, uint64_t ref);

/* Returns the time in ns. INT64_MIN: not possible. */
int64_t pw_otf2_time(const struct pw_otf2_archive *archive, uint64_t ticks);

/* Returns the name of the rank's host; "": not known. */
const char *pw_otf2_hostname(const struct pw_otf2_archive *archive, int64_t rank);

#endif
