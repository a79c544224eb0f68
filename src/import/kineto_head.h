/* What a Kineto trace says of its job besides events: the members of its outermost object. */
#ifndef PW_IMPORT_KINETO_HEAD_H
#define PW_IMPORT_KINETO_HEAD_H

#include "import/formats.h"
#include "import/jsonobject.h"

/* Reads what comes before the events, or all when the rank is not told there. As formats.h. */
int pw_kineto_look(const char *path, struct pw_import_head *out);

/* A member while the events are read: devices and metadata go to the rank's file, the base of times
 * to the window. */
void pw_kineto_member(struct pw_trace_window *window, struct pw_json_parser *parser,
                      const char *key, size_t key_length, const char *value, size_t length);

#endif
