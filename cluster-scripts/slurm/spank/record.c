/* Keeps root's note of a job's profiles; see record.h. */
#include "record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* O_NONBLOCK and the test: whatever else may have got that name must not make slurmstepd wait. */
static int open_file(const char *path, int mode)
{
    struct stat st;
    int fd = open(path, mode | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() && st.st_nlink == 1)
        return fd;
    close(fd);
    return -EPERM;
}

int pw_record_open(const char *path)
{
    return open_file(path, O_RDONLY);
}

static int has_line(const char *text, const char *line)
{
    size_t n = strlen(line);
    for (const char *at = text; (at = strstr(at, line)); at++)
        if ((at == text || at[-1] == '\n') && at[n] == '\n')
            return 1;
    return 0;
}

static int add(int fd, const char *line)
{
    char text[PW_RECORD_BYTES + 1], whole[4096];
    ssize_t used = pread(fd, text, PW_RECORD_BYTES, 0);
    int n = snprintf(whole, sizeof(whole), "%s\n", line);
    if (used < 0)
        return -errno;
    text[used] = '\0';
    if (has_line(text, line))
        return 0;
    if (n >= (int)sizeof(whole) || used + n > PW_RECORD_BYTES)
        return -EFBIG;
    return write(fd, whole, (size_t)n) == n ? 0 : -EIO;
}

int pw_record_add(const char *path, const char *line)
{
    if (!*line || strchr(line, '\n'))
        return -EINVAL;
    int fd = open_file(path, O_RDWR | O_APPEND);
    if (fd < 0)
        return fd;
    int err = add(fd, line);
    close(fd);
    return err;
}
