/* `profwrap report --format chrome` while a valid rank file is overwritten with the input. The
 * output must be JSON. */
#include <unistd.h>

#include "cli/commands.h"
#include "fuzz.h"
#include "grow.h"

static const uint8_t *good;
static size_t good_size;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    fuzz_put_corpus("cluster.h5", "cluster/halo", &good_size);
    fuzz_put_corpus("rank-00000.h5", "rank/halo-0", &good_size);
    good = fuzz_put_corpus("rank-00001.h5", "rank/halo-1", &good_size);
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
    if (status == 0)
        fuzz_check_json(output);
    return 0;
}
