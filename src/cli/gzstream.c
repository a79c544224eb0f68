/* gzip behind stdio; see gzstream.h. */
#include "cli/gzstream.h"

#include <errno.h>
#include <sys/types.h>
#include <unistd.h>
#include <zlib.h>

static ssize_t write_some(void *cookie, const char *bytes, size_t size)
{
    errno = 0;
    int written = gzwrite(cookie, bytes, (unsigned)size);
    if (written > 0)
        return written;
    errno = errno ? errno : EIO;
    return 0; /* as fopencookie(3) has it */
}

static int close_it(void *cookie)
{
    errno = 0;
    if (gzclose(cookie) == Z_OK)
        return 0;
    errno = errno ? errno : EIO;
    return EOF;
}

FILE *pw_gzstream_open(int fd)
{
    gzFile file = gzdopen(fd, "wb1"); /* fast: a timeline is large, and looked at once */
    if (!file) {
        close(fd);
        errno = ENOMEM;
        return NULL;
    }
    FILE *stream =
        fopencookie(file, "w", (cookie_io_functions_t){.write = write_some, .close = close_it});
    if (!stream)
        gzclose(file);
    return stream;
}
