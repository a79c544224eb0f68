/* The definitions of an OTF2 archive while it is being written: strings, regions, communicators,
 * locations and metrics. take.c and rankout.c add them as they meet them; write.c writes them when
 * all events are written, because OTF2 keeps them in a file of its own. Nothing is written before
 * pw_otf2_defs_write(). When memory is short, `err` is set, and numbers that were returned must not
 * be used. */
#ifndef PW_OTF2_DEFS_H
#define PW_OTF2_DEFS_H

#include <stdint.h>

#include <otf2/otf2.h>

#include "archive/names.h"
#include "core/cluster.h"
#include "core/hash.h"
#include "core/tables.h"

struct pw_otf2_region {
    uint32_t name; /* string */
    OTF2_RegionRole role;
    OTF2_Paradigm paradigm;
    uint32_t description; /* string */
};

/* A communicator, or a window of MPI. */
struct pw_otf2_comm {
    uint64_t uid;
    uint32_t name; /* string */
    uint8_t source;
    uint32_t window; /* 1 + number of the window; 0: it is none */
    int32_t size;
    int32_t *members; /* [size] world ranks; -1: not known */
};

struct pw_otf2_location {
    uint64_t ref, events;
    uint32_t name, group; /* string, location group */
    OTF2_LocationType type;
};

/* A location group: a rank, or a device that a rank uses. */
struct pw_otf2_group {
    uint32_t name, host, creator; /* string, number of the host, location group */
    OTF2_LocationGroupType type;
    int64_t clock_error_ns;
};

/* A class of metrics, which has one member; or an instance of a class: values that a location
 * recorded for a location group. OTF2 numbers both together. */
struct pw_otf2_metric {
    uint8_t is_instance;
    uint32_t name, unit; /* strings */
    OTF2_MetricMode mode;
    OTF2_Type type;
    uint32_t metric, group; /* of an instance: its class, and the group */
    uint64_t location;
};

/* A time at which the error of a rank's clock map is known. */
struct pw_otf2_clock {
    uint32_t rank;
    uint64_t time; /* cluster clock */
    int64_t error_ns;
};

#define PW_OTF2_LIST(type, name) \
    type *name;                  \
    size_t n##name, capacity_of_##name

struct pw_otf2_defs {
    PW_OTF2_LIST(char *, strings);
    PW_OTF2_LIST(struct pw_otf2_region, regions);
    PW_OTF2_LIST(struct pw_otf2_comm, comms);
    PW_OTF2_LIST(struct pw_otf2_location, locations);
    PW_OTF2_LIST(struct pw_otf2_group, groups);
    PW_OTF2_LIST(struct pw_otf2_metric, metrics);
    PW_OTF2_LIST(uint32_t, hosts);              /* strings */
    PW_OTF2_LIST(struct pw_otf2_clock, clocks); /* by rank and time */
    struct pw_hash string_hash, region_hash, comm_hash;
    uint32_t windows;    /* numbers given out */
    int64_t first, last; /* times of events, ns */
    int err;
};

void pw_otf2_defs_fini(struct pw_otf2_defs *defs);

/* Return the number of the string, region, host, metric or communicator, which is added if it is
 * new. */
uint32_t pw_otf2_string(struct pw_otf2_defs *defs, const char *text);
uint32_t pw_otf2_region(struct pw_otf2_defs *defs, const char *name, OTF2_RegionRole role,
                        OTF2_Paradigm paradigm);
uint32_t pw_otf2_host(struct pw_otf2_defs *defs, const char *name);
uint32_t pw_otf2_metric(struct pw_otf2_defs *defs, const char *name, const char *unit,
                        OTF2_MetricMode mode, OTF2_Type type);
uint32_t pw_otf2_comm(struct pw_otf2_defs *defs, uint64_t uid, uint8_t source);

/* Returns the number of the window that this communicator is, which is now known. */
uint32_t pw_otf2_window(struct pw_otf2_defs *defs, uint32_t comm);

/* Add a definition, and return its number. */
uint32_t pw_otf2_add_group(struct pw_otf2_defs *defs, const struct pw_otf2_group *group);
uint32_t pw_otf2_add_location(struct pw_otf2_defs *defs, const struct pw_otf2_location *location);
void pw_otf2_add_clock(struct pw_otf2_defs *defs, const struct pw_otf2_clock *clock);
uint32_t pw_otf2_add_instance(struct pw_otf2_defs *defs, uint32_t metric, uint32_t group,
                              uint64_t location);

/* Writes all definitions. `nranks` location groups must come first, each with its main location
 * pw_otf2_main_location(). Returns OTF2's first error. */
OTF2_ErrorCode pw_otf2_defs_write(struct pw_otf2_defs *defs, OTF2_Archive *archive,
                                  const struct pw_cluster *cluster, size_t nranks);

/* The location of a rank's thread or other lane, by the convention of Score-P. */
static inline uint64_t pw_otf2_location_ref(int64_t rank, uint64_t lane)
{
    return lane << 32 | (uint32_t)rank;
}

#endif
