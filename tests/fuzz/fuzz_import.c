/* `profwrap import` of a trace, plain or gzip'ed, into an empty directory; by the file's name it
 * may be one of MindSpore or Ascend. */
#include "cli/cmd_import.h"
#include "fuzz.h"

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    return 0;
}

static void import_as(const char *file, const uint8_t *data, size_t size)
{
    char path[FUZZ_PATH], out[FUZZ_PATH];
    char name[] = "import", jobs[] = "-j1", calls[] = "--cuda-calls", output[] = "-o";
    fuzz_put(path, file, data, size);
    fuzz_path(out, "ranks");
    fuzz_begin();
    fuzz_judge(pw_import_command(6, (char *[]){name, jobs, calls, output, out, path, NULL}));
    fuzz_empty(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    import_as("input.json", data, size);
    import_as("trace_view.json", data, size);
    return 0;
}
