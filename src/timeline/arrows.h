/* Arrows of a timeline: which event leads to which. Ends are collected rank by rank, and paired
 * when all are known. Called by chrome.c. Keeps the ends in memory; writes nothing itself. */
#ifndef PW_TIMELINE_ARROWS_H
#define PW_TIMELINE_ARROWS_H

#include <stddef.h>
#include <stdint.h>

struct pw_arrow_end {
    uint64_t key; /* equal for the ends of an arrow */
    int64_t time; /* ns, cluster clock */
    int32_t rank;
    uint32_t track;
    uint8_t is_head; /* 0: where it begins */
    uint8_t is_collective;
};

struct pw_arrows {
    struct pw_arrow_end *ends;
    size_t n, capacity;
    size_t left_out; /* ends for which there was no room */
};

/* Past `most` ends, or without memory, it is only counted. */
void pw_arrows_add(struct pw_arrows *arrows, const struct pw_arrow_end *end, size_t most);

/* Calls `draw` for every arrow: each head with the tail of its key. Keys without a tail have none.
 * Returns how many there were. */
typedef void pw_arrow_drawer(void *context, int64_t number, const struct pw_arrow_end *tail,
                             const struct pw_arrow_end *head);
int64_t pw_arrows_draw(struct pw_arrows *arrows, pw_arrow_drawer *draw, void *context);

void pw_arrows_fini(struct pw_arrows *arrows);

/* A message that a rank sent or received, before its place among those alike is known. MPI matches
 * the messages of one communicator, sender, receiver and tag in the order in which they were posted
 * (MPI-3.1, 3.5). */
struct pw_message_end {
    uint64_t stream;         /* hash of communicator, sender, receiver and tag */
    int64_t posted;          /* ns; orders those of the stream */
    struct pw_arrow_end end; /* key is not set yet */
    uint8_t is_shown;
};

struct pw_message_ends {
    struct pw_message_end *ends;
    size_t n, capacity;
    int is_too_many; /* the order is unknown: none of the rank's messages becomes an arrow */
};

void pw_message_ends_add(struct pw_message_ends *messages, const struct pw_message_end *end);

/* Numbers them within their streams, gives those that are shown to `arrows`, and forgets them. */
void pw_message_ends_number(struct pw_message_ends *messages, struct pw_arrows *arrows,
                            size_t most);

void pw_message_ends_fini(struct pw_message_ends *messages);

#endif
