/* Checks that the files of a plan are of one job, sorts them by rank, and finds the ranks of its
 * groups; see plan.h. */
#include "import/plan.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/readlimit.h"
#include "core/sort.h"
#include "import/msprof/msprof.h"

int pw_import_plan_fail(char *problem, size_t size, int err, const char *path, const char *what)
{
    snprintf(problem, size, "%s: %s", path, what && *what ? what : pw_readlimit_remedy(err));
    return err;
}

void pw_import_plan_note(struct pw_import_plan *plan, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (plan->nnotes < sizeof(plan->notes) / sizeof(plan->notes[0]))
        vsnprintf(plan->notes[plan->nnotes], sizeof(plan->notes[0]), format, arguments);
    plan->nnotes++;
    va_end(arguments);
}

void pw_import_file_fini(struct pw_import_file *file)
{
    pw_import_head_fini(&file->head);
    free(file->head.text.bytes);
    free(file->path);
}

void pw_import_plan_fini(struct pw_import_plan *plan)
{
    for (size_t i = 0; i < plan->nfiles; i++)
        pw_import_file_fini(&plan->files[i]);
    free(plan->files);
    free(plan->first);
    pw_msprof_destroy(plan->msprof);
    *plan = (struct pw_import_plan){0};
}

int64_t pw_import_plan_missing(const struct pw_import_plan *plan, char *out, size_t size)
{
    int64_t missing = plan->world_size - (int64_t)plan->nranks, next = 0;
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i <= plan->nranks && missing; i++) {
        int64_t rank = i < plan->nranks ? plan->files[plan->first[i]].head.rank : plan->world_size;
        char text[64] = "";
        if (rank == next + 1)
            snprintf(text, sizeof(text), "%s%lld", used ? ", " : "", (long long)next);
        else if (rank > next)
            snprintf(text, sizeof(text), "%s%lld-%lld", used ? ", " : "", (long long)next,
                     (long long)rank - 1);
        next = rank + 1;
        if (used + strlen(text) + 6 > size) {
            snprintf(out + used, size - used, ", ...");
            break;
        }
        used += (size_t)snprintf(out + used, size - used, "%s", text);
    }
    return missing;
}

/* ---- one job ---- */

/* Refuses a dump and a trace, in any order. */
static int refuse_kinds(const struct pw_import_file *a, const struct pw_import_file *b,
                        char *problem, size_t size)
{
    const int is_first = a->format == &pw_import_flight;
    const struct pw_import_file *dump = is_first ? a : b, *timed = is_first ? b : a;
    snprintf(problem, size,
             "%s and %s are a dump of the Flight Recorder and a trace with times: import one kind "
             "at a time, with --format %s or --format %s",
             dump->path, timed->path, dump->format->name, timed->format->name);
    return -EINVAL;
}

