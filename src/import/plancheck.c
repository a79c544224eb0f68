/* Compares the heads of a plan's files with each other; see plancheck.h. */
#include "import/plancheck.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int pw_import_plan_check_job(struct pw_import_plan *plan, char *problem, size_t size)
{
    const struct pw_import_file *sized = NULL, *backed = NULL, *named = NULL;
    for (size_t i = 0; i < plan->nfiles; i++) {
        const struct pw_import_file *f = &plan->files[i];
        if (sized && f->head.world_size > 0 && f->head.world_size != sized->head.world_size) {
            snprintf(problem, size,
                     "%s is of a job of %lld ranks, and %s is of a job of %lld: import "
                     "one job at a time",
                     sized->path, (long long)sized->head.world_size, f->path,
                     (long long)f->head.world_size);
            return -EINVAL;
        }
        if (backed && f->head.backend[0] && strcmp(f->head.backend, backed->head.backend) != 0) {
            snprintf(problem, size,
                     "%s is of a job with backend %s, and %s is of a job with %s: import "
                     "one job at a time",
                     backed->path, backed->head.backend, f->path, f->head.backend);
            return -EINVAL;
        }
        if (named && f->head.job[0] && strcmp(f->head.job, named->head.job) != 0) {
            snprintf(problem, size,
                     "%s and %s have no communicator of all ranks in common (%s, %s): import one "
                     "job at a time, or each file alone with --rank N",
                     named->path, f->path, named->head.job, f->head.job);
            return -EINVAL;
        }
        named = f->head.job[0] ? f : named;
        sized = f->head.world_size > 0 ? f : sized;
        backed = f->head.backend[0] ? f : backed;
    }
    plan->world_size = sized ? sized->head.world_size : -1;
    /* Traces of a job that are imported one at a time must get the same name, so the name has only
     * what the files say. */
    if (sized)
        snprintf(plan->job, sizeof(plan->job), "import of %lld rank%s, %s",
                 (long long)plan->world_size, plan->world_size == 1 ? "" : "s",
                 backed ? backed->head.backend : "no backend");
    else
        snprintf(plan->job, sizeof(plan->job), "import, number of ranks not told, %.24s",
                 backed ? backed->head.backend : "no backend");
    return 0;
}

/* Two processes of one rank are of two jobs, one after the other; several windows of one are not.
 */
int pw_import_plan_check_processes(const struct pw_import_plan *plan, char *problem, size_t size)
{
    for (size_t i = 1; i < plan->nfiles; i++) {
        const struct pw_import_file *a = &plan->files[i - 1], *b = &plan->files[i];
        if (a->head.rank != b->head.rank || !a->head.pid || !b->head.pid ||
            (a->head.pid == b->head.pid && strcmp(a->head.hostname, b->head.hostname) == 0))
            continue;
        snprintf(problem, size,
                 "rank %lld has profiles of two processes, %s and %s: they are of two jobs; import "
                 "one job at a time",
                 (long long)a->head.rank, a->path, b->path);
        return -EINVAL;
    }
    return 0;
}

void pw_import_plan_compare_versions(struct pw_import_plan *plan)
{
    const struct pw_import_file *first = NULL;
    for (size_t i = 0; i < plan->nfiles; i++) {
        const struct pw_import_file *f = &plan->files[i];
        if (!f->head.maker[0])
            continue;
        first = first ? first : f;
        if (strcmp(first->head.maker, f->head.maker) == 0)
            continue;
        pw_import_plan_note(
            plan,
            "rank %lld was recorded with %s, but rank %lld with %s: their names and times may not "
            "mean the same",
            (long long)f->head.rank, f->head.maker, (long long)first->head.rank, first->head.maker);
        return;
    }
}
