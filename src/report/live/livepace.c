/* Prints the pace of running ranks line by line, each cut to the width; see liveview.h. */
#include "report/live/liveview.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/advice/advice_unrecorded.h"
#include "core/ops.h"
#include "core/text.h"
#include "report/writing/safenames.h"

enum style { PLAIN, BOLD, RED };

enum { LINE = 1024, TIME = 32, PERCENT = 16 };

/* A rank holds the others back when it works longer than the median rank by this share of a
 * step. */
static const double notable = 0.05;

struct row {
    const struct pw_live *rank;
    int64_t own_ns; /* mean time of a step outside MPI; -1: not known */
};

struct sheet {
    const struct pw_live_view *view;
    const struct pw_livepace_look *look;
    FILE *out;
    size_t lines;     /* number of lines printed */
    struct row *rows; /* [view->n] sorted by own time, longest first */
    size_t known;     /* number of rows with a known own time */
};

/* Prints one line, cut to the width. Characters that could control the terminal are replaced. */
__attribute__((format(printf, 3, 4))) static void print(struct sheet *sheet, enum style style,
                                                        const char *format, ...)
{
    static const char *const begins[] = {"", "\033[1m", "\033[31m"};
    char raw[LINE], text[LINE];
    va_list args;
    if (sheet->lines >= sheet->look->lines)
        return;
    va_start(args, format);
    vsnprintf(raw, sizeof(raw), format, args);
    va_end(args);
    pw_names_printable(text, sizeof(text), raw, strlen(raw));
    text[pw_names_offset(text, sheet->look->columns)] = '\0';
    int is_styled = sheet->look->is_coloured && style != PLAIN;
    fprintf(sheet->out, "%s%s%s\n", is_styled ? begins[style] : "", text,
            is_styled ? "\033[0m" : "");
    sheet->lines++;
}

static const char *time_text(int64_t ns, char out[TIME])
{
    if (ns < 0)
        snprintf(out, TIME, "-");
    else
        pw_text_ns(out, TIME, ns);
    return out;
}

static double mpi_share(const struct pw_live *live)
{
    return live->step_mean_ns > 0 ? (double)live->step_mpi_ns / (double)live->step_mean_ns : 0;
}

static int by_own_time(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    if (x->own_ns != y->own_ns)
        return x->own_ns < y->own_ns ? 1 : -1;
    return x->rank->rank - y->rank->rank;
}

static int sort_rows(struct sheet *sheet)
{
    size_t n = sheet->view->n;
    sheet->rows = calloc(n + 1, sizeof(*sheet->rows));
    if (!sheet->rows)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        const struct pw_live *rank = &sheet->view->ranks[i];
        int is_known = rank->step_mean_ns >= 0 && rank->step_mpi_ns >= 0;
        sheet->rows[i] = (struct row){rank, is_known ? rank->step_mean_ns - rank->step_mpi_ns : -1};
        sheet->known += (size_t)is_known;
    }
    if (n)
        qsort(sheet->rows, n, sizeof(*sheet->rows), by_own_time);
    return 0;
}

static void print_job(struct sheet *sheet)
{
    const struct pw_live_view *view = sheet->view;
    int64_t least = INT64_MAX, most = -1, dropped = 0;
    size_t paused = 0;
    char steps[80] = "", silent[64] = "", stopped[64] = "", lost[64] = "";
    for (size_t i = 0; i < view->n; i++) {
        const struct pw_live *rank = &view->ranks[i];
        least = rank->step >= 0 && rank->step < least ? rank->step : least;
        most = rank->step > most ? rank->step : most;
        paused += !rank->recording;
        dropped += rank->dropped < INT64_MAX - dropped ? rank->dropped : 0;
    }
    if (most >= 0 && least == most)
        snprintf(steps, sizeof(steps), ", step %" PRId64, most);
    else if (most >= 0)
        snprintf(steps, sizeof(steps), ", steps %" PRId64 " to %" PRId64, least, most);
    if (view->nsilent)
        snprintf(silent, sizeof(silent), ", %zu do not answer", view->nsilent);
    if (paused)
        snprintf(stopped, sizeof(stopped), "; %zu are not recorded now", paused);
    if (dropped)
        snprintf(lost, sizeof(lost), "; %" PRId64 " events lost", dropped);
    print(sheet, BOLD, "%s: %zu rank%s%s%s%s%s", sheet->look->title, view->n + view->nsilent,
          view->n + view->nsilent == 1 ? "" : "s", silent, steps, stopped, lost);
}

