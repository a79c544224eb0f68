/* profwrap: chooses the subcommand. */
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "core/log.h"
#include "core/options.h"

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *usage, *help;
} commands[] = {
    {"run", pw_cli_run, "[run] [OPTIONS] [--] PROGRAM [ARGS...]",
     "profile one rank; under mpirun, srun or torchrun, every rank"},
    {"run", pw_cli_run, "[run] [OPTIONS] [--] LAUNCHER [ARGS...]",
     "profile every rank that mpirun, srun, torchrun, ... starts"},
    {"worker", pw_cli_worker, NULL, NULL},
    {"merge", pw_cli_merge, "merge [-o FILE] [--epoch N] DIR",
     "merge rank files into DIR/cluster.h5; also under mpirun -np P"},
    {"report", pw_cli_report, "report [OPTIONS] DIR|cluster.h5",
     "print what a merged run shows; --watch: a running job"},
    {"compare", pw_cli_compare, "compare [OPTIONS] A B",
     "show what takes longer in run B than in run A; status 3 when B's steps do"},
    {"dump", pw_cli_dump, "dump FILE", "print a rank or cluster file, one record a line"},
    {"recover", pw_cli_recover, "recover [--here] DIR",
     "complete rank files after their collectors were killed"},
    {"sweep", pw_cli_sweep, "sweep", "remove your shared memory that killed runs left"},
    {"doctor", pw_cli_doctor, "doctor", "check what a run on this machine needs"},
    {"ctl", pw_cli_ctl, "ctl COMMAND [OPTIONS] DIR",
     "inspect or control a running job: its calls, recording, snapshots, metrics"},
    {"import", pw_cli_import, "import [OPTIONS] -o DIR FILE|DIR...",
     "make rank files from traces of other profilers (PyTorch's)"},
    {"sim", pw_cli_sim, "sim [OPTIONS] DIR", "write a synthetic run with declared faults"},
};
enum { COMMANDS = sizeof(commands) / sizeof(commands[0]) };

static void print_help(void)
{
    printf("profwrap %s: which rank, phase or link holds an MPI job back, by how much\n\nUsage:\n",
           PROFWRAP_VERSION);
    for (int i = 0; i < COMMANDS; i++)
        if (commands[i].usage)
            printf("  profwrap %-44s %s\n", commands[i].usage, commands[i].help);
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
    printf("\nOptions of sim:\n");
    pw_options_print_help(stdout, PW_CMD_SIM);
    printf("\nEnvironment only:\n");
    pw_options_print_help(stdout, PW_CMD_ENV);
    printf(
        "\n  -h, --help                  this text\n  -V, --version               the version\n");
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        pw_error(
            "no program given; usage: profwrap [OPTIONS] PROGRAM [ARGS...]; see profwrap --help");
        return 2;
    }
    if (strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0) {
        print_help();
        return 0;
    }
    if (strcmp(argv[1], "-V") == 0 || strcmp(argv[1], "--version") == 0) {
        printf("profwrap %s\n", PROFWRAP_VERSION);
        return 0;
    }
    pw_log_check();
    for (int i = 0; i < COMMANDS; i++)
        if (strcmp(argv[1], commands[i].name) == 0)
            return commands[i].run(argc - 1, argv + 1);
    return pw_cli_run(argc, argv);
}
