/* Parses and prints the rows of options.def; see options.h. */
#include "core/options.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "core/remedy.h"

enum kind { FLAG, TEXT, COUNT, SIZE, CHOICE };

struct row {
    const char *name;
    char letter;
    enum kind kind;
    const char *words; /* CHOICE: "a|b" */
    const char *fallback;
    const char *meta;
    enum pw_command command;
    const char *help;
};

#define KIND_FLAG FLAG, NULL
#define KIND_TEXT TEXT, NULL
#define KIND_COUNT COUNT, NULL
#define KIND_SIZE SIZE, NULL
#define KIND_WORD(words) CHOICE, words
static const struct row rows[PW_OPT_COUNT] = {
#define PW_OPTION(id, name, letter, kind, value, meta, command, help) \
    {name, letter, KIND_##kind, value, meta, PW_CMD_##command, help},
#include "core/options.def"
#undef PW_OPTION
};

/* The word on the command line: row->name without the name of the command. All options of merge,
 * import, ctl, ask and compare have their command's name in front ("merge-output" is --output of
 * merge); of report's options only "report-output" has it. */
static const char *option_word(const struct row *row)
{
    const char *tail = strstr(row->name, "-output");
    if (row->command == PW_CMD_IMPORT || row->command == PW_CMD_MERGE ||
        row->command == PW_CMD_CTL || row->command == PW_CMD_COMPARE || row->command == PW_CMD_ASK)
        tail = strchr(row->name, '-');
    return tail ? tail + 1 : row->name;
}

int pw_option_is_of(enum pw_command owner, enum pw_command command)
{
    const int is_of_both = command == PW_CMD_RUN || command == PW_CMD_REPORT;
    return owner == command || (owner == PW_CMD_RUN_OR_REPORT && is_of_both);
}

static void variable_name(const struct row *row, char name[64])
{
    int n = snprintf(name, 64, "PROFWRAP_%s", row->name);
    for (int i = 0; i < n && i < 63; i++)
        name[i] = name[i] == '-' ? '_' : (char)toupper((unsigned char)name[i]);
}

int64_t pw_parse_size(const char *text)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || value < 0 || errno)
        return -1;
    static const char units[] = "KMG";
    const char *unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
    int shift = unit ? 10 * (int)(unit - units + 1) : 0;
    if (unit)
        end++;
    return *end || value > INT64_MAX >> shift ? -1 : (int64_t)value << shift;
}

static bool is_one_of(const char *text, const char *words)
{
    size_t length = strcspn(text, "|");
    for (const char *word = words; length && !text[length] && word; word = strchr(word, '|')) {
        word += *word == '|';
        if (strncmp(word, text, length) == 0 && (word[length] == '|' || !word[length]))
            return true;
    }
    return false;
}

static bool is_count(const char *text)
{
    return *text && strspn(text, "0123456789") == strlen(text) && strlen(text) < 10;
}

/* Returns NULL when the value is valid for the row, else a description of valid values. */
static const char *expected_of(const struct row *row, const char *value)
{
    if (row->kind == COUNT && !is_count(value))
        return "a whole number";
    if (row->kind == SIZE && pw_parse_size(value) < 0)
        return "a size such as 512K, 8M or 1G";
    if (row->kind == CHOICE && !is_one_of(value, row->words))
        return row->words;
    return NULL;
}

/* "; did you mean 'html'?", or nothing when no word is close. */
static void put_hint(char hint[80], const struct pw_nearest *nearest, const char *prefix)
{
    hint[0] = '\0';
    if (nearest->word)
        snprintf(hint, 80, "; did you mean '%s%.*s'?", prefix, nearest->length, nearest->word);
}

/* Sets `problem`: what the option is, and what it takes (`takes`; also a list of words, "a|b").
 * Only the first 64 characters of the value are in it. Returns -EINVAL. */
static int refuse(struct pw_options *options, const char *given_as, const char *value,
                  const char *takes)
{
    char hint[80];
    struct pw_nearest nearest = {.typed = value};
    for (const char *word = strchr(takes, '|') ? takes : ""; *word; word += *word == '|') {
        pw_nearest_try(&nearest, word, (int)strcspn(word, "|"));
        word += strcspn(word, "|");
    }
    put_hint(hint, &nearest, "");
    snprintf(options->problem, sizeof(options->problem), "%.64s is '%.64s%s', but takes %.96s%.79s",
             given_as, value, strlen(value) > 64 ? "..." : "", takes, hint);
    return -EINVAL;
}

/* Writes "--NAME", or the variable's name when the value is from the environment. */
static void given_name(const struct pw_options *options, int id, char name[64])
{
    if (options->in_environment)
        variable_name(&rows[id], name);
    else
        snprintf(name, 64, "--%s", option_word(&rows[id]));
}

static int set_option(struct pw_options *options, int id, const char *value)
{
    char name[64];
    const char *expected = expected_of(&rows[id], value);
    given_name(options, id, name);
    if (expected)
        return refuse(options, name, value, expected);
    options->text[id] = value;
    options->origin[id] = PW_OPTION_COMMAND_LINE;
    return 0;
}

