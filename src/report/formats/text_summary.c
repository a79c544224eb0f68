/* Prints the summary of a run, which is what a terminal shows when the run has ended: at most
 * SCREEN lines, so that it is all on the screen. Called through report.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/limits.h"
#include "core/text.h"
#include "report/content/onefigures.h"
#include "report/content/runsummary.h"
#include "report/report.h"
#include "report/writing/page.h"
#include "report/writing/safenames.h"
#include "report/writing/words.h"

enum { SCREEN = 22, WIDTH_LEAST = 60, BAR_MOST = 72, BAR_BESIDE = 24 };
#define LEAST_HIDDEN 0.001 /* of a step: less is left out of the legend */

/* What is printed, in this order. A gap is an empty line. */
enum block {
    HEADLINE,
    MISSING,
    LOSS_1,
    LOSS_2,
    GAP_TIME,
    TIME,
    GAP_ADVICE,
    ADVICE,
    RESTS_ON,
    GAP_REST,
    REST,
    BLOCKS
};

/* The most lines of each. What is longer is cut there: the whole is in the report. */
static const size_t most_lines[BLOCKS] = {
    [HEADLINE] = 8,   [MISSING] = 2, [LOSS_1] = 3,   [LOSS_2] = 3,   [GAP_TIME] = 1, [TIME] = 7,
    [GAP_ADVICE] = 1, [ADVICE] = 5,  [RESTS_ON] = 3, [GAP_REST] = 1, [REST] = 3,
};

/* What is left out when the screen is too small for all, the first one first. */
static const enum block spare[] = {GAP_REST, GAP_ADVICE, GAP_TIME, LOSS_2, TIME, LOSS_1};

struct screen {
    struct pw_page page;
    const struct pw_report_options *options;
    char *text[BLOCKS];
    size_t bytes[BLOCKS], lines[BLOCKS]; /* lines 0: not printed */
    int is_bad_end;
};

/* ---- what is printed ---- */

static int print_headline(const struct pw_page *page, const struct pw_runsummary *summary)
{
    return pw_page_print(page, 0, 2, "%s", summary->headline);
}

static int print_missing(const struct pw_page *page, const struct pw_runsummary *summary)
{
    return summary->missing[0] ? pw_page_print(page, 0, 2, "Incomplete: %s.", summary->missing) : 0;
}

static int print_loss(const struct pw_page *page, const struct pw_runsummary *summary, size_t i)
{
    return i < summary->nlosses ? pw_page_print(page, 0, 2, "%s", summary->losses[i].text) : 0;
}

static int print_loss_1(const struct pw_page *page, const struct pw_runsummary *summary)
{
    return print_loss(page, summary, 0);
}

static int print_loss_2(const struct pw_page *page, const struct pw_runsummary *summary)
{
    return print_loss(page, summary, 1);
}

static int print_time_gap(const struct pw_page *page, const struct pw_runsummary *summary)
{
    return summary->time.of ? pw_page_print(page, 0, 0, "%s", "") : 0;
}

static int print_rest_gap(const struct pw_page *page, const struct pw_runsummary *summary)
{
    (void)summary;
    return page->options->place ? pw_page_print(page, 0, 0, "%s", "") : 0;
}

static int print_gap(const struct pw_page *page, const struct pw_runsummary *summary)
{
    (void)summary;
    return pw_page_print(page, 0, 0, "%s", "");
}

/* How many of `columns`, which stand for `whole`, are before the end of a part. */
static size_t columns_before(int64_t end_ns, int64_t whole_ns, size_t columns)
{
    return (size_t)((double)end_ns / (double)whole_ns * (double)columns + 0.5);
}

/* Writes the bar of the mean or of the rank: as many letters as the part takes of the longer of
 * both. Marks the parts that have a letter in `shown`. */
