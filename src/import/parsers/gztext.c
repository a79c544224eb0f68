/* Believes the length at the end of the file only when the text has it; see gztext.h. */
#include "import/parsers/gztext.h"

#include <errno.h>
#include <libdeflate.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The largest text and file, and how many times as long as the file a text can be. */
enum { MOST_TEXT = 16 << 20, MOST_FILE = 4 << 20, MOST_GROWTH = 1032 };

/* Bytes of the header and of the end: a checksum, and the length of the text. */
enum { HEADER = 10, END = 8, LENGTH = 4 };

/* Reads `size` bytes from the begin of the file. Returns 0, -errno, or 1 when it is shorter. */
static int read_file(int fd, char *bytes, size_t size)
{
    size_t n = 0;
    while (n < size) {
        const ssize_t got = pread(fd, bytes + n, size - n, (off_t)n);
        if (got < 0 && errno != EINTR)
            return -errno;
        if (got == 0)
            return 1;
        n += got > 0 ? (size_t)got : 0;
    }
    return 0;
}

static size_t length_of(const char *file, size_t size)
{
    const uint8_t *at = (const uint8_t *)file + size - LENGTH;
    return at[0] | (size_t)at[1] << 8 | (size_t)at[2] << 16 | (size_t)at[3] << 24;
}

/* Returns 0, 1 as pw_gztext_read(), or -ENOMEM. */
static int inflate_all(const char *file, size_t size, char *text, size_t n)
{
    struct libdeflate_decompressor *inflater = libdeflate_alloc_decompressor();
    size_t used = 0, made = 0;
    if (!inflater)
        return -ENOMEM;
    const int is_good = libdeflate_gzip_decompress_ex(inflater, file, size, text, n, &used,
                                                      &made) == LIBDEFLATE_SUCCESS &&
                        used == size && made == n;
    libdeflate_free_decompressor(inflater);
    return is_good ? 0 : 1;
}

/* Sets *text when the file is inflated. */
static int read_text(const char *file, size_t size, size_t padding, char **text, size_t *n)
{
    if ((uint8_t)file[0] != 0x1f || (uint8_t)file[1] != 0x8b)
        return 1;
    const size_t length = length_of(file, size);
    if (length == 0 || length > MOST_TEXT || length / MOST_GROWTH > size)
        return 1;
    char *made = malloc(length + padding);
    const int failed = made ? inflate_all(file, size, made, length) : -ENOMEM;
    if (failed) {
        free(made);
        return failed;
    }
    memset(made + length, 0, padding);
    *text = made;
    *n = length;
    return 0;
}

int pw_gztext_read(int fd, size_t padding, char **text, size_t *n)
{
    struct stat about;
    if (fstat(fd, &about))
        return -errno;
    if (!S_ISREG(about.st_mode) || about.st_size < HEADER + END || about.st_size > MOST_FILE)
        return 1;
    const size_t size = (size_t)about.st_size;
    char *file = malloc(size);
    int err = file ? read_file(fd, file, size) : -ENOMEM;
    err = err ? err : read_text(file, size, padding, text, n);
    free(file);
    return err;
}