void pw_options_init(struct pw_options *options)
{
    memset(options, 0, sizeof(*options));
    for (int id = 0; id < PW_OPT_COUNT; id++) {
        char name[64];
        variable_name(&rows[id], name);
        const char *value = getenv(name);
        options->text[id] = rows[id].fallback;
        if (!value || !*value)
            continue;
        options->origin[id] = PW_OPTION_ENVIRONMENT;
        if (expected_of(&rows[id], value))
            options->origin[id] = PW_OPTION_ENVIRONMENT_BAD;
        else if (rows[id].kind != FLAG || strcmp(value, "0") != 0)
            options->text[id] = value;
    }
}

int pw_options_check_environment(struct pw_options *options, enum pw_command command)
{
    for (int id = 0; id < PW_OPT_COUNT; id++) {
        char name[64];
        if (options->origin[id] != PW_OPTION_ENVIRONMENT_BAD ||
            (!pw_option_is_of(rows[id].command, command) && rows[id].command != PW_CMD_ENV))
            continue;
        variable_name(&rows[id], name);
        options->in_environment = 1;
        return refuse(options, name, getenv(name), expected_of(&rows[id], getenv(name)));
    }
    return 0;
}

int pw_option_refuse(struct pw_options *options, enum pw_option option, const char *takes)
{
    char name[64];
    options->in_environment = options->origin[option] == PW_OPTION_ENVIRONMENT;
    given_name(options, option, name);
    return refuse(options, name, options->text[option], takes);
}

int pw_option_blame(struct pw_options *options, enum pw_option option)
{
    char name[64], rest[sizeof(options->problem)];
    given_name(options, option, name);
    size_t length = strlen(name);
    options->in_environment = options->origin[option] == PW_OPTION_ENVIRONMENT;
    if (!options->in_environment || strncmp(options->problem, name, length) != 0)
        return -EINVAL;
    given_name(options, option, name);
    snprintf(rest, sizeof(rest), "%s", options->problem + length);
    snprintf(options->problem, sizeof(options->problem), "%s%.180s", name, rest);
    return -EINVAL;
}

static int find_long(enum pw_command command, const char *word, size_t length)
{
    for (int id = 0; id < PW_OPT_COUNT; id++)
        if (pw_option_is_of(rows[id].command, command) &&
            strlen(option_word(&rows[id])) == length &&
            strncmp(option_word(&rows[id]), word, length) == 0)
            return id;
    return -1;
}

static int find_short(enum pw_command command, char letter)
{
    for (int id = 0; id < PW_OPT_COUNT; id++)
        if (letter && pw_option_is_of(rows[id].command, command) && rows[id].letter == letter)
            return id;
    return -1;
}

static int complain(struct pw_options *options, const char *format, const char *word)
{
    snprintf(options->problem, sizeof(options->problem), format, word);
    return -EINVAL;
}

static const char *const command_names[] = {
    [PW_CMD_RUN] = "run",       [PW_CMD_MERGE] = "merge",
    [PW_CMD_REPORT] = "report", [PW_CMD_COMPARE] = "compare",
    [PW_CMD_CTL] = "ctl",       [PW_CMD_IMPORT] = "import",
    [PW_CMD_ASK] = "ask",       [PW_CMD_RUN_OR_REPORT] = "report",
};

/* The command other than `but` that has the option; NULL: none. */
static const char *command_of(const char *name, enum pw_command but)
{
    for (int id = 0; id < PW_OPT_COUNT; id++)
        if (rows[id].command != but && rows[id].command != PW_CMD_ENV &&
            strcmp(option_word(&rows[id]), name) == 0)
            return command_names[rows[id].command];
    return NULL;
}

/* `word` is "--NAME[=VALUE]" or "-L"; `length` is that of NAME, 0 for a letter. Returns -EINVAL. */
static int complain_unknown(struct pw_options *options, enum pw_command command, const char *word,
                            size_t length)
{
    char name[64], hint[80];
    struct pw_nearest nearest = {.typed = name};
    snprintf(name, sizeof(name), "%.*s", (int)length, length ? word + 2 : "");
    const char *other = length ? command_of(name, command) : NULL;
    if (other) {
        snprintf(options->problem, sizeof(options->problem),
                 "'--%s' is no option of %s: it belongs after 'profwrap %s'", name,
                 command_names[command], other);
        return -EINVAL;
    }
    for (int id = 0; word[1] == '-' && id < PW_OPT_COUNT; id++)
        if (pw_option_is_of(rows[id].command, command))
            pw_nearest_try(&nearest, option_word(&rows[id]), (int)strlen(option_word(&rows[id])));
    put_hint(hint, &nearest, "--");
    snprintf(options->problem, sizeof(options->problem),
             "unknown option '%.96s'%s%s 'profwrap help %s' lists %s", word, hint,
             hint[0] ? "" : ";", command_names[command], hint[0] ? "all" : "them");
    return -EINVAL;
}

