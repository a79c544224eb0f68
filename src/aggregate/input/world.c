/* Finds steps and hosts; see world.h. */
#include "aggregate/input/world.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/statistics.h"
#include "core/sort.h"

ptrdiff_t pw_world_step_index(const struct pw_world *world, int64_t step)
{
    const size_t at = pw_place_i64(world->step_numbers, world->nsteps, step);
    return at < world->nsteps && world->step_numbers[at] == step ? (ptrdiff_t)at : -1;
}

static int by_name(const void *a, const void *b)
{
    return strncmp(a, b, 64);
}

int pw_world_number_hosts(const struct pw_world *world, int64_t *host_of, size_t *nhosts)
{
    size_t n = (size_t)world->nranks, kept = 0;
    char(*names)[64] = malloc(64 * (n + 1));
    if (!names)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        memcpy(names[i], world->ranks[i].hostname, 64);
    pw_sort(names, n, 64, by_name);
    for (size_t i = 0; i < n; i++)
        if (names[i][0] && (!kept || memcmp(names[kept - 1], names[i], 64) != 0))
            memmove(names[kept++], names[i], 64);
    size_t known = kept;
    for (size_t i = 0; i < n; i++) {
        const char *at = bsearch(world->ranks[i].hostname, names, known, 64, by_name);
        host_of[i] =
            world->ranks[i].hostname[0] && at ? (int64_t)((at - names[0]) / 64) : (int64_t)kept++;
    }
    *nhosts = kept;
    free(names);
    return 0;
}
