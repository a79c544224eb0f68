/* See look.h. */
#include "look.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/commands.h"
#include "fuzz.h"
#include "rank/collect/recover.h"
#include "run/activities.h"

int look_open(void)
{
    char path[FUZZ_PATH];
    if (!freopen("/dev/null", "w", stdout))
        abort();
    return mkdir(fuzz_path(path, "snapshot"), 0700);
}

/* Reads and removes what there is; its number. */
static int check_files(const char *dir)
{
    char path[FUZZ_PATH];
    int n = 0;
    DIR *files = opendir(dir);
    for (struct dirent *one = readdir(files); one; one = readdir(files)) {
        if (one->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "%.3000s/%s", dir, one->d_name);
        if (!strstr(one->d_name, ".h5") || strstr(one->d_name, ".part") || pw_cli_dump_file(path))
            abort();
        unlink(path);
        n++;
    }
    closedir(files);
    return n;
}

void look(const char *journal, int64_t cut_step)
{
    char dir[FUZZ_PATH];
    const struct pw_replay_job job = {
        .journal = journal, .dir = fuzz_path(dir, "snapshot"), .cut_step = cut_step};
    fuzz_begin();
    int err = pw_replay_journal(&job, pw_cli_modules());
    fuzz_end();
    if (err > 0 || check_files(dir) != (err == 0)) {
        fprintf(stderr, "fuzz: a replay answered %d\n", err);
        abort();
    }
}
