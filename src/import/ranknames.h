/* The texts and threads of a rank that is imported: contents to row of /strings, and the trace's
 * process and thread numbers to lanes. */
#ifndef PW_IMPORT_RANKNAMES_H
#define PW_IMPORT_RANKNAMES_H

#include <stddef.h>
#include <stdint.h>

#include "core/hash.h"
#include "rank/file/rankfile.h"

struct pw_names {
    struct pw_rankfile *file;
    struct pw_hash texts, lanes;
    int64_t (*lane_ids)[2]; /* process and thread of each lane */
    size_t nlanes, lanes_capacity;
    int64_t bytes;   /* of the texts */
    int64_t refused; /* texts past what may be kept: they are "(too many names)" */
};

void pw_names_init(struct pw_names *names, struct pw_rankfile *file);
void pw_names_fini(struct pw_names *names);

/* The row of a text; 0 for "". */
uint32_t pw_names_find(struct pw_names *names, const char *text, size_t length);

/* The lane of a thread. Beyond 65534 all are that one. */
int32_t pw_names_lane(struct pw_names *names, int64_t process, int64_t thread);

/* A number for a text where a process or thread is not numbered. */
int64_t pw_names_number(const char *text, size_t length);

#endif
