/* Answers HTTP requests by means of libmicrohttpd; see serve_requests.h. */
#include "cli/serve/serve_requests.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <microhttpd.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/results/clusterpath.h"
#include "cli/serve/httpguard.h"
#include "core/h5/h5watch.h"
#include "core/limits.h"
#include "core/log.h"
#include "core/readlimit.h"
#include "timeline/timeline.h"

/* ---- a question of the page, answered from the rank files in a process of its own: what it takes
 * in memory is given back when it ends, a damaged file can end nothing else, and a question whose
 * asker has gone is ended with it ---- */

enum serve_what {
    PW_SERVE_STEP,     /* a step's timeline: first and last step, rank (-1: none) */
    PW_SERVE_PERFETTO, /* all ranks, for Perfetto: step, begin and end in ns after its start */
    PW_SERVE_WHATS
};

struct question {
    enum serve_what what;
    int64_t numbers[3];
};

/* Exit statuses of the process; any other: it was killed, or a file was damaged. */
enum { IS_ANSWERED = 0, IS_NOWHERE = 44, HAS_FAILED = 50 };

enum { PERFETTO_BYTES = 64 << 20, PROBLEM = 400, DESCRIPTORS = 1024 };

static int write_step(FILE *out, const struct pw_serve_run *run, const int64_t numbers[3],
                      char *problem)
{
    const struct pw_report_question question = {numbers[0], numbers[1], numbers[2]};
    int err = pw_report_html_step(out, run->figures, run->report, &question);
    if (err == -ESRCH)
        snprintf(problem, PROBLEM,
                 "the run has no such step or rank, or the step's times are unknown");
    return err;
}

static int write_perfetto(FILE *out, const struct pw_serve_run *run, const int64_t numbers[3],
                          char *problem)
{
    const struct pw_cluster *c = run->figures->cluster;
    struct pw_timeline_result result;
    char dir[PATH_MAX];
    size_t s = 0;
    while (s < c->nstep_rows && c->steps[s].step != numbers[0])
        s++;
    if (s == c->nstep_rows || c->steps[s].start < 0 || numbers[2] <= numbers[1]) {
        snprintf(problem, PROBLEM, "the run has no such step, or its times are unknown");
        return -ESRCH;
    }
    pw_cli_directory_of(run->cluster_file, dir);
    const struct pw_timeline_options options = {
        .dir = dir,
        .cluster_file = run->cluster_file,
        .ranks = "",
        .from = pw_sum(c->steps[s].start, numbers[1]),
        .until = pw_sum(c->steps[s].start, numbers[2]),
        .most_bytes = PERFETTO_BYTES,
        .is_perfetto = 1,
        .keeps_files = 1,
    };
    int err = pw_timeline_write(out, c, &options, &result);
    if (!err && result.share < 1) {
        snprintf(problem, PROBLEM,
                 "the window has more than %d MiB: zoom in, or take 'profwrap "
                 "report --format perfetto --steps %" PRId64 " -o FILE DIR'",
                 PERFETTO_BYTES >> 20, numbers[0]);
        return -E2BIG;
    }
    if (!err && result.unread)
        pw_say("%d rank files cannot be read and are left out", result.unread);
    return err;
}

static int (*const writers[PW_SERVE_WHATS])(FILE *out, const struct pw_serve_run *run,
                                            const int64_t numbers[3], char *problem) = {
    [PW_SERVE_STEP] = write_step,
    [PW_SERVE_PERFETTO] = write_perfetto,
};

/* Writes the answer, or a sentence in its place. Returns the exit status. */
static int answer(FILE *out, const struct pw_serve_run *run, const struct question *question)
{
    char problem[PROBLEM] = "", dir[PATH_MAX];
    int err = writers[question->what](out, run, question->numbers, problem);
    if (fflush(out) && !err)
        err = -errno;
    if (!err)
        return IS_ANSWERED;
    pw_cli_directory_of(run->cluster_file, dir);
    if (err == -ENOENT)
        snprintf(problem, sizeof(problem), "no rank file can be read in %.200s", dir);
    rewind(out);
    if (ftruncate(fileno(out), 0))
        return HAS_FAILED;
    fprintf(out, "%s", problem[0] ? problem : pw_readlimit_error(err));
    fflush(out);
    return err == -ESRCH || err == -ENOENT || err == -E2BIG ? IS_NOWHERE : HAS_FAILED;
}

/* The process of one question. */
__attribute__((noreturn)) static void be_answerer(const struct pw_serve_run *run,
                                                  const struct question *question,
                                                  const sigset_t *signals, pid_t parent, int fd)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGCHLD};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(HAS_FAILED);
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
        signal(ends[i], SIG_DFL);
    for (int other = STDERR_FILENO + 1; other < DESCRIPTORS; other++)
        if (other != fd)
            close(other); /* else connections would stay open until this process ends */
    sigprocmask(SIG_SETMASK, signals, NULL);
    pw_h5_watch_install(); /* its timer is not inherited */
    FILE *out = fdopen(fd, "w");
    _exit(out ? answer(out, run, question) : HAS_FAILED);
}

