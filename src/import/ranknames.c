/* Reads ranks from names; see ranknames.h. */
#include "import/ranknames.h"

#include <ctype.h>
#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/sort.h"

enum { MOST_DIGITS = 8, TOO_HIGH = 1 << 24 };

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Returns the number of n digits; -1 when it is no rank. */
static int64_t number_of(const char *digits, size_t n)
{
    char text[MOST_DIGITS + 1];
    if (n == 0 || n > MOST_DIGITS)
        return -1;
    snprintf(text, sizeof(text), "%.*s", (int)n, digits);
    const long long rank = strtoll(text, NULL, 10);
    return rank < TOO_HIGH ? rank : -1;
}

/* ---- the number behind a word ---- */

static int is_behind(const char *name, const char *at, const char *word)
{
    const size_t n = strlen(word);
    return (size_t)(at - name) >= n && strncasecmp(at - n, word, n) == 0;
}

/* The number of a rank in its host, or of a host, is no rank of the job. */
static int is_of_host(const char *name, const char *at)
{
    if (at > name && strchr("-_.", at[-1]))
        at--;
    return is_behind(name, at, "local") || is_behind(name, at, "node") ||
           is_behind(name, at, "group");
}

/* Whether the number that begins at `digits` is that of "local_rank_0" or "node0". */
static int is_number_of_host(const char *name, const char *digits)
{
    if (digits > name && strchr("-_.=", digits[-1]))
        digits--;
    return is_behind(name, digits, "node") || is_behind(name, digits, "host") ||
           is_behind(name, digits, "local") ||
           (is_behind(name, digits, "rank") && is_of_host(name, digits - 4));
}

/* The number behind the word, which may have one of "-_.=[" before it. A short word must be a word
 * of its own: the r of "trace_r3_" and not of "iter3". */
static int64_t behind_word(const char *path, const char *word, int is_short)
{
    const char *name = base_name(path);
    for (const char *at = name; (at = strcasestr(at, word)); at++) {
        const char *digits = at + strlen(word);
        digits += *digits && strchr("-_.=[", *digits) ? 1 : 0;
        const size_t n = strspn(digits, "0123456789");
        if (!n || isalnum((unsigned char)digits[n]) || is_of_host(name, at) ||
            (is_short && at > name && isalnum((unsigned char)at[-1])))
            continue;
        const int64_t rank = number_of(digits, n);
        if (rank >= 0)
            return rank;
    }
    return -1;
}

/* Returns the number behind "rank" in a file's name, 2 for "/x/trace-rank_2.json"; -1: none. That
 * of "local_rank" and "node_rank" is none. */
static int64_t of_word(const char *path)
{
    return behind_word(path, "rank", 0);
}

static int64_t of_letter(const char *path)
{
    return behind_word(path, "r", 1);
}

static int64_t of_worker(const char *path)
{
    return behind_word(path, "worker", 1);
}

/* ---- the number at the end ---- */

int64_t pw_rank_of_end(const char *path)
{
    static const char *const suffixes[] = {".gz", ".json", ".jsonl", ".pickle", ".pkl"};
    const char *name = base_name(path);
    size_t end = strlen(name);
    if (strstr(name, ".pt.trace.json")) /* torch's handler: that number is a time */
        return -1;
    for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++)
        if (end > strlen(suffixes[i]) && is_behind(name, name + end, suffixes[i]))
            end -= strlen(suffixes[i]);
    size_t first = end;
    while (first > 0 && isdigit((unsigned char)name[first - 1]))
        first--;
    return is_number_of_host(name, name + first) ? -1 : number_of(name + first, end - first);
}

/* ---- rules that the user gives ---- */

int pw_rank_pattern_check(const char *pattern, char *problem, size_t size)
{
    regex_t expression;
    const int err = regcomp(&expression, pattern, REG_EXTENDED);
    if (err) {
        regerror(err, &expression, problem, size);
        return -EINVAL;
    }
    const size_t groups = expression.re_nsub;
    regfree(&expression);
    if (groups == 1)
        return 0;
    snprintf(problem, size, "it has %zu groups; the one group is the rank", groups);
    return -EINVAL;
}

/* The rank in the path by the pattern's group; -1: it does not match, or the group is no rank. */
static int64_t of_pattern(const char *path, const char *pattern)
{
    regex_t expression;
    regmatch_t found[2];
    int64_t rank = -1;
    if (regcomp(&expression, pattern, REG_EXTENDED))
        return -1;
    if (regexec(&expression, path, 2, found, 0) == 0 && found[1].rm_so >= 0) {
        const char *text = path + found[1].rm_so;
        const size_t n = (size_t)(found[1].rm_eo - found[1].rm_so);
        rank = strspn(text, "0123456789") >= n ? number_of(text, n) : -1;
    }
    regfree(&expression);
    return rank;
}

/* A file named HOST_PID.TIME.pt.trace.json. */
struct process {
    const char *host;
    size_t host_length;
    int64_t pid;
    struct pw_import_file *file;
};

