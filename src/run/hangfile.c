/* Writes the reports of hangs; see hangfile.h. */
#include "run/hangfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/h5/h5reader.h"
#include "core/h5/h5types.h"
#include "core/log.h"
#include "core/ops.h"
#include "core/remedy.h"
#include "core/safefile.h"
#include "core/sort.h"
#include "core/tables.h"
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

/* ---- ranks that have ended ---- */

static int has_queue(const struct pw_inquiry *inquiry)
{
    for (size_t r = 0; r < inquiry->n; r++)
        for (size_t i = 0; i < inquiry->lives[r].nthreads; i++)
            if (inquiry->lives[r].threads[i].queue != PW_LIVE_THREAD)
                return 1;
    return 0;
}

static int has_answered(const struct pw_inquiry *inquiry, int32_t rank)
{
    for (size_t r = 0; r < inquiry->n; r++)
        if (inquiry->lives[r].rank == rank)
            return 1;
    return 0;
}

static void count_message(struct pw_live *out, const struct pw_row_comms *comm,
                          const struct pw_row_comm_event *event)
{
    size_t at = 0;
    while (at < out->npairs &&
           (out->pairs[at].comm_uid != comm->uid || out->pairs[at].peer != event->peer))
        at++;
    if (at == PW_LIVE_PAIRS) {
        out->messages_known = 0;
        return;
    }
    struct pw_live_pair *pair = &out->pairs[at];
    out->npairs += at == out->npairs;
    *pair = (struct pw_live_pair){comm->uid, event->peer, pair->sent + (event->op == PW_OP_Send), 0,
                                  pair->received + (event->op == PW_OP_Recv)};
}

/* Whether the file has all that the rank has called on NCCL's communicators. */
static int is_counted(hid_t file)
{
    struct pw_row_overhead *rows = NULL;
    size_t n = 0;
    int64_t complete = 0;
    int is = pw_h5_get_int(file, "complete", &complete) == 0 && complete &&
             pw_h5_read_all(file, PW_TABLE_overhead, (void **)&rows, &n) == 0;
    for (size_t i = 0; is && i < n; i++)
        is = strncmp(rows[i].name, "nccl_uncounted", sizeof(rows[i].name)) != 0;
    free(rows);
    return is;
}

/* Whether recording has never paused: messages have no numbers of their own. */
static int has_one_window(hid_t file)
{
    hsize_t windows[2] = {0, 0};
    return pw_h5_extent(file, PW_TABLE_window, windows) == 0 && windows[0] == 1;
}

static void count_messages(hid_t file, const struct pw_row_comms *comms, size_t ncomms,
                           struct pw_live *out)
{
    enum { BLOCK = 4096, MOST_ROWS = 1 << 18 }; /* what takes longer would keep the collector */
    hsize_t dims[2];
    out->pairs = calloc(PW_LIVE_PAIRS, sizeof(*out->pairs));
    struct pw_row_comm_event *rows = malloc(BLOCK * sizeof(*rows));
    out->messages_known = out->pairs && rows && has_one_window(file) &&
                          pw_h5_extent(file, PW_TABLE_comm_event, dims) == 0 &&
                          dims[0] <= MOST_ROWS;
    for (hsize_t first = 0; out->messages_known && first < dims[0]; first += BLOCK) {
        const size_t n = dims[0] - first < BLOCK ? (size_t)(dims[0] - first) : BLOCK;
        if (pw_h5_read_rows(file, PW_TABLE_comm_event, first, n, rows))
            out->messages_known = 0;
        for (size_t i = 0; i < n && out->messages_known; i++)
            if (rows[i].source == PW_SOURCE_NCCL && rows[i].comm >= 0 &&
                (size_t)rows[i].comm < ncomms &&
                (rows[i].op == PW_OP_Send || rows[i].op == PW_OP_Recv))
                count_message(out, &comms[rows[i].comm], &rows[i]);
    }
    free(rows);
}

/* Reads from the file of a rank that has ended what it had called on NCCL's communicators. Returns
 * 0 or -errno. */
