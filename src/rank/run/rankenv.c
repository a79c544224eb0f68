/* Reads rank variables and command lines; see rankenv.h. No function of a library is called here.
 */
#include "rank/run/rankenv.h"

#include <stddef.h>

#include "rank/run/baretext.h"

static const struct pw_rank_names rows[] = {
#define PW_RANK_ROW(id, rank, size, local, job, needs) {rank, size, local, job, needs},
#include "rank/run/rankvars.def"
#undef PW_RANK_ROW
};

const struct pw_rank_names *pw_rank_names(enum pw_rank_row row)
{
    return &rows[row];
}

const char *pw_env_value(char *const *environment, const char *name)
{
    for (; *name && *environment; environment++) {
        const char *rest = pw_bare_after(*environment, name);
        if (rest && *rest == '=')
            return rest + 1;
    }
    return NULL;
}

int pw_env_number(char *const *environment, const char *name)
{
    enum { MOST = 1 << 24 };
    const char *text = pw_env_value(environment, name);
    int value = 0;
    if (!text || !*text)
        return -1;
    for (; *text; text++) {
        if (*text < '0' || *text > '9')
            return -1;
        value = 10 * value + (*text - '0');
        if (value > MOST)
            return -1;
    }
    return value;
}

/* Whether SLURM_STEP_ID is a step of srun. Very large numbers are other processes, such as the
 * batch script. */
static int is_step(char *const *environment)
{
    return pw_env_number(environment, "SLURM_STEP_ID") >= 0;
}

/* msrun's scheduler: a process of the job that is no rank, although msrun gives it RANK_ID 0 and
 * the job's RANK_SIZE. */
static int is_scheduler(char *const *environment, enum pw_rank_row row)
{
    const char *role = pw_env_value(environment, "MS_ROLE");
    return (row == PW_RANK_MSRUN || row == PW_RANK_ASCEND) && role &&
           pw_bare_is_same(role, "MS_SCHED");
}

static int matches(char *const *environment, enum pw_rank_row row)
{
    const struct pw_rank_names *names = &rows[row];
    const int rank = pw_env_number(environment, names->rank);
    const int size = pw_env_number(environment, names->size);
    if (rank < 0 || size < 1 || rank >= size || is_scheduler(environment, row))
        return 0;
    if (row == PW_RANK_SLURM)
        return is_step(environment);
    return !*names->needs || pw_env_value(environment, names->needs);
}

/* Whether the launcher's own environment had the variable with this value; with NULL, whether it
 * did not have it. */
static int is_as_it_was(const char *had, const char *name, const char *value)
{
    while (*had && *had != PW_LAUNCH_FIELD) {
        const char *rest = pw_bare_after(had, name);
        if (rest && *rest == '=') {
            rest++;
            while (value && *value && *rest == *value) {
                rest++;
                value++;
            }
            return value && !*value &&
                   (!*rest || *rest == PW_LAUNCH_BETWEEN || *rest == PW_LAUNCH_FIELD);
        }
        while (*had && *had != PW_LAUNCH_BETWEEN && *had != PW_LAUNCH_FIELD)
            had++;
        had += *had == PW_LAUNCH_BETWEEN;
    }
    return !value;
}

static int is_new(char *const *environment, const char *had, enum pw_rank_row row)
{
    const struct pw_rank_names *names = &rows[row];
    const char *const all[] = {names->rank, names->size, names->local, names->job, names->needs};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (*all[i] && !is_as_it_was(had, all[i], pw_env_value(environment, all[i])))
            return 1;
    return 0;
}

enum pw_rank_row pw_rank_find(char *const *environment, const char *had)
{
    for (enum pw_rank_row row = 0; row < PW_RANK_ROWS; row++)
        if (matches(environment, row) && (!had || is_new(environment, had, row)))
            return row;
    return PW_RANK_NONE;
}

/* Launchers, and the daemons that they start on each host (orted, Hydra's proxies). */
static const char *const launchers[] = {"mpirun",
                                        "mpiexec",
                                        "mpirun.openmpi",
                                        "mpiexec.openmpi",
                                        "mpirun.mpich",
                                        "mpiexec.mpich",
                                        "mpiexec.hydra",
                                        "orterun",
                                        "prterun",
                                        "prun",
                                        "oshrun",
                                        "srun",
                                        "torchrun",
                                        "accelerate",
                                        "deepspeed",
                                        "msrun",
                                        "flux",
                                        "accelerate-launch",
                                        "orted",
                                        "prted",
                                        "prte",
                                        "hydra_pmi_proxy",
                                        "hydra_bstrap_proxy"};

/* Launchers that are started by `python -m`. */
static const char *const modules[] = {
    "torch.distributed.run",         "torch.distributed.launch",
    "accelerate.commands.launch",    "accelerate.commands.accelerate_cli",
    "deepspeed.launcher.runner",     "deepspeed.launcher.launch",
    "mindspore.parallel.cluster.run"};

static int is_one_of(const char *name, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (pw_bare_is_same(name, list[i]))
            return 1;
    return 0;
}

static int is_launcher_name(const char *path, const char *next)
{
    const char *name = pw_bare_base_name(path);
    /* Only `accelerate launch` starts ranks. */
    if (pw_bare_is_same(name, "accelerate"))
        return next && pw_bare_is_same(next, "launch");
    return is_one_of(name, launchers, sizeof(launchers) / sizeof(launchers[0]));
}

/* Whether the module or script after Python's options is a launcher. */
static int is_python_launcher(char *const *argv)
{
    char *const *at = argv + 1;
    while (*at && **at == '-') {
        const char *option = *at;
        if (pw_bare_after(option, "-m")) {
            const char *module = option[2] ? option + 2 : at[1];
            return module && is_one_of(module, modules, sizeof(modules) / sizeof(modules[0]));
        }
        if (pw_bare_is_same(option, "-c"))
            return 0;
        /* -X and -W have a value; it may be the next word. */
        at += (pw_bare_is_same(option, "-X") || pw_bare_is_same(option, "-W")) && at[1] ? 2 : 1;
    }
    return *at && is_launcher_name(*at, at[1]);
}

/* Skips `env` and its assignments: the first line of a script is often "#!/usr/bin/env python3". */
static char *const *skip_env(char *const *argv)
{
    if (!pw_bare_is_same(pw_bare_base_name(argv[0]), "env"))
        return argv;
    for (argv++; *argv; argv++) {
        const char *at = *argv;
        while (*at && *at != '=')
            at++;
        if (**argv != '-' && *at != '=')
            break;
        if ((pw_bare_is_same(*argv, "-u") || pw_bare_is_same(*argv, "-C")) && argv[1])
            argv++; /* the value of the option */
    }
    return argv;
}

/* Whether `path` is a shell: at many sites mpirun is a shell script, and installers write scripts
 * that find Python. */
static int is_shell(const char *path)
{
    static const char *const shells[] = {"sh", "bash", "dash"};
    return is_one_of(pw_bare_base_name(path), shells, sizeof(shells) / sizeof(shells[0]));
}

int pw_rank_is_launcher(char *const *argv)
{
    if (argv[0])
        argv = skip_env(argv);
    if (!argv[0])
        return 0;
    if (pw_bare_after(pw_bare_base_name(argv[0]), "python"))
        return is_python_launcher(argv);
    if (is_shell(argv[0]) && argv[1])
        return is_launcher_name(argv[1], argv[2]);
    return is_launcher_name(argv[0], argv[1]);
}
