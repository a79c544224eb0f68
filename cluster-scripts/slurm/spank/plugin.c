/* The SPANK plugin: --profwrap[=OPTIONS] and --profwrap-output=DIR for srun, sbatch and salloc.
 *
 * In srun, sbatch and salloc it only notes what was asked for, in the environment of the job, which
 * carries it from a batch script to the steps in it. In slurmstepd it looks, as the user, whether
 * profiling can work on this node, and puts into the environment of each task what makes it run
 * under profwrap (task.c), or, for scripts, what makes mpirun start its ranks under profwrap. It
 * never refuses anything: what does not work is said in one line, and the job runs unprofiled. */
#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <pwd.h>
#include <slurm/spank.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "node.h"
#include "record.h"
#include "site.h"
#include "task.h"

#define EXPORTED __attribute__((visibility("default")))
#define PW_OPTIONS "PROFWRAP_SLURM_OPTIONS" /* there: profiling is on */
#define PW_OUTPUT "PROFWRAP_SLURM_OUTPUT"   /* absolute */
#define PW_SLURMS_OWN "SLURM_SPANK__SLURM_SPANK_OPTION_profwrap_profwrap"

/* slurm.h has these, and a great deal more. */
#define PW_STEP_BATCH 0xfffffffbu
#define PW_STEP_INTERACTIVE 0xfffffffau
#define PW_STEP_EXTERN 0xfffffffcu

extern EXPORTED const char plugin_name[], plugin_type[];
extern EXPORTED const unsigned int plugin_version, spank_plugin_version;
SPANK_PLUGIN(profwrap, 1)

enum { OPTION_ON = 0, OPTION_OUTPUT = 1 };
enum { START_MS = 3000, TELL_MS = 5000 };

static struct {
    struct pw_site site;
    int is_given, is_ready;     /* by option; and the tasks are to be changed */
    char options[PW_SITE_TEXT]; /* as given */
    char output[PATH_MAX];      /* as given, then absolute */
    char command[PW_COMMAND_SIZE];
    char library[PATH_MAX]; /* task.c's */
    char start[PATH_MAX];   /* of the profiles' names, until root's note has it */
} plugin;

/* What is said goes into slurmd's log, too: nothing in it may begin a line or speak to terminals.
 */
static void say(const char *what, const char *note)
{
    char text[PW_NOTE_SIZE];
    snprintf(text, sizeof(text), "%s", note);
    for (char *c = text; *c; c++)
        if (iscntrl((unsigned char)*c))
            *c = '?';
    slurm_error("profwrap: %s%s", what, text);
}

/* Slurm takes any failure here for the job's: there is none. */
static int take_option(int which, const char *value, int remote)
{
    (void)remote;
    if (value && strcmp(value, "(null)") == 0)
        value = NULL; /* what a batch step has of an option without a value */
    if (which == OPTION_ON)
        snprintf(plugin.options, sizeof(plugin.options), "%s", value ? value : "");
    else
        snprintf(plugin.output, sizeof(plugin.output), "%s", value ? value : "");
    plugin.is_given = 1;
    return 0;
}

static struct spank_option options[] = {
    {(char *)"profwrap", (char *)"OPTIONS",
     (char *)"profile the tasks with profwrap; OPTIONS are those of 'profwrap run', or off", 2,
     OPTION_ON, take_option},
    {(char *)"profwrap-output", (char *)"DIR",
     (char *)"profile, and put the directories of the profiles into DIR", 1, OPTION_OUTPUT,
     take_option},
};

/* `relative` to the directory of this plugin. */
static int find_beside(const char *relative, char out[PATH_MAX])
{
    Dl_info info;
    char path[PATH_MAX], joined[2 * PATH_MAX];
    if (!dladdr(&plugin, &info) || !realpath(info.dli_fname, path))
        return -ENOENT;
    snprintf(joined, sizeof(joined), "%s/%s", dirname(path), relative);
    return realpath(joined, out) ? 0 : -errno;
}

/* A job that a profiled one submits is another job: it inherits nothing, as a step would. */
static void forget_outer_job(void)
{
    unsetenv(PW_OPTIONS);
    unsetenv(PW_OUTPUT);
    unsetenv(PW_SLURMS_OWN);
    unsetenv(PW_SLURMS_OWN "_output");
}