/* 1 when there are several ranks, and no communication of them was recorded in these steps. */
static int is_silent(const struct sheet *sheet)
{
    for (size_t i = 0; i < sheet->known; i++)
        if (sheet->rows[i].rank->step_mpi_ns > 0)
            return 0;
    return sheet->known > 1;
}

/* Prints, over all ranks, the mean of their mean steps, the longest last step, and the share inside
 * MPI. */
static void print_steps(struct sheet *sheet)
{
    const struct pw_live *least = NULL, *most = NULL;
    double mean = 0, mpi = 0;
    int64_t last = -1;
    char mean_text[TIME], last_text[TIME];
    for (size_t i = 0; i < sheet->known; i++) {
        const struct pw_live *rank = sheet->rows[i].rank;
        mean += (double)rank->step_mean_ns / (double)sheet->known;
        mpi += (double)rank->step_mpi_ns / (double)sheet->known;
        last = rank->step_last_ns > last ? rank->step_last_ns : last;
        least = !least || mpi_share(rank) < mpi_share(least) ? rank : least;
        most = !most || mpi_share(rank) > mpi_share(most) ? rank : most;
    }
    if (!sheet->known) {
        print(sheet, PLAIN, "step time   no step has ended yet, or the program marks none");
        return;
    }
    print(sheet, PLAIN, "step time   %s mean of the last 32, %s the last",
          time_text((int64_t)mean, mean_text), time_text(last, last_text));
    if (is_silent(sheet)) {
        print(sheet, PLAIN, "wait share  not known: no communication was recorded in these steps");
        return;
    }
    print(sheet, PLAIN,
          "wait share  %.0f %% of it inside MPI: %.0f %% on rank %" PRId32
          " to %.0f %% on rank %" PRId32,
          mean > 0 ? 100 * mpi / mean : 0, 100 * mpi_share(least), least->rank,
          100 * mpi_share(most), most->rank);
}

/* Returns how much longer the row's rank works than the median rank, ns; 0 when that is too little
 * to matter. */
static int64_t excess_of(const struct sheet *sheet, size_t i)
{
    const struct row *row = &sheet->rows[i];
    if (sheet->known < 2 || i >= sheet->known)
        return 0;
    /* Of two middle rows the later is used, so that with two ranks the slower is compared with the
     * faster. */
    int64_t excess = row->own_ns - sheet->rows[sheet->known / 2].own_ns;
    return (double)excess >= notable * (double)row->rank->step_mean_ns ? excess : 0;
}

/* When MPI calls of some ranks are not recorded, the slowest rank is unknown: prints that and
 * returns 1, else returns 0. */
static int print_unrecorded(struct sheet *sheet)
{
    size_t ranks = 0;
    int reason = PW_UNRECORDED_NONE;
    for (size_t i = 0; i < sheet->view->n; i++) {
        ranks += sheet->view->ranks[i].unrecorded != PW_UNRECORDED_NONE;
        reason = reason ? reason : sheet->view->ranks[i].unrecorded;
    }
    if (ranks)
        print(sheet, RED,
              "worst rank  cannot tell: MPI calls of %zu of %zu ranks are not recorded, because %s",
              ranks, sheet->view->n + sheet->view->nsilent,
              pw_unrecorded_because((enum pw_unrecorded)reason));
    return ranks > 0;
}

/* Prints alarms: all that last, and the latest of those that have ended. */
static void print_alarms(struct sheet *sheet, int is_over, size_t most)
{
    size_t n, matching = 0;
    const struct pw_livealarm *alarms = pw_livealarms_borrow(sheet->look->alarms, &n);
    for (size_t i = 0; i < n; i++)
        matching += (alarms[i].ended != 0) == is_over;
    for (size_t i = 0; i < n; i++) {
        char text[LINE / 2], clock[TIME];
        struct tm tm;
        if ((alarms[i].ended != 0) != is_over || matching-- > most)
            continue;
        const time_t at = is_over ? alarms[i].ended : alarms[i].begun;
        strftime(clock, sizeof(clock), "%H:%M:%S", localtime_r(&at, &tm));
        print(sheet, is_over ? PLAIN : RED, "%-11s %s %s", is_over ? "over" : "slow rank", clock,
              pw_livealarm_text(&alarms[i], text, sizeof(text)));
        print(sheet, is_over ? PLAIN : RED, "%-11s %s", "",
              pw_livealarm_figures(&alarms[i], text, sizeof(text)));
    }
}

