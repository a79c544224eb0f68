/* profwrap's options: one table (options.def) parsed from the environment and the command line. */
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

struct pw_options {
    const char *text[PW_OPT_COUNT]; /* as given, or the default; flags: "1" or "" */
    char problem[256];              /* one sentence, when parsing failed */
};

/* Sets every row to its environment variable or default. 0, or -EINVAL with `problem` set. */
int pw_options_init(struct pw_options *options);

/* Parses argv[1] … for `command`, stopping at the first word that is no option or after "--"; *next
 * is that word's index. 0, or -EINVAL with `problem` set. "-h" and "-V" are the caller's: it sees
 * their index in *help or *version. argv must outlive `options`. */
int pw_options_parse(struct pw_options *options, enum pw_command command, int argc, char **argv,
                     int *next, int *help, int *version);

/* Values of rows whose kind was checked by the parser. */
int pw_option_flag(const struct pw_options *options, enum pw_option option);
int64_t pw_option_int(const struct pw_options *options, enum pw_option option);
int64_t pw_option_size(const struct pw_options *options, enum pw_option option);

/* Prints one line per row of `command`. */
void pw_options_print_help(FILE *out, enum pw_command command);

#endif
