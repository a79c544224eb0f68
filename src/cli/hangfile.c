/* Writes the reports of hangs; see hangfile.h. */
#include "cli/hangfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/report/liveview.h"
#include "analysis/report/names.h"
#include "core/log.h"

/* A job that hangs again and again is not to fill the disk. */
enum { MAX_REPORTS = 20, PATH = 4300 };

size_t pw_hangfile_silent(const struct pw_inquiry *inquiry, int32_t **silent)
{
    int32_t *ranks = NULL;
    int running = pw_inquiry_running(inquiry->dir, &ranks);
    size_t n = 0, at = 0;
    for (int i = 0; i < running; i++) {
        while (at < inquiry->n && inquiry->lives[at].rank < ranks[i])
            at++;
        if (at == inquiry->n || inquiry->lives[at].rank != ranks[i])
            ranks[n++] = ranks[i];
    }
    *silent = ranks;
    return n;
}

json_t *pw_hangfile_json(const struct pw_inquiry *inquiry, json_t *verdict)
{
    json_t *ranks = json_array(), *object = verdict ? verdict : json_object();
    int bad = 0;
    for (size_t i = 0; i < inquiry->n; i++)
        bad |= json_array_append_new(ranks, pw_live_to_json(&inquiry->lives[i], NULL));
    bad |= json_object_set_new(object, "ranks", ranks);
    if (bad) {
        json_decref(object);
        return NULL;
    }
    return object;
}

/* The first report whose text is not there yet; 0, or -EEXIST. */
static int choose_name(const char *dir, char path[PATH])
{
    for (int i = 1; i <= MAX_REPORTS; i++) {
        char number[16] = "";
        if (i > 1)
            snprintf(number, sizeof(number), "-%d", i);
        snprintf(path, PATH, "%s/hang%s.txt", dir, number);
        if (access(path, F_OK) != 0)
            return 0;
    }
    return -EEXIST;
}

static FILE *open_part(const char *path, char part[PATH + 8])
{
    snprintf(part, PATH + 8, "%s.part", path);
    unlink(part);
    int fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
    if (!out && fd >= 0)
        close(fd);
    return out;
}

/* Gives the finished file its name. */
static int close_part(FILE *out, const char *part, const char *path, int err)
{
    if (ferror(out) && !err)
        err = -EIO;
    if (fclose(out) && !err)
        err = -errno;
    if (!err && rename(part, path))
        err = -errno;
    if (err)
        unlink(part);
    return err;
}

static int write_text(const struct pw_live_view *view, const char *path)
{
    char part[PATH + 8];
    FILE *out = open_part(path, part);
    return out ? close_part(out, part, path, pw_live_print_hang(view, out)) : -errno;
}

static int write_json(const struct pw_inquiry *inquiry, const struct pw_live_view *view,
                      const char *path)
{
    char part[PATH + 8];
    json_t *verdict = pw_live_hang_json(view);
    json_t *object = verdict ? pw_hangfile_json(inquiry, verdict) : NULL;
    FILE *out = object ? open_part(path, part) : NULL;
    int err = object ? out ? 0 : -errno : -ENOMEM;
    if (out)
        err = close_part(out, part, path, json_dumpf(object, out, JSON_INDENT(1)) ? -EIO : 0);
    json_decref(object);
    return err;
}

static void write_reports(const struct pw_inquiry *inquiry, const struct pw_live_view *view)
{
    char text[PATH], json[PATH], headline[PW_LIVE_HEADLINE];
    char shown[PW_LIVE_HEADLINE];
    int err = choose_name(inquiry->dir, text);
    if (err)
        return; /* there are enough of them */
    snprintf(json, sizeof(json), "%.*s.json", (int)strlen(text) - 4, text);
    err = write_json(inquiry, view, json);
    err = err ? err : write_text(view, text);
    pw_live_headline(view, headline, sizeof(headline));
    /* Names of communicators are the program's: nothing of them is to reach the terminal raw. */
    pw_names_printable(shown, sizeof(shown), headline, sizeof(headline));
    if (err)
        pw_error("%s; the report cannot be written: %s", shown, strerror(-err));
    else
        pw_say("%s; see %s", shown, text);
}

void pw_hangfile_write(const struct pw_inquiry *inquiry, int64_t least_ns)
{
    static struct pw_hang hang;
    size_t threads = 0;
    for (size_t i = 0; i < inquiry->n; i++)
        threads += inquiry->lives[i].nthreads;
    int32_t *scratch = malloc(sizeof(*scratch) * pw_hang_scratch(inquiry->n, threads));
    if (!scratch)
        return;
    pw_hang_find(inquiry->lives, inquiry->n, least_ns, scratch, &hang);
    int32_t *silent = NULL;
    struct pw_live_view view = {
        .ranks = inquiry->lives,
        .n = inquiry->n,
        .nsilent = pw_hangfile_silent(inquiry, &silent),
        .hang = &hang,
    };
    view.silent = silent;
    write_reports(inquiry, &view);
    free(silent);
    free(scratch);
}
