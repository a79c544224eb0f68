/* Finds NCCL's functions; see nccl_real.h. NCCL may be in the global scope, in the scope of an
 * object that was loaded at run time (as in Python), or have another name (RCCL). Libraries may
 * define functions with NCCL's names. Each caller gets the function that it would get without the
 * probe. */
#include "collectors/nccl/nccl_real.h"

#include <dlfcn.h>
#include <stddef.h>

#include "rank/probe/scope.h"

/* Used when the caller's address is in no object. */
static void *find_by_name(const char *symbol)
{
    void *library = dlopen("libnccl.so.2", RTLD_LAZY | RTLD_NOLOAD);
    void *found = library ? dlsym(library, symbol) : NULL;
    if (library)
        dlclose(library); /* it stays loaded, because others have loaded it */
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
