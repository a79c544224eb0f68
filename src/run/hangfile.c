/* Writes the reports of hangs; see hangfile.h. */
#include "run/hangfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/log.h"
#include "core/remedy.h"
#include "core/safefile.h"
#include "report/live/liveview.h"
#include "report/writing/safenames.h"
#include "run/ordercheck.h"

/* Limits the number of reports, so that a job that hangs again and again does not fill the disk. */
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

/* Finds the first unused name of a report. Returns 0, or -EEXIST when there are too many. */
static int choose_name(const char *dir, char path[PATH])
{
    for (int i = 1; i <= MAX_REPORTS; i++) {
        char number[16] = "";
        if (i > 1)
            snprintf(number, sizeof(number), "-%d", i);
        snprintf(path, PATH, "%s/hang%s.txt", dir, number);
        if (faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) != 0)
            return 0;
    }
    return -EEXIST;
}

static int write_text(const struct pw_live_view *view, const char *path)
{
    struct pw_newfile file;
    int err = pw_newfile_open(path, 0600, &file);
    return err ? err : pw_newfile_close(&file, pw_live_print_hang(view, file.out));
}

static int write_json(const struct pw_inquiry *inquiry, const struct pw_live_view *view,
                      const char *path)
{
    struct pw_newfile file;
    json_t *verdict = pw_live_hang_json(view);
    json_t *object = verdict ? pw_hangfile_json(inquiry, verdict) : NULL;
    int err = object ? pw_newfile_open(path, 0600, &file) : -ENOMEM;
    if (!err)
        err = pw_newfile_close(&file, json_dumpf(object, file.out, JSON_INDENT(1)) ? -EIO : 0);
    json_decref(object);
    return err;
}

static void write_reports(const struct pw_inquiry *inquiry, const struct pw_live_view *view)
{
    char text[PATH], json[PATH], headline[PW_LIVE_HEADLINE];
    char shown[PW_LIVE_HEADLINE];
    int err = choose_name(inquiry->dir, text);
    if (err)
        return; /* the limit was reached */
    snprintf(json, sizeof(json), "%.*s.json", (int)strlen(text) - 4, text);
    err = write_json(inquiry, view, json);
    err = err ? err : write_text(view, text);
    pw_live_headline(view, headline, sizeof(headline));
    /* The line has names from the program, which must not send control characters to the
     * terminal. */
    pw_names_printable(shown, sizeof(shown), headline, sizeof(headline));
    if (err)
        pw_error("%s; the report cannot be written: %s", shown, pw_remedy(err));
    else
        pw_say("%s; see %s", shown, text);
}

void pw_hangfile_write(struct pw_inquiry *inquiry, int64_t least_ns)
{
    static struct pw_hang hang;
    static struct pw_order_findings order;
    size_t waits = 0;
    for (size_t i = 0; i < inquiry->n; i++)
        waits += inquiry->lives[i].nthreads + inquiry->lives[i].nrequests;
    int32_t *scratch = malloc(sizeof(*scratch) * pw_hang_scratch(inquiry->n, waits));
    if (!scratch)
        return;
    pw_awaited_settle(inquiry->lives, inquiry->n);
    pw_hang_find(inquiry->lives, inquiry->n, least_ns, scratch, &hang);
    int32_t *silent = NULL;
    pw_ordercheck_find(inquiry, &order);
    struct pw_live_view view = {
        .ranks = inquiry->lives,
        .n = inquiry->n,
        .nsilent = pw_hangfile_silent(inquiry, &silent),
        .hang = &hang,
        .order = &order,
    };
    view.silent = silent;
    write_reports(inquiry, &view);
    pw_ordercheck_fini(&order);
    free(silent);
    free(scratch);
}
