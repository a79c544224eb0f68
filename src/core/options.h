/* profwrap's options: one table (options.def), parsed from the environment and the command line.
 * Called by the commands, and by tool code that reads one variable. Tool code; only
 * pw_options_print_help() prints, the caller prints `problem`. */
#ifndef PW_CORE_OPTIONS_H
#define PW_CORE_OPTIONS_H

#include <stdint.h>
#include <stdio.h>

enum pw_option {
#define PW_OPTION(id, name, letter, kind, value, meta, command, help) PW_OPT_##id,
#include "core/options.def"
#undef PW_OPTION
    PW_OPT_COUNT
};

/* Which command a row belongs to: one, every one (ENV), or two. */
enum pw_command {
    PW_CMD_RUN,
    PW_CMD_MERGE,
    PW_CMD_REPORT,
    PW_CMD_COMPARE,
    PW_CMD_IMPORT,
    PW_CMD_CTL,
    PW_CMD_ASK,
    PW_CMD_ENV,
    PW_CMD_RUN_OR_REPORT
};

/* Where the value of a row comes from. */
enum pw_option_origin {
    PW_OPTION_DEFAULT,
    PW_OPTION_ENVIRONMENT,
    PW_OPTION_ENVIRONMENT_BAD, /* the variable has no valid value: the row has its default */
    PW_OPTION_COMMAND_LINE
};

struct pw_options {
    const char *text[PW_OPT_COUNT]; /* the value as given, or the default; of a flag: "1" or "" */
    enum pw_option_origin origin[PW_OPT_COUNT];
    char problem[384];  /* one sentence, set when a value is refused */
    int in_environment; /* the refused value is an environment variable's */
};

/* Sets every row to its environment variable or default. */
void pw_options_init(struct pw_options *options);

/* Returns 0, or -EINVAL with `problem` set when an environment variable has a bad value that the
 * command line does not replace. Looks at the rows of `command` and at those that belong to every
 * command. */
int pw_options_check_environment(struct pw_options *options, enum pw_command command);

/* Where parsing ended. */
struct pw_options_end {
    int next;          /* index of the first word that is no option or comes after "--" */
    int help, version; /* index of "--help" or "--version", which also end parsing; else 0 */
};

/* Parses argv[1] … for `command`. Returns 0, or -EINVAL with `problem` set. argv must outlive
 * `options`. Checks the environment last, so that end->next is set even when a variable is bad. */
int pw_options_parse(struct pw_options *options, enum pw_command command, int argc, char **argv,
                     struct pw_options_end *end);

/* Refuses the row's value: sets `problem` to "--NAME is 'VALUE', but takes TAKES". When the value
 * is from the environment, the sentence names the variable instead of --NAME. Returns -EINVAL. */
int pw_option_refuse(struct pw_options *options, enum pw_option option, const char *takes);

/* Replaces "--NAME" at the beginning of `problem` by the variable's name when the row's text is
 * from the environment. For a `problem` that the parser of the text has set. Returns -EINVAL. */
int pw_option_blame(struct pw_options *options, enum pw_option option);

/* The value of a row of kind FLAG, COUNT or SIZE. The parser has checked it. */
int pw_option_flag(const struct pw_options *options, enum pw_option option);
int64_t pw_option_int(const struct pw_options *options, enum pw_option option);
int64_t pw_option_size(const struct pw_options *options, enum pw_option option);

/* Returns the bytes of "64K", "8M", "1G" or plain digits; -1 for any other text. */
int64_t pw_parse_size(const char *text);

/* The value of a TEXT row as a number above 0; 0 for "", -1 when the text is no such number. */
double pw_option_number(const struct pw_options *options, enum pw_option option);

/* Reads a TEXT row such as "0.01/day": *rate is the number a day. Returns 0, or -EINVAL with
 * `problem` set. */
int pw_option_per_day(struct pw_options *options, enum pw_option option, double *rate);

/* The value of a TEXT row: 0 for "none"; 1 to 9, the N of "deflate:N"; -1 for any other text. */
int pw_option_compression(const struct pw_options *options, enum pw_option option);

/* A row as --help, the manual pages and the completion of shells show it. */
struct pw_option_row {
    enum pw_command command;
    const char *name;  /* without "--" */
    char letter;       /* 0: none */
    const char *meta;  /* name of the value, "" for a flag */
    const char *words; /* the values that it takes, "a|b"; NULL: not a choice */
    const char *fallback, *help;
    char variable[64]; /* "PROFWRAP_NAME" */
};
void pw_option_describe(enum pw_option option, struct pw_option_row *out);

/* Whether a row of `owner` is an option of the command line of `command`. */
int pw_option_is_of(enum pw_command owner, enum pw_command command);

/* Prints the line of a row. */
void pw_option_print_help(FILE *out, enum pw_option option);

/* Prints one line per row of `command`. */
void pw_options_print_help(FILE *out, enum pw_command command);

#endif
