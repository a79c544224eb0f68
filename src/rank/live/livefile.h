/* The state of a running rank (core/live.h) as JSON: the answers that collectors write and
 * inquiries read. Called by inquiry.c. Tool code; it trusts no file: sizes, types and ranges are
 * checked. */
#ifndef PW_RANK_LIVE_LIVEFILE_H
#define PW_RANK_LIVE_LIVEFILE_H

#include <jansson.h>

#include "core/live.h"

enum { PW_NONCE_SIZE = 33 }; /* 128 random bits in hex, and the NUL */

/* Returns the JSON object, with `nonce` unless that is NULL; NULL when memory is short. */
json_t *pw_live_to_json(const struct pw_live *live, const char *nonce);

/* Returns 0; -EINVAL when it is no such object; -ESTALE when it has another nonce. After 0, free
 * *out with pw_live_fini(). */
int pw_live_from_json(const json_t *object, const char *nonce, struct pw_live *out);

#endif
