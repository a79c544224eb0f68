/* Whether other libraries get the probe as their tool; see offers.h. */
#include "cli/offers.h"

#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "rank/launch.h"
#include "rank/record.h"

/* Whether the program's NVTX is to be ours; says why not where the user might expect it. */
int pw_run_offers_nvtx(const struct pw_run *run, const char *probe)
{
    const char *other = getenv(PW_NVTX_VARIABLE);
    if (!(run->activities & PW_ACTIVITY_NVTX) || !PROFWRAP_HAVE_NVTX)
        return 0;
    if (!other || !*other || strcmp(other, probe) == 0)
        return 1;
    if (pw_run_is_spokesman(run))
        pw_say("NVTX is not recorded: " PW_NVTX_VARIABLE " names another tool, %s", other);
    return 0;
}

/* Whether NCCL's profiler plugin is to be the probe, likewise. */
int pw_run_offers_nccl(const struct pw_run *run, const char *probe)
{
    const char *other = getenv(PW_NCCL_VARIABLE), *says = NULL;
    if (!(run->activities & PW_ACTIVITY_NCCL))
        return 0;
    if (other && *other && strcmp(other, probe) != 0)
        says = "names another plugin";
    else if (strlen(probe) > PW_NCCL_LONGEST_PATH)
        says = "takes 255 bytes, and profwrap is installed in a longer path";
    if (says && pw_run_is_spokesman(run))
        pw_say("NCCL's profiler plugin is not used: " PW_NCCL_VARIABLE " %s", says);
    return !says;
}
