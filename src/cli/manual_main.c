/* Writes the manual pages and the completion of shells; run by the build (CMakeLists.txt):
 *   profwrap-manual MAN1-DIRECTORY BASH-FILE ZSH-FILE */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/manual.h"
#include "core/log.h"

const struct pw_manual_flag pw_manual_flags[] = {
    {"recover", "--here", "complete only the files of ranks that ran on this machine"},
    {"sweep", "--dry-run", "only list what would be removed"},
    {NULL, NULL, NULL},
};

/* Commands with rows in options.def. */
static const struct {
    const char *name;
    enum pw_command command;
} with_options[] = {
    {"run", PW_CMD_RUN},       {"merge", PW_CMD_MERGE},
    {"report", PW_CMD_REPORT}, {"compare", PW_CMD_COMPARE},
    {"ctl", PW_CMD_CTL},       {"import", PW_CMD_IMPORT},
    {"", PW_CMD_ENV},
};

const char *pw_manual_command(size_t i, const char **help)
{
    const char *before = "";
    for (const struct pw_cli_command *c = pw_cli_commands; c->name; c++) {
        if (!c->usage || strcmp(c->name, before) == 0)
            continue;
        before = c->name;
        *help = c->help;
        if (i-- == 0)
            return c->name;
    }
    return NULL;
}

int pw_manual_next_option(const char *command, int *at, struct pw_option_row *row)
{
    const size_t n = sizeof(with_options) / sizeof(with_options[0]);
    size_t i = 0;
    while (i < n && strcmp(with_options[i].name, command) != 0)
        i++;
    while (i < n && *at < PW_OPT_COUNT) {
        pw_option_describe((enum pw_option)(*at)++, row);
        if (row->command == with_options[i].command)
            return 1;
    }
    return 0;
}

static FILE *open_file(const char *path)
{
    FILE *file = fopen(path, "w");
    if (!file)
        pw_error("cannot write %s: %s", path, strerror(errno));
    return file;
}

/* Returns 0, or 1 after an error was printed. */
static int close_file(FILE *file, const char *path)
{
    if (fclose(file) == 0)
        return 0;
    pw_error("cannot write %s: %s", path, strerror(errno));
    return 1;
}

static int write_page(const char *dir, const char *command)
{
    char path[4200];
    snprintf(path, sizeof(path), "%.4000s/profwrap%s%s.1", dir, command ? "-" : "",
             command ? command : "");
    FILE *file = open_file(path);
    if (!file)
        return 1;
    pw_manual_page(file, command);
    return close_file(file, path);
}

static int write_script(const char *path, void (*script)(FILE *out))
{
    FILE *file = open_file(path);
    if (!file)
        return 1;
    script(file);
    return close_file(file, path);
}

int main(int argc, char **argv)
{
    const char *command, *help;
    if (argc != 4) {
        pw_error("usage: profwrap-manual MAN1-DIRECTORY BASH-FILE ZSH-FILE");
        return 2;
    }
    int failed = write_page(argv[1], NULL);
    for (size_t i = 0; (command = pw_manual_command(i, &help)); i++)
        failed |= write_page(argv[1], command);
    failed |= write_script(argv[2], pw_complete_bash);
    return failed | write_script(argv[3], pw_complete_zsh);
}
