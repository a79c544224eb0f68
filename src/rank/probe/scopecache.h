/* Answers of scope.h that were found before. In-app code. */
#ifndef PW_RANK_PROBE_SCOPECACHE_H
#define PW_RANK_PROBE_SCOPECACHE_H

#include "rank/probe/scope.h"

/* Keeps an answer; none at all is one as long as nothing is loaded after pw_scope_loads() was
 * `loads`. */
void pw_scope_keep(const struct pw_scope_query *query, const struct pw_scope_answer *answer,
                   unsigned long long loads);

#endif
