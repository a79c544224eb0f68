/* `profwrap ask`: a short answer to one question about a run; see commands.h. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/conclude/latereport.h"
#include "cli/confine.h"
#include "cli/results/askedrun.h"
#include "core/epochdir.h"
#include "core/h5/h5watch.h"
#include "core/log.h"
#include "core/options.h"
#include "core/remedy.h"
#include "core/text.h"

static int print_questions(void)
{
    printf("usage: profwrap ask [OPTIONS] DIR|cluster.h5 QUESTION [NAME=VALUE...]\n\n"
           "Answers one question about a run, in at most %d bytes of JSON. Questions and their "
           "arguments:\n\n",
           PW_ANSWER_BYTES);
    for (const struct pw_question *q = pw_questions; q->name; q++) {
        printf("  %s", q->name);
        for (const struct pw_question_argument *a = q->arguments; a->name; a++)
            printf(a->is_needed ? " %s=%s" : " [%s=%s]", a->name, a->is_integer ? "N" : "TEXT");
        printf("%s\n      %s.\n", strcmp(q->name, "compare") == 0 ? " other=DIR" : "", q->help);
        if (q->example)
            printf("      profwrap ask my-profile %s %s\n", q->name, q->example);
    }
    printf("\nEach also takes from=N, the first row of the page. docs/agents.md says in which "
           "order to ask.\n\n");
    pw_options_print_help(stdout, PW_CMD_ASK);
    return fflush(stdout) ? 1 : 0;
}

/* ---- the arguments ---- */

/* Sets name=value; a value that is an integer becomes one where the question wants it. */
static int set_argument(const struct pw_question *question, const char *word, json_t *arguments)
{
    char name[64], *end;
    const char *equals = strchr(word, '=');
    if (!equals || equals == word || equals - word >= (ptrdiff_t)sizeof(name)) {
        pw_error("'%s' is not NAME=VALUE; 'profwrap ask' lists the arguments", word);
        return -EINVAL;
    }
    snprintf(name, sizeof(name), "%.*s", (int)(equals - word), word);
    bool wants_integer = strcmp(name, "from") == 0;
    for (const struct pw_question_argument *a = question->arguments; a->name; a++)
        wants_integer |= a->is_integer && strcmp(a->name, name) == 0;
    errno = 0;
    const long long number = strtoll(equals + 1, &end, 10);
    const bool is_integer = wants_integer && equals[1] && !*end && !errno;
    json_t *value = is_integer ? json_integer(number) : json_string(equals + 1);
    if (value)
        return json_object_set_new(arguments, name, value);
    pw_error("the value of '%s' must be valid UTF-8", name);
    return -EINVAL;
}

/* ---- the answer ---- */

static void print_value(const char *key, const json_t *value)
{
    const size_t n = strlen(key);
    char time[32];
    if (json_is_integer(value) && n > 3 && strcmp(key + n - 3, "_ns") == 0) {
        printf("%.*s %s", (int)n - 3, key,
               pw_text_ns(time, sizeof(time), json_integer_value(value)));
    } else if (json_is_string(value)) {
        printf("%s %s", key, json_string_value(value));
    } else {
        char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_ENSURE_ASCII |
                                           JSON_REAL_PRECISION(6));
        printf("%s %s", key, text ? text : "");
        free(text);
    }
}

static void print_object(json_t *object, const char *before, const char *between)
{
    const char *key;
    json_t *value;
    bool is_first = true;
    json_object_foreach(object, key, value)
    {
        if (json_is_array(value) && json_is_object(json_array_get(value, 0)))
            continue;
        fputs(is_first ? before : between, stdout);
        print_value(key, value);
        is_first = false;
    }
    putchar('\n');
}

static void print_text(json_t *answer)
{
    json_t *row;
    size_t i;
    const char *sentence = json_string_value(json_object_get(answer, "answer"));
    if (sentence)
        printf("%s\n", sentence);
    json_t *rest = json_copy(answer);
    json_object_del(rest, "answer");
    json_object_del(rest, "question");
    json_object_del(rest, "rests_on");
    if (json_object_size(rest) > (json_object_get(rest, "rows") ? 1 : 0))
        print_object(rest, "", "\n");
    json_array_foreach(json_object_get(answer, "rests_on"), i, row)
        printf("rests on what is %s\n", json_string_value(row));
    json_array_foreach(json_object_get(answer, "rows"), i, row) print_object(row, "- ", ", ");
    json_decref(rest);
}

static int print_answer(json_t *answer, bool as_json)
{
    if (as_json) {
        json_dumpf(answer, stdout, JSON_ENSURE_ASCII | JSON_COMPACT | JSON_REAL_PRECISION(12));
        putchar('\n');
    } else {
        print_text(answer);
    }
    json_decref(answer);
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    pw_error("cannot write the answer to standard output: %s", pw_remedy(errno));
    return 1;
}

/* ---- the command ---- */

