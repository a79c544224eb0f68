/* What the manual pages and the completion of shells are made of: commands and options from their
 * tables (commands.c, core/options.def). Used by manual_main.c, manpage.c and completion.c, at
 * build time only; no program that is installed contains them. */
#ifndef PW_CLI_MANUAL_H
#define PW_CLI_MANUAL_H

#include <stddef.h>
#include <stdio.h>

#include "core/options.h"

/* An option of a command that has no rows in options.def. */
struct pw_manual_flag {
    const char *command, *option, *help;
};
extern const struct pw_manual_flag pw_manual_flags[]; /* the last row has no command */

/* The i-th command with a page: its name and its line in --help; NULL behind the last one. */
const char *pw_manual_command(size_t i, const char **help);

/* The next row of options.def, from *at on, that belongs to the command of this name. Returns 0
 * behind the last one. */
int pw_manual_next_option(const char *command, int *at, struct pw_option_row *row);

/* A page of a command, or with NULL that of profwrap. */
void pw_manual_page(FILE *out, const char *command);

/* Scripts for bash and zsh. */
void pw_complete_bash(FILE *out);
void pw_complete_zsh(FILE *out);

#endif
