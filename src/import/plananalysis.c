/* Reads a cluster_analysis_output for a plan; see plananalysis.h. */
#include "import/plananalysis.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/readlimit.h"
#include "import/msprof.h"

static int fail(char *problem, size_t size, int err, const char *path, const char *what)
{
    snprintf(problem, size, "%s: %s", path, what && *what ? what : pw_readlimit_error(err));
    return err;
}

static int read_analysis(struct pw_import_plan *plan, const char *path, char *problem, size_t size)
{
    struct pw_msprof *m;
    if (plan->msprof)
        return fail(problem, size, -EINVAL, path,
                    "is given beside another cluster_analysis_output: import one job at a time");
    const int err = pw_msprof_read(path, &m);
    if (!err) {
        plan->msprof = m;
        if (m->incomplete)
            pw_import_plan_note(plan,
                                "%s: %lld of its rows are left out, because their numbers are not "
                                "possible",
                                path, (long long)m->incomplete);
        return 0;
    }
    fail(problem, size, err, path,
         err != -ENOENT ? ""
         : m && m->problem[0]
             ? m->problem
             : "has neither cluster_step_trace_time.csv, cluster_communication.json, "
               "cluster_communication_matrix.json nor cluster_analysis.db with rows "
               "of ranks: give the profiles");
    pw_msprof_destroy(m);
    return err;
}

/* Copies the groups that a rank is in. 0 or -ENOMEM. */
static int copy_groups(const struct pw_msprof *m, struct pw_import_head *head)
{
    head->groups = calloc(m->ngroups + 1, sizeof(*head->groups));
    for (size_t i = 0; head->groups && i < m->ngroups; i++) {
        const struct pw_group *from = &m->groups[i];
        struct pw_group *to = &head->groups[head->ngroups];
        int is_member = 0;
        for (size_t k = 0; k < from->size; k++)
            is_member |= from->members[k] == head->rank;
        if (!is_member)
            continue;
        *to = *from;
        to->members = calloc(from->size, sizeof(*to->members));
        if (!to->members)
            return -ENOMEM;
        memcpy(to->members, from->members, from->size * sizeof(*to->members));
        head->ngroups++;
    }
    return head->groups ? 0 : -ENOMEM;
}

static int add_rank(struct pw_import_plan *plan, const char *path, int32_t rank)
{
    const struct pw_msprof *m = plan->msprof;
    struct pw_import_file *file = &plan->files[plan->nfiles++];
    *file = (struct pw_import_file){.path = strdup(path), .format = &pw_import_msprof};
    file->head =
        (struct pw_import_head){.rank = rank, .world_size = m->world_size, .first_ns = INT64_MAX};
    snprintf(file->head.backend, sizeof(file->head.backend), "msprof-analyze");
    for (size_t i = 0; i < m->nhosts; i++)
        if (m->hosts[i].rank == rank)
            snprintf(file->head.hostname, sizeof(file->head.hostname), "%.63s", m->hosts[i].name);
    return file->path ? copy_groups(m, &file->head) : -ENOMEM;
}

static int add_ranks(struct pw_import_plan *plan, const char *path, char *problem, size_t size)
{
    int32_t *ranks;
    const size_t n = pw_msprof_ranks(plan->msprof, &ranks);
    int err = n ? 0 : -ENOMEM;
    free(plan->files);
    plan->files = calloc(n + 1, sizeof(*plan->files));
    plan->capacity = plan->files ? n + 1 : 0;
    err = plan->files ? err : -ENOMEM;
    for (size_t i = 0; i < n && !err; i++)
        err = add_rank(plan, path, ranks[i]);
    free(ranks);
    if (err)
        return fail(problem, size, err, path, "");
    pw_import_plan_note(plan,
                        "%s: its %s are msprof-analyze's own sums, without events: the report's "
                        "sections msprof and hccl show them, and no other section has figures; to "
                        "have these, give the profiles",
                        path, plan->msprof->files);
    return 0;
}

int pw_import_plan_add_analysis(struct pw_import_plan *plan, const char *directory,
                                const struct pw_import_wish *wish, char *problem, size_t size)
{
    if (!plan->nfiles && (wish->rank >= 0 || wish->format))
        return fail(
            problem, size, -EINVAL, directory,
            "has all ranks of a job, and is recognised by its name: give neither --rank nor "
            "--format");
    const int err = read_analysis(plan, directory, problem, size);
    if (err != -ENOENT || !plan->nfiles) {
        if (!err && plan->nfiles && plan->msprof->problem[0])
            pw_import_plan_note(plan, "%s: %s", directory, plan->msprof->problem);
        return err || plan->nfiles ? err : add_ranks(plan, directory, problem, size);
    }
    pw_import_plan_note(plan, "%s: it is not compared with the profiles", problem);
    *problem = '\0';
    return 0;
}
