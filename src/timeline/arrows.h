/* The arrows of a timeline, from a send to its receive and from the last rank of a collective to
 * the ranks that waited. Collects the ends of arrows rank by rank, and pairs them after the last
 * rank. Called by chrome.c. Keeps the ends in memory; draws and writes nothing itself. */
#ifndef PW_TIMELINE_ARROWS_H
#define PW_TIMELINE_ARROWS_H

#include <stddef.h>
#include <stdint.h>

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

#endif