EXPORTED int slurm_spank_init(spank_t spank, int argc, char **argv)
{
    char note[PW_NOTE_SIZE];
    spank_context_t context = spank_context();
    pw_site_init(&plugin.site);
    for (int i = 0; i < argc; i++)
        if (pw_site_read(&plugin.site, argv[i], note))
            say("", note);
    if (context != S_CTX_LOCAL && context != S_CTX_ALLOCATOR && context != S_CTX_REMOTE)
        return ESPANK_SUCCESS;
    if (context == S_CTX_ALLOCATOR)
        forget_outer_job();
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
        if (spank_option_register(spank, &options[i]) != ESPANK_SUCCESS)
            slurm_error("profwrap: there is another --%s", options[i].name);
    return ESPANK_SUCCESS;
}

/* Relative to where the person stands, who may have given it to sbatch in another directory. */
static void make_absolute(void)
{
    char here[PATH_MAX], joined[2 * PATH_MAX];
    if (!plugin.output[0] || plugin.output[0] == '/' || !getcwd(here, sizeof(here)))
        return;
    int n = snprintf(joined, sizeof(joined), "%s/%s", here, plugin.output);
    if (n < PATH_MAX)
        memcpy(plugin.output, joined, (size_t)n + 1);
}

EXPORTED int slurm_spank_init_post_opt(spank_t spank, int argc, char **argv)
{
    (void)spank, (void)argc, (void)argv;
    spank_context_t context = spank_context();
    if (context == S_CTX_REMOTE || !plugin.is_given)
        return ESPANK_SUCCESS;
    make_absolute();
    setenv(PW_OPTIONS, plugin.options, 1);
    if (plugin.output[0])
        setenv(PW_OUTPUT, plugin.output, 1);
    return ESPANK_SUCCESS;
}

static int get(spank_t spank, const char *name, char *out, int size)
{
    int found = spank_getenv(spank, name, out, size) == ESPANK_SUCCESS;
    if (!found)
        out[0] = '\0';
    return found;
}

static uint32_t step_of(spank_t spank)
{
    uint32_t step = PW_STEP_EXTERN;
    spank_get_item(spank, S_JOB_STEPID, &step);
    return step;
}

static int is_script(spank_t spank)
{
    uint32_t step = step_of(spank);
    return step == PW_STEP_BATCH || step == PW_STEP_INTERACTIVE;
}

/* What srun found out counts before what the option says here: it knows its directory. */
static int is_wanted(spank_t spank)
{
    char text[PATH_MAX];
    if (step_of(spank) == PW_STEP_EXTERN)
        return 0;
    int inherited = get(spank, PW_OPTIONS, text, PW_SITE_TEXT);
    if (inherited)
        strcpy(plugin.options, text);
    if (get(spank, PW_OUTPUT, text, sizeof(text)) && text[0] == '/')
        strcpy(plugin.output, text);
    return (plugin.is_given || inherited) && strcmp(plugin.options, "off") != 0;
}

/* Tasks that share what the job may write: of a script, all that fit into its job. */
static int64_t task_count(spank_t spank)
{
    uint32_t tasks = 0, nodes = 1;
    uint16_t cpus = 1;
    char text[32];
    if (!is_script(spank) && spank_get_item(spank, S_JOB_TOTAL_TASK_COUNT, &tasks) == 0 && tasks)
        return tasks;
    if (get(spank, "SLURM_NTASKS", text, sizeof(text)) && atoi(text) > 0)
        return atoi(text);
    spank_get_item(spank, S_JOB_NNODES, &nodes);
    spank_get_item(spank, S_JOB_NCPUS, &cpus);
    return (int64_t)(nodes ? nodes : 1) * (cpus ? cpus : 1);
}

/* The number that the job has for its user: in all components of a heterogeneous job the first
 * one's, as the ranks will see it. */
static void name_job(spank_t spank, char out[16])
{
    char name[32];
    uint32_t job = 0;
    spank_get_item(spank, S_JOB_ID, &job);
    if (get(spank, "SLURM_JOB_ID", name, sizeof(name)))
        job = (uint32_t)strtoul(name, NULL, 10);
    snprintf(out, 16, "%u", job);
}

/* The directory of the profiles' directories. */
static int find_root(spank_t spank, const char *job, char out[PATH_MAX], char *note)
{
    char submitted[PATH_MAX], joined[2 * PATH_MAX];
    struct passwd *entry = getpwuid(geteuid());
    if (!get(spank, "SLURM_SUBMIT_DIR", submitted, sizeof(submitted)) &&
        !getcwd(submitted, PATH_MAX))
        submitted[0] = '\0';
    const char *wanted = plugin.output[0] ? plugin.output : plugin.site.output;
    int is_absolute = wanted[0] == '/';
    snprintf(joined, sizeof(joined), "%s%s%s", is_absolute ? "" : submitted,
             is_absolute || !wanted[0] ? "" : "/", wanted);
    int err = pw_site_expand(joined, entry ? entry->pw_name : "unknown", job, out, PATH_MAX);
    if (err == -EINVAL)
        snprintf(note, PW_NOTE_SIZE, "there can be no %%r or %%h in %.150s", joined);
    else if (err)
        snprintf(note, PW_NOTE_SIZE, "the name of its directory is too long");
    return err;
}