static pid_t start_answer(const struct pw_serve_run *run, const struct question *question,
                          const sigset_t *signals, int *fd)
{
    const int file = memfd_create("answer", MFD_CLOEXEC);
    if (file < 0)
        return -errno;
    const pid_t parent = getpid(), pid = fork();
    if (pid == 0)
        be_answerer(run, question, signals, parent, file);
    if (pid < 0) {
        const int err = -errno;
        close(file);
        return err;
    }
    *fd = file;
    return pid;
}

static unsigned http_status(int status)
{
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return code == IS_ANSWERED ? 200 : code == IS_NOWHERE ? 404 : code == HAS_FAILED ? 500 : 502;
}

/* ---- the server ---- */

/* Limits of questions that wait or are answered, and of processes that answer; seconds for which a
 * client may take nothing of an answer. */
enum { MOST_JOBS = 64, MOST_PROCESSES = 2, PATIENCE_S = 60, TOKEN = 128, SENTENCE = 400 };

/* A question whose connection is suspended, and the process that answers it. */
struct job {
    struct MHD_Connection *connection; /* NULL: none, or it has been closed */
    struct question question;
    pid_t pid;       /* 0: not started, or ended. The place is in use until then. */
    int fd;          /* the answer; -1: none */
    unsigned status; /* of HTTP; 0: not known yet */
};

struct server {
    int listening; /* descriptor */
    struct MHD_Daemon *daemon;
    const char *token;
    const struct pw_serve_run *run;
    struct MHD_Response *page;
    sigset_t signals; /* the mask of processes that answer */
    struct pw_http_clients clients;
    struct job jobs[MOST_JOBS];
    bool has_resumed; /* connections, which the library has not seen yet */
};

static volatile sig_atomic_t is_over;

static void end_it(int signal)
{
    is_over = is_over || signal != SIGCHLD;
}

/* ---- jobs ---- */

static struct job *add_job(struct server *server, struct MHD_Connection *connection,
                           const struct question *question)
{
    for (struct job *job = server->jobs; job < server->jobs + MOST_JOBS; job++)
        if (!job->connection && !job->pid) {
            *job = (struct job){connection, *question, 0, -1, 0};
            return job;
        }
    return NULL;
}

/* Wakes the connection, which sends the answer. */
static void finish_job(struct server *server, struct job *job, unsigned status)
{
    job->status = status;
    server->has_resumed = true;
    MHD_resume_connection(job->connection);
}

static void start_job(struct server *server, struct job *job)
{
    const pid_t pid = start_answer(server->run, &job->question, &server->signals, &job->fd);
    if (pid > 0)
        job->pid = pid;
    else
        finish_job(server, job, MHD_HTTP_SERVICE_UNAVAILABLE);
}

static void reap(struct server *server, int options)
{
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, options)) > 0;)
        for (struct job *job = server->jobs; job < server->jobs + MOST_JOBS; job++)
            if (job->pid == pid) {
                job->pid = 0;
                if (job->connection)
                    finish_job(server, job, http_status(status));
            }
}

/* Ends the job of a client that has gone. */
static void check_client(struct server *server, struct job *job)
{
    struct pollfd at = {.fd = pw_http_descriptor(job->connection), .events = POLLRDHUP};
    if (poll(&at, 1, 0) <= 0)
        return;
    if (job->pid > 0)
        kill(job->pid, SIGKILL);
    else
        finish_job(server, job, MHD_HTTP_SERVICE_UNAVAILABLE);
}

/* Returns whether a client waits. */
static bool tend_jobs(struct server *server)
{
    int processes = 0, waiting = 0;
    reap(server, WNOHANG);
    for (struct job *job = server->jobs; job < server->jobs + MOST_JOBS; job++) {
        if (job->connection && !job->status)
            check_client(server, job);
        processes += job->pid > 0;
    }
    for (struct job *job = server->jobs; job < server->jobs + MOST_JOBS; job++) {
        const bool is_new = job->connection && !job->status && !job->pid;
        if (is_new && processes < MOST_PROCESSES) {
            start_job(server, job);
            processes++;
        }
        waiting += job->connection && !job->status;
    }
    return waiting > 0;
}

static void end_jobs(struct server *server)
{
    for (struct job *job = server->jobs; job < server->jobs + MOST_JOBS; job++)
        if (job->pid > 0)
            kill(job->pid, SIGKILL);
    reap(server, 0);
    for (struct job *job = server->jobs; job < server->jobs + MOST_JOBS; job++)
        if (job->connection && !job->status)
            finish_job(server, job, MHD_HTTP_SERVICE_UNAVAILABLE);
}

