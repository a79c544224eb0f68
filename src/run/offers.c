/* Whether other libraries get the probe as their tool; see offers.h. */
#include "run/offers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "core/log.h"
#include "rank/ring/record.h"
#include "rank/run/launch.h"

/* Whether the program is to load the probe by this variable, too; says why not where the user might
 * expect it. */
static int injects(const struct pw_run *run, const char *probe, uint32_t activity,
                   const char *variable, const char *what)
{
    const char *other = getenv(variable);
    if (!(run->activities & activity))
        return 0;
    if (!other || !*other || strcmp(other, probe) == 0)
        return 1;
    if (pw_run_is_spokesman(run))
        pw_say("%s is not recorded: %s names another tool, %s", what, variable, other);
    return 0;
}

int pw_run_offers_nvtx(const struct pw_run *run, const char *probe)
{
    return PROFWRAP_HAVE_NVTX && injects(run, probe, PW_ACTIVITY_NVTX, PW_NVTX_VARIABLE, "NVTX");
}

int pw_run_offers_cuda(const struct pw_run *run, const char *probe)
{
    return injects(run, probe, PW_ACTIVITY_CUDA, PW_CUDA_VARIABLE, "CUDA");
}

const char *pw_run_offers_audit(const struct pw_run *run, const char *probe, char *out, size_t size)
{
    const char *slash = strrchr(probe, '/');
    if (!pw_option_flag(&run->options, PW_OPT_AUDIT) || !(run->activities & PW_ACTIVITY_MPI))
        return NULL;
    snprintf(out, size, "%.*s/libprofwrap_audit.so", slash ? (int)(slash - probe) : 1,
             slash ? probe : ".");
    if (access(out, R_OK) == 0)
        return out;
    if (pw_run_is_spokesman(run))
        pw_say("--audit has no effect: %s is not there", out);
    return NULL;
}

/* NCCL looks for a plugin in the program's own image, where the probe is, too. */
static int is_static(const char *plugin)
{
    return strncasecmp(plugin, "STATIC_PLUGIN", strlen(plugin)) == 0;
}

const char *pw_run_offers_nccl(const struct pw_run *run, const char *probe)
{
    const char *other = getenv(PW_NCCL_VARIABLE);
    const int is_other = other && *other && strcmp(other, probe) != 0;
    if (!(run->activities & PW_ACTIVITY_NCCL))
        return NULL;
    if (is_other && !is_static(other) && pw_run_is_spokesman(run))
        pw_say("NCCL's profiler plugin is not used: " PW_NCCL_VARIABLE " names another plugin");
    if (is_other)
        return NULL;
    return strlen(probe) > PW_NCCL_LONGEST_PATH ? PW_NCCL_STATIC : probe;
}
