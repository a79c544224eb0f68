/* Reads the command lines of Hydra's proxies; see hydra.h. */
#include "rank/run/hydra.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "rank/run/baretext.h"

/* Shells, debuggers, numactl: what may be between a proxy and its rank. */
enum { MOST_ANCESTORS = 16 };

/* Reads a file of /proc, whose size is not known. Returns the number of bytes; a NUL follows
 * them. */
static size_t read_whole(const char *root, pid_t pid, const char *name, char *out, size_t size)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/proc/%d/%s", root, (int)pid, name);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t used = 0;
    ssize_t n = fd < 0 ? 0 : 1;
    while (n > 0 && used + 1 < size) {
        n = read(fd, out + used, size - 1 - used);
        used += n > 0 ? (size_t)n : 0;
    }
    if (fd >= 0)
        close(fd);
    out[used] = '\0';
    return used;
}

/* Returns the parent's pid; 0: none, or not known. */
static pid_t parent_of(const char *root, pid_t pid)
{
    char text[1024];
    int parent = 0;
    read_whole(root, pid, "stat", text, sizeof(text));
    const char *at = strrchr(text, ')'); /* the name may contain ')' */
    return at && sscanf(at + 1, " %*c %d", &parent) == 1 ? parent : 0;
}

/* The words of a command line are separated by NULs. */
static const char *next_word(const char *word, const char *end)
{
    word += strlen(word) + 1;
    return word < end ? word : NULL;
}

static const char *option(const char *words, const char *end, const char *name)
{
    const char *word = words;
    while (word && strcmp(word, name) != 0)
        word = next_word(word, end);
    return word ? next_word(word, end) : NULL;
}

static void name_after(const char *words, const char *end, char *out, size_t size)
{
    const char *port = option(words, end, "--control-port");
    const char *group = option(words, end, "--pgid");
    if (!port)
        return;
    const int is_spawned = group && strcmp(group, "0") != 0; /* by MPI_Comm_spawn */
    snprintf(out, size, "%.40s%s%.8s", port, is_spawned ? "-" : "", is_spawned ? group : "");
    char *colon = strchr(out, ':');
    if (colon)
        *colon = '-';
}

void pw_hydra_name(const char *root, pid_t pid, char *out, size_t size)
{
    char words[4096];
    out[0] = '\0';
    for (int i = 0; i < MOST_ANCESTORS && pid > 1; i++, pid = parent_of(root, pid)) {
        const size_t n = read_whole(root, pid, "cmdline", words, sizeof(words));
        if (n && pw_bare_is_same(pw_bare_base_name(words), "hydra_pmi_proxy")) {
            name_after(words, words + n, out, size);
            return;
        }
    }
}
