/* A timeline for viewers of traces, compressed where its name says so; see cli/timelinefile.h. */
#include "cli/timelinefile.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>
#include <zlib.h>

#include "core/log.h"
#include "timeline/timeline.h"

/* A stream that compresses what is written to it. */

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

/* A stream whose gzip'ed bytes go to `fd`, which it closes. NULL and errno when it cannot be made;
 * what cannot be written shows by its error flag, or when it is closed. */
static FILE *pw_gzstream_open(int fd)
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

static void say_what_is_missing(const struct pw_timeline_result *result)
{
    if (result->unread)
        pw_say("%d rank files cannot be read and are left out", result->unread);
    if (result->share < 1)
        pw_say("the timeline holds the first %.1f %% of what was asked for: take fewer --steps or "
               "--ranks, or a larger --max-size",
               100 * result->share);
}

static void find_directory(char dir[PATH_MAX], const char *cluster_file)
{
    const char *slash = strrchr(cluster_file, '/');
    snprintf(dir, PATH_MAX, "%.*s", slash ? (int)(slash - cluster_file) : 1,
             slash ? cluster_file : ".");
}

static int write_plain(FILE *out, const struct pw_cluster *cluster,
                       const struct pw_cli_timeline *wanted)
{
    char dir[PATH_MAX], problem[256];
    find_directory(dir, wanted->cluster_file);
    const struct pw_timeline_options options = {
        .dir = dir,
        .cluster_file = wanted->cluster_file,
        .ranks = wanted->options->text[PW_OPT_RANKS],
        .only_steps = wanted->options->text[PW_OPT_STEPS][0] != '\0',
        .most_bytes = (int64_t)pw_option_size(wanted->options, PW_OPT_MAX_SIZE),
    };
    struct pw_timeline_result result;
    int err = pw_timeline_chrome(out, cluster, &options, &result, problem, sizeof(problem));
    if (err == -EINVAL)
        pw_error("%s", problem);
    if (err == -ENOENT)
        pw_error("there are no rank files in '%s': a timeline is made from them", dir);
    if (err == 0)
        say_what_is_missing(&result);
    return err == -EINVAL || err == -ENOENT ? 1 : err;
}

int pw_cli_timeline_write(FILE *out, const struct pw_cluster *cluster,
                          const struct pw_cli_timeline *wanted)
{
    size_t length = strlen(wanted->output);
    if (length < 3 || strcmp(wanted->output + length - 3, ".gz") != 0)
        return write_plain(out, cluster, wanted);
    int fd = dup(fileno(out));
    FILE *stream = fd < 0 ? NULL : pw_gzstream_open(fd);
    if (!stream)
        return -errno;
    int err = write_plain(stream, cluster, wanted);
    if (fclose(stream) && !err)
        err = -errno;
    return err;
}
