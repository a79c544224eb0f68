/* Looks for the program's plugin; see nccl_own.h. */
#include "collectors/nccl/nccl_own.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "rank/run/launch.h"

enum { UNDECIDED, OURS, THEIRS };
enum { ALIKE = 5 }; /* from this version on, structs only get longer */

static _Atomic int decided;
static const struct pw_nccl_plugin_v5 *theirs;

static int is_asked_for(void)
{
    const char *name = getenv(PW_NCCL_VARIABLE);
    return name && *name && strcmp(name, PW_NCCL_STATIC) != 0 &&
           strncasecmp(name, "STATIC_PLUGIN", strlen(name)) == 0;
}

/* Finds the table of the program's plugin. In the order of symbol lookup, it can be before or after
 * the probe's own table. */
static const void *find_table(int version)
{
    char name[32];
    Dl_info ours, found;
    snprintf(name, sizeof(name), "ncclProfiler_v%d", version);
    if (!dladdr((void *)(uintptr_t)find_table, &ours))
        return NULL;
    void *const places[] = {RTLD_DEFAULT, RTLD_NEXT};
    for (int i = 0; i < 2; i++) {
        const void *table = dlsym(places[i], name);
        if (table && dladdr(table, &found) && found.dli_fbase != ours.dli_fbase)
            return table;
    }
    return NULL;
}

static const void *find(int version)
{
    const void *table = find_table(version);
    for (int v = version - 1; !table && v >= ALIKE; v--)
        table = find_table(v);
    return table;
}

const struct pw_nccl_plugin_v5 *pw_nccl_own_choose(int version)
{
    if (atomic_load(&decided) == UNDECIDED) {
        const struct pw_nccl_plugin_v5 *table = is_asked_for() ? find(version) : NULL;
        int before = UNDECIDED;
        if (table)
            theirs = table;
        atomic_compare_exchange_strong(&decided, &before, table ? THEIRS : OURS);
    }
    return pw_nccl_own();
}

const struct pw_nccl_plugin_v5 *pw_nccl_own(void)
{
    return __builtin_expect(atomic_load_explicit(&decided, memory_order_acquire) == THEIRS, 0)
               ? theirs
               : NULL;
}
