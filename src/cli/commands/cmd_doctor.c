/* `profwrap doctor`: checks what a run needs on this machine, and prints one line for each check,
 * with what to do when something is missing. Exit status 0 when a run would work, else 1. */
#include <dlfcn.h>
#include <errno.h>
#include <glob.h>
#include <hdf5.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/confine.h"
#include "cli/libexec.h"
#include "collectors/cuda/cuda_library.h"
#include "core/log.h"
#include "core/options.h"
#include "rank/clocks/tickmap.h"
#include "rank/run/identity.h"
#include "rank/run/launch.h"
#include "run/paths.h"

enum verdict { OK, NOTE, FAIL };

static int failures;

__attribute__((format(printf, 3, 4))) static void say(enum verdict verdict, const char *what,
                                                      const char *format, ...)
{
    static const char *const words[] = {[OK] = "ok", [NOTE] = "note", [FAIL] = "FAIL"};
    va_list arguments;
    printf("%-4s  %-14s ", words[verdict], what);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
    failures += verdict == FAIL;
}

static void check_files(void)
{
    char dir[4000], path[4096];
    int err = pw_cli_private_dir(dir, sizeof(dir));
    snprintf(path, sizeof(path), "%s/libprofwrap_probe.so", dir);
    if (err || access(path, R_OK))
        say(FAIL, "probe", "%s is missing: install profwrap completely", path);
    else if (strpbrk(path, " :"))
        say(FAIL, "probe", "%s: LD_PRELOAD cannot hold a space or colon; install elsewhere", path);
    else
        say(OK, "probe", "%s", path);
    snprintf(path, sizeof(path), "%s/profwrap-merge-alone", dir);
    if (err || access(path, X_OK))
        say(FAIL, "merge", "%s is missing: install profwrap completely", path);
    else if (!pw_cli_merges_in_parallel())
        say(NOTE, "merge", "%s: by one process; this profwrap has no merge for mpirun", path);
    else
        say(OK, "merge", "%s; in parallel under mpirun", path);
}

/* Whether the calls of the MPI with this version text are recorded: docs/compatibility.md. */
static int is_recorded_mpi(const char *version)
{
    static const char *const of_mpich_abi[] = {"MPICH", "Intel(R) MPI", "MVAPICH"};
    if (strstr(version, "Open MPI"))
        return 1;
    for (size_t i = 0; i < sizeof(of_mpich_abi) / sizeof(of_mpich_abi[0]); i++)
        if (PROFWRAP_RECORDS_MPICH && strstr(version, of_mpich_abi[i]))
            return 1;
    return 0;
}

/* Looks for MPI with dlopen(), because profwrap itself is not linked with it. */
static void check_mpi(void)
{
    void *library = dlopen("libmpi.so.40", RTLD_LAZY);
    library = library ? library : dlopen("libmpi.so", RTLD_LAZY);
    int (*version)(char *, int *) = NULL;
    if (library) {
        void *found = dlsym(library, "MPI_Get_library_version");
        memcpy(&version, &found, sizeof(version));
    }
    char text[8192] = "";
    int length = 0;
    if (version)
        version(text, &length);
    text[strcspn(text, ",\n")] = '\0';
    if (!version)
        say(NOTE, "MPI",
            "the loader finds no libmpi.so: MPI programs need Open MPI, or its module; others can "
            "be profiled, and one process merges");
    else if (!is_recorded_mpi(text))
        say(FAIL, "MPI", "%s: its calls are not recorded (docs/compatibility.md)", text);
    else
        say(OK, "MPI", "%s", text);
}

static void check_hdf5(void)
{
    unsigned major, minor, release;
    if (H5get_libversion(&major, &minor, &release) < 0 || H5Zfilter_avail(H5Z_FILTER_DEFLATE) <= 0)
        say(FAIL, "HDF5",
            "this library cannot deflate: build it with zlib, or use --compress none");
    else
        say(OK, "HDF5", "%u.%u.%u, with deflate", major, minor, release);
}

static void check_clocks(const char *root)
{
    if (pw_tick_choose(root) == PW_TICK_TSC)
        say(OK, "clock", "the processor's counter (%s), as the kernel's own clock",
            pw_tick_name(PW_TICK_TSC));
    else
        say(NOTE, "clock",
            "clock_gettime: the kernel does not use the processor's counter (on x86-64, an "
            "invariant time stamp counter), so that each call costs about twice as much to record");
    struct pw_identity id;
    pw_identity_find(&id, &(struct pw_identity_hints){.root = root});
    say(OK, "clock domain", "%s on %s", id.clock_domain, id.hostname);
}

