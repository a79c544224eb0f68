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

int pw_import_plan_add_analysis(struct pw_import_plan *plan, const char *directory, char *problem,
                                size_t size)
{
    if (!plan->nfiles)
        return fail(
            problem, size, -ENOENT, directory,
            "is what msprof-analyze computed from the profiles of a job: give these profiles, "
            "the *_ascend_pt or *_ascend_ms directories");
    const int err = read_analysis(plan, directory, problem, size);
    if (!err && plan->msprof->problem[0])
        pw_import_plan_note(plan, "%s: %s", directory, plan->msprof->problem);
    if (err != -ENOENT)
        return err;
    pw_import_plan_note(plan, "%s: it is not compared with the profiles", problem);
    *problem = '\0';
    return 0;
}
