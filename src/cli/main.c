/* profwrap: chooses the subcommand (commands.c). */
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "core/log.h"
#include "core/options.h"

static void print_title(void)
{
    printf("profwrap %s: which rank, phase or link holds an MPI job back, by how much\n",
           PROFWRAP_VERSION);
}

/* All commands and the options that most people need, on one screen. */
static int print_help(void)
{
    static const enum pw_option common[] = {PW_OPT_OUTPUT,    PW_OPT_REPORT,       PW_OPT_LEVEL,
                                            PW_OPT_SAMPLE_HZ, PW_OPT_HANG_TIMEOUT, PW_OPT_QUIET};
    print_title();
    printf("Usage: mpirun -np 8 profwrap [OPTIONS] PROGRAM [ARGS...]\n"
           "       profwrap [OPTIONS] LAUNCHER [ARGS...]       such as torchrun\n"
           "Commands (more on each: profwrap help COMMAND):\n");
    for (const struct pw_cli_command *command = pw_cli_commands; command->name; command++)
        if (command->usage && strcmp(command->name, "run") != 0)
            printf("  %-8s  %s\n", command->name, command->help);
    printf("Options of a run (all: profwrap help run):\n");
    for (size_t i = 0; i < sizeof(common) / sizeof(common[0]); i++)
        pw_option_print_help(stdout, common[i]);
    printf("All commands, options and variables: profwrap help all\n");
    return 0;
}

/* `profwrap help all`. */
static int print_all(void)
{
    static const struct {
        const char *title;
        enum pw_command command;
    } parts[] = {
        {"Options of run (each also an environment variable: --ring-size is PROFWRAP_RING_SIZE)",
         PW_CMD_RUN},
        {"Options of report", PW_CMD_REPORT},
        {"Options of compare", PW_CMD_COMPARE},
        {"Options of ask", PW_CMD_ASK},
        {"Options of merge", PW_CMD_MERGE},
        {"Options of ctl", PW_CMD_CTL},
        {"Options of import", PW_CMD_IMPORT},
        {"Environment only", PW_CMD_ENV},
    };
    print_title();
    printf("\nUsage:\n");
    for (const struct pw_cli_command *command = pw_cli_commands; command->name; command++)
        if (command->usage)
            printf("  profwrap %-44s %s\n", command->usage, command->help);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        printf("\n%s:\n", parts[i].title);
        pw_options_print_help(stdout, parts[i].command);
    }
    printf("\n  -h, --help                  usage\n"
           "  -V, --version               the version\n");
    return 0;
}

static int print_version(void)
{
    printf("profwrap %s\n", PROFWRAP_VERSION);
    return 0;
}

/* `profwrap help [COMMAND|all]`. */
static int help_on(int argc, char **argv)
{
    static char option[] = "--help";
    const struct pw_cli_command *command = argc > 1 ? pw_cli_find_command(argv[1]) : NULL;
    if (argc < 2)
        return print_help();
    if (strcmp(argv[1], "all") == 0)
        return print_all();
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
    if (strcmp(argv[1], "--help=all") == 0)
        return print_all();
    if (strcmp(argv[1], "-V") == 0 || strcmp(argv[1], "--version") == 0 ||
        (strcmp(argv[1], "version") == 0 && argc == 2))
        return print_version();
    if (strcmp(argv[1], "help") == 0)
        return help_on(argc - 1, argv + 1);
    pw_log_check();
    const struct pw_cli_command *command = pw_cli_find_command(argv[1]);
    return command ? command->run(argc - 1, argv + 1) : pw_cli_run(argc, argv);
}