static void check_shared_memory(const struct pw_options *options)
{
    struct statvfs space;
    int64_t ring = pw_option_size(options, PW_OPT_RING_SIZE);
    if (statvfs("/dev/shm", &space) || access("/dev/shm", W_OK)) {
        say(FAIL, "shared memory", "/dev/shm cannot be written: %s", strerror(errno));
        return;
    }
    int64_t bytes = (int64_t)space.f_bavail * (int64_t)space.f_frsize;
    enum verdict verdict = bytes < (int64_t)64 << 10 ? FAIL : bytes < 8 * ring ? NOTE : OK;
    say(verdict, "shared memory", "%lld MiB free: enough for %lld recording threads on this host%s",
        (long long)bytes >> 20, (long long)(bytes / ring),
        verdict == OK ? "" : "; give /dev/shm more room, or use a smaller --ring-size");
}

static void check_samples(void)
{
    if (access("/proc/self/schedstat", R_OK))
        say(NOTE, "samples", "the kernel has no schedstat: waiting for a core is not recorded");
    else
        say(OK, "samples", "/proc has processor time and waiting for a core");
}

static void check_nvtx(void)
{
    const char *other = getenv(PW_NVTX_VARIABLE);
    if (!PROFWRAP_HAVE_NVTX)
        say(NOTE, "NVTX",
            "this profwrap was built without NVTX's headers, and does not record it: install a "
            "CUDA "
            "toolkit (12 or later, headers alone will do) and build again");
    else if (other && *other)
        say(NOTE, "NVTX", "not recorded as long as %s names another tool: %s", PW_NVTX_VARIABLE,
            other);
    else
        say(OK, "NVTX", "ranges of programs that use it are recorded");
}

/* Opens the first library that the loader finds; NULL: none. */
static void *open_first(const char *const *names)
{
    void *library = NULL;
    for (; *names && !library; names++)
        library = **names ? dlopen(*names, RTLD_LAZY | RTLD_LOCAL) : NULL;
    return library;
}

/* Uses the probe's search, as in a program that has loaded no CUDA library yet. */
static void check_cupti(void)
{
    const char *other = getenv(PW_CUDA_VARIABLE);
    const struct pw_cupti *cupti = pw_cupti_open();
    uint32_t version = 0;
    if (other && *other)
        say(NOTE, "CUPTI", "GPUs are not recorded as long as %s names another tool: %s",
            PW_CUDA_VARIABLE, other);
    else if (cupti && cupti->version(&version) == 0)
        say(OK, "CUPTI", "version %u: what GPUs do is recorded in programs that use CUDA", version);
    else if (pw_cupti_refusal())
        say(NOTE, "CUPTI",
            "libcupti refuses to say its version (error %d): it cannot use the driver, or there is "
            "none",
            pw_cupti_refusal());
    else if (pw_cupti_was_found())
        say(NOTE, "CUPTI",
            "the libcupti.so that is found is older than CUDA 11.8's, or not whole: GPUs are not "
            "recorded in programs without their own");
    else
        say(NOTE, "CUPTI",
            "there is no libcupti.so: programs without their own (PyTorch has one) need CUDA_HOME, "
            "LD_LIBRARY_PATH or PROFWRAP_CUPTI");
}

/* Looks for the libcupti of Python packages, which the probe finds near a program's CUDA
 * libraries. */
static void check_cupti_of_python(void)
{
    static const char *const places[] = {"cuda_cupti/lib/libcupti.so.*", "cu13/lib/libcupti.so.*"};
    static const char *const roots[] = {"VIRTUAL_ENV", "CONDA_PREFIX"};
    for (size_t r = 0; r < sizeof(roots) / sizeof(roots[0]); r++)
        for (size_t p = 0; p < sizeof(places) / sizeof(places[0]); p++) {
            const char *root = getenv(roots[r]);
            char pattern[4096];
            glob_t found;
            snprintf(pattern, sizeof(pattern), "%s/lib/python3*/site-packages/nvidia/%s",
                     root ? root : "", places[p]);
            if (!root || !*root || glob(pattern, 0, NULL, &found))
                continue;
            say(OK, "CUPTI of Python", "programs that load CUDA beside it use %s",
                found.gl_pathv[0]);
            globfree(&found);
            return;
        }
}

