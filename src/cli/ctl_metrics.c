/* `profwrap ctl metrics DIR`: a running job's figures for Prometheus, once or by HTTP until it
 * ends. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/report/openmetrics.h"
#include "cli/ctl.h"
#include "cli/hangfile.h"
#include "cli/scrape.h"
#include "core/log.h"

struct source {
    const char *dir;
    const sigset_t *ends;
};

static int print(const struct pw_inquiry *inquiry, FILE *out)
{
    int32_t *silent = NULL;
    struct pw_live_view view = {
        .ranks = inquiry->lives,
        .n = inquiry->n,
        .nsilent = pw_hangfile_silent(inquiry, &silent),
    };
    view.silent = silent;
    int err = pw_openmetrics_print(&view, out);
    free(silent);
    return err;
}

static int print_once(const char *dir, const sigset_t *ends)
{
    const struct pw_request request = {0};
    struct pw_inquiry inquiry;
    pw_inquiry_init(&inquiry, dir);
    int status = pw_ctl_ask(&inquiry, &request, ends);
    if (!status && (print(&inquiry, stdout) || fflush(stdout))) {
        pw_error("cannot write the metrics: %s", strerror(errno));
        status = 1;
    }
    pw_inquiry_fini(&inquiry);
    return status;
}

static int is_running(const char *dir)
{
    int32_t *ranks = NULL;
    int n = pw_inquiry_running(dir, &ranks);
    free(ranks);
    return n > 0;
}

static char *make(void *arg, size_t *length, int *ends)
{
    const struct source *source = arg;
    const struct pw_request request = {0};
    struct pw_inquiry inquiry;
    char *text = NULL;
    pw_inquiry_init(&inquiry, source->dir);
    int err = pw_ctl_gather(&inquiry, &request, source->ends);
    FILE *out = err ? NULL : open_memstream(&text, length);
    if (out) {
        err = print(&inquiry, out);
        if (fclose(out) || err) {
            free(text);
            text = NULL;
        }
    }
    pw_inquiry_fini(&inquiry);
    *ends = err == -EINTR;
    return text;
}

static int serve(const char *dir, const char *at, const sigset_t *ends)
{
    struct pw_scrape scrape;
    char problem[256];
    int err = pw_scrape_open(at, ends, &scrape, problem, sizeof(problem));
    if (err) {
        pw_error("%s", problem);
        return err == -EINVAL ? 2 : 1;
    }
    struct source source = {dir, ends};
    printf("%s\n", scrape.where);
    fflush(stdout);
    while (!err && is_running(dir))
        err = pw_scrape_serve(&scrape, make, &source);
    pw_scrape_close(&scrape);
    if (!err || err == -EINTR || err == -ENODATA)
        return 0;
    pw_error("cannot serve metrics at %s: %s", at, strerror(-err));
    return 1;
}

int pw_ctl_metrics(const char *dir, const char *listen)
{
    sigset_t ends;
    int status = pw_ctl_check_job(dir);
    if (status)
        return status;
    pw_ctl_block_signals(&ends);
    return listen[0] ? serve(dir, listen, &ends) : print_once(dir, &ends);
}
