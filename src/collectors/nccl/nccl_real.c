/* Finds NCCL; see nccl_real.h. A program may have it in the global scope, in that of an object that
 * it loaded at run time (as Python does), or under another name (RCCL). */
#include "collectors/nccl/nccl_real.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* In what this object, already loaded, or one that it needs, defines. */
static void *find_in(const char *object, const char *name)
{
    void *handle = object ? dlopen(object, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    void *found = handle ? dlsym(handle, name) : NULL;
    if (handle)
        dlclose(handle); /* it is loaded for others' sake */
    return found;
}

static int is_ours(const void *function)
{
    Dl_info theirs, ours;
    return function && dladdr(function, &theirs) && dladdr((void *)(uintptr_t)is_ours, &ours) &&
           theirs.dli_fbase == ours.dli_fbase;
}

void *pw_nccl_real(const char *name, const void *caller, void *_Atomic *known)
{
    void *found = atomic_load_explicit(known, memory_order_relaxed);
    if (__builtin_expect(found != NULL, 1))
        return found;
    Dl_info info;
    found = dlsym(RTLD_NEXT, name);
    if (!found && dladdr(caller, &info))
        found = find_in(info.dli_fname, name);
    found = found && !is_ours(found) ? found : find_in("libnccl.so.2", name);
    if (found && !is_ours(found))
        atomic_store_explicit(known, found, memory_order_relaxed);
    return atomic_load_explicit(known, memory_order_relaxed);
}