static void write_bar(const struct pw_runtime *time, int is_rank, size_t columns, char *bar,
                      int shown[PW_RUNPARTS])
{
    const int64_t whole =
        time->rank >= 0 && time->rank_ns > time->mean_ns ? time->rank_ns : time->mean_ns;
    int64_t sum = 0;
    size_t at = 0;
    for (size_t i = 0; i < time->nparts; i++) {
        const struct pw_runpart *part = &time->parts[i];
        sum = pw_sum(sum, is_rank ? part->rank_ns : part->mean_ns);
        const size_t end = columns_before(sum, whole, columns);
        for (; at < end && at < columns; at++) {
            bar[at] = part->letter;
            shown[i] = 1;
        }
    }
    memset(bar + at, ' ', columns - at);
    bar[columns] = '\0';
}

/* A line of the legend, which is broken between items only. */
struct legend {
    const struct pw_page *page;
    char line[PW_REPORT_WIDTH * PW_UTF8_MOST];
    int err;
};

static void flush_legend(struct legend *legend)
{
    if (legend->line[0] && !legend->err)
        legend->err = pw_page_print(legend->page, 2, 2, "%s", legend->line);
    legend->line[0] = '\0';
}

static void add_item(struct legend *legend, const char *item)
{
    const size_t used = pw_names_columns(legend->line), more = pw_names_columns(item);
    if (used && used + 2 + more + 3 > legend->page->width)
        flush_legend(legend);
    struct pw_sentence s = {legend->line, sizeof(legend->line), strlen(legend->line)};
    pw_sentence_add(&s, "%s%s", s.used ? ";  " : "", item);
}

/* Adds "f forward 1.7 ms | 1.8 ms". */
static void add_part(struct legend *legend, const struct pw_runpart *part, int has_rank)
{
    char item[120], ns[40];
    const int is_wait = strcmp(part->name, "waiting") == 0;
    struct pw_sentence s = pw_sentence_on(item, sizeof(item));
    pw_sentence_add(&s, "%c %s %s", part->letter, part->name,
                    is_wait ? pw_page_cross_ns(legend->page, ns, sizeof(ns), part->mean_ns)
                            : pw_text_ns(ns, sizeof(ns), part->mean_ns));
    if (has_rank)
        pw_sentence_add(&s, " | %s",
                        is_wait ? pw_page_cross_ns(legend->page, ns, sizeof(ns), part->rank_ns)
                                : pw_text_ns(ns, sizeof(ns), part->rank_ns));
    add_item(legend, item);
}

/* The parts that a bar shows, and communication that no bar shows. */
static int print_legend(const struct pw_page *page, const struct pw_runtime *time,
                        const int shown[PW_RUNPARTS])
{
    struct legend legend = {.page = page};
    char item[120];
    for (size_t i = 0; i < time->nparts; i++)
        if (shown[i])
            add_part(&legend, &time->parts[i], time->rank >= 0);
    struct pw_sentence s = pw_sentence_on(item, sizeof(item));
    const int is_hidden =
        time->hidden_ns > 0 && (double)time->hidden_ns >= LEAST_HIDDEN * (double)time->mean_ns;
    if (is_hidden)
        pw_words_add_ns(&s, "hidden communication ", time->hidden_ns);
    if (is_hidden && time->rank >= 0 && time->rank_hidden_ns >= 0)
        pw_words_add_ns(&s, " | ", time->rank_hidden_ns);
    if (s.used)
        add_item(&legend, item);
    flush_legend(&legend);
    return legend.err;
}

static int print_time_title(const struct pw_page *page, const struct pw_runtime *time)
{
    if (time->ranks == 1)
        return pw_page_print(page, 0, 2, "Where %s %s goes",
                             strcmp(time->of, "run") == 0 ? "the" : "a", time->of);
    if (time->rank < 0)
        return pw_page_print(page, 0, 2, "Where %s %s goes: mean of %" PRId64 " ranks",
                             strcmp(time->of, "run") == 0 ? "the" : "a", time->of, time->ranks);
    return pw_page_print(page, 0, 2,
                         "Where %s %s goes: mean of %" PRId64 " ranks | rank %" PRId32 ", which %s",
                         strcmp(time->of, "run") == 0 ? "the" : "a", time->of, time->ranks,
                         time->rank, time->is_named ? "held the job back" : "waits least");
}

