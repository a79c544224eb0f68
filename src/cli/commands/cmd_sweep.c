/* `profwrap sweep`: removes the user's shared memory that no process uses any more.
 *
 * A segment is in use while a process maps it, or while a process has one of the pids in its
 * header. The mapping is visible whatever pid namespace the process is in; the pid also when the
 * process hides its mappings. If another process has got such a pid, the segment is removed only
 * after that process has ended. */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/commands.h"
#include "core/log.h"
#include "core/remedy.h"
#include "rank/host/hostpage.h"
#include "rank/ring/segment.h"
#include "rank/run/process.h"

static const char shared_memory[] = "/dev/shm";

/* Checks twice, with a pause: a new segment has its name some microseconds before its creator maps
 * it. */
enum { LOOKS = 2, PAUSE_US = 50000, MOST = 4096 };

struct candidates {
    int n;
    char names[MOST][PW_SEGMENT_NAME_SIZE]; /* with their leading slash */
};

static int is_process(int32_t pid)
{
    struct pw_process_stat stat;
    if (pid > 0 && pw_process_stat(pid, &stat) == 0)
        return !pw_process_is_over(&stat); /* a zombie has no mappings */
    return pid > 0 && (kill(pid, 0) == 0 || errno == EPERM);
}

/* "/profwrap-RANK-" and 32 hexadecimal digits. */
static int is_segment_name(const char *name)
{
    enum { DIGITS = 32 };
    int at = 0;
    return sscanf(name, "/profwrap-%*d-%n", &at) == 0 && at > 0 && strlen(name + at) == DIGITS &&
           strspn(name + at, "0123456789abcdef") == DIGITS;
}

/* Whether the segment is the user's and the processes in its header have ended. True also when it
 * has no header, because its creator was killed. */
static int looks_stale(const char *name)
{
    struct pw_segment_shared *segment;
    int err = pw_segment_attach(name, &segment);
    if (err)
        return (err == -EPROTO && is_segment_name(name)) || pw_hostpage_is_abandoned(name);
    int stale = !is_process(atomic_load(&segment->tool_pid)) &&
                !is_process(atomic_load(&segment->guard_pid)) &&
                !is_process(atomic_load(&segment->owner_pid));
    pw_segment_detach(segment);
    return stale;
}

static int find_candidates(struct candidates *found)
{
    DIR *stream = opendir(shared_memory);
    if (!stream)
        return -errno;
    found->n = 0;
    for (struct dirent *entry; found->n < MOST && (entry = readdir(stream));) {
        char *name = found->names[found->n];
        if (strncmp(entry->d_name, "profwrap-", 9) == 0 &&
            snprintf(name, PW_SEGMENT_NAME_SIZE, "/%s", entry->d_name) < PW_SEGMENT_NAME_SIZE)
            found->n += looks_stale(name);
    }
    closedir(stream);
    return 0;
}

static void strike_out(struct candidates *found, const char *mapped)
{
    for (int i = 0; i < found->n; i++)
        if (strcmp(found->names[i], mapped) == 0)
            found->names[i][0] = '\0';
}

/* Removes from the list the segments that process `pid` maps. */
static void strike_mapped(struct candidates *found, const char *pid)
{
    char path[300], line[4400];
    snprintf(path, sizeof(path), "/proc/%s/maps", pid);
    FILE *maps = fopen(path, "re");
    while (maps && fgets(line, sizeof(line), maps)) {
        char *at = strstr(line, shared_memory);
        if (!at)
            continue;
        at += sizeof(shared_memory) - 1;
        at[strcspn(at, " \n")] = '\0';
        strike_out(found, at);
    }
    if (maps)
        fclose(maps);
}

static int strike_all_mapped(struct candidates *found)
{
    DIR *stream = opendir("/proc");
    if (!stream)
        return -errno;
    for (struct dirent *entry; (entry = readdir(stream));)
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
            strike_mapped(found, entry->d_name);
    closedir(stream);
    return 0;
}

/* Removes the segment, or prints it to `list` if that is not NULL. Returns whether it did. */
static int take(const char *name, FILE *list)
{
    if (!name[0])
        return 0;
    return list ? fprintf(list, "%s%s\n", shared_memory, name) > 0 : shm_unlink(name) == 0;
}

int pw_sweep_segments(FILE *list)
{
    struct candidates *found = calloc(1, sizeof(*found));
    int err = found ? find_candidates(found) : -ENOMEM, removed = 0;
    for (int look = 0; !err && found->n && look < LOOKS; look++) {
        if (look)
            usleep(PAUSE_US);
        err = strike_all_mapped(found);
    }
    for (int i = 0; !err && i < found->n; i++)
        removed += take(found->names[i], list);
    free(found);
    return err ? err : removed;
}

static int print_help(void)
{
    printf(
        "Usage: profwrap sweep [--dry-run]\n\nRemoves shared memory of yours that no process of a "
        "run uses any more.\nWhat 'profwrap recover' could take from it is lost.\n\n"
        "  --dry-run   only list what would be removed\n");
    return 0;
}

int pw_cli_sweep(int argc, char **argv)
{
    const char *option = argc == 2 ? argv[1] : "";
    const int is_dry = strcmp(option, "--dry-run") == 0;
    if (strcmp(option, "-h") == 0 || strcmp(option, "--help") == 0)
        return print_help();
    if (argc > 2 || (argc == 2 && !is_dry)) {
        pw_error("usage: profwrap sweep [--dry-run]");
        return 2;
    }
    int n = pw_sweep_segments(is_dry ? stdout : NULL);
    if (n < 0) {
        pw_error("cannot look at shared memory: %s", pw_remedy((int)n));
        return 1;
    }
    printf(is_dry ? "%d would be removed\n" : "%d removed\n", n);
    return 0;
}