/* Handles argv[at], which begins with '-'; returns how many words it took, or -EINVAL. */
static int parse_one(struct pw_options *options, enum pw_command command, int argc, char **argv,
                     int at)
{
    const char *word = argv[at], *value = NULL;
    size_t length = word[1] == '-' ? strcspn(word + 2, "=") : 0;
    int id;
    if (word[1] == '-') {
        id = find_long(command, word + 2, length);
        value = word[2 + length] == '=' ? word + 3 + length : NULL;
    } else {
        id = find_short(command, word[1]);
        value = word[1] && word[2] ? word + 2 : NULL;
    }
    if (id < 0)
        return complain_unknown(options, command, word, length);
    if (rows[id].kind == FLAG)
        return value ? complain(options, "option '%s' takes no value", word)
                     : set_option(options, id, "1") + 1;
    if (value)
        return set_option(options, id, value) ? -EINVAL : 1;
    if (at + 1 >= argc)
        return complain(options, "option '%s' needs a value", word);
    return set_option(options, id, argv[at + 1]) ? -EINVAL : 2;
}

int pw_options_parse(struct pw_options *options, enum pw_command command, int argc, char **argv,
                     struct pw_options_end *end)
{
    int at = 1;
    *end = (struct pw_options_end){.next = at};
    while (at < argc && argv[at][0] == '-') {
        if (strcmp(argv[at], "--") == 0) {
            at++;
            break;
        }
        if (strcmp(argv[at], "-h") == 0 || strcmp(argv[at], "--help") == 0)
            end->help = at;
        else if (strcmp(argv[at], "-V") == 0 || strcmp(argv[at], "--version") == 0)
            end->version = at;
        if (end->help || end->version)
            break;
        int took = parse_one(options, command, argc, argv, at);
        if (took < 0)
            return took;
        at += took;
    }
    end->next = at;
    return end->help || end->version ? 0 : pw_options_check_environment(options, command);
}

int pw_option_flag(const struct pw_options *options, enum pw_option option)
{
    return options->text[option][0] != '\0';
}

int64_t pw_option_int(const struct pw_options *options, enum pw_option option)
{
    return strtoll(options->text[option], NULL, 10);
}

int64_t pw_option_size(const struct pw_options *options, enum pw_option option)
{
    return pw_parse_size(options->text[option]);
}

double pw_option_number(const struct pw_options *options, enum pw_option option)
{
    const char *text = options->text[option];
    char *end;
    const double value = strtod(text, &end);
    if (!*text)
        return 0;
    return end != text && !*end && value > 0 && value < 1e30 ? value : -1;
}

int pw_option_per_day(struct pw_options *options, enum pw_option option, double *rate)
{
    static const struct {
        const char *unit;
        double days;
    } units[] = {{"/day", 1}, {"/hour", 1.0 / 24}, {"/week", 7}, {"/month", 30}, {"/year", 365}};
    const double least = 1e-6, most = 1e4;
    const char *text = options->text[option];
    char *end;
    const double value = strtod(text, &end);
    for (size_t i = 0; end != text && i < sizeof(units) / sizeof(*units); i++) {
        *rate = value / units[i].days;
        if (strcmp(end, units[i].unit) == 0 && *rate >= least && *rate <= most)
            return 0;
    }
    return pw_option_refuse(options, option,
                            "a number per hour, day, week, month or year, such as 0.01/day");
}

int pw_option_compression(const struct pw_options *options, enum pw_option option)
{
    const char *text = options->text[option];
    if (strcmp(text, "none") == 0)
        return 0;
    if (strncmp(text, "deflate:", 8) == 0 && text[8] >= '1' && text[8] <= '9' && !text[9])
        return text[8] - '0';
    return -1;
}

void pw_option_describe(enum pw_option option, struct pw_option_row *out)
{
    const struct row *row = &rows[option];
    *out = (struct pw_option_row){.command = row->command,
                                  .name = option_word(row),
                                  .letter = row->letter,
                                  .meta = row->meta,
                                  .words = row->words,
                                  .fallback = row->fallback,
                                  .help = row->help};
    variable_name(row, out->variable);
}

void pw_option_print_help(FILE *out, enum pw_option option)
{
    struct pw_option_row row;
    char left[128];
    pw_option_describe(option, &row);
    if (row.command == PW_CMD_ENV)
        snprintf(left, sizeof(left), "%s=%s", row.variable, row.meta);
    else
        snprintf(left, sizeof(left), "%c%c%c --%s %s", row.letter ? '-' : ' ',
                 row.letter ? row.letter : ' ', row.letter ? ',' : ' ', row.name, row.meta);
    fprintf(out, "  %-26s %s", left, row.help);
    if (row.fallback[0])
        fprintf(out, " [%s]", row.fallback);
    fputc('\n', out);
}

void pw_options_print_help(FILE *out, enum pw_command command)
{
    for (int id = 0; id < PW_OPT_COUNT; id++)
        if (pw_option_is_of(rows[id].command, command))
            pw_option_print_help(out, (enum pw_option)id);
}