static int print_bar(const struct pw_page *page, const char *name, const char *bar, int64_t ns)
{
    char time[32];
    return pw_page_print(page, 2, 2, "%-10s [%s] %s", name, bar,
                         pw_text_ns(time, sizeof(time), ns));
}

static int print_time(const struct pw_page *page, const struct pw_runsummary *summary)
{
    const struct pw_runtime *time = &summary->time;
    const size_t room = page->width - BAR_BESIDE, columns = room < BAR_MOST ? room : BAR_MOST;
    char mean[BAR_MOST + 1], of_rank[BAR_MOST + 1], name[32];
    int shown[PW_RUNPARTS] = {0};
    if (!time->of || time->mean_ns <= 0)
        return 0;
    write_bar(time, 0, columns, mean, shown);
    int err = print_time_title(page, time);
    if (!err)
        err = print_bar(page, time->ranks == 1 ? time->of : "mean", mean, time->mean_ns);
    if (time->rank >= 0) {
        snprintf(name, sizeof(name), "rank %" PRId32, time->rank);
        write_bar(time, 1, columns, of_rank, shown);
        err = err ? err : print_bar(page, name, of_rank, time->rank_ns);
    }
    return err ? err : print_legend(page, time, shown);
}

static int print_advice(const struct pw_page *page, const struct pw_runsummary *summary)
{
    char saves[96], further[80] = "";
    const size_t n = summary->further_advice;
    if (!summary->advice.of)
        return pw_page_print(page, 0, 2, "Do first: %s", summary->advice.text);
    pw_words_saves(&summary->advice, summary->advice_share, saves, sizeof(saves));
    if (n)
        snprintf(further, sizeof(further), "(%zu more: --section advice)", n);
    return pw_page_print(page, 0, 2, "Do first: %s %s%s", summary->advice.text, saves, further);
}

static void write_counts(const struct pw_figures *f, struct pw_sentence *s)
{
    if (f->present < f->expected)
        pw_sentence_add(s, "%" PRId64 " of ", f->present);
    pw_sentence_add(s, "%" PRId64 " rank%s", f->expected, f->expected == 1 ? "" : "s");
    if (f->nhosts > 1)
        pw_sentence_add(s, " on %" PRId64 " hosts", f->nhosts);
    if (f->measured)
        pw_sentence_add(s, ", %" PRId64 " %s%s", f->measured, pw_words_step(f->cluster),
                        f->measured == 1 ? "" : "s");
    if (f->measured && f->warmup)
        pw_sentence_add(s, " (%" PRId64 " %s left out)", f->warmup, pw_words_left_out(f));
    if (f->cluster->restricted_to[0])
        pw_sentence_add(s, " of %s only", f->cluster->restricted_to);
    if (f->expected > 1 && f->clock_error_max_ns == 0)
        pw_sentence_add(s, ", one clock");
    if (f->expected > 1 && f->clock_error_max_ns > 0)
        pw_words_add_ns(s, ", clock error up to ", f->clock_error_max_ns);
    if (f->events > 0 && f->dropped_events > 0)
        pw_sentence_add(s, ", %" PRId64 " events (%" PRId64 " more were dropped)", f->events,
                        f->dropped_events);
    else if (f->events > 0)
        pw_sentence_add(s, ", %" PRId64 " events, none dropped", f->events);
}

static int print_rests_on(const struct pw_page *page, const struct pw_runsummary *summary)
{
    char text[1024] = "";
    struct pw_sentence s = pw_sentence_on(text, sizeof(text));
    write_counts(page->figures, &s);
    for (size_t i = 0; i < summary->ncautions; i++)
        pw_sentence_add(&s, "; %s %s", pw_mark_sign(summary->cautions[i].mark),
                        summary->cautions[i].text);
    return pw_page_print(page, 0, 2, "Rests on: %s.", text);
}

/* ---- where the rest is ---- */

