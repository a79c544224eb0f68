/* `profwrap ctl snapshot` of a rank whose journal is the input and may still grow. The rank file
 * ends before a step and must be valid. If no file is made, nothing is left over. */
#include "fuzz.h"
#include "look.h"

enum { STEPS = 8 };

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    return look_open();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char journal[FUZZ_PATH];
    fuzz_put(journal, "rank-00000.journal", data, size);
    look(journal, (int64_t)(size % STEPS) - 1);
    return 0;
}
