/* `profwrap report --format chrome` while a rank file, a good one, is overwritten with the input.
 * What comes out must be JSON. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/report.h"
#include "fuzz.h"
#include "grow.h"

enum { MOST_BYTES = 1 << 20 };

static uint8_t good[MOST_BYTES];
static size_t good_size;

static void load_good(const char *path)
{
    FILE *file = fopen(path, "rb");
    good_size = file ? fread(good, 1, sizeof(good), file) : 0;
    if (!good_size)
        abort();
    fclose(file);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    char path[FUZZ_PATH];
    (void)argc, (void)argv;
    load_good(FUZZ_RANK_FILES "/../cluster/halo");
    fuzz_put(path, "cluster.h5", good, good_size);
    load_good(FUZZ_RANK_FILES "/halo-0");
    fuzz_put(path, "rank-00000.h5", good, good_size);
    load_good(FUZZ_RANK_FILES "/halo-1");
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[FUZZ_PATH], rank[FUZZ_PATH], output[FUZZ_PATH];
    struct grow grow = {.path = rank, .data = data, .size = size};
    fuzz_put(rank, "rank-00001.h5", good, good_size);
    fuzz_path(path, "cluster.h5");
    unlink(fuzz_path(output, "trace.json"));
    char *words[] = {"report", "--format", "chrome", "-o", output, path, NULL};
    grow_start(&grow);
    fuzz_begin();
    int status = pw_cli_report(6, words);
    fuzz_judge(status);
    grow_finish(&grow);
    json_t *whole = status ? NULL : json_load_file(output, 0, NULL);
    if (!whole && status == 0)
        abort();
    json_decref(whole);
    return 0;
}