static int read_process(struct pw_import_file *file, struct process *out)
{
    const char *name = base_name(file->path), *end = strstr(name, ".pt.trace.json");
    const char *dot = end ? memchr(name, '.', (size_t)(end - name)) : NULL;
    const char *digits = dot ? dot : end;
    while (digits && digits > name && isdigit((unsigned char)digits[-1]))
        digits--;
    if (!digits || digits <= name + 1 || digits[-1] != '_' || !isdigit((unsigned char)*digits))
        return -EINVAL;
    *out = (struct process){name, (size_t)(digits - 1 - name), strtoll(digits, NULL, 10), file};
    return 0;
}

static int by_host_and_pid(const void *a, const void *b)
{
    const struct process *x = a, *y = b;
    const size_t n = x->host_length < y->host_length ? x->host_length : y->host_length;
    const int order = memcmp(x->host, y->host, n);
    if (order || x->host_length != y->host_length)
        return order ? order : x->host_length < y->host_length ? -1 : 1;
    return (x->pid > y->pid) - (x->pid < y->pid);
}

/* Numbers the processes of all files in the order of hosts and process ids. */
static int find_by_process(struct pw_import_plan *plan, char *problem, size_t size)
{
    struct process *all = calloc(plan->nfiles + 1, sizeof(*all));
    size_t n = 0;
    int64_t rank = -1;
    int err = all ? 0 : -ENOMEM;
    for (size_t i = 0; i < plan->nfiles && !err; i++) {
        if (plan->files[i].head.rank >= 0)
            continue;
        err = read_process(&plan->files[i], &all[n++]);
        if (err)
            snprintf(problem, size,
                     "%s: --rank-by-pid is for names such as "
                     "HOST_PID.TIME.pt.trace.json",
                     plan->files[i].path);
    }
    if (!err)
        pw_sort(all, n, sizeof(*all), by_host_and_pid);
    for (size_t i = 0; i < n && !err; i++) {
        rank += i == 0 || by_host_and_pid(&all[i - 1], &all[i]) != 0;
        all[i].file->head.rank = rank;
        all[i].file->rank_source = PW_RANK_PROCESS;
    }
    free(all);
    return err;
}

static int find_by_pattern(struct pw_import_plan *plan, const char *pattern, char *problem,
                           size_t size)
{
    for (size_t i = 0; i < plan->nfiles; i++) {
        struct pw_import_file *file = &plan->files[i];
        const int64_t rank = of_pattern(file->path, pattern);
        if (file->head.rank >= 0 && rank >= 0 && rank != file->head.rank) {
            snprintf(problem, size,
                     "%s is of rank %lld, as it says, and not of %lld, as "
                     "--rank-pattern says",
                     file->path, (long long)file->head.rank, (long long)rank);
            return -EINVAL;
        }
        if (file->head.rank >= 0)
            continue;
        if (rank < 0) {
            snprintf(problem, size, "%s: --rank-pattern finds no rank in this path", file->path);
            return -EINVAL;
        }
        file->head.rank = rank;
        file->rank_source = PW_RANK_PATTERN;
    }
    return 0;
}

/* ---- the rule for all files ---- */

typedef int64_t rank_of(const char *path);

/* What a rule says of the files that have no rank of their own. */
struct outcome {
    size_t named, distinct, files;
    int64_t highest;
};

