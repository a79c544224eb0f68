/* The table of subcommands; see commands.h. A new one is a row here. */
#include "cli/commands.h"
#include "cli/libexec.h"

#include <string.h>

#include "core/remedy.h"

const struct pw_cli_command pw_cli_commands[] = {
    {"run", pw_cli_run, "[run] [OPTIONS] [--] PROGRAM [ARGS...]",
     "profile one rank; under mpirun, srun or torchrun, every rank"},
    {"run", pw_cli_run, "[run] [OPTIONS] [--] LAUNCHER [ARGS...]",
     "profile every rank that mpirun, srun, torchrun, ... starts"},
    {"worker", pw_cli_worker, NULL, NULL},
    {"merge", pw_cli_merge, "merge [-o FILE] [--epoch N] DIR",
     "merge rank files into DIR/cluster.h5; also under mpirun -np P"},
    {"report", pw_cli_report, "report [OPTIONS] DIR|cluster.h5",
     "print what a run shows; --full: all tables; --watch: a running job"},
    {"compare", pw_cli_compare, "compare [OPTIONS] A B",
     "say what takes longer in run B than in A; exit status 3: B is slower"},
    {"ask", pw_cli_ask, "ask [OPTIONS] DIR QUESTION [NAME=VALUE...]",
     "answer one question about a run, in at most 8 KB"},
    {"mcp", pw_cli_mcp, "mcp DIR...", "answer questions of programs by the Model Context Protocol"},
    {"dump", pw_cli_dump, "dump FILE", "print a rank or cluster file, one record a line"},
    {"recover", pw_cli_recover, "recover [--here] DIR",
     "complete rank files after their collectors were killed"},
    {"sweep", pw_cli_sweep, "sweep [--dry-run]", "remove your shared memory that killed runs left"},
    {"doctor", pw_cli_doctor, "doctor", "check what a run on this machine needs"},
    {"ctl", pw_cli_ctl, "ctl COMMAND [OPTIONS] DIR",
     "inspect or control a running job: calls, recording, metrics"},
    {"import", pw_cli_import, "import [OPTIONS] -o DIR FILE|DIR...",
     "make rank files from traces of PyTorch, MindSpore, Ascend and NCCL"},
    {"sim", pw_cli_sim, "sim [OPTIONS] DIR", "write a synthetic run with declared faults"},
    {NULL, NULL, NULL, NULL},
};

const struct pw_cli_command *pw_cli_find_command(const char *name)
{
    const struct pw_cli_command *command = pw_cli_commands;
    while (command->name && strcmp(command->name, name) != 0)
        command++;
    return command->name ? command : NULL;
}

const char *pw_cli_nearest_command(const char *typed)
{
    struct pw_nearest nearest = {.typed = typed};
    for (const struct pw_cli_command *command = pw_cli_commands; command->name; command++)
        if (command->usage)
            pw_nearest_try(&nearest, command->name, (int)strlen(command->name));
    return nearest.word;
}
