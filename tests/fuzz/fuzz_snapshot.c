/* `profwrap ctl snapshot` of a rank with the input as its journal, which still grows: the rank file
 * ends before a step. It must be one that can be read; where there is none, nothing is left. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/activities.h"
#include "cli/dump.h"
#include "fuzz.h"
#include "rank/journal/replay.h"

enum { STEPS = 8 };

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    char path[FUZZ_PATH];
    (void)argc, (void)argv;
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char journal[FUZZ_PATH], dir[FUZZ_PATH];
    fuzz_put(journal, "rank-00000.journal", data, size);
    const struct pw_replay_job job = {
        .journal = journal,
        .dir = fuzz_path(dir, "snapshot"),
        .cut_step = (int64_t)(size % STEPS) - 1,
    };
    fuzz_begin();
    int err = pw_replay_journal(&job, pw_cli_collectors());
    fuzz_end();
    if (err > 0 || check_files(dir) != (err == 0)) {
        fprintf(stderr, "fuzz: a replay answered %d\n", err);
        abort();
    }
    return 0;
}
