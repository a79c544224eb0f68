/* See dice.h. */
#include "dice.h"

#include <string.h>

uint64_t dice_bits(struct dice *dice)
{
    uint64_t z = dice->state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

size_t dice_below(struct dice *dice, size_t n)
{
    return n ? (size_t)(dice_bits(dice) % n) : 0;
}

void pick_bytes(struct dice *dice, void *to, size_t size)
{
    static const int64_t numbers[] = {0,
                                      1,
                                      -1,
                                      2,
                                      3,
                                      4,
                                      7,
                                      255,
                                      256,
                                      65535,
                                      INT32_MAX,
                                      INT32_MIN,
                                      INT64_MAX,
                                      INT64_MIN,
                                      INT64_MAX - 1,
                                      1LL << 62,
                                      1LL << 40,
                                      -(1LL << 40),
                                      1000000,
                                      0x7ff0000000000000,
                                      0x7ff8000000000000,
                                      0x7fe0000000000000,
                                      0x43e0000000000000,
                                      -0x3c20000000000000};
    int64_t number = numbers[dice_below(dice, sizeof(numbers) / sizeof(numbers[0]))];
    int64_t old = 0;
    memcpy(&old, to, size < sizeof(old) ? size : sizeof(old));
    uint64_t bits = dice_bits(dice);
    switch (dice_below(dice, 6)) {
    case 0:
        number = (int64_t)bits;
        break;
    case 1:
        number = (int64_t)(bits % 64);
        break;
    case 2:
        number = (int64_t)((uint64_t)old + bits % 2001 - 1000);
        break;
    case 3:
        number = (int64_t)((uint64_t)old ^ (uint64_t)1 << bits % 64);
        break;
    default:
        break;
    }
    for (size_t at = 0; at < size; at += sizeof(number)) /* of text: the same again and again */
        memcpy((char *)to + at, &number, size - at < sizeof(number) ? size - at : sizeof(number));
}
