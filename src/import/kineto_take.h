/* Takes the events of a Kineto trace, one at a time, into a window. */
#ifndef PW_IMPORT_KINETO_TAKE_H
#define PW_IMPORT_KINETO_TAKE_H

#include "import/kineto_event.h"
#include "import/trace.h"

struct pw_kineto {
    struct pw_trace_window *window;
    struct pw_trace *trace;
    struct pw_json_parser *parser;
    struct pw_kineto_index index;
    struct pw_json_object object;
    struct pw_kineto_event event;
    int64_t start, end; /* of the event */
    struct {
        int64_t pid, tid;
        int32_t lane; /* -1: none yet */
    } last;           /* thread */
};

/* Takes k->event. 0, also where it counted itself why not; else the enum pw_omission to count. */
int pw_kineto_take(struct pw_kineto *k);

#endif
