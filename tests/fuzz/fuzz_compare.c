/* `profwrap compare` of the input and a valid cluster file (a plain one, or one with a frozen
 * host), in both orders, as text and as JSON; and of five pairs of both. */
#include <unistd.h>

#include "cli/commands.h"
#include "fuzz.h"

enum { SLOWER = 3, UNKNOWN = 4 };

static char good[2][FUZZ_PATH];

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    size_t size;
    (void)argc, (void)argv;
    fuzz_put_corpus("plain.h5", "cluster/halo", &size);
    fuzz_put_corpus("frozen.h5", "cluster/frozen", &size);
    fuzz_path(good[0], "plain.h5");
    fuzz_path(good[1], "frozen.h5");
    return 0;
}

static void compare(char *before, char *after, int as_json)
{
    static char *const formats[] = {"text", "json"};
    char output[FUZZ_PATH];
    char *words[] = {"compare", "--format", formats[as_json], "-o", output, before, after, NULL};
    unlink(fuzz_path(output, "comparison"));
    fuzz_begin();
    int status = pw_cli_compare(7, words);
    fuzz_judge(status == SLOWER || status == UNKNOWN ? 0 : status);
    if (status == 1)
        return;
    if (as_json)
        fuzz_check_json(output);
    else
        fuzz_check_text(output);
}

/* The pairs are in both orders: A B, B A, A B, A B and A B. */
static void compare_pairs(char *before, char *after, int as_json)
{
    static char *const formats[] = {"text", "json"};
    char output[FUZZ_PATH];
    char *words[] = {"compare", "--format", formats[as_json], "-o",   output,
                     before,    after,      before,           before, before,
                     "--",      after,      before,           after,  after,
                     after,     NULL};
    unlink(fuzz_path(output, "comparison"));
    fuzz_begin();
    int status = pw_cli_compare(16, words);
    fuzz_judge(status == SLOWER || status == UNKNOWN ? 0 : status);
    if (status == 1)
        return;
    if (as_json)
        fuzz_check_json(output);
    else
        fuzz_check_text(output);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[FUZZ_PATH];
    fuzz_put(path, "cluster.h5", data, size);
    char *other = good[size / 2 % 2];
    compare(other, path, size % 2 != 0);
    compare(path, other, size % 2 == 0);
    compare_pairs(other, path, size % 3 == 0);
    return 0;
}
