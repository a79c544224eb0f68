/* Reads the tables of ranks, and passes their rows to a writer of Trace Event JSON or of Perfetto's
 * protobuf (writer.h). Called by timeline.c: pw_chrome_begin once, pw_chrome_rank for each rank,
 * then pw_chrome_end. Opens no file. */
#ifndef PW_TIMELINE_CHROME_H
#define PW_TIMELINE_CHROME_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/cluster.h"
#include "timeline/rankview.h"
#include "timeline/writer.h"

/* The arrows of a timeline, from a send to its receive and from the last rank of a collective to
 * the ranks that waited. Collects the ends of arrows rank by rank, and pairs them after the last
 * rank. Keeps the ends in memory; draws and writes nothing itself. */

struct pw_arrow_end {
    uint64_t key; /* the same for both ends of an arrow */
    int64_t time; /* ns, cluster clock */
    int32_t rank;
    uint32_t track;
    uint8_t is_head; /* 1: the arrow points to this end; 0: it begins here */
    uint8_t is_collective;
};

struct pw_arrows {
    struct pw_arrow_end *ends;
    size_t n, capacity;
    size_t left_out; /* ends that were not added */
};

/* Adds a copy of the end. When there are `most` ends or memory is short, counts it in left_out
 * instead. */
void pw_arrows_add(struct pw_arrows *arrows, const struct pw_arrow_end *end, size_t most);

/* Calls `draw` for each head and the tail that has its key and is not later; other ends are
 * ignored. Returns the number of arrows. */
typedef void pw_arrow_drawer(void *context, int64_t number, const struct pw_arrow_end *tail,
                             const struct pw_arrow_end *head);
int64_t pw_arrows_draw(struct pw_arrows *arrows, pw_arrow_drawer *draw, void *context);

void pw_arrows_fini(struct pw_arrows *arrows);

/* A message that a rank sent or received, before it is numbered. MPI matches the messages of one
 * communicator, sender, receiver and tag (here: a stream) in the order in which they were posted
 * (MPI-3.1, 3.5), so the number of a message within its stream identifies both ends. */
struct pw_message_end {
    uint64_t stream;         /* hash of communicator, sender, receiver and tag */
    int64_t posted;          /* ns, the rank's clock; the order within the stream */
    struct pw_arrow_end end; /* its key is set by pw_message_ends_number */
    uint8_t is_shown;
};

struct pw_message_ends {
    struct pw_message_end *ends;
    size_t n, capacity;
    int is_too_many; /* some are missing, so the numbers are unknown: draw no message of the rank */
};

void pw_message_ends_add(struct pw_message_ends *messages, const struct pw_message_end *end);

/* Numbers the messages of a rank within their streams, adds the shown ones to `arrows`, and empties
 * `messages` for the next rank. */
void pw_message_ends_number(struct pw_message_ends *messages, struct pw_arrows *arrows,
                            size_t most);

void pw_message_ends_fini(struct pw_message_ends *messages);

/* Makes slices of the scopes of operators, one lane for each level: operators that follow each
 * other below the same scope ("Default/network/conv1/Conv2D-op1": below "Default", "network" and
 * "conv1") are in one slice of it. No I/O. */

enum { PW_SCOPE_LEVELS = 32 };

struct pw_scoped {
    int64_t start, end;
    const char *name; /* with its scope; must live as long as the list */
};

struct pw_scopes {
    struct pw_scoped *v;
    size_t n, capacity;
    int64_t *breaks; /* times at which all slices end: the starts of steps */
    size_t nbreaks, breaks_capacity;
    int failed; /* 1: memory was short, and operators are missing */
};

/* Adds an operator; one whose name has no scope is left out. Scopes are separated by '/', or by '.'
 * as in the names of PyTorch's modules. */
void pw_scopes_add(struct pw_scopes *scopes, int64_t start, int64_t end, const char *name);

void pw_scopes_break(struct pw_scopes *scopes, int64_t time);

/* A slice of level 0, the outermost, or more. `name` is that level of the scope, `length` bytes of
 * an operator's name. */
struct pw_scope_slice {
    int level;
    const char *name;
    size_t length;
    int64_t start, end;
};

typedef void pw_scope_draw(void *context, const struct pw_scope_slice *slice);

/* Calls `draw` for each slice, and removes the operators. Slices of a level do not overlap: one
 * ends where the next begins. Returns the number of levels. */
int pw_scopes_draw(struct pw_scopes *scopes, pw_scope_draw *draw, void *context);

void pw_scopes_fini(struct pw_scopes *scopes);

/* The state of a timeline that is being written, and what several of its files write. */

/* Operators of the host, and kernels. */
enum { PW_SIDE_HOST, PW_SIDE_DEVICE, PW_SIDES };

struct pw_chrome {
    struct pw_writer *writer;
    const struct pw_cluster *cluster;
    const struct pw_row_c_collective **collectives; /* sorted by comm_uid and seq */
    struct pw_chrome_window window;
    int64_t events, asyncs, launches;
    uint64_t tracks[64]; /* streams of the current rank that have been named */
    size_t ntracks;
    struct pw_row_process before; /* the current rank's previous sample; time 0: none */
    struct pw_arrows arrows;
    struct pw_message_ends messages;
    struct pw_scopes scopes[PW_SIDES]; /* of the current rank; only with window.has_scopes */
};

int pw_chrome_is_shown(const struct pw_chrome *c, int64_t start, int64_t end);

/* A counter's value. The name that is shown is `prefix` followed by `name`. */
struct pw_chrome_counter {
    const char *prefix, *name, *unit;
    double value;
};

struct pw_chrome;

/* Begins the output. Returns 0 or -ENOMEM. No function here reports write errors: the caller asks
 * ferror(out) at the end. */
int pw_chrome_begin(FILE *out, const struct pw_cluster *cluster,
                    const struct pw_chrome_window *window, struct pw_chrome **result);

/* Writes a rank: its tracks, events and counters. */
void pw_chrome_rank(struct pw_chrome *chrome, const struct pw_rankview *view);

/* What was written. ends_left_out: ends of arrows for which there was no room. */
struct pw_chrome_counts {
    int64_t events, arrows, ends_left_out;
};

/* Writes the arrows and the end of the output, sets the counts, and frees `chrome`. Returns 0 or
 * -ENOMEM. */
int pw_chrome_end(struct pw_chrome *chrome, struct pw_chrome_counts *counts);

#endif
