/* Prints the page of a hang; see hangpage.h. */
#include "cli/results/hangpage.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/results/clusterpath.h"
#include "core/safefile.h"
#include "report/writing/safenames.h"

/* The watchdogs write at most 20; see run/hangfile.c. A line has at most a call stack's frame. */
enum { MOST_PAGES = 20, LINE = 4096, MOST_LINES = 1 << 16 };

static FILE *open_page(const char *dir, int number)
{
    char path[PATH_MAX], suffix[16] = "";
    struct stat status;
    if (number > 1)
        snprintf(suffix, sizeof(suffix), "-%d", number);
    if (snprintf(path, sizeof(path), "%s/hang%s.txt", dir, suffix) >= (int)sizeof(path))
        return NULL;
    const int fd = pw_open_regular(path, O_NOFOLLOW);
    if (fd >= 0 && fstat(fd, &status) == 0 && status.st_size > 0)
        return fdopen(fd, "re");
    if (fd >= 0)
        close(fd);
    return NULL;
}

static FILE *open_last(const char *dir)
{
    FILE *last = NULL;
    for (int number = 1; number <= MOST_PAGES; number++) {
        FILE *page = open_page(dir, number);
        if (!page)
            continue;
        if (last)
            fclose(last);
        last = page;
    }
    return last;
}

int pw_cli_hangpage_print(const char *given, FILE *out)
{
    char dir[PATH_MAX], line[LINE], shown[LINE];
    struct stat status;
    if (stat(given, &status))
        return 0;
    if (S_ISDIR(status.st_mode))
        snprintf(dir, sizeof(dir), "%s", given);
    else
        pw_cli_directory_of(given, dir);
    FILE *page = open_last(dir);
    if (!page)
        return 0;
    for (int i = 0; i < MOST_LINES && fgets(line, sizeof(line), page); i++) {
        const size_t length = strcspn(line, "\n");
        fprintf(out, "%s\n", pw_names_printable(shown, sizeof(shown), line, length));
    }
    fclose(page);
    return 1;
}
