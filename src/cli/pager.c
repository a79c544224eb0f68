/* Starts a pager and waits for it; see pager.h. */
#include "cli/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int is_in_path(const char *name)
{
    const char *at = getenv("PATH");
    char path[4096];
    while (at && *at) {
        const int length = (int)strcspn(at, ":");
        snprintf(path, sizeof(path), "%.*s/%s", length, at, name);
        if (length && access(path, X_OK) == 0)
            return 1;
        at += length + (at[length] == ':');
    }
    return 0;
}

/* Returns the command, NULL for none. */
static const char *command(void)
{
    const char *pager = getenv("PAGER"), *terminal = getenv("TERM");
    if (!terminal || !*terminal || strcmp(terminal, "dumb") == 0)
        return NULL; /* a pager would complain and wait */
    if (!pager)
        return is_in_path("less") ? "less" : NULL;
    return *pager && strcmp(pager, "cat") != 0 ? pager : NULL;
}

__attribute__((noreturn)) static void become_pager(const char *pager, int input)
{
    dup2(input, STDIN_FILENO);
    close(input);
    setenv("LESS", "FRX", 0); /* no pager for one screen; colours; the text stays */
    execl("/bin/sh", "sh", "-c", pager, (char *)NULL);
    _exit(127);
}

void pw_pager_start(struct pw_pager *pager)
{
    const char *name = isatty(STDOUT_FILENO) ? command() : NULL;
    int ends[2];
    *pager = (struct pw_pager){.terminal = -1};
    if (!name || pipe2(ends, O_CLOEXEC))
        return;
    pager->terminal = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    fflush(stdout);
    const pid_t pid = pager->terminal < 0 ? -1 : fork();
    if (pid == 0)
        become_pager(name, ends[0]);
    if (pid > 0) {
        pager->pid = pid;
        dup2(ends[1], STDOUT_FILENO);
        signal(SIGPIPE, SIG_IGN); /* the user may leave it before the end */
        signal(SIGINT, SIG_IGN);  /* Ctrl-C is for the pager */
    } else if (pager->terminal >= 0) {
        close(pager->terminal);
    }
    close(ends[0]);
    close(ends[1]);
}

int pw_pager_end(struct pw_pager *pager)
{
    int status = 0;
    if (!pager->pid)
        return 0;
    fflush(stdout);
    clearerr(stdout);
    dup2(pager->terminal, STDOUT_FILENO); /* closes the pipe, which is the end of the text */
    close(pager->terminal);
    while (waitpid(pager->pid, &status, 0) < 0 && errno == EINTR)
        ;
    pager->pid = 0;
    return WIFEXITED(status) && (WEXITSTATUS(status) == 126 || WEXITSTATUS(status) == 127);
}
