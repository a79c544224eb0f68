/* Passes the settings of a launch to its ranks; see launchenv.h. */
#include "run/launchenv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rank/run/rankenv.h"
#include "run/paths.h"

static const char audit[] = "LD_AUDIT";

/* The arguments of mpirun's fork agent, after the path of profwrap. */
static const char agent_command[] = "profwrap run --";

void pw_launchenv_read(struct pw_launchenv *out)
{
    const char *text = getenv(PW_LAUNCH_VARIABLE);
    char *rest = NULL;
    *out = (struct pw_launchenv){.argc = 0};
    text = text ? text : getenv(PW_LAUNCH_MCA_VARIABLE);
    char *copy = text ? strdup(text) : NULL;
    size_t fields = 1;
    for (const char *at = copy ? copy : ""; *at; at++)
        fields += *at == PW_LAUNCH_FIELD;
    char **argv = copy && fields >= 3 ? calloc(fields, sizeof(*argv)) : NULL;
    if (!argv) {
        free(copy);
        return;
    }
    const char separator[] = {PW_LAUNCH_FIELD, '\0'};
    rest = copy;
    out->name = strsep(&rest, separator);
    argv[0] = strsep(&rest, separator); /* profwrap */
    out->had = strsep(&rest, separator);
    for (out->argc = 1; rest; out->argc++)
        argv[out->argc] = strsep(&rest, separator);
    out->argv = argv;
}

static int is_launch_library(const char *path, size_t size)
{
    const size_t n = strlen(PW_LAUNCH_LIBRARY);
    return size >= n && strncmp(path + size - n, PW_LAUNCH_LIBRARY, n) == 0;
}

/* Removes the variable if profwrap has set it. */
static void forget_agent(const char *variable)
{
    const size_t n = strlen(agent_command);
    const char *value = getenv(variable);
    const size_t size = value ? strlen(value) : 0;
    if (size >= n && strcmp(value + size - n, agent_command) == 0)
        unsetenv(variable);
}

void pw_launchenv_forget(void)
{
    const char *list = getenv(audit);
    char *kept = list ? calloc(1, strlen(list) + 1) : NULL;
    for (const char *at = kept ? list : ""; *at;) {
        const size_t n = strcspn(at, ":");
        if (!is_launch_library(at, n)) {
            strcat(kept, *kept ? ":" : "");
            strncat(kept, at, n);
        }
        at += n + (at[n] == ':');
    }
    if (kept && *kept)
        setenv(audit, kept, 1);
    else
        unsetenv(audit);
    free(kept);
    forget_agent("OMPI_MCA_orte_fork_agent");
    forget_agent("PRTE_MCA_prte_fork_agent");
    unsetenv(PW_LAUNCH_VARIABLE);
    unsetenv(PW_LAUNCH_MCA_VARIABLE);
}

/* Writes all rank variables that are set in this process. */
static void write_had(FILE *out)
{
    for (enum pw_rank_row row = 0; row < PW_RANK_ROWS; row++) {
        const struct pw_rank_names *names = pw_rank_names(row);
        const char *const all[] = {names->rank, names->size, names->local, names->job,
                                   names->needs};
        for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
            if (*all[i] && getenv(all[i]))
                fprintf(out, "%s=%s%c", all[i], getenv(all[i]), PW_LAUNCH_BETWEEN);
    }
}

static char *compose(const char *name, const char *self, char *const *words, int count)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    fprintf(out, "%s%c%s%c", name, PW_LAUNCH_FIELD, self, PW_LAUNCH_FIELD);
    write_had(out);
    for (int i = 0; i < count; i++)
        fprintf(out, "%c%s", PW_LAUNCH_FIELD, words[i]);
    if (fclose(out)) {
        free(text);
        return NULL;
    }
    return text;
}

/* Makes profwrap mpirun's fork agent, which mpirun puts before each rank on all hosts, because
 * ranks that are started by ssh do not get our variables. Open MPI splits the agent's command at
 * spaces. */
static int tell_mpirun(const char *self, const char *text)
{
    char agent[4200];
    const char *slash = strrchr(self, '/');
    if (strchr(self, ' ') || !slash)
        return 0;
    snprintf(agent, sizeof(agent), "%.*s/%s", (int)(slash - self), self, agent_command);
    return setenv("OMPI_MCA_orte_fork_agent", agent, 0) ||
           setenv("PRTE_MCA_prte_fork_agent", agent, 0) || setenv(PW_LAUNCH_MCA_VARIABLE, text, 1);
}

static int put_audit(void)
{
    const char *before = getenv(audit);
    char dir[4000], list[8500];
    int err = pw_cli_private_dir(dir, sizeof(dir));
    if (err)
        return err;
    const int n = snprintf(list, sizeof(list), "%s/%s%s%s", dir, PW_LAUNCH_LIBRARY,
                           before && *before ? ":" : "", before ? before : "");
    if (n >= (int)sizeof(list))
        return -ENAMETOOLONG;
    return setenv(audit, list, 1) ? -errno : 0;
}

int pw_launchenv_tell(const char *name, char *const *words, int count)
{
    char self[4096];
    int err = pw_cli_self(self, sizeof(self));
    char *text = err ? NULL : compose(name, self, words, count);
    if (!err && !text)
        err = -ENOMEM;
    if (!err && (setenv(PW_LAUNCH_VARIABLE, text, 1) || tell_mpirun(self, text)))
        err = -errno;
    free(text);
    return err ? err : put_audit();
}

/* Makes the path of a rank's mark; that of rank 0 also has the number of ranks. */
static void mark_path(char *path, size_t size, const char *dir, const char *name, int is_first)
{
    snprintf(path, size, "%s/.launch-%s%s", dir, name, is_first ? "-0" : "");
}

int pw_launchenv_mark(const char *dir, const char *name, const struct pw_identity *id)
{
    char path[4400], text[16];
    snprintf(text, sizeof(text), "%d", id->size);
    mark_path(path, sizeof(path), dir, name, id->rank == 0);
    return symlink(text, path) && errno != EEXIST ? -errno : 0;
}

int pw_launchenv_find(const char *dir, const char *name)
{
    char path[4400], text[16];
    mark_path(path, sizeof(path), dir, name, 1);
    ssize_t n = readlink(path, text, sizeof(text) - 1);
    if (n > 0) {
        text[n] = '\0';
        return atoi(text);
    }
    mark_path(path, sizeof(path), dir, name, 0);
    return readlink(path, text, sizeof(text) - 1) > 0 ? 0 : -ENOENT;
}