/* Called only when there is an AMD GPU. */
static void check_rocprofiler(void)
{
    const char *named = getenv("PROFWRAP_ROCPROFILER");
    const char *const names[] = {named ? named : "", "librocprofiler-sdk.so.1",
                                 "/opt/rocm/lib/librocprofiler-sdk.so.1", NULL};
    int (*ask)(uint32_t *, uint32_t *, uint32_t *) = NULL;
    uint32_t major = 0, minor = 0, patch = 0;
    if (access("/dev/kfd", F_OK))
        return;
    void *library = open_first(names);
    void *found = library ? dlsym(library, "rocprofiler_get_version") : NULL;
    memcpy(&ask, &found, sizeof(found));
    if (ask)
        ask(&major, &minor, &patch);
    if (!ask)
        say(NOTE, "rocprofiler",
            "the loader finds no librocprofiler-sdk.so.1: programs that bring none need ROCM_PATH, "
            "LD_LIBRARY_PATH or PROFWRAP_ROCPROFILER");
    else if (major != 1)
        say(NOTE, "rocprofiler", "version %u.%u.%u is not 1.x of ROCm 7: GPUs are not recorded",
            major, minor, patch);
    else
        say(OK, "rocprofiler",
            "version %u.%u.%u: what GPUs do is recorded in programs that use ROCm", major, minor,
            patch);
}

static void check_nvml(void)
{
    static const char *const names[] = {"libnvidia-ml.so.1", NULL};
    int (*begin)(void) = NULL, (*end)(void) = NULL;
    void *library = open_first(names);
    void *found = library ? dlsym(library, "nvmlInit_v2") : NULL;
    memcpy(&begin, &found, sizeof(found));
    found = library ? dlsym(library, "nvmlShutdown") : NULL;
    memcpy(&end, &found, sizeof(found));
    if (!begin)
        say(NOTE, "NVML", "libnvidia-ml.so.1 is not found: this machine has no NVIDIA driver");
    else if (begin())
        say(NOTE, "NVML", "it finds no GPU, or may not use it: clocks and power are not sampled");
    else
        say(OK, "NVML", "clocks, power and temperature of GPUs in use are sampled");
    if (begin && end)
        end();
    if (library)
        dlclose(library);
}

static void check_nccl(void)
{
    static const char *const names[] = {"libnccl.so.2", NULL};
    void *library = open_first(names);
    say(library ? OK : NOTE, "NCCL", "libnccl.so.2 %s", library ? "is there" : "is not found");
    if (library)
        dlclose(library);
}

static void check_confinement(void)
{
    int err = pw_confine_probe();
    if (!err && pw_confine_probe_domain() == 0)
        say(OK, "confinement",
            "commands that read files can run no programs, open no sockets and reach no other "
            "process' memory (a merge of several processes can do the last two)");
    else if (!err)
        say(NOTE, "confinement",
            "commands that read files can run no programs and open no sockets; without Landlock "
            "they can reach other processes' memory through /proc");
    else if (err == -ENOSYS)
        say(NOTE, "confinement",
            "built without libseccomp, or the kernel has no seccomp: for commands that read files "
            "only memory is limited");
    else
        say(NOTE, "confinement",
            "seccomp is refused here (%s): for commands that read files only memory is limited",
            strerror(-err));
}

int pw_cli_doctor(int argc, char **argv)
{
    struct pw_options options;
    if (argc > 1) {
        int help = strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0;
        if (help)
            printf("Usage: profwrap doctor\n\nChecks what a run on this machine needs.\n");
        else
            pw_error("usage: profwrap doctor");
        return help ? 0 : 2;
    }
    pw_options_init(&options);
    if (pw_options_check_environment(&options, PW_CMD_RUN)) {
        pw_error("%s", options.problem);
        return 2;
    }
    failures = 0;
    check_files();
    check_mpi();
    check_hdf5();
    check_clocks(options.text[PW_OPT_FSROOT]);
    check_shared_memory(&options);
    check_samples();
    check_nvtx();
    check_nvml();
    check_cupti();
    check_cupti_of_python();
    check_rocprofiler();
    check_nccl();
    check_confinement();
    return failures ? 1 : 0;
}
