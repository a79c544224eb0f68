/* `profwrap report` of a cluster file, as text, JSON, CSV and folded stacks. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/report.h"
#include "fuzz.h"

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    return 0;
}

static int report(const char *format, const char *path, const char *output)
{
    char name[] = "report", option[] = "--format", to[] = "-o";
    char *const words[] = {name,
                           option,
                           (char *)(uintptr_t)format,
                           to,
                           (char *)(uintptr_t)output,
                           (char *)(uintptr_t)path,
                           NULL};
    fuzz_begin();
    unlink(output);
    int status = pw_cli_report(6, (char **)(uintptr_t)words);
    fuzz_judge(status);
    return status;
}

static void check_json(const char *path)
{
    json_error_t error;
    json_t *whole = json_load_file(path, 0, &error);
    if (!whole) {
        fprintf(stderr, "fuzz: the JSON report, line %d: %s\n", error.line, error.text);
        abort();
    }
    json_decref(whole);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[FUZZ_PATH], output[FUZZ_PATH];
    fuzz_put(path, "cluster.h5", data, size);
    fuzz_path(output, "report");
    if (report("text", path, output) == 0)
        fuzz_check_text(output);
    if (report("json", path, output) == 0)
        check_json(output);
    report("csv", path, output);
    report("folded", path, output);
    return 0;
}