static int read_ended(const char *path, struct pw_live *out)
{
    struct pw_row_comms *rows = NULL;
    size_t n = 0;
    hid_t file;
    int err = pw_h5_open(path, &file);
    if (err)
        return err;
    err = is_counted(file) ? pw_h5_read_all(file, PW_TABLE_comms, (void **)&rows, &n) : -ENODATA;
    out->comms = err ? NULL : calloc(PW_LIVE_COMMS, sizeof(*out->comms));
    if (out->comms)
        count_messages(file, rows, n, out);
    pw_h5_close(file);
    for (size_t i = n; out->comms && i-- > 0;) /* the newest first */
        if (rows[i].source == PW_SOURCE_NCCL && rows[i].uid)
            pw_live_add_comm(out,
                             &(struct pw_live_comm){.uid = rows[i].uid,
                                                    .source = PW_SOURCE_NCCL,
                                                    .size = rows[i].size,
                                                    .my_rank = rows[i].my_rank,
                                                    .reached = rows[i].collectives,
                                                    .unnumbered = -1},
                             "");
    free(rows);
    return err ? err : out->comms ? 0 : -ENOMEM;
}

static int by_rank(const void *a, const void *b)
{
    PW_COMPARE(((const struct pw_live *)a)->rank, ((const struct pw_live *)b)->rank);
    return 0;
}

/* Adds ranks that have ended: what waits on a GPU does not learn that a partner is gone. Their
 * `state` is X. */
static void add_ended(struct pw_inquiry *inquiry)
{
    enum { MOST_ENDED = 64 };
    const int32_t world = inquiry->n ? inquiry->lives[0].world_size : 0;
    if ((size_t)world <= inquiry->n || !has_queue(inquiry))
        return;
    struct pw_live *lives = realloc(inquiry->lives, (size_t)world * sizeof(*lives));
    if (!lives)
        return;
    inquiry->lives = lives;
    inquiry->capacity = (size_t)world;
    const size_t answers = inquiry->n;
    for (int32_t rank = 0;
         rank < world && inquiry->n < (size_t)world && inquiry->n < answers + MOST_ENDED; rank++) {
        char path[PATH + 32];
        struct pw_live ended = {.rank = rank, .world_size = world, .state = 'X', .step = -1};
        snprintf(path, sizeof(path), "%s/rank-%05d.h5", inquiry->dir, (int)rank);
        if (!has_answered(inquiry, rank) && read_ended(path, &ended) == 0)
            lives[inquiry->n++] = ended;
    }
    if (inquiry->n > answers)
        pw_sort(lives, inquiry->n, sizeof(*lives), by_rank);
}

/* Finds who waits for whom. Returns the memory of the lists in *out, for free(); NULL: too little.
 */
static int32_t *find_hang(struct pw_inquiry *inquiry, int64_t least_ns, struct pw_hang *out)
{
    size_t waits = 0;
    add_ended(inquiry);
    for (size_t i = 0; i < inquiry->n; i++)
        waits += inquiry->lives[i].nthreads + inquiry->lives[i].nrequests;
    int32_t *scratch = malloc(sizeof(*scratch) * pw_hang_scratch(inquiry->n, waits));
    if (!scratch)
        return NULL;
    pw_awaited_settle(inquiry->lives, inquiry->n);
    pw_hang_find(inquiry->lives, inquiry->n, least_ns, scratch, out);
    return scratch;
}

int pw_hangfile_is_held(struct pw_inquiry *inquiry, int64_t least_ns)
{
    static struct pw_hang hang;
    static struct pw_order_findings order;
    int is_held = 0;
    int32_t *scratch = find_hang(inquiry, least_ns, &hang);
    for (size_t r = 0; scratch && r < inquiry->n; r++) {
        const struct pw_live_thread *main = pw_live_main(&inquiry->lives[r]);
        is_held |= main && main->queue == PW_LIVE_HELD && main->since_ns >= least_ns &&
                   (main->seq >= 0 || main->peer >= 0);
    }
    free(scratch);
    pw_ordercheck_find(inquiry, &order);
    for (size_t i = 0; i < order.n; i++)
        is_held |= order.list[i].source == PW_SOURCE_NCCL;
    pw_ordercheck_fini(&order);
    return is_held;
}

void pw_hangfile_write(struct pw_inquiry *inquiry, int64_t least_ns)
{
    static struct pw_hang hang;
    static struct pw_order_findings order;
    int32_t *scratch = find_hang(inquiry, least_ns, &hang);
    if (!scratch)
        return;
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