/* For MHD_OPTION_NOTIFY_COMPLETED. */
static void note_end(void *arg, struct MHD_Connection *connection, void **context,
                     enum MHD_RequestTerminationCode how)
{
    struct job *job = *context;
    (void)arg, (void)connection, (void)how;
    if (!job)
        return;
    if (job->fd >= 0)
        close(job->fd);
    if (job->pid > 0)
        kill(job->pid, SIGKILL); /* nobody waits for it; reap() gives its place free */
    *job = (struct job){.pid = job->pid, .fd = -1};
}

/* ---- requests ---- */

static const struct kind {
    const char *name, *type;
} kinds[PW_SERVE_WHATS] = {
    [PW_SERVE_STEP] = {"step/", "application/json"},
    [PW_SERVE_PERFETTO] = {"perfetto/", "application/octet-stream"},
};

static enum MHD_Result send_file(struct MHD_Connection *connection, struct job *job)
{
    struct stat about;
    if (fstat(job->fd, &about))
        return MHD_NO;
    struct MHD_Response *response = MHD_create_response_from_fd((size_t)about.st_size, job->fd);
    if (!response)
        return MHD_NO;
    job->fd = -1; /* the response closes it */
    pw_http_add_headers(response, kinds[job->question.what].type);
    enum MHD_Result result = MHD_queue_response(connection, MHD_HTTP_OK, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result send_answer(struct MHD_Connection *connection, struct job *job)
{
    char why[SENTENCE + 1] = "";
    if (job->status == MHD_HTTP_OK)
        return send_file(connection, job);
    if (job->status == MHD_HTTP_BAD_GATEWAY)
        snprintf(why, sizeof(why),
                 "a rank file cannot be read, or is damaged; the terminal of "
                 "'profwrap report --serve' says more");
    else if (job->fd >= 0 && pread(job->fd, why, SENTENCE, 0) < 0)
        why[0] = '\0';
    return pw_http_refuse(connection, job->status, why[0] ? why : NULL);
}

/* Reads a number of at most 18 digits. Returns the position after it, or NULL. */
static const char *read_number(const char *at, int64_t *number)
{
    const size_t digits = strspn(at + (*at == '-'), "0123456789");
    if (digits < 1 || digits > 18)
        return NULL;
    *number = strtoll(at, NULL, 10);
    return at + (*at == '-') + digits;
}

/* Reads "NAME/NUMBER/NUMBER/NUMBER". */
static bool read_question(const char *at, struct question *out)
{
    int what = 0;
    while (what < PW_SERVE_WHATS && strncmp(at, kinds[what].name, strlen(kinds[what].name)) != 0)
        what++;
    if (what == PW_SERVE_WHATS)
        return false;
    at += strlen(kinds[what].name);
    *out = (struct question){.what = (enum serve_what)what};
    for (int i = 0; i < 3 && at; i++) {
        at = read_number(at, &out->numbers[i]);
        at = at && *at == (i < 2 ? '/' : '\0') ? at + (i < 2) : NULL;
    }
    return at != NULL;
}

/* Returns what follows "/TOKEN/"; NULL when the address has another token. */
static const char *after_token(const struct server *server, const char *url)
{
    char given[TOKEN];
    if (url[0] != '/')
        return NULL;
    const size_t n = strcspn(url + 1, "/");
    if (n >= sizeof(given) || url[n + 1] != '/')
        return NULL;
    snprintf(given, sizeof(given), "%.*s", (int)n, url + 1);
    return pw_http_is_equal(server->token, given) ? url + n + 2 : NULL;
}

/* Returns the HTTP status of a refusal, or 0. */
static unsigned find_fault(const struct server *server, struct MHD_Connection *connection,
                           const char *url, const char *method)
{
    const char *host = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Host");
    if (!host)
        return MHD_HTTP_BAD_REQUEST;
    if (!pw_http_is_host(host, NULL, 0))
        return MHD_HTTP_MISDIRECTED_REQUEST;
    if (!after_token(server, url))
        return MHD_HTTP_FORBIDDEN;
    return strcmp(method, "GET") == 0 ? 0 : MHD_HTTP_METHOD_NOT_ALLOWED;
}

static const char *why_not(unsigned fault)
{
    return fault == MHD_HTTP_MISDIRECTED_REQUEST
               ? "the address must have the name 127.0.0.1 or localhost"
           : fault == MHD_HTTP_FORBIDDEN
               ? "the address must have the token that 'profwrap report --serve' printed"
               : NULL;
}

static enum MHD_Result take_request(void *arg, struct MHD_Connection *connection, const char *url,
                                    const char *method, const char *version, const char *upload,
                                    size_t *upload_size, void **context)
{
    struct server *server = arg;
    struct question question;
    (void)version, (void)upload, (void)upload_size;
    if (*context)
        return send_answer(connection, *context);
    const unsigned fault = find_fault(server, connection, url, method);
    if (fault)
        return pw_http_refuse(connection, fault, why_not(fault));
    const char *what = after_token(server, url);
    pw_http_clients_accept(&server->clients, connection, true);
    if (!what[0])
        return MHD_queue_response(connection, MHD_HTTP_OK, server->page);
    if (!read_question(what, &question))
        return pw_http_refuse(connection, MHD_HTTP_NOT_FOUND, NULL);
    struct job *job = add_job(server, connection, &question);
    if (!job)
        return pw_http_refuse(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "too many requests wait");
    *context = job;
    MHD_suspend_connection(connection);
    return MHD_YES;
}

/* ---- the server ---- */

/* Returns the longest time until the next look: clients that wait may go away. */
static struct timespec find_pause(struct server *server, bool waits)
{
    enum { WAITING_MS = 200, IDLE_MS = 1000 };
    unsigned MHD_LONG_LONG most;
    unsigned ms = server->has_resumed ? 0 : waits ? WAITING_MS : IDLE_MS;
    if (MHD_get_timeout(server->daemon, &most) == MHD_YES && most < ms)
        ms = (unsigned)most;
    server->has_resumed = false;
    return (struct timespec){ms / 1000, (long)(ms % 1000) * 1000000};
}

/* Whether the library would close one more connection at once. It waits in the kernel's queue then.
 */
static bool is_full(const struct server *server)
{
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);
    return info && info->num_connections >= PW_HTTP_CLIENTS;
}

/* Serves until a signal comes, which it does in pselect() only. */
static void run(struct server *server)
{
    while (!is_over) {
        fd_set reads, writes, errors;
        int most = -1;
        const bool waits = tend_jobs(server);
        pw_http_clients_end_old(&server->clients);
        FD_ZERO(&reads);
        FD_ZERO(&writes);
        FD_ZERO(&errors);
        if (MHD_get_fdset(server->daemon, &reads, &writes, &errors, &most) != MHD_YES)
            break;
        if (is_full(server))
            FD_CLR(server->listening, &reads);
        const struct timespec pause = find_pause(server, waits);
        if (pselect(most + 1, &reads, &writes, &errors, &pause, &server->signals) >= 0)
            MHD_run_from_select(server->daemon, &reads, &writes, &errors);
    }
}

static void block_signals(struct server *server)
{
    const struct sigaction ending = {.sa_handler = end_it};
    static const int numbers[] = {SIGINT, SIGTERM, SIGCHLD};
    sigset_t blocked;
    sigemptyset(&blocked);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        sigaddset(&blocked, numbers[i]);
        sigaction(numbers[i], &ending, NULL);
    }
    sigprocmask(SIG_BLOCK, &blocked, &server->signals);
    signal(SIGPIPE, SIG_IGN);
}

