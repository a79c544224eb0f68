/* Names and numbers of directories; see epochdir.h. */
#include "core/epochdir.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Returns the number in "epoch-N", as profwrap writes it; 0 for any other name. */
static int number_of(const char *name)
{
    char again[32];
    int epoch;
    if (sscanf(name, "epoch-%d", &epoch) != 1 || epoch < 1)
        return 0;
    snprintf(again, sizeof(again), "epoch-%d", epoch);
    return strcmp(again, name) == 0 ? epoch : 0;
}

int pw_epochdir_of(const char *dir, int epoch, char *out, size_t size)
{
    const int n =
        epoch ? snprintf(out, size, "%s/epoch-%d", dir, epoch) : snprintf(out, size, "%s", dir);
    return n >= 0 && (size_t)n < size ? 0 : -ENAMETOOLONG;
}

int pw_epochdir_last(const char *dir)
{
    DIR *stream = opendir(dir);
    int last = 0;
    for (struct dirent *entry; stream && (entry = readdir(stream));) {
        const int epoch = number_of(entry->d_name);
        last = epoch > last ? epoch : last;
    }
    if (stream)
        closedir(stream);
    return last;
}

int pw_epochdir_next(const char *dir, int epoch)
{
    DIR *stream = opendir(dir);
    int next = -1;
    for (struct dirent *entry; stream && (entry = readdir(stream));) {
        const int found = number_of(entry->d_name);
        if (found > epoch && (next < 0 || found < next))
            next = found;
    }
    if (stream)
        closedir(stream);
    return next;
}

int pw_epochdir_split(const char *dir, char *job, size_t size, int *epoch)
{
    char *path = realpath(dir, NULL);
    if (!path)
        return -errno;
    char *slash = strrchr(path, '/');
    const int number = slash && slash > path ? number_of(slash + 1) : 0;
    if (number)
        *slash = '\0';
    const int n = snprintf(job, size, "%s", path);
    free(path);
    if (n < 0 || (size_t)n >= size)
        return -ENAMETOOLONG;
    *epoch = number;
    return 0;
}

static int is_directory(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* Returns the number in the text; -1 when it is none. */
static int read_number(const char *text)
{
    char *end;
    errno = 0;
    const long number = strtol(text, &end, 10);
    return end == text || *end || errno || number < 0 || number > INT_MAX ? -1 : (int)number;
}

/* Called when the option names an epoch: of the job to which `given` belongs, even if `given` is
 * another epoch's directory. */
static int choose_named(const char *given, const char *epoch, char *out, size_t size,
                        char problem[PW_EPOCHDIR_PROBLEM])
{
    char job[PATH_MAX];
    int here = 0, err;
    const int wanted = read_number(epoch);
    if (wanted < 0 || !is_directory(given)) {
        snprintf(problem, PW_EPOCHDIR_PROBLEM,
                 wanted < 0 ? "--epoch expects a number, such as 0, not '%.40s'"
                            : "--epoch %.40s is for the directory of a run",
                 epoch);
        return -EINVAL;
    }
    err = pw_epochdir_split(given, job, sizeof(job), &here);
    if (!err)
        err = pw_epochdir_of(here ? job : given, wanted, out, size);
    if (!err && is_directory(out))
        return 0;
    snprintf(problem, PW_EPOCHDIR_PROBLEM,
             "there is no epoch %d of the run in '%.200s': its last is %d", wanted, given,
             err ? 0 : pw_epochdir_last(here ? job : given));
    return -EINVAL;
}

int pw_epochdir_choose(const char *given, const char *epoch, char *out, size_t size,
                       char problem[PW_EPOCHDIR_PROBLEM])
{
    if (epoch[0])
        return choose_named(given, epoch, out, size, problem);
    if (pw_epochdir_of(given, pw_epochdir_last(given), out, size) == 0)
        return 0;
    snprintf(problem, PW_EPOCHDIR_PROBLEM,
             "the name of the directory is too long: '%.60s...'; choose a shorter path", given);
    return -EINVAL;
}
