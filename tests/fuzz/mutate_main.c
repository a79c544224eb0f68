/* The mutators as a program, for readers that are not C:   fuzz_mutate SEED COUNT DIR FILE
 * writes DIR/0, DIR/1, ..., each the file changed in another way. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dice.h"
#include "fuzz.h"

enum { MOST = 1 << 18 };

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);

static struct dice dice;

/* libFuzzer's, where there is none: some bytes, or an end. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most)
{
    (void)most;
    if (dice_below(&dice, 8) == 0)
        return 1 + dice_below(&dice, size);
    for (size_t n = 1 + dice_below(&dice, 4); n; n--) {
        static const size_t sizes[] = {1, 2, 4, 8};
        size_t bytes = sizes[dice_below(&dice, 4)];
        if (size > bytes)
            pick_bytes(&dice, data + dice_below(&dice, size - bytes), bytes);
    }
    return size;
}

static int write_file(const char *dir, long number, const uint8_t *bytes, size_t size)
{
    char path[FUZZ_PATH];
    snprintf(path, sizeof(path), "%.4000s/%ld", dir, number);
    FILE *file = fopen(path, "wb");
    return !file || fwrite(bytes, 1, size, file) != size || fclose(file);
}

int main(int argc, char **argv)
{
    static uint8_t original[MOST], changed[MOST];
    FILE *file = argc == 5 ? fopen(argv[4], "rb") : NULL;
    size_t size = file ? fread(original, 1, sizeof(original), file) : 0;
    if (!size) {
        fprintf(stderr, "usage: fuzz_mutate SEED COUNT DIR FILE\n");
        return 2;
    }
    fclose(file);
    dice.state = strtoull(argv[1], NULL, 10);
    for (long i = 0; i < strtol(argv[2], NULL, 10); i++) {
        memcpy(changed, original, size);
        size_t now = LLVMFuzzerCustomMutator(changed, size, MOST, (unsigned)dice_bits(&dice));
        if (write_file(argv[3], i, changed, now))
            return 1;
    }
    return 0;
}
