/* Keeps a run in memory, or asks the ranks of a running job; see askedrun.h. */
#include "cli/results/askedrun.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/conclude/latereport.h"
#include "core/epochdir.h"
#include "report/answers/answers.h"
#include "report/live/liveview.h"
#include "run/ctl.h"
#include "run/hangfile.h"

/* ---- from its cluster file ---- */

static bool is_current(const struct pw_askedrun *run)
{
    struct stat now;
    return run->figures && stat(run->file, &now) == 0 && now.st_ino == run->status.st_ino &&
           now.st_dev == run->status.st_dev && now.st_size == run->status.st_size &&
           now.st_mtim.tv_sec == run->status.st_mtim.tv_sec &&
           now.st_mtim.tv_nsec == run->status.st_mtim.tv_nsec;
}

void pw_askedrun_close(struct pw_askedrun *run)
{
    if (run->figures)
        pw_figures_destroy(run->figures);
    if (run->cluster)
        pw_cluster_destroy(run->cluster);
    *run = (struct pw_askedrun){.given = run->given};
}

int pw_askedrun_open(struct pw_askedrun *run, char problem[PW_CLI_PROBLEM])
{
    if (is_current(run))
        return 0;
    pw_askedrun_close(run);
    char dir[PATH_MAX];
    int err = pw_epochdir_choose(run->given, "", dir, sizeof(dir), problem);
    if (!err)
        err = pw_cli_open_cluster(dir, run->file, &run->cluster, problem);
    if (err) {
        run->cluster = NULL;
        return err;
    }
    if (stat(run->file, &run->status) || pw_figures_create(run->cluster, &run->figures)) {
        run->figures = NULL;
        pw_askedrun_close(run);
        snprintf(problem, PW_CLI_PROBLEM,
                 "cannot read '%s': it changes, or memory is short; try again", run->given);
        return -EAGAIN;
    }
    return 0;
}

struct pw_asked pw_askedrun_asked(const struct pw_askedrun *run)
{
    return (struct pw_asked){run->figures, run->file};
}

/* ---- while it runs ---- */

/* Bytes of the rows of ranks; the rest of PW_ANSWER_BYTES is for the sentences. */
enum { ROWS_BYTES = 5000 };

static int64_t own_ns(const struct pw_live *rank)
{
    return rank->step_mean_ns < 0  ? -1
           : rank->step_mpi_ns < 0 ? rank->step_mean_ns
                                   : rank->step_mean_ns - rank->step_mpi_ns;
}

/* Most time outside MPI first: the others wait for that rank. */
static int by_own_time(const void *a, const void *b)
{
    const struct pw_live *const *x = a, *const *y = b;
    const int64_t p = own_ns(*x), q = own_ns(*y);
    if (p != q)
        return p < q ? 1 : -1;
    return ((*x)->rank > (*y)->rank) - ((*x)->rank < (*y)->rank);
}

static void set_ns(json_t *row, const char *key, int64_t ns)
{
    if (ns >= 0)
        json_object_set_new(row, key, json_integer(ns));
}

static json_t *row_of(const struct pw_live *rank)
{
    const struct pw_live_thread *thread = pw_live_main(rank);
    char call[PW_LIVE_CALL_TEXT];
    json_t *row = json_pack("{s:i, s:s#}", "rank", (int)rank->rank, "hostname", rank->hostname,
                            (int)strnlen(rank->hostname, sizeof(rank->hostname)));
    set_ns(row, "step", rank->step);
    set_ns(row, "steps", rank->steps);
    set_ns(row, "step_mean_ns", rank->step_mean_ns);
    set_ns(row, "step_mpi_ns", rank->step_mpi_ns);
    if (!thread)
        return row;
    json_object_set_new(row, "in", json_string(pw_live_call(rank, thread, call, sizeof(call))));
    set_ns(row, "in_ns", thread->since_ns);
    return row;
}

static void add_rows(json_t *answer, const struct pw_inquiry *inquiry)
{
    const struct pw_live **order = calloc(inquiry->n + 1, sizeof(*order));
    json_t *rows = json_array();
    size_t bytes = 0;
    for (size_t i = 0; order && i < inquiry->n; i++)
        order[i] = &inquiry->lives[i];
    if (order)
        qsort(order, inquiry->n, sizeof(*order), by_own_time);
    for (size_t i = 0; order && i < inquiry->n && bytes < ROWS_BYTES; i++) {
        json_t *row = row_of(order[i]);
        bytes += json_dumpb(row, NULL, 0, JSON_COMPACT | JSON_ENSURE_ASCII);
        if (bytes < ROWS_BYTES)
            json_array_append(rows, row);
        json_decref(row);
    }
    json_object_set_new(answer, "rows_total", json_integer((json_int_t)inquiry->n));
    json_object_set_new(answer, "rows", rows);
    free(order);
}

/* Makes one line of several, with single spaces. */
static void join_lines(char *text)
{
    char *to = text;
    for (const char *at = text; *at; at++) {
        const bool is_end = *at == '\n' && at[1];
        if (is_end)
            *to++ = ';';
        if (*at == ' ' || is_end)
            *to++ = ' ';
        else if (*at != '\n')
            *to++ = *at;
        while (*at == ' ' && at[1] == ' ')
            at++;
    }
    *to = '\0';
}

