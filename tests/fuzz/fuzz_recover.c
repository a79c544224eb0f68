/* `profwrap recover` of a directory with the input as a journal. If it makes a rank file, the file
 * must be valid. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/commands.h"
#include "fuzz.h"

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    char path[FUZZ_PATH];
    (void)argc, (void)argv;
    if (!freopen("/dev/null", "w", stdout))
        abort();
    return mkdir(fuzz_path(path, "run"), 0700);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const left[] = {"run/rank-00000.journal", "run/rank-00000.h5.part"};
    char path[FUZZ_PATH];
    struct pw_recovery found;
    fuzz_put(path, left[0], data, size);
    fuzz_begin();
    int err = pw_cli_recover_all(fuzz_path(path, "run"), 0, &found);
    fuzz_judge(err || found.failed);
    if (found.recovered && pw_cli_dump_file(fuzz_path(path, "run/rank-00000.h5")))
        abort();
    unlink(fuzz_path(path, "run/rank-00000.h5"));
    for (size_t i = 0; i < sizeof(left) / sizeof(left[0]); i++)
        unlink(fuzz_path(path, left[i]));
    return 0;
}
