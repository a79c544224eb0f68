/* Limits the process's writable memory by the size of its input; see readlimit.h. */
#include "core/readlimit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "core/options.h"
#include "core/remedy.h"

/* Whether the process was started with a lower limit, which stays. */
static int is_inherited;

static rlim_t least(rlim_t a, rlim_t b)
{
    return a < b ? a : b;
}

/* The value of PROFWRAP_READ_MEMORY in bytes; 0: not set. */
static uint64_t find_wish(void)
{
    static struct pw_options options;
    pw_options_init(&options);
    int64_t wish = pw_option_size(&options, PW_OPT_READ_MEMORY);
    if (wish <= 0)
        return 0;
    return wish > PW_READLIMIT_LEAST_BYTES ? (uint64_t)wish : PW_READLIMIT_LEAST_BYTES;
}

int pw_readlimit_set(uint64_t input_bytes)
{
    struct rlimit limit;
    uint64_t most = find_wish();
    uint64_t more = input_bytes + PW_READLIMIT_MORE_BYTES, times = input_bytes * PW_READLIMIT_TIMES;
    most = most ? most : more > times ? more : times;
    if (getrlimit(RLIMIT_DATA, &limit))
        return -errno;
    /* RLIM_INFINITY is the largest value, so the comparison below needs no special case. */
    const rlim_t before = least(limit.rlim_cur, limit.rlim_max);
    is_inherited = before < most;
    limit.rlim_cur = least(most, before);
    return setrlimit(RLIMIT_DATA, &limit) ? -errno : 0;
}

static uint64_t size_of(int dir, const char *name)
{
    struct stat about;
    return fstatat(dir, name, &about, 0) == 0 && S_ISREG(about.st_mode) && about.st_size > 0
               ? (uint64_t)about.st_size
               : 0;
}

uint64_t pw_readlimit_size(const char *path)
{
    DIR *stream = opendir(path);
    if (!stream)
        return size_of(AT_FDCWD, path);
    uint64_t sum = 0;
    for (struct dirent *entry; (entry = readdir(stream));)
        sum += size_of(dirfd(stream), entry->d_name);
    closedir(stream);
    return sum;
}

/* Returns a text that names the limit; NULL when no limit is why memory was short. */
static const char *name_limit(int err)
{
    static char text[160];
    const rlim_t unreachable = (rlim_t)1 << 48; /* more than any machine has: not the cause */
    struct rlimit data, space;
    if (err != -ENOMEM || getrlimit(RLIMIT_DATA, &data) || getrlimit(RLIMIT_AS, &space))
        return NULL;
    const rlim_t limit = least(data.rlim_cur, space.rlim_cur);
    if (limit >= unreachable)
        return NULL;
    snprintf(text, sizeof(text), "it takes more than %llu MiB of memory, %s",
             (unsigned long long)limit >> 20,
             space.rlim_cur < data.rlim_cur ? "which is the limit of this shell or job (ulimit -v)"
             : is_inherited                 ? "which is the limit of this shell or job (ulimit -d)"
                            : "which are allowed for files of this size (PROFWRAP_READ_MEMORY=8G "
                              "allows more)");
    return text;
}

const char *pw_readlimit_error(int err)
{
    const char *limit = name_limit(err);
    return limit ? limit : strerror(-err);
}

const char *pw_readlimit_remedy(int err)
{
    const char *limit = name_limit(err);
    return limit ? limit : pw_remedy(err);
}
