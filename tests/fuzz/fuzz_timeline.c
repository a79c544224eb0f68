/* `profwrap report --format chrome` of a run in which one rank file is good and the others are the
 * input: whichever rank it says it is, that one is read. What comes out must be JSON. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/report.h"
#include "fuzz.h"

enum { MOST_BYTES = 1 << 20, RANKS = 4 };

static void copy_good(const char *from, const char *name)
{
    static uint8_t bytes[MOST_BYTES];
    char path[FUZZ_PATH];
    FILE *file = fopen(from, "rb");
    size_t size = file ? fread(bytes, 1, sizeof(bytes), file) : 0;
    if (!size)
        abort();
    fclose(file);
    fuzz_put(path, name, bytes, size);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    copy_good(FUZZ_RANK_FILES "/../cluster/halo", "cluster.h5");
    copy_good(FUZZ_RANK_FILES "/halo-0", "rank-00000.h5");
    return 0;
}

static void check_json(const char *path)
{
    json_error_t error;
    json_t *whole = json_load_file(path, 0, &error);
    if (!whole) {
        fprintf(stderr, "fuzz: the timeline, line %d: %s\n", error.line, error.text);
        abort();
    }
    json_decref(whole);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* Whole, some steps, some ranks, and too little room. */
    static char *const options[][2] = {
        {"--top", "0"}, {"--steps", "1-1"}, {"--ranks", "0-2"}, {"--max-size", "8K"}};
    char path[FUZZ_PATH], output[FUZZ_PATH], name[32];
    char *const *option = options[size % (sizeof(options) / sizeof(options[0]))];
    for (int rank = 1; rank < RANKS; rank++) {
        snprintf(name, sizeof(name), "rank-%05d.h5", rank);
        fuzz_put(path, name, data, size);
    }
    fuzz_path(path, "cluster.h5");
    unlink(fuzz_path(output, "trace.json"));
    char *words[] = {"report",  "--format", "chrome", "-o", output,
                     option[0], option[1],  path,     NULL};
    fuzz_begin();
    int status = pw_cli_report(8, words);
    fuzz_judge(status);
    if (status == 0)
        check_json(output);
    return 0;
}