/* Opens the run, and the second one of "compare", and asks. */
static int ask(const struct pw_question *question, const char *const given[2], json_t *arguments,
               bool as_json)
{
    struct pw_askedrun runs[2] = {{.given = given[0]}, {.given = given[1]}};
    struct pw_asked asked[2];
    char problem[PW_CLI_PROBLEM];
    int err = 0;
    for (size_t i = 0; i < 2 && given[i] && !err; i++) {
        err = pw_askedrun_open(&runs[i], problem);
        asked[i] = pw_askedrun_asked(&runs[i]);
    }
    json_t *answer =
        err ? NULL : pw_ask(question, &asked[0], given[1] ? &asked[1] : NULL, arguments, problem);
    int status = 1;
    if (answer)
        status = print_answer(answer, as_json);
    else
        pw_error("%s", problem);
    for (size_t i = 0; i < 2; i++)
        pw_askedrun_close(&runs[i]);
    return status;
}

static const struct pw_question *find_question(const char *name)
{
    const struct pw_question *found = pw_question_find(name);
    struct pw_nearest nearest = {.typed = name};
    if (found)
        return found;
    for (const struct pw_question *q = pw_questions; q->name; q++)
        pw_nearest_try(&nearest, q->name, (int)strlen(q->name));
    if (nearest.word)
        pw_error("there is no question '%s'; did you mean '%s'?", name, nearest.word);
    else
        pw_error("there is no question '%s'; 'profwrap ask' lists them", name);
    return NULL;
}

/* Reads the words behind the question. Returns 0, or -EINVAL after a message. */
static int read_arguments(const struct pw_question *question, char *const *words, size_t n,
                          const char **other, json_t *arguments)
{
    int err = 0;
    for (size_t i = 0; i < n && !err; i++) {
        if (pw_question_may_have_other(question) && strncmp(words[i], "other=", 6) == 0)
            *other = words[i] + 6;
        else
            err = set_argument(question, words[i], arguments);
    }
    return err;
}

/* Chooses the directory that is read, and merges it when nobody has. Returns 0, or an exit status
 * after a message. `live` becomes the answer about a job that still runs. */
static int prepare(const char *given, char dir[PATH_MAX], const char *question, json_t **live)
{
    char problem[PW_EPOCHDIR_PROBLEM];
    if (pw_epochdir_choose(given, "", dir, PATH_MAX, problem)) {
        pw_error("%s", problem);
        return 2;
    }
    *live = pw_liveanswer(dir, question);
    return !*live && pw_latereport_make(dir, "") ? 1 : 0;
}

/* `words`: the run, the question and its arguments, of which the latter two may lack. */
static int ask_words(char *const *words, size_t n, bool as_json)
{
    static char dirs[2][PATH_MAX];
    const struct pw_question *question = find_question(n > 1 ? words[1] : "verdict");
    const char *given[2] = {words[0], NULL};
    json_t *arguments = json_object();
    int status = 0;
    if (!question || read_arguments(question, words + 2, n > 2 ? n - 2 : 0, &given[1], arguments))
        status = 2;
    json_t *live = NULL;
    for (size_t i = 0; i < 2 && given[i] && !status && !live; i++) {
        status = prepare(given[i], dirs[i], question->name, &live);
        given[i] = dirs[i];
    }
    if (live) {
        status = print_answer(live, as_json);
    } else if (!status) {
        pw_h5_watch_install();
        pw_confine(pw_cli_cluster_size(given[0]) + (given[1] ? pw_cli_cluster_size(given[1]) : 0),
                   0);
        status = ask(question, given, arguments, as_json);
    }
    json_decref(arguments);
    return status;
}

/* Moves the options that stand behind the run to the front. The order is kept. */
static void put_options_first(int argc, char **argv)
{
    int to = 1;
    for (int from = 1; from < argc; from++) {
        const int takes_next = strcmp(argv[from], "--format") == 0 && from + 1 < argc;
        if (strncmp(argv[from], "--", 2) != 0)
            continue;
        for (int i = from; i <= from + takes_next; i++, to++) {
            char *moved = argv[i];
            memmove(&argv[to + 1], &argv[to], (size_t)(i - to) * sizeof(*argv));
            argv[to] = moved;
        }
        from += takes_next;
    }
}

int pw_cli_ask(int argc, char **argv)
{
    struct pw_options options;
    struct pw_options_end end;
    pw_options_init(&options);
    put_options_first(argc, argv);
    if (pw_options_parse(&options, PW_CMD_ASK, argc, argv, &end)) {
        pw_error("%s", options.problem);
        return 2;
    }
    if (end.help || argc < 2)
        return print_questions();
    if (end.version) {
        pw_error("unknown option '%s'; 'profwrap help ask' lists them", argv[end.version]);
        return 2;
    }
    if (end.next == argc) {
        pw_error("ask needs the output directory of a run, or a cluster file");
        return 2;
    }
    return ask_words(argv + end.next, (size_t)(argc - end.next),
                     strcmp(options.text[PW_OPT_ASK_FORMAT], "json") == 0);
}
