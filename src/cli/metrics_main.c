/* profwrap-metrics DIR WHERE TOKENFILE: what `profwrap ctl metrics --serve` becomes. WHERE is ""
 * for a Unix socket in DIR, TOKENFILE "" for a file there, which is made. Alone among the programs
 * here it loads a library for HTTP. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/metrics_listen.h"
#include "cli/metrics_server.h"
#include "cli/metrics_text.h"
#include "core/log.h"
#include "rank/ring/tick.h"
#include "run/ask.h"

#define LOOK_NS ((int64_t)1000000000)

static int is_running(const char *dir)
{
    int32_t *ranks = NULL;
    int n = pw_inquiry_running(dir, &ranks);
    free(ranks);
    return n > 0;
}

/* The document, which is to be freed; NULL with *err set. */
static char *make(const char *dir, const sigset_t *ends, size_t *length, int *err)
{
    const struct pw_request request = {0};
    struct pw_inquiry inquiry;
    char *text = NULL;
    pw_inquiry_init(&inquiry, dir);
    *err = pw_ctl_gather(&inquiry, &request, ends);
    FILE *out = *err ? NULL : open_memstream(&text, length);
    if (out) {
        *err = pw_metrics_print(&inquiry, out);
        if (fclose(out) || *err) {
            free(text);
            text = NULL;
        }
    }
    pw_inquiry_fini(&inquiry);
    return text;
}

/* Until the job or a signal ends it. */
static void serve(struct pw_metrics_server *server, const char *dir, const sigset_t *ends)
{
    int64_t looked_ns = pw_local_ns();
    int err = 0;
    while (err != -EINTR && !pw_ctl_pause(ends)) {
        if (pw_local_ns() - looked_ns > LOOK_NS) {
            looked_ns = pw_local_ns();
            if (!is_running(dir))
                break;
        }
        if (pw_metrics_server_poll(server)) {
            size_t length = 0;
            char *text = make(dir, ends, &length, &err);
            pw_metrics_server_publish(server, text, length);
        }
    }
}

/* 0, or the exit status after an error was said. */
static int open_place(const char *dir, const char *at, struct pw_metrics_place *place)
{
    char own[PATH_MAX], problem[PATH_MAX + 256];
    snprintf(own, sizeof(own), "unix:%.4000s/metrics.sock", dir);
    int err = pw_metrics_listen(at[0] ? at : own, place, problem, sizeof(problem));
    if (err)
        pw_error("%s", problem);
    return err == -EINVAL ? 2 : err != 0;
}

static int open_token(const char *dir, const char *file, char token[PW_METRICS_TOKEN],
                      char path[PATH_MAX])
{
    char problem[PATH_MAX + 256];
    snprintf(path, PATH_MAX, "%.4000s%s", file[0] ? file : dir, file[0] ? "" : "/metrics.token");
    int err = pw_metrics_token(path, !file[0], token, problem, sizeof(problem));
    if (err)
        pw_error("%s", problem);
    return err != 0;
}

int main(int argc, char **argv)
{
    struct pw_metrics_place place;
    struct pw_metrics_server *server;
    char token[PW_METRICS_TOKEN], token_path[PATH_MAX];
    sigset_t ends;
    if (argc != 4) {
        pw_error("this is a part of profwrap: profwrap ctl metrics --serve DIR");
        return 2;
    }
    const char *dir = argv[1];
    pw_ctl_block_signals(&ends);
    int status = open_place(dir, argv[2], &place);
    if (status)
        return status;
    status = place.is_tcp ? open_token(dir, argv[3], token, token_path) : 0;
    int err = status ? 0 : pw_metrics_server_start(place.fd, place.is_tcp ? token : NULL, &server);
    if (err)
        pw_error("cannot serve metrics at %s: %s", place.where, strerror(-err));
    if (!status && !err) {
        printf("%s\n", place.where);
        if (place.is_tcp)
            printf("token in %s\n", token_path);
        fflush(stdout);
        serve(server, dir, &ends);
        pw_metrics_server_stop(server);
    }
    pw_metrics_unlisten(&place);
    return status || err;
}
