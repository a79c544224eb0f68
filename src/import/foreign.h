/* Recognises what a list of Chrome trace events is: a trace of Kineto, by the categories of its
 * events, or one of another tool, by a table of marks. kineto.c calls this for the first events of
 * a file, until one of them tells. Decides by single events and members; reads no file. */
#ifndef PW_IMPORT_FOREIGN_H
#define PW_IMPORT_FOREIGN_H

#include <stddef.h>

#include "import/jsonobject.h"

/* A tool whose traces are not imported, and what to use instead. */
struct pw_foreign {
    const char *what, *instead;
};

/* Returns 1 when the event is one of Kineto's, by its category, or of PyTorch without Kineto.
 * `has_foreign`: another tool's mark was found before, so categories that both have do not tell. */
int pw_foreign_is_kineto(const struct pw_json_object *event, int has_foreign);

/* Returns 1 when only Kineto's files have this member beside the list of events. */
int pw_foreign_is_kineto_member(const char *key, size_t length);

/* Returns the tool that wrote the event, NULL when it does not tell. */
const struct pw_foreign *pw_foreign_of_event(const struct pw_json_object *event);

/* Returns the tool whose files have this member beside the list of events, NULL for others. */
const struct pw_foreign *pw_foreign_of_member(const char *key, size_t key_length, const char *value,
                                              size_t length);

#endif