/* Prints which ranks are slow, or what was tested; and how often that is wrong. */
static void print_slow(struct sheet *sheet)
{
    enum { SLOW = 8, OVER = 3 };
    const struct pw_livealarms_state state =
        pw_livealarms_state(sheet->look->alarms, sheet->look->now);
    char text[LINE / 2];
    const size_t slow = state.nslow;
    print_alarms(sheet, 0, SLOW);
    if (slow > SLOW)
        print(sheet, RED, "%-11s and %zu more", "", slow - SLOW);
    if (!slow)
        print(sheet, PLAIN, "slow ranks  %s", pw_livealarms_state_text(&state, text, sizeof(text)));
    print_alarms(sheet, 1, OVER);
    if (state.is_uncalibrated)
        print(sheet, PLAIN, "            uncalibrated: noise that lasts may be taken for slowness");
    else if (state.tested)
        print(sheet, PLAIN, "            false alarms: at most %g a day", state.per_day);
}

static void print_worst(struct sheet *sheet)
{
    int64_t excess = excess_of(sheet, 0);
    char own[TIME], more[TIME];
    if (print_unrecorded(sheet))
        return;
    if (sheet->look->alarms) {
        print_slow(sheet);
        return;
    }
    if (sheet->known < 2)
        return;
    if (excess)
        print(sheet, RED,
              "worst rank  rank %" PRId32
              " works %s a step outside communication, %s more than the median",
              sheet->rows[0].rank->rank, time_text(sheet->rows[0].own_ns, own),
              time_text(excess, more));
    else if (is_silent(sheet))
        print(sheet, PLAIN,
              "worst rank  cannot tell: ranks that wait for each other take equally long");
    else
        print(sheet, PLAIN, "worst rank  no rank works longer than the median by 5 %% of a step");
}

static int is_slow(const struct sheet *sheet, size_t i)
{
    return sheet->look->alarms
               ? pw_livealarms_is_slow(sheet->look->alarms, sheet->rows[i].rank->rank)
               : excess_of(sheet, i) != 0;
}

static void print_row(struct sheet *sheet, size_t i)
{
    const struct pw_live *rank = sheet->rows[i].rank;
    const struct pw_live_thread *thread = pw_live_main(rank);
    char mean[TIME], last[TIME], own[TIME], share[PERCENT] = "-", step[TIME] = "-";
    char call[PW_LIVE_CALL_TEXT] = "-", since[TIME] = "";
    if (thread)
        pw_live_call(rank, thread, call, sizeof(call));
    if (rank->unrecorded)
        snprintf(call, sizeof(call), "MPI is not recorded");
    else if (thread && thread->op != PW_OP_None && thread->since_ns >= 1000000000)
        snprintf(since, sizeof(since), ", for %" PRId64 " s", thread->since_ns / 1000000000);
    if (i < sheet->known && !is_silent(sheet))
        snprintf(share, sizeof(share), "%.0f %%", 100 * mpi_share(rank));
    if (rank->step >= 0)
        snprintf(step, sizeof(step), "%" PRId64, rank->step);
    print(sheet, is_slow(sheet, i) ? RED : PLAIN, "%6" PRId32 " %8s %9s %9s %9s %6s  %-12.12s %s%s",
          rank->rank, step, time_text(sheet->rows[i].own_ns, own),
          time_text(rank->step_mean_ns, mean), time_text(rank->step_last_ns, last), share,
          rank->hostname, call, since);
}

int pw_livepace_print(const struct pw_live_view *view, const struct pw_livepace_look *look,
                      FILE *out)
{
    struct sheet sheet = {.view = view, .look = look, .out = out};
    int err = sort_rows(&sheet);
    if (err)
        return err;
    print_job(&sheet);
    print_steps(&sheet);
    print_worst(&sheet);
    print(&sheet, BOLD, "%6s %8s %9s %9s %9s %6s  %-12s %s", "rank", "step", "own", "mean", "last",
          "in MPI", "host", "now in");
    for (size_t i = 0; i < view->n && i < look->ranks; i++)
        print_row(&sheet, i);
    if (view->n > look->ranks)
        print(&sheet, PLAIN, "%6s %zu more ranks", "", view->n - look->ranks);
    free(sheet.rows);
    return 0;
}