/* -1 and a note when the job has written what it may. */
static int find_share(spank_t spank, const char *root, const char *job, int64_t *bytes, char *note)
{
    *bytes = 0;
    if (!plugin.site.job_bytes)
        return 0;
    int64_t used = pw_node_used_bytes(root, job);
    *bytes = (plugin.site.job_bytes - used) / task_count(spank);
    if (*bytes >= 1 << 20)
        return 0;
    snprintf(note, PW_NOTE_SIZE, "the job has written %lld of the %lld MiB that it may",
             (long long)(used >> 20), (long long)(plugin.site.job_bytes >> 20));
    return -1;
}

/* What the prolog keeps of the job on this node: "" its file, ".off" why it found the node unfit.
 */
static int find_state(spank_t spank, const char *ending, char out[PATH_MAX])
{
    uint32_t job = 0;
    spank_get_item(spank, S_JOB_ID, &job);
    return snprintf(out, PATH_MAX, "%s/%u%s", plugin.site.state, job, ending) >= PATH_MAX ? -1 : 0;
}

/* Whether the prolog has found this node unfit. */
static int ask_prolog(spank_t spank, char *note)
{
    char path[PATH_MAX];
    return find_state(spank, ".off", path) || pw_node_read_line(path, note, PW_NOTE_SIZE) ? 0 : -1;
}

static int check_root(const char *root, char *note)
{
    int err = pw_node_make_directory(root);
    int64_t bytes = err ? err : pw_node_free_bytes(root);
    if (bytes < 0)
        snprintf(note, PW_NOTE_SIZE, "%.150s: %s", root, strerror((int)-bytes));
    else if (bytes < plugin.site.free_bytes)
        snprintf(note, PW_NOTE_SIZE, "%.150s has only %lld MiB left", root,
                 (long long)(bytes >> 20));
    return bytes < 0 || bytes < plugin.site.free_bytes ? -1 : 0;
}

/* Where profwrap lies, and whether it starts. */
static int find_profwrap(char profwrap[PATH_MAX], char *note)
{
    char libraries[PATH_MAX];
    char *const version[] = {profwrap, "--version", NULL};
    snprintf(note, PW_NOTE_SIZE, "it is not installed as it should be on this node");
    if (find_beside(PROFWRAP_BIN_FROM_PLUGIN "/profwrap", profwrap) ||
        find_beside(PROFWRAP_PRIVATE_FROM_PLUGIN, libraries))
        return -1;
    int n = snprintf(plugin.library, sizeof(plugin.library), "%s/libprofwrap_task.so", libraries);
    if (n >= PATH_MAX || access(plugin.library, R_OK) ||
        pw_node_run(geteuid(), getegid(), version, NULL, -1, START_MS))
        return -1;
    note[0] = '\0';
    return 0;
}

/* What the ranks are told, and root's note: the profiles' directories, and how their names begin.
 */
static int name_profiles(spank_t spank, const char *root, const char *start, char *note)
{
    char text[16], ending[32] = "";
    int again = get(spank, "SLURM_RESTART_COUNT", text, sizeof(text)) ? atoi(text) : 0;
    if (again)
        snprintf(ending, sizeof(ending), "-r%d", again);
    if (snprintf(plugin.start, PATH_MAX, "%s/%s", root, start) < PATH_MAX &&
        snprintf(plugin.output, PATH_MAX, "%s/profwrap-%%j%s", root, ending) < PATH_MAX)
        return 0;
    snprintf(note, PW_NOTE_SIZE, "the name of its directory is too long");
    return -1;
}

static int prepare(spank_t spank, char *note)
{
    char root[PATH_MAX], profwrap[PATH_MAX], text[64], level[16], job[16], start[32];
    struct pw_request request = {.profwrap = profwrap, .options = plugin.options};
    name_job(spank, job);
    snprintf(start, sizeof(start), "profwrap-%s", job);
    if (get(spank, "SLURM_CONTAINER", text, sizeof(text))) {
        snprintf(note, PW_NOTE_SIZE, "it is not in the container");
        return -1;
    }
    if (find_root(spank, job, root, note) || find_profwrap(profwrap, note) ||
        check_root(root, note) || ask_prolog(spank, note) ||
        find_share(spank, root, start, &request.rank_bytes, note))
        return -1;
    if (get(spank, "PROFWRAP_LEVEL", level, sizeof(level)))
        request.level = level;
    if (pw_site_command(&plugin.site, &request, plugin.command, note))
        return -1;
    if (note[0])
        say("", note);
    return name_profiles(spank, root, start, note);
}