static struct MHD_Response *make_page(const struct pw_serve_page *page)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(page->size, page->text, MHD_RESPMEM_PERSISTENT);
    if (!response)
        return NULL;
    pw_http_add_headers(response, "text/html; charset=utf-8");
    MHD_add_response_header(response, "Referrer-Policy", "no-referrer"); /* the token stays here */
    MHD_add_response_header(response, "Content-Security-Policy", "frame-ancestors 'none'");
    return response;
}

int pw_serve_requests(int fd, const char *token, const struct pw_serve_page *page,
                      const struct pw_serve_run *shown)
{
    struct server *server = calloc(1, sizeof(*server));
    if (!server)
        return -ENOMEM;
    server->listening = fd;
    server->token = token;
    server->run = shown;
    server->page = make_page(page);
    pw_http_clients_init(&server->clients);
    block_signals(server);
    if (server->page)
        server->daemon =
            MHD_start_daemon(MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, take_request, server,
                             MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_NOTIFY_CONNECTION,
                             pw_http_clients_note, &server->clients, MHD_OPTION_NOTIFY_COMPLETED,
                             note_end, NULL, MHD_OPTION_CONNECTION_LIMIT, (unsigned)PW_HTTP_CLIENTS,
                             MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)PW_HTTP_REQUEST_BYTES,
                             MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)PATIENCE_S, MHD_OPTION_END);
    const int err = server->daemon ? 0 : -EIO;
    if (!err) {
        run(server);
        end_jobs(server);
        MHD_stop_daemon(server->daemon);
    } else {
        close(fd);
    }
    if (server->page)
        MHD_destroy_response(server->page);
    free(server);
    return err;
}
