/* The distance of two words by dynamic programming; see nearest.h. */
#include "core/nearest.h"

#include <string.h>

enum { MOST_LETTERS = 32, MOST_DIFFERENCES = 3 };

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* table[i][j] is the distance between the first i letters of `a` and the first j letters of `b`
 * (optimal string alignment). Both have at most MOST_LETTERS letters. */
static int distance_of(const char *a, int na, const char *b, int nb)
{
    int table[MOST_LETTERS + 1][MOST_LETTERS + 1];
    for (int j = 0; j <= nb; j++)
        table[0][j] = j;
    for (int i = 1; i <= na; i++) {
        table[i][0] = i;
        for (int j = 1; j <= nb; j++) {
            int replaced = table[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            table[i][j] = least(replaced, 1 + least(table[i - 1][j], table[i][j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                table[i][j] = least(table[i][j], 1 + table[i - 2][j - 2]);
        }
    }
    return table[na][nb];
}

void pw_nearest_try(struct pw_nearest *nearest, const char *word, int length)
{
    int typed = (int)strnlen(nearest->typed, MOST_LETTERS + 1);
    if (typed > MOST_LETTERS || length > MOST_LETTERS)
        return;
    int distance = distance_of(nearest->typed, typed, word, length);
    if (distance > typed / 3 || distance > MOST_DIFFERENCES ||
        (nearest->word && distance >= nearest->distance))
        return;
    nearest->word = word;
    nearest->length = length;
    nearest->distance = distance;
}
