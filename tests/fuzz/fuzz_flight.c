/* `profwrap import` of the input as a dump of PyTorch's Flight Recorder in JSON. */
#include "cli/commands.h"
#include "fuzz.h"

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[FUZZ_PATH], out[FUZZ_PATH];
    char *words[] = {"import", "-j1", "-f", "flight", "-r", "0", "-o", out, path, NULL};
    fuzz_put(path, "input.json", data, size);
    fuzz_path(out, "ranks");
    fuzz_begin();
    fuzz_judge(pw_import_command(9, words));
    fuzz_empty(out);
    return 0;
}
