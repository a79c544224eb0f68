/* Other ways than LD_PRELOAD to load the probe: environment variables name the probe as the tool of
 * NVTX, CUDA and NCCL. When a variable already names another tool, it is kept, and one line is
 * printed. See run.h. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "core/log.h"
#include "rank/ring/record.h"
#include "rank/run/launch.h"
#include "run/paths.h"
#include "run/run.h"

/* Whether to set this variable; prints why not when the user might expect it. */
static int injects(const struct pw_run *run, const char *probe, uint32_t activity,
                   const char *variable, const char *what)
{
    const char *other = getenv(variable);
    if (!(run->activities & activity))
        return 0;
    if (!other || !*other || strcmp(other, probe) == 0)
        return 1;
    if (pw_run_is_host_leader(run))
        pw_say("%s is not recorded: %s names another tool, %s", what, variable, other);
    return 0;
}

static int can_inject_nvtx(const struct pw_run *run, const char *probe)
{
    return PROFWRAP_HAVE_NVTX && injects(run, probe, PW_ACTIVITY_NVTX, PW_NVTX_VARIABLE, "NVTX");
}

static int can_inject_cuda(const struct pw_run *run, const char *probe)
{
    return injects(run, probe, PW_ACTIVITY_CUDA, PW_CUDA_VARIABLE, "CUDA");
}

/* Returns the path of the auditor (in `out`) with --audit; NULL without the option, or when the
 * library is missing. */
static const char *audit_library(const struct pw_run *run, const char *probe, char *out,
                                 size_t size)
{
    const char *slash = strrchr(probe, '/');
    if (!pw_option_flag(&run->options, PW_OPT_AUDIT) || !(run->activities & PW_ACTIVITY_MPI))
        return NULL;
    snprintf(out, size, "%.*s/libprofwrap_audit.so", slash ? (int)(slash - probe) : 1,
             slash ? probe : ".");
    if (access(out, R_OK) == 0)
        return out;
    if (pw_run_is_host_leader(run))
        pw_say("--audit has no effect: %s is not there", out);
    return NULL;
}

/* Whether the value makes NCCL look for a plugin in the program's image, which includes the
 * probe. */
static int is_static(const char *plugin)
{
    return strncasecmp(plugin, "STATIC_PLUGIN", strlen(plugin)) == 0;
}

/* Returns the value of the variable with NCCL's plugin; NULL: do not set it. */
static const char *nccl_plugin(const struct pw_run *run, const char *probe)
{
    const char *other = getenv(PW_NCCL_VARIABLE);
    const int is_other = other && *other && strcmp(other, probe) != 0;
    if (!(run->activities & PW_ACTIVITY_NCCL))
        return NULL;
    if (is_other && !is_static(other) && pw_run_is_host_leader(run))
        pw_say("NCCL's profiler plugin is not used: " PW_NCCL_VARIABLE " names another plugin");
    if (is_other)
        return NULL;
    return strlen(probe) > PW_NCCL_LONGEST_PATH ? PW_NCCL_STATIC : probe;
}

/* Returns the option (I, E or S) by which a Python command line ignores PYTHONPATH or runs no
 * sitecustomize.py; 0 when there is none or the program is not Python. */
static char ignores_path(char *const *argv)
{
    const char *slash = strrchr(argv[0], '/');
    if (strncmp(slash ? slash + 1 : argv[0], "python", strlen("python")) != 0)
        return 0;
    for (int i = 1; argv[i] && argv[i][0] == '-' && argv[i][1] && argv[i][1] != '-'; i++)
        for (const char *letter = argv[i] + 1; *letter; letter++) {
            if (strchr("IES", *letter))
                return *letter;
            if (strchr("cm", *letter)) /* the rest belongs to the Python program */
                return 0;
            if (strchr("WX", *letter)) { /* the option has a value */
                if (!letter[1] && argv[i + 1])
                    i++;
                break;
            }
        }
    return 0;
}

/* Returns the directory (in `out`) whose sitecustomize.py instruments PyTorch; NULL: do not
 * instrument. */
static const char *python_hook(const struct pw_run *run, char *out)
{
    char path[4096];
    if (!(run->activities & PW_ACTIVITY_ANNOTATIONS) ||
        pw_option_flag(&run->options, PW_OPT_NO_PYTHON))
        return NULL;
    if (pw_cli_python_hook_dir(path, sizeof(path)) || !realpath(path, out))
        return NULL;
    const char option = ignores_path(run->argv);
    if (option && pw_run_is_host_leader(run))
        pw_say("%s -%c runs no sitecustomize.py of PYTHONPATH: if it uses PyTorch, no steps and "
               "phases "
               "are recorded",
               run->argv[0], option);
    if (!strchr(out, ':')) /* PYTHONPATH is split at ':' */
        return out;
    if (pw_run_is_host_leader(run))
        pw_say("PyTorch is not instrumented: the path %s has a colon in it", out);
    return NULL;
}

void pw_injection_choose(const struct pw_run *run, const char *probe, struct pw_injection *out)
{
    out->audit = audit_library(run, probe, out->audit_path, sizeof(out->audit_path));
    out->nvtx = can_inject_nvtx(run, probe);
    out->cuda = can_inject_cuda(run, probe);
    out->nccl = nccl_plugin(run, probe);
    out->python = python_hook(run, out->python_path);
}