/* The path as a part of an address: other bytes than letters, digits and these as %XX. */
static void put_address(FILE *out, const char *path)
{
    for (const unsigned char *at = (const unsigned char *)path; *at; at++)
        if ((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
            (*at >= '0' && *at <= '9') || strchr("/-._~", *at))
            fputc(*at, out);
        else
            fprintf(out, "%%%02X", *at);
}

/* A word of a command for a shell; bytes that are not printable become '?'. */
static void put_word(FILE *out, const char *word)
{
    char clean[4400];
    pw_names_printable(clean, sizeof(clean), word, strlen(word));
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/-._+:@%,=";
    if (clean[0] == '-')
        fputs("./", out);
    if (clean[strspn(clean, plain)] == '\0') {
        fputs(clean, out);
        return;
    }
    fputc('\'', out);
    for (const char *at = clean; *at; at++)
        if (*at == '\'')
            fputs("'\\''", out);
        else
            fputc(*at, out);
    fputc('\'', out);
}

/* The page as a link. A terminal opens it by OSC 8, with the name of the host: the terminal may be
 * on another one. */
static void put_link(FILE *out, const struct pw_report_place *place)
{
    if (place->link_host) {
        fprintf(out, "\033]8;;file://%s", place->link_host);
        put_address(out, place->page);
        fputs("\033\\", out);
    }
    fputs("file://", out);
    put_address(out, place->page);
    fputs(place->link_host ? "\033]8;;\033\\\n" : "\n", out);
}

/* The remark is left out where the page is too narrow for it. */
static void put_command(const struct pw_page *page, const char *options, const char *remark)
{
    const char *dir = page->options->place->dir;
    const size_t columns =
        strlen("The rest:  profwrap report  ") + strlen(options) + pw_names_columns(dir);
    fprintf(page->out, "%-10s profwrap report %s ", "", options);
    put_word(page->out, dir);
    fprintf(page->out, "%s\n", columns + strlen(remark) <= page->width ? remark : "");
}

/* Lines that are not broken: a link or a command in two lines is none. */
static int print_rest(const struct pw_page *page, const struct pw_runsummary *summary)
{
    const struct pw_report_place *place = page->options->place;
    (void)summary;
    if (!place)
        return 0;
    if (place->page) {
        fprintf(page->out, "%-10s ", "The rest:");
        put_link(page->out, place);
    } else {
        fprintf(page->out, "%-10s profwrap report --format html -o ", "The rest:");
        put_word(page->out, place->dir);
        fputs("/report.html ", page->out);
        put_word(page->out, place->dir);
        fputc('\n', page->out);
    }
    put_command(page, "--full", "    # all tables");
    put_command(page, "--serve", "   # with the timeline of every step");
    return 0;
}

/* ---- the screen ---- */

static int make_block(struct screen *screen, enum block block, const struct pw_runsummary *summary)
{
    static int (*const print[BLOCKS])(const struct pw_page *page,
                                      const struct pw_runsummary *summary) = {
        [HEADLINE] = print_headline, [MISSING] = print_missing,   [LOSS_1] = print_loss_1,
        [LOSS_2] = print_loss_2,     [GAP_TIME] = print_time_gap, [TIME] = print_time,
        [GAP_ADVICE] = print_gap,    [ADVICE] = print_advice,     [RESTS_ON] = print_rests_on,
        [GAP_REST] = print_rest_gap, [REST] = print_rest,
    };
    struct pw_page page = screen->page;
    page.out = open_memstream(&screen->text[block], &screen->bytes[block]);
    if (!page.out)
        return -ENOMEM;
    int err = print[block](&page, summary);
    err = fclose(page.out) ? -ENOMEM : err;
    for (const char *at = screen->text[block]; !err && (at = strchr(at, '\n')); at++)
        screen->lines[block]++;
    return err;
}

/* Leaves out blocks until the screen is small enough. */
static void fit(struct screen *screen)
{
    size_t lines = 0;
    for (int i = 0; i < BLOCKS; i++)
        lines += screen->lines[i] < most_lines[i] ? screen->lines[i] : most_lines[i];
    for (size_t i = 0; i < sizeof(spare) / sizeof(spare[0]) && lines > SCREEN; i++) {
        const enum block block = spare[i];
        lines -=
            screen->lines[block] < most_lines[block] ? screen->lines[block] : most_lines[block];
        screen->lines[block] = 0;
    }
}

static const char *colour_of(char letter)
{
    static const struct {
        char letter;
        const char *colour;
    } colours[] = {{'d', "36"}, {'f', "34"}, {'b', "35"}, {'a', "33"},
                   {'o', "32"}, {'#', "32"}, {'=', "33"}, {'.', "2"}};
    for (size_t i = 0; i < sizeof(colours) / sizeof(colours[0]); i++)
        if (colours[i].letter == letter)
            return colours[i].colour;
    return "0";
}

/* The letters between brackets in their colours. */
static void put_bar(FILE *out, const char *line, size_t length)
{
    const char *begin = memchr(line, '[', length), *end = memchr(line, ']', length);
    for (const char *at = line; at < line + length; at++) {
        const int is_inside = begin && end && at > begin && at < end;
        if (is_inside && at[0] != at[-1])
            fprintf(out, "\033[%sm", colour_of(*at));
        if (at == end)
            fputs("\033[0m", out);
        fputc(*at, out);
    }
}

/* Prints a line with colours: the headline, words before a colon, and bars. */
static void put_coloured(const struct screen *screen, enum block block, size_t number,
                         const char *line, size_t length)
{
    FILE *out = screen->page.out;
    const char *colon = number == 0 ? memchr(line, ':', length) : NULL;
    const int has_label = block == MISSING || block == ADVICE || block == RESTS_ON || block == REST;
    if (block == HEADLINE)
        fprintf(out, "\033[%sm%.*s\033[0m", screen->is_bad_end ? "1;31" : "1", (int)length, line);
    else if (block == TIME)
        put_bar(out, line, length);
    else if (has_label && colon)
        fprintf(out, "\033[1m%.*s\033[0m%.*s", (int)(colon - line), line,
                (int)(length - (size_t)(colon - line)), colon);
    else
        fprintf(out, "%.*s", (int)length, line);
}

/* Returns how much of the line stays before " …". */
static size_t cut_line(const char *line, size_t length)
{
    while (length && line[length - 1] != ' ')
        length--;
    while (length && line[length - 1] == ' ')
        length--;
    return length;
}

static void put_block(const struct screen *screen, enum block block)
{
    const char *line = screen->text[block];
    const size_t n = screen->lines[block];
    for (size_t i = 0; i < n && i < most_lines[block]; i++) {
        const char *end = strchr(line, '\n');
        const int is_cut = i + 1 == most_lines[block] && n > most_lines[block];
        const size_t whole = (size_t)(end - line), length = is_cut ? cut_line(line, whole) : whole;
        if (screen->options->is_coloured)
            put_coloured(screen, block, i, line, length);
        else
            fprintf(screen->page.out, "%.*s", (int)length, line);
        fputs(is_cut ? " …\n" : "\n", screen->page.out);
        line = end + 1;
    }
}

int pw_report_summary(FILE *out, const struct pw_cluster *cluster,
                      const struct pw_report_options *options)
{
    struct pw_onefigures one;
    int err = pw_onefigures_take(cluster, options, &one);
    if (err)
        return err;
    const size_t width = options->width > 0 ? (size_t)options->width : PW_REPORT_WIDTH;
    struct screen screen = {
        .page = {.out = out,
                 .width = width < WIDTH_LEAST ? WIDTH_LEAST : width,
                 .top = SIZE_MAX,
                 .figures = one.figures,
                 .options = options},
        .options = options,
    };
    struct pw_runsummary *summary = malloc(sizeof(*summary));
    if (summary)
        pw_runsummary_make(one.figures, summary);
    screen.is_bad_end = summary && summary->is_bad_end;
    err = summary ? 0 : -ENOMEM;
    for (int i = 0; i < BLOCKS && !err; i++)
        err = make_block(&screen, (enum block)i, summary);
    fit(&screen);
    for (int i = 0; i < BLOCKS; i++) {
        if (!err && screen.lines[i])
            put_block(&screen, (enum block)i);
        free(screen.text[i]);
    }
    free(summary);
    pw_onefigures_release(&one);
    return err ? err : ferror(out) ? -EIO : 0;
}