/* The first lines of `report --watch` as one text. */
static void add_sentence(json_t *answer, const char *dir, const struct pw_inquiry *inquiry)
{
    const struct pw_livepace_look look = {.title = dir, .columns = 200, .lines = 4};
    int32_t *silent = NULL;
    struct pw_live_view view = {.ranks = inquiry->lives, .n = inquiry->n};
    char *text = NULL, *joined = NULL;
    size_t size = 0;
    view.nsilent = pw_hangfile_silent(inquiry, &silent);
    view.silent = silent;
    FILE *out = open_memstream(&text, &size);
    if (out) {
        pw_livepace_print(&view, &look, out);
        fclose(out);
    }
    if (text)
        join_lines(text);
    if (asprintf(&joined, "The job still runs: its losses are known when it has ended. %.700s",
                 text ? text : "") < 0)
        joined = NULL;
    json_object_set_new(answer, "answer",
                        json_stringn_nocheck(joined, joined ? strlen(joined) : 0));
    free(joined);
    free(text);
    free(silent);
}

static json_t *answer_of(const char *dir, const char *question, const struct pw_inquiry *inquiry)
{
    json_t *answer =
        json_pack("{s:s, s:b, s:s, s:[s, s]}", "question", question, "is_running", 1, "how_to_know",
                  "Ask again when the job has ended.", "from_program", "hostname", "in");
    if (answer) {
        add_sentence(answer, dir, inquiry);
        add_rows(answer, inquiry);
    }
    return answer;
}

static int is_running(const char *dir)
{
    char path[PATH_MAX];
    int32_t *ranks = NULL;
    if (snprintf(path, sizeof(path), "%s/cluster.h5", dir) >= (int)sizeof(path) ||
        access(path, F_OK) == 0)
        return 0;
    const int n = pw_inquiry_running(dir, &ranks);
    free(ranks);
    return n > 0;
}

json_t *pw_liveanswer(const char *dir, const char *question)
{
    const struct pw_request request = {0};
    struct pw_inquiry inquiry;
    json_t *answer = NULL;
    sigset_t before, ends;
    if (!is_running(dir))
        return NULL;
    sigprocmask(SIG_BLOCK, NULL, &before);
    pw_ctl_block_signals(&ends);
    pw_inquiry_init(&inquiry, dir);
    if (pw_ctl_gather(&inquiry, &request, &ends) == 0)
        answer = answer_of(dir, question, &inquiry);
    pw_inquiry_fini(&inquiry);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return answer;
}

/* ---- the process that asks for a confined server ---- */

struct order {
    uint32_t run;
    char question[60];
};

/* Returns whether all bytes were read, or written. */
static int move_all(int fd, void *bytes, size_t n, int is_write)
{
    for (size_t done = 0; done < n;) {
        char *at = (char *)bytes + done;
        const ssize_t part = is_write ? write(fd, at, n - done) : read(fd, at, n - done);
        if (part == 0 || (part < 0 && errno != EINTR))
            return 0;
        done += part > 0 ? (size_t)part : 0;
    }
    return 1;
}

static char *text_about(const char *given, const char *question)
{
    char dir[PATH_MAX], problem[PW_EPOCHDIR_PROBLEM];
    if (pw_epochdir_choose(given, "", dir, sizeof(dir), problem))
        return NULL;
    json_t *answer = pw_liveanswer(dir, question);
    if (!answer)
        pw_latereport_make(dir, "");
    char *text = answer ? json_dumps(answer, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;
    json_decref(answer);
    return text;
}

static void help(int from, int to, const char *const *dirs, size_t n)
{
    struct order order;
    while (move_all(from, &order, sizeof(order), 0)) {
        order.question[sizeof(order.question) - 1] = '\0';
        char *text = order.run < n ? text_about(dirs[order.run], order.question) : NULL;
        uint32_t size = text ? (uint32_t)strlen(text) : 0;
        const int sent = move_all(to, &size, sizeof(size), 1) && move_all(to, text, size, 1);
        free(text);
        if (!sent)
            break;
    }
}

void pw_livehelper_start(struct pw_livehelper *helper, const char *const *dirs, size_t n)
{
    int to[2], from[2];
    *helper = (struct pw_livehelper){-1, -1};
    if (pipe2(to, O_CLOEXEC))
        return;
    if (pipe2(from, O_CLOEXEC)) {
        close(to[0]);
        close(to[1]);
        return;
    }
    const pid_t pid = fork();
    if (pid == 0) {
        /* It must not hold the client's pipes open. */
        const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
        dup2(nothing, STDIN_FILENO);
        dup2(nothing, STDOUT_FILENO);
        close(to[1]);
        close(from[0]);
        help(to[0], from[1], dirs, n);
        _exit(0);
    }
    close(to[0]);
    close(from[1]);
    if (pid > 0) {
        *helper = (struct pw_livehelper){to[1], from[0]};
    } else {
        close(to[1]);
        close(from[0]);
    }
}

json_t *pw_livehelper_ask(const struct pw_livehelper *helper, size_t run, const char *question)
{
    struct order order = {.run = (uint32_t)run};
    char text[PW_ANSWER_BYTES];
    uint32_t size = 0;
    snprintf(order.question, sizeof(order.question), "%s", question);
    if (helper->to < 0 || !move_all(helper->to, &order, sizeof(order), 1) ||
        !move_all(helper->from, &size, sizeof(size), 0) || size == 0 || size > sizeof(text) ||
        !move_all(helper->from, text, size, 0))
        return NULL;
    return json_loadb(text, size, 0, NULL);
}
