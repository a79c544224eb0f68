/* `profwrap report --format chrome`, and `--format perfetto`, of a run in which one rank file is
 * valid and the others are the input. The input is read as the rank that it claims to be. The
 * output must be JSON, and a trace of Perfetto's. */
#include <stdio.h>
#include <unistd.h>

#include "cli/commands.h"
#include "fuzz.h"

enum { RANKS = 4 };

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    size_t size;
    (void)argc, (void)argv;
    fuzz_put_corpus("cluster.h5", "cluster/halo", &size);
    fuzz_put_corpus("rank-00000.h5", "rank/halo-0", &size);
    return 0;
}

static void write_as(char *format, char *const *option, void (*check)(const char *path))
{
    char path[FUZZ_PATH], output[FUZZ_PATH];
    fuzz_path(path, "cluster.h5");
    unlink(fuzz_path(output, "trace"));
    char *words[] = {"report", "--format", format, "-o", output, option[0], option[1], path, NULL};
    fuzz_begin();
    int status = pw_cli_report(8, words);
    fuzz_judge(status);
    if (status == 0)
        check(output);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* Whole, some steps, some ranks, and too little room. */
    static char *const options[][2] = {
        {"--top", "0"}, {"--steps", "1-1"}, {"--ranks", "0-2"}, {"--max-size", "8K"}};
    char path[FUZZ_PATH], name[32];
    char *const *option = options[size % (sizeof(options) / sizeof(options[0]))];
    for (int rank = 1; rank < RANKS; rank++) {
        snprintf(name, sizeof(name), "rank-%05d.h5", rank);
        fuzz_put(path, name, data, size);
    }
    write_as("chrome", option, fuzz_check_json);
    write_as("perfetto", option, fuzz_check_perfetto);
    return 0;
}
