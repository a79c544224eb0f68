/* Turns a task of Slurm into a run of profwrap, in the moment in which the kernel has loaded its
 * program and nothing of it has been executed.
 *
 * The plugin names this library in LD_AUDIT: the dynamic linker loads an auditor before it loads
 * what the program needs, so that nothing is loaded twice. Its constructor replaces the program by
 * "profwrap run ... -- program arguments". That the process is the task itself, and not the
 * TaskProlog's shell, which has the same environment, is known by its pid. Whatever cannot be done
 * leaves the program as it is. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "task.h"

/* These start tasks of their own, which the fork agent in the environment wraps. */
static const char *const launchers[] = {
    "orted", "prted",         "mpirun", "mpiexec",         "orterun",           "prterun",
    "prun",  "mpiexec.hydra", "oshrun", "hydra_pmi_proxy", "hydra_bstrap_proxy"};

static int is_launcher(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    for (size_t i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++)
        if (strcmp(name, launchers[i]) == 0)
            return 1;
    return 0;
}

/* What follows "NAME=" in a variable of that name, else NULL. */
static const char *value_of(const char *variable, const char *name)
{
    size_t n = strlen(name);
    return strncmp(variable, name, n) == 0 && variable[n] == '=' ? variable + n + 1 : NULL;
}

static const char *find(char **environment, const char *name)
{
    const char *value = NULL;
    for (char **at = environment; *at && !value; at++)
        value = value_of(*at, name);
    return value;
}

static int is_ours(const char *variable)
{
    return value_of(variable, "LD_AUDIT") || value_of(variable, PW_TASK_PID) ||
           value_of(variable, PW_TASK_COMMAND) || value_of(variable, PW_TASK_AUDIT);
}

/* What tells mpirun to wrap its ranks; a wrapped program needs that no more. */
static int is_agent(const char *variable)
{
    return value_of(variable, PW_AGENT_ORTE) || value_of(variable, PW_AGENT_PRRTE);
}

/* The user's own LD_AUDIT, which the plugin put aside, takes the place of ours. */
static void clean(char **environment, int agents_too)
{
    char **keep = environment;
    for (char **at = environment; *at; at++) {
        const char *audit = value_of(*at, PW_TASK_AUDIT);
        if (audit && *audit)
            *keep++ = *at + strlen(PW_TASK_PREFIX);
        else if (!is_ours(*at) && !(agents_too && is_agent(*at)))
            *keep++ = *at;
    }
    *keep = NULL;
}

/* The environment of the program if it cannot become profwrap is to be what it was. */
static char **copy_list(char **list)
{
    size_t n = 0;
    while (list[n])
        n++;
    char **copy = calloc(n + 1, sizeof(*copy));
    for (size_t i = 0; copy && i < n; i++)
        copy[i] = list[i];
    return copy;
}

/* The words of the command, then the program's arguments. */
static char **join(char *command, int argc, char **argv)
{
    char *rest = command;
    size_t n = 0, most = strlen(command) / 2 + 1;
    char **words = calloc(most + (size_t)argc + 1, sizeof(*words));
    if (!words)
        return NULL;
    for (char *word; n < most && (word = strtok_r(rest, " ", &rest));)
        words[n++] = word;
    for (int i = 0; i < argc; i++)
        words[n++] = argv[i];
    return words;
}

static void become_profwrap(const char *given, int argc, char **argv, char **environment)
{
    char *command = strdup(given);
    char **words = command ? join(command, argc, argv) : NULL;
    char **list = copy_list(environment);
    if (words && list && words[0]) {
        clean(list, 1);
        execve(words[0], words, list);
    }
    free(list);
    free(words);
    free(command);
}

__attribute__((constructor)) static void begin(int argc, char **argv, char **environment)
{
    const char *pid = environment ? find(environment, PW_TASK_PID) : NULL;
    if (!pid || argc < 1 || atoi(pid) != getpid())
        return;
    const char *command = find(environment, PW_TASK_COMMAND);
    if (command && !is_launcher(argv[0]))
        become_profwrap(command, argc, argv, environment);
    clean(environment, 0);
}

/* 0: there is nothing to audit, and the library is unloaded. */
__attribute__((visibility("default"))) unsigned int la_version(unsigned int version);
unsigned int la_version(unsigned int version)
{
    (void)version;
    return 0;
}
