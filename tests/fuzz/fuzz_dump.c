/* `profwrap dump` of a rank file or cluster file. */
#include <stdio.h>

#include "cli/commands.h"
#include "fuzz.h"

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    char path[FUZZ_PATH];
    (void)argc, (void)argv;
    return freopen(fuzz_path(path, "printed"), "w", stdout) ? 0 : 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[FUZZ_PATH], printed[FUZZ_PATH], name[] = "dump";
    fuzz_put(path, "input.h5", data, size);
    rewind(stdout);
    fuzz_begin();
    int status = pw_cli_dump(2, (char *[]){name, path, NULL});
    fuzz_judge(status);
    fflush(stdout);
    if (size % 16 == 0) /* of every sixteenth: it is long */
        fuzz_check_text(fuzz_path(printed, "printed"));
    return 0;
}