int pw_import_plan_check_job(struct pw_import_plan *plan, char *problem, size_t size)
{
    const struct pw_import_file *sized = NULL, *backed = NULL, *named = NULL;
    for (size_t i = 0; i < plan->nfiles; i++) {
        const struct pw_import_file *f = &plan->files[i];
        if ((f->format == &pw_import_flight) != (plan->files[0].format == &pw_import_flight))
            return refuse_kinds(&plan->files[0], f, problem, size);
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
    /* Traces of a job can be imported one at a time, and must then get the same name. So the name
     * is made only of what the files say: the number of ranks, and the backend. */
    if (sized)
        snprintf(plan->job, sizeof(plan->job), "import of %lld rank%s, %s",
                 (long long)plan->world_size, plan->world_size == 1 ? "" : "s",
                 backed ? backed->head.backend : "no backend");
    else
        snprintf(plan->job, sizeof(plan->job), "import, number of ranks not told, %.24s",
                 backed ? backed->head.backend : "no backend");
    return 0;
}

/* Refuses two processes of one rank: they are of two jobs, one after the other. Several files of
 * one process are windows of one job. */
static int check_processes(const struct pw_import_plan *plan, char *problem, size_t size)
{
    for (size_t i = 1; i < plan->nfiles; i++) {
        const struct pw_import_file *a = &plan->files[i - 1], *b = &plan->files[i];
        if (a->head.rank != b->head.rank || !a->head.pid || !b->head.pid ||
            (a->head.pid == b->head.pid && strcmp(a->head.hostname, b->head.hostname) == 0))
            continue;
        snprintf(
            problem, size,
            "rank %lld has files of two processes, %s and %s: they are of two jobs; import one "
            "job at a time",
            (long long)a->head.rank, a->path, b->path);
        return -EINVAL;
    }
    return 0;
}

static void compare_versions(struct pw_import_plan *plan)
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

/* ---- ranks ---- */

static int by_rank_and_time(const void *a, const void *b)
{
    const struct pw_import_file *x = a, *y = b;
    if (x->head.rank != y->head.rank)
        return x->head.rank < y->head.rank ? -1 : 1;
    return (x->head.first_ns > y->head.first_ns) - (x->head.first_ns < y->head.first_ns);
}

static int find_ranks(struct pw_import_plan *plan, char *problem, size_t size)
{
    pw_sort(plan->files, plan->nfiles, sizeof(*plan->files), by_rank_and_time);
    plan->first = calloc(plan->nfiles + 1, sizeof(*plan->first));
    if (!plan->first)
        return pw_import_plan_fail(problem, size, -ENOMEM, "import", "");
    for (size_t i = 0; i < plan->nfiles; i++) {
        const struct pw_import_file *f = &plan->files[i];
        if (f->head.rank < 0)
            return pw_import_plan_fail(
                problem, size, -EINVAL, f->path,
                "does not say which rank it is of: name it rank-N.json, or give --rank N or "
                "--rank-pattern");
        if (plan->world_size > 0 && f->head.rank >= plan->world_size)
            return pw_import_plan_fail(problem, size, -EINVAL, f->path,
                                       "is of a rank beyond its job's number of ranks");
        if (i == 0 || f->head.rank != plan->files[i - 1].head.rank)
            plan->first[plan->nranks++] = i;
    }
    plan->first[plan->nranks] = plan->nfiles;
    if (plan->world_size < 0)
        plan->world_size = plan->files[plan->nfiles - 1].head.rank + 1;
    for (size_t i = 0; i < plan->nfiles; i++)
        if (plan->world_size < plan->files[i].head.least_size)
            plan->world_size = plan->files[i].head.least_size;
    return 0;
}

/* ---- groups that the heads name without their ranks ---- */

struct membership {
    const char *name;
    int32_t rank;
};

static int by_group_and_rank(const void *a, const void *b)
{
    const struct membership *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : (x->rank > y->rank) - (x->rank < y->rank);
}

static size_t list_memberships(const struct pw_import_plan *plan, struct membership *out)
{
    size_t n = 0;
    for (size_t i = 0; i < plan->nfiles; i++)
        for (size_t g = 0; g < plan->files[i].head.ngroups; g++) {
            const struct pw_group *group = &plan->files[i].head.groups[g];
            if (group->size)
                continue;
            if (out)
                out[n] = (struct membership){group->name, (int32_t)plan->files[i].head.rank};
            n++;
        }
    return n;
}

/* Makes members of the group all ranks that list[0 .. n) has with its name. The list is sorted by
 * name and rank. */
static void set_members(struct pw_group *group, const struct membership *list, size_t n)
{
    struct membership key = {group->name, -1};
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (by_group_and_rank(&list[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (high = low; high < n && strcmp(list[high].name, group->name) == 0; high++)
        ;
    group->members = calloc(high - low + 1, sizeof(*group->members));
    for (size_t i = low; group->members && i < high; i++)
        if (i == low || list[i].rank != list[i - 1].rank)
            group->members[group->size++] = list[i].rank;
}

/* The members of a group that a profile only names are the ranks whose profiles have it. */
static int complete_groups(struct pw_import_plan *plan)
{
    size_t n = list_memberships(plan, NULL);
    struct membership *list = calloc(n + 1, sizeof(*list));
    struct pw_group **open = calloc(n + 1, sizeof(struct pw_group *));
    size_t nopen = 0;
    if (list && open) {
        list_memberships(plan, list);
        pw_sort(list, n, sizeof(*list), by_group_and_rank);
        for (size_t i = 0; i < plan->nfiles; i++)
            for (size_t g = 0; g < plan->files[i].head.ngroups; g++)
                if (!plan->files[i].head.groups[g].size)
                    open[nopen++] = &plan->files[i].head.groups[g];
        for (size_t i = 0; i < nopen; i++)
            set_members(open[i], list, n);
    }
    const int ok = list && open;
    free(list);
    free(open);
    return ok ? 0 : -ENOMEM;
}

/* ---- groups that only operations name ---- */

static const struct pw_used_group *use_of(const struct pw_import_head *head, const char *group)
{
    for (size_t i = 0; i < head->nused; i++)
        if (strcmp(head->used[i].name, group) == 0)
            return &head->used[i];
    return NULL;
}

/* Adds the group to the head, with the ranks whose files have operations of it. 0 or -ENOMEM. */
static int add_used(const struct pw_import_plan *plan, struct pw_import_head *head,
                    const char *name)
{
    struct pw_group *more = realloc(head->groups, (head->ngroups + 1) * sizeof(*more));
    int32_t *members = more ? calloc(plan->nranks, sizeof(*members)) : NULL;
    size_t n = 0;
    int has_ended = 0, has_open = 0;
    head->groups = more ? more : head->groups;
    if (!members)
        return -ENOMEM;
    for (size_t i = 0; i < plan->nranks; i++) {
        const struct pw_import_head *other = &plan->files[plan->first[i]].head;
        const struct pw_used_group *use = use_of(other, name);
        if (use)
            members[n++] = (int32_t)other->rank;
        has_ended |= use && use->has_ended;
        has_open |= use && use->has_open;
    }
    /* In one that has not ended, members may be missing that never began one of the group. */
    if (n < 2 || (has_open && !has_ended)) {
        free(members);
        return 0;
    }
    struct pw_group *group = &head->groups[head->ngroups++];
    *group = (struct pw_group){.members = members, .size = n};
    snprintf(group->name, sizeof(group->name), "%s", name);
    return 0;
}

/* Where each rank has one file, with all that it did, the members of a group are the ranks that
 * have operations of it: most collectives are not over before all members have begun them. */
static int infer_groups(struct pw_import_plan *plan)
{
    if (plan->nranks != plan->nfiles || (int64_t)plan->nranks != plan->world_size)
        return 0;
    for (size_t i = 0; i < plan->nfiles; i++)
        if (!plan->files[i].head.has_unnamed_groups || plan->files[i].head.has_lost)
            return 0;
    int err = 0;
    for (size_t i = 0; i < plan->nfiles; i++)
        for (size_t k = 0; k < plan->files[i].head.nused && !err; k++)
            err = add_used(plan, &plan->files[i].head, plan->files[i].head.used[k].name);
    return err;
}

int pw_import_plan_sort(struct pw_import_plan *plan, char *problem, size_t size)
{
    int err = find_ranks(plan, problem, size);
    err = err ? err : check_processes(plan, problem, size);
    if (!err) {
        compare_versions(plan);
        err = complete_groups(plan);
    }
    return !err && infer_groups(plan) ? pw_import_plan_fail(problem, size, -ENOMEM, "import", "")
                                      : err;
}
