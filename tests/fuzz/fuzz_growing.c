/* `profwrap ctl snapshot` of a rank while its journal, the input, is being written. At every moment
 * it makes a valid file or none. */
#include "fuzz.h"
#include "grow.h"
#include "look.h"

enum { STEPS = 8, MOST_LOOKS = 4 };

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    return look_open();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char journal[FUZZ_PATH];
    struct grow grow = {.path = journal, .data = data, .size = size, .at = size / 4};
    fuzz_put(journal, "rank-00000.journal", data, grow.at);
    grow_start(&grow);
    for (int i = 0; i < MOST_LOOKS && !grow.done; i++)
        look(journal, (int64_t)(size % STEPS) - 1);
    grow_finish(&grow);
    look(journal, -1);
    return 0;
}