/* Once per node and step, with the user's effective ids. */
EXPORTED int slurm_spank_user_init(spank_t spank, int argc, char **argv)
{
    (void)argc, (void)argv;
    char note[PW_NOTE_SIZE] = "";
    if (!is_wanted(spank))
        return ESPANK_SUCCESS;
    plugin.is_ready = prepare(spank, note) == 0;
    if (!plugin.is_ready)
        say("running unprofiled: ", note);
    return ESPANK_SUCCESS;
}

/* mpirun and its daemons put this in front of every rank. */
static void set_agents(spank_t spank)
{
    spank_setenv(spank, PW_AGENT_ORTE, plugin.command, 1);
    spank_setenv(spank, PW_AGENT_PRRTE, plugin.command, 1);
}

static void set_task(spank_t spank)
{
    char own[PATH_MAX], list[2 * PATH_MAX], pid[16];
    get(spank, "LD_AUDIT", own, sizeof(own));
    snprintf(list, sizeof(list), "%s%s%s", plugin.library, own[0] ? ":" : "", own);
    snprintf(pid, sizeof(pid), "%d", (int)getpid());
    spank_setenv(spank, "LD_AUDIT", list, 1);
    spank_setenv(spank, PW_TASK_AUDIT, own, 1);
    spank_setenv(spank, PW_TASK_PID, pid, 1);
    spank_setenv(spank, PW_TASK_COMMAND, plugin.command, 1);
}

/* In the process that becomes the task, as the user. */
EXPORTED int slurm_spank_task_init(spank_t spank, int argc, char **argv)
{
    (void)argc, (void)argv;
    if (!plugin.is_ready) {
        spank_unsetenv(spank, PW_AGENT_ORTE);
        spank_unsetenv(spank, PW_AGENT_PRRTE);
        return ESPANK_SUCCESS;
    }
    spank_setenv(spank, "PROFWRAP_OUTPUT", plugin.output, 1);
    spank_setenv(spank, PW_OPTIONS, plugin.options, 1);
    set_agents(spank);
    if (!is_script(spank))
        set_task(spank);
    return ESPANK_SUCCESS;
}

/* In slurmstepd, as root, before any task has begun. Without the note the epilog has less to do. */
EXPORTED int slurm_spank_task_post_fork(spank_t spank, int argc, char **argv)
{
    (void)argc, (void)argv;
    char path[PATH_MAX];
    if (plugin.is_ready && plugin.start[0] && find_state(spank, "", path) == 0)
        pw_record_add(path, plugin.start);
    plugin.start[0] = '\0';
    return ESPANK_SUCCESS;
}

/* Has the report's one line put into the job's comment: as the user, for root's part is to
 * wait for it. */
EXPORTED int slurm_spank_task_exit(spank_t spank, int argc, char **argv)
{
    (void)argc, (void)argv;
    char script[PATH_MAX], job_text[16], record[PATH_MAX], conf[PATH_MAX];
    uint32_t job = 0, task = 1;
    uid_t uid = 0;
    gid_t gid = 0;
    const char *path = getenv("SLURM_CONF"); /* slurmstepd's own */
    if (!plugin.is_ready || spank_get_item(spank, S_TASK_GLOBAL_ID, &task) || task != 0 ||
        spank_get_item(spank, S_JOB_ID, &job) || spank_get_item(spank, S_JOB_UID, &uid) ||
        spank_get_item(spank, S_JOB_GID, &gid) || find_state(spank, "", record) ||
        find_beside(PROFWRAP_HOOKS_FROM_PLUGIN "/job-tell", script))
        return ESPANK_SUCCESS;
    snprintf(job_text, sizeof(job_text), "%u", job);
    snprintf(conf, sizeof(conf), "SLURM_CONF=%s", path ? path : "");
    int input = pw_record_open(record);
    if (input < 0)
        return ESPANK_SUCCESS;
    pw_node_run(uid, gid, (char *const[]){script, job_text, NULL}, path ? conf : NULL, input,
                TELL_MS);
    close(input);
    return ESPANK_SUCCESS;
}
