/* The words for errors of the operating system, and the distance of two words by dynamic
 * programming; see remedy.h. */
#include "core/remedy.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The distance of two words by dynamic programming. */

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

static const struct remedy {
    int err;
    const char *next;
} remedies[] = {
    {ENOENT, "check the path"},
    {ENOTDIR, "check the path"},
    {ELOOP, "check the symbolic links of the path"},
    {EISDIR, "give the name of a file"},
    {ENAMETOOLONG, "choose a shorter path"},
    {EACCES, "check its owner and permissions (ls -ld)"},
    {EPERM, "check its owner and permissions (ls -ld)"},
    {EROFS, "choose a directory that can be written"},
    {ENOSPC, "free some there, or choose another place"},
    {EDQUOT, "free some there, or choose another place"},
    {EFBIG, "raise the limit of file sizes (ulimit -f)"},
    {ENOMEM, "use a machine with more memory, or raise its limit (ulimit -v)"},
    {EMFILE, "raise the limit of open files (ulimit -n)"},
    {ENFILE, "try again when fewer files are open on this machine"},
    {EAGAIN, "raise the limit of processes (ulimit -u)"},
    {E2BIG, "give fewer or shorter arguments"},
    {EIO, "check the disk or the file system (dmesg)"},
    {ESTALE, "check the network file system, and try again"},
    {EADDRINUSE, "choose another port or path"},
    {EADDRNOTAVAIL, "choose an address of this machine"},
};

const char *pw_remedy(int err)
{
    static _Thread_local char text[160];
    const char *next = NULL;
    for (size_t i = 0; i < sizeof(remedies) / sizeof(remedies[0]) && !next; i++)
        if (remedies[i].err == abs(err))
            next = remedies[i].next;
    snprintf(text, sizeof(text), "%s%s%s", strerror(abs(err)), next ? "; " : "", next ? next : "");
    return text;
}
