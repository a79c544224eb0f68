/* `profwrap compare` of a good cluster file and the input, either way round, as text and as JSON.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/commands.h"
#include "fuzz.h"

enum { MOST_BYTES = 1 << 20, SLOWER = 3 };

static char good[FUZZ_PATH];

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    static uint8_t bytes[MOST_BYTES];
    (void)argc, (void)argv;
    FILE *file = fopen(FUZZ_RANK_FILES "/../cluster/halo", "rb");
    size_t size = file ? fread(bytes, 1, sizeof(bytes), file) : 0;
    if (!size)
        abort();
    fclose(file);
    fuzz_put(good, "good.h5", bytes, size);
    return 0;
}

static void check_json(const char *path)
{
    json_error_t error;
    json_t *whole = json_load_file(path, 0, &error);
    if (!whole) {
        fprintf(stderr, "fuzz: the comparison, line %d: %s\n", error.line, error.text);
        abort();
    }
    json_decref(whole);
}

static void compare(char *before, char *after, int as_json)
{
    static char *const formats[] = {"text", "json"};
    char output[FUZZ_PATH];
    char *words[] = {"compare", "--format", formats[as_json], "-o", output, before, after, NULL};
    unlink(fuzz_path(output, "comparison"));
    fuzz_begin();
    int status = pw_cli_compare(7, words);
    fuzz_judge(status == SLOWER ? 0 : status);
    if (status == 1)
        return;
    if (as_json)
        check_json(output);
    else
        fuzz_check_text(output);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[FUZZ_PATH];
    fuzz_put(path, "cluster.h5", data, size);
    compare(good, path, size % 2 != 0);
    compare(path, good, size % 2 == 0);
    return 0;
}
