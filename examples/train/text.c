/* Owns the way from a path to a shard of tokens: listing, splitting by bytes, reading, encoding. */
#define _POSIX_C_SOURCE 200809L

#include "text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model.h"

struct source {
    char *path;
    size_t bytes;
};

struct source_list {
    struct source *items;
    size_t count;
    size_t bytes; /* of all items */
};

static void list_fini(struct source_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i].path);
    free(list->items);
}

static int list_add(struct source_list *list, const char *dir, const char *name, size_t bytes)
{
    struct source *items = realloc(list->items, (list->count + 1) * sizeof *items);
    if (!items)
        return -ENOMEM;
    list->items = items;

    size_t size = strlen(dir) + strlen(name) + 2;
    char *path = malloc(size);
    if (!path)
        return -ENOMEM;
    snprintf(path, size, "%s%s%s", dir, *dir ? "/" : "", name);

    items[list->count++] = (struct source){.path = path, .bytes = bytes};
    list->bytes += bytes;
    return 0;
}

/* By byte value, so that the order of the text does not depend on the locale. */
static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* Symbolic links are skipped: they usually repeat a file of the same directory. */
static int list_directory(struct source_list *list, const char *dir)
{
    struct dirent **names = NULL;
    int count = scandir(dir, &names, NULL, by_name);
    if (count < 0)
        return -errno;

    int err = 0;
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        err = -errno;
    for (int i = 0; i < count; i++) {
        struct stat info;
        const char *name = names[i]->d_name;
        if (!err && !fstatat(fd, name, &info, AT_SYMLINK_NOFOLLOW) && S_ISREG(info.st_mode))
            err = list_add(list, dir, name, (size_t)info.st_size);
        free(names[i]);
    }
    free(names);
    if (fd >= 0)
        close(fd);
    return err;
}

static int list_sources(struct source_list *list, const char *path)
{
    struct stat info;
    if (stat(path, &info))
        return -errno;
    if (S_ISDIR(info.st_mode))
        return list_directory(list, path);
    if (S_ISREG(info.st_mode))
        return list_add(list, "", path, (size_t)info.st_size);
    return -EINVAL;
}

/* Reads exactly `bytes` at `offset`; a file that shrank since it was listed is -EIO. */
static int read_part(const char *path, size_t offset, uint8_t *to, size_t bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;

    int err = 0;
    while (!err && bytes) {
        ssize_t got = pread(fd, to, bytes, (off_t)offset);
        if (got > 0) {
            to += got;
            offset += (size_t)got;
            bytes -= (size_t)got;
        } else if (!got) {
            err = -EIO;
        } else if (errno != EINTR) {
            err = -errno;
        }
    }
    close(fd);
    return err;
}

/* Reads bytes [begin, end) of the joined text; on failure *culprit is the file concerned. */
static int read_range(const struct source_list *list, size_t begin, size_t end, uint8_t *to,
                      const char **culprit)
{
    size_t start = 0; /* where the current file starts in the joined text */
    for (size_t i = 0; i < list->count; i++) {
        size_t stop = start + list->items[i].bytes;
        size_t from = begin > start ? begin : start;
        size_t upto = end < stop ? end : stop;
        if (from < upto) {
            int err =
                read_part(list->items[i].path, from - start, to + (from - begin), upto - from);
            if (err) {
                *culprit = list->items[i].path;
                return err;
            }
        }
        start = stop;
    }
    return 0;
}

/* Token 0 is the newline, 1 to 95 are printable ASCII; all else counts as a space. */
static void encode(uint8_t *text, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint8_t c = text[i];
        if (c == '\n')
            text[i] = 0;
        else
            text[i] = c >= ' ' && c <= '~' ? (uint8_t)(c - ' ' + 1) : 1;
    }
}

_Static_assert('~' - ' ' + 2 == MODEL_VOCAB, "every token has a row in the embedding");

/* Where shard `rank` starts; sizes differ by at most one byte. Does not overflow. */
static size_t shard_start(size_t bytes, size_t rank, size_t nrank)
{
    size_t extra = bytes % nrank;
    return bytes / nrank * rank + (rank < extra ? rank : extra);
}

static void explain(int err, const char *path, char *why, size_t why_size)
{
    const char *reason = err == -EINVAL ? "is neither a file nor a directory" : strerror(-err);
    snprintf(why, why_size, "%s: %s", path, reason);
}

int text_read(const char *path, int rank, int nrank, size_t count_min, struct text_shard *out,
              char *why, size_t why_size)
{
    struct source_list list = {0};
    const char *culprit = path;
    uint8_t *tokens = NULL;
    int err = list_sources(&list, path);
    if (err) {
        explain(err, culprit, why, why_size);
        goto out;
    }

    if (list.bytes / (size_t)nrank < count_min) {
        err = -ENODATA;
        snprintf(why, why_size, "%s: %zu characters are too few, %d rank(s) need %zu each", path,
                 list.bytes, nrank, count_min);
        goto out;
    }

    size_t begin = shard_start(list.bytes, (size_t)rank, (size_t)nrank);
    size_t end = shard_start(list.bytes, (size_t)rank + 1, (size_t)nrank);
    tokens = malloc(end - begin);
    err = tokens ? read_range(&list, begin, end, tokens, &culprit) : -ENOMEM;
    if (err) {
        explain(err, culprit, why, why_size);
        goto out;
    }
    encode(tokens, end - begin);
    *out = (struct text_shard){.tokens = tokens, .count = end - begin};
    tokens = NULL;

out:
    free(tokens);
    list_fini(&list);
    return err;
}

void text_fini(struct text_shard *shard)
{
    free(shard->tokens);
    *shard = (struct text_shard){0};
}