static int by_number(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static struct outcome try_rule(const struct pw_import_plan *plan, rank_of *of, int64_t *ranks)
{
    struct outcome out = {.highest = -1};
    for (size_t i = 0; i < plan->nfiles; i++) {
        if (plan->files[i].head.rank >= 0)
            continue;
        const int64_t rank = of(plan->files[i].path);
        out.files++;
        if (rank >= 0)
            ranks[out.named++] = rank;
        out.highest = rank > out.highest ? rank : out.highest;
    }
    pw_sort(ranks, out.named, sizeof(*ranks), by_number);
    for (size_t i = 0; i < out.named; i++)
        out.distinct += i == 0 || ranks[i] != ranks[i - 1];
    return out;
}

/* Whether every file has a rank of its own by the rule. A dump is the last of its rank, so dumps
 * have different ranks; several traces of a rank are windows. */
static int names_all(const struct outcome *o)
{
    return o->files && o->named == o->files && o->distinct == o->files;
}

static int are_dumps(const struct pw_import_plan *plan)
{
    for (size_t i = 0; i < plan->nfiles; i++)
        if (plan->files[i].head.rank < 0 && plan->files[i].format != &pw_import_flight)
            return 0;
    return 1;
}

static int disagree(const struct pw_import_plan *plan, rank_of *one, rank_of *other)
{
    for (size_t i = 0; i < plan->nfiles; i++)
        if (plan->files[i].head.rank < 0 && one(plan->files[i].path) != other(plan->files[i].path))
            return 1;
    return 0;
}

static void use(struct pw_import_plan *plan, rank_of *of, enum pw_rank_source source)
{
    for (size_t i = 0; i < plan->nfiles; i++) {
        struct pw_import_file *file = &plan->files[i];
        const int64_t rank = file->head.rank >= 0 ? -1 : of(file->path);
        if (rank < 0)
            continue;
        file->head.rank = rank;
        file->rank_source = source;
    }
}

/* Takes the first rule that fits all files. Where both the word and the end of the name would give
 * each dump a rank, and not the same, neither is taken. Returns 0 or -EINVAL. */
static int choose(struct pw_import_plan *plan, int64_t *ranks, char *problem, size_t size)
{
    static rank_of *const words[] = {of_word, of_letter, of_worker};
    const int is_dumps = are_dumps(plan);
    const struct outcome end = try_rule(plan, pw_rank_of_end, ranks);
    const int end_fits =
        names_all(&end) && (is_dumps || (end.files > 1 && end.highest + 1 == (int64_t)end.files));
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        const struct outcome word = try_rule(plan, words[i], ranks);
        if (!word.files || word.named < word.files || (is_dumps && end_fits && !names_all(&word)))
            continue;
        if (is_dumps && end_fits && disagree(plan, words[i], pw_rank_of_end)) {
            const char *path = plan->files[0].path;
            snprintf(problem, size, "%s: is it of rank %lld or of %lld? Tell by --rank-pattern",
                     path, (long long)words[i](path), (long long)pw_rank_of_end(path));
            return -EINVAL;
        }
        use(plan, words[i], PW_RANK_WORD);
        return 0;
    }
    if (end_fits)
        use(plan, pw_rank_of_end, PW_RANK_END);
    else /* those that have a rank in their name, for the sentence about the first other */
        use(plan, of_word, PW_RANK_WORD);
    return 0;
}

/* Names that say another rank than the file itself, which is right. */
static void note_contradictions(struct pw_import_plan *plan)
{
    for (size_t i = 0; i < plan->nfiles; i++) {
        const struct pw_import_file *file = &plan->files[i];
        const int64_t named = of_word(file->path);
        if (file->head.rank >= 0 && named >= 0 && named != file->head.rank)
            pw_import_plan_note(plan,
                                "%s is of rank %lld, as it says, and not of %lld, as its "
                                "name says",
                                file->path, (long long)file->head.rank, (long long)named);
    }
}

static int use_option(struct pw_import_plan *plan, int64_t rank, char *problem, size_t size)
{
    if (plan->nfiles > 1) {
        snprintf(problem, size,
                 "--rank %lld is for one file, and %zu were given, such as %s and "
                 "%s: give --rank-pattern",
                 (long long)rank, plan->nfiles, plan->files[0].path, plan->files[1].path);
        return -EINVAL;
    }
    if (plan->files[0].head.rank >= 0 && plan->files[0].head.rank != rank)
        pw_import_plan_note(plan,
                            "%s is taken for rank %lld, as --rank says; it says that it is "
                            "of rank %lld",
                            plan->files[0].path, (long long)rank,
                            (long long)plan->files[0].head.rank);
    plan->files[0].head.rank = rank;
    plan->files[0].rank_source = PW_RANK_OPTION;
    return 0;
}

int pw_rank_names_find(struct pw_import_plan *plan, const struct pw_import_wish *wish,
                       char *problem, size_t size)
{
    if (wish->rank >= 0 && plan->nfiles)
        return use_option(plan, wish->rank, problem, size);
    if (wish->rank_pattern && *wish->rank_pattern)
        return find_by_pattern(plan, wish->rank_pattern, problem, size);
    note_contradictions(plan);
    if (wish->rank_by_pid)
        return find_by_process(plan, problem, size);
    int64_t *ranks = malloc((plan->nfiles + 1) * sizeof(*ranks));
    const int err = ranks ? choose(plan, ranks, problem, size) : -ENOMEM;
    free(ranks);
    if (!err && plan->nfiles == 1 && plan->files[0].head.rank < 0 && plan->world_size <= 1 &&
        plan->files[0].head.least_size <= 1) {
        plan->files[0].head.rank = 0; /* a program that is not distributed */
        plan->files[0].rank_source = PW_RANK_ONLY;
    }
    return err;
}

const char *pw_rank_names_rule(const struct pw_import_plan *plan)
{
    static const char *const words[] = {
        [PW_RANK_PATTERN] = "--rank-pattern",
        [PW_RANK_PROCESS] = "the order of process ids (--rank-by-pid)",
        [PW_RANK_WORD] = "the number behind \"rank\", \"r\" or \"worker\" in the files' names",
        [PW_RANK_END] = "the number at the end of the files' names",
        [PW_RANK_ONLY] = NULL,
    };
    for (size_t i = 0; i < plan->nfiles; i++)
        if (words[plan->files[i].rank_source])
            return words[plan->files[i].rank_source];
    return NULL;
}
