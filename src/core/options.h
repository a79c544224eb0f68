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

/* Which command a row belongs to. */
enum pw_command {
    PW_CMD_RUN,
    PW_CMD_MERGE,
    PW_CMD_REPORT,
    PW_CMD_COMPARE,
    PW_CMD_SIM,
    PW_CMD_IMPORT,
    PW_CMD_CTL,
    PW_CMD_ENV
};

/* Where the value of a row is from. */
enum pw_option_origin {
    PW_OPTION_DEFAULT,
    PW_OPTION_ENVIRONMENT,
    PW_OPTION_ENVIRONMENT_BAD, /* the variable has no valid value: the row has its default */
    PW_OPTION_COMMAND_LINE
};

struct pw_options {
    const char *text[PW_OPT_COUNT]; /* as given, or the default; flags: "1" or "" */
    enum pw_option_origin origin[PW_OPT_COUNT];
    char problem[256];  /* one sentence, when a value is refused */
    int in_environment; /* the refused value is an environment variable's */
};

/* Sets every row to its environment variable or default. */
void pw_options_init(struct pw_options *options);

/* 0, or -EINVAL with `problem` set when the environment has a bad value for a row of `command`, or
 * for one of every command, that the command line does not replace. */
int pw_options_check_environment(struct pw_options *options, enum pw_command command);

/* Where parsing ended. */
struct pw_options_end {
    int next;          /* index of the first word that is no option, or is after "--" */
    int help, version; /* index of "--help" or "--version", which end it, too; else 0 */
};

/* Parses argv[1] … for `command`. 0, or -EINVAL with `problem` set. argv must outlive `options`.
 * Checks the environment last, when end->next is known. */
int pw_options_parse(struct pw_options *options, enum pw_command command, int argc, char **argv,
                     struct pw_options_end *end);

/* Refuses the value that the row has: sets `problem` to "--NAME is 'VALUE', but takes TAKES", or
 * the same of the variable. Returns -EINVAL. */
int pw_option_refuse(struct pw_options *options, enum pw_option option, const char *takes);

/* For a `problem` that the parser of the row's text has set, which begins with "--NAME": names the
 * variable instead where the text is from the environment. Returns -EINVAL. */
int pw_option_blame(struct pw_options *options, enum pw_option option);

/* Values of rows whose kind was checked by the parser. */
int pw_option_flag(const struct pw_options *options, enum pw_option option);
int64_t pw_option_int(const struct pw_options *options, enum pw_option option);
int64_t pw_option_size(const struct pw_options *options, enum pw_option option);

/* A number above 0 of a TEXT row; 0 where it is "", -1 where it is none. */
double pw_option_number(const struct pw_options *options, enum pw_option option);

/* The value of a TEXT row: 0 for "none", N for "deflate:N", 1 to 9; -1 where it is neither. */
int pw_option_compression(const struct pw_options *options, enum pw_option option);

/* Prints one line per row of `command`. */
void pw_options_print_help(FILE *out, enum pw_command command);

#endif
