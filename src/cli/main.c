/* profwrap: chooses the subcommand (commands.c). */
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "core/log.h"
#include "core/options.h"

static int print_help(void)
{
    printf("profwrap %s: which rank, phase or link holds an MPI job back, by how much\n\nUsage:\n",
           PROFWRAP_VERSION);
    for (const struct pw_cli_command *command = pw_cli_commands; command->name; command++)
        if (command->usage)
            printf("  profwrap %-44s %s\n", command->usage, command->help);
    printf("\nOptions of run (each also an environment variable: --ring-size is "
           "PROFWRAP_RING_SIZE):\n");
    pw_options_print_help(stdout, PW_CMD_RUN);
    printf("\nOptions of report:\n");
    pw_options_print_help(stdout, PW_CMD_REPORT);
    printf("\nOptions of compare:\n");
    pw_options_print_help(stdout, PW_CMD_COMPARE);
    printf("\nOptions of merge:\n");
    pw_options_print_help(stdout, PW_CMD_MERGE);
    printf("\nOptions of ctl:\n");
    pw_options_print_help(stdout, PW_CMD_CTL);
    printf("\nOptions of import:\n");
    pw_options_print_help(stdout, PW_CMD_IMPORT);
    printf("\nEnvironment only:\n");
    pw_options_print_help(stdout, PW_CMD_ENV);
    printf(
        "\n  -h, --help                  this text\n  -V, --version               the version\n");
    return 0;
}

static int print_version(void)
{
    printf("profwrap %s\n", PROFWRAP_VERSION);
    return 0;
}

/* `profwrap help [COMMAND]`. */
static int help_on(int argc, char **argv)
{
    static char option[] = "--help";
    const struct pw_cli_command *command = argc > 1 ? pw_cli_find_command(argv[1]) : NULL;
    if (argc < 2)
        return print_help();
    if (!command || !command->usage) {
        const char *nearest = pw_cli_nearest_command(argv[1]);
        pw_error("there is no command '%.64s'; %s%s%s'profwrap --help' lists the commands", argv[1],
                 nearest ? "did you mean '" : "", nearest ? nearest : "", nearest ? "'? " : "");
        return 2;
    }
    return command->run(2, (char *[]){argv[1], option, NULL});
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        pw_error(
            "no program given; usage: profwrap [OPTIONS] PROGRAM [ARGS...]; see profwrap --help");
        return 2;
    }
    if (strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0)
        return print_help();
    if (strcmp(argv[1], "-V") == 0 || strcmp(argv[1], "--version") == 0 ||
        (strcmp(argv[1], "version") == 0 && argc == 2))
        return print_version();
    if (strcmp(argv[1], "help") == 0)
        return help_on(argc - 1, argv + 1);
    pw_log_check();
    const struct pw_cli_command *command = pw_cli_find_command(argv[1]);
    return command ? command->run(argc - 1, argv + 1) : pw_cli_run(argc, argv);
}
