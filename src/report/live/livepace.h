/* How fast a running job goes: step time, the share of it inside MPI, and which ranks hold the
 * others back. */
#ifndef PW_REPORT_LIVE_LIVEPACE_H
#define PW_REPORT_LIVE_LIVEPACE_H

#include "report/live/liveview.h"

struct pw_livepace_look {
    const char *title;
    size_t columns; /* no line is longer */
    size_t lines;   /* nor are there more; SIZE_MAX: as many as it takes */
    size_t ranks;   /* at most so many in the table */
    int is_coloured;
};

/* The rank that spends most time outside MPI comes first: the others wait for it there. 0 or
 * -ENOMEM. */
int pw_livepace_print(const struct pw_live_view *view, const struct pw_livepace_look *look,
                      FILE *out);

#endif
