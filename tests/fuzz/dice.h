/* Random choices of the mutators: of a seed always the same. */
#ifndef PW_FUZZ_DICE_H
#define PW_FUZZ_DICE_H

#include <stddef.h>
#include <stdint.h>

struct dice {
    uint64_t state;
};

uint64_t dice_bits(struct dice *dice);
size_t dice_below(struct dice *dice, size_t n);

/* Fills `size` bytes with a number that is likely to be mishandled. */
void pick_bytes(struct dice *dice, void *to, size_t size);

#endif
