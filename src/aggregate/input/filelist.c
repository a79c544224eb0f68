/* Lists the rank files of a directory; see filelist.h. */
#include "aggregate/input/filelist.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "core/sort.h"

/* What follows "rank-00012"; "" for other names. */
static const char *suffix_of(const char *name)
{
    if (strncmp(name, "rank-", 5) != 0 || !isdigit((unsigned char)name[5]))
        return "";
    return name + 5 + strspn(name + 5, "0123456789");
}

/* "rank-00012.h5" and, for ranks that were not closed in order, "rank-00012.h5.part". */
static int is_rank_file(const char *name)
{
    const char *suffix = suffix_of(name);
    return strcmp(suffix, ".h5") == 0 || strcmp(suffix, ".h5.part") == 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void leave_out(struct pw_job *job, const char *name, const char *finished)
{
    char detail[160];
    snprintf(detail, sizeof(detail), "%.64s: %.64s is there too", name, finished);
    pw_job_note(job, -1, "left_out", 1, detail);
}

/* Room for one name more; NULL, with all of them freed, when memory is short. */
static char (*grow(char (*names)[PW_FILE_NAME], size_t n, size_t *capacity))[PW_FILE_NAME]
{
    if (n < *capacity)
        return names;
    *capacity = *capacity ? *capacity * 2 : 64;
    char(*more)[PW_FILE_NAME] = realloc(names, *capacity * PW_FILE_NAME);
    if (!more)
        free(names);
    return more;
}

char (*pw_filelist_read(struct pw_job *job, const char *dir, size_t *count))[PW_FILE_NAME]
{
    DIR *stream = opendir(dir);
    char(*names)[PW_FILE_NAME] = NULL;
    size_t n = 0, capacity = 0, unfinished = 0;
    if (!stream)
        return NULL;
    for (struct dirent *entry = readdir(stream); entry; entry = readdir(stream)) {
        unfinished += strcmp(suffix_of(entry->d_name), ".journal") == 0;
        if (!is_rank_file(entry->d_name))
            continue;
        names = grow(names, n, &capacity);
        if (!names)
            break;
        memset(names[n], 0, PW_FILE_NAME);
        snprintf(names[n++], PW_FILE_NAME, "%s", entry->d_name);
    }
    closedir(stream);
    if (!names && capacity) {
        errno = ENOMEM;
        return NULL;
    }
    if (unfinished)
        pw_say("%zu rank%s in %s not finished; 'profwrap recover %s' completes what killed "
               "collectors left",
               unfinished, unfinished == 1 ? " is" : "s are", dir, dir);
    names = names ? names : calloc(1, PW_FILE_NAME);
    pw_sort(names, n, PW_FILE_NAME, by_name);
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        size_t length = kept ? strlen(names[kept - 1]) : 0;
        if (!kept || strncmp(names[i], names[kept - 1], length) != 0)
            memmove(names[kept++], names[i], PW_FILE_NAME);
        else
            leave_out(job, names[i], names[kept - 1]);
    }
    *count = kept;
    return names;
}
