/* Finds NCCL; see nccl_real.h. A program may have it in the global scope, in that of an object that
 * it loaded at run time (as Python does), or under another name (RCCL). Libraries may have
 * functions of NCCL's names of their own: each caller gets what it would have without the probe. */
#include "collectors/nccl/nccl_real.h"

#include <dlfcn.h>
#include <stddef.h>

#include "rank/probe/scope.h"

/* For who called by an address that no object has. */
static void *find_by_name(const char *symbol)
{
    void *library = dlopen("libnccl.so.2", RTLD_LAZY | RTLD_NOLOAD);
    void *found = library ? dlsym(library, symbol) : NULL;
    if (library)
        dlclose(library); /* it is loaded for others' sake */
    return found;
}

void *pw_nccl_real(const char *name, const void *caller)
{
    const struct pw_scope_query query = {
        .symbol = name, .caller = caller, .otherwise = find_by_name};
    struct pw_scope_answer answer;
    if (!pw_scope_recall(&query, &answer))
        answer = pw_scope_find(&query);
    return answer.target;
}
