/* Manual pages in man(7)'s macros; see manual.h. */
#include <string.h>

#include "cli/commands.h"
#include "cli/manual.h"

/* What --help has no room for. */
static const struct {
    const char *command, *text;
} descriptions[] = {
    {"run",
     "Runs PROGRAM unchanged and records what it does: MPI calls, steps, phases, operators, GPU "
     "activities and samples of /proc. Each rank writes a file into the directory of the job. "
     "When all ranks have ended, the files are merged, and a summary is printed on standard "
     "error. Standard output and the exit status are the program's. With a LAUNCHER (mpirun, "
     "srun, torchrun, ...), every process to which it gives a rank is profiled. The word run can "
     "be left out."},
    {"merge",
     "Merges the files of the ranks into one file for the cluster: aligned clocks, matched "
     "collectives, steps and stragglers. It works in one process, or in parallel under mpirun."},
    {"report", "Prints a summary of a run: which rank, phase or operation holds it back, by how "
               "much, and how sure "
               "that is; as text, JSON, tables, a page for a browser, or a timeline of all ranks."},
    {"compare",
     "Says whether run B took longer than run A by more than noise, by how much, and where: in "
     "which part of the run, phase, rank, collective or operator. With --runs N, it runs -- "
     "COMMAND A "
     "-- COMMAND B, N times each and in turns, and compares these runs in pairs, with a confidence "
     "interval; as it compares A1 A2 ... -- B1 B2 ..., runs that exist. The status is 1, too, when "
     "a "
     "run fails."},
    {"dump", "Prints every record of a rank or cluster file, also of one that is damaged."},
    {"recover",
     "Makes the files of ranks whose collectors were killed, from the journals that they left."},
    {"sweep",
     "Removes shared memory of yours that no process of a run uses any more. What profwrap "
     "recover could take from it is lost."},
    {"doctor",
     "Prints one line for each thing that a run on this machine needs, and what to do when it is "
     "missing. The exit status is 0 when a run would work."},
    {"ctl",
     "Asks the ranks of a running job, whose directory is DIR, or orders them to start and stop "
     "recording, to write what they have recorded so far, or to serve metrics."},
    {"import",
     "Makes rank files from traces that other profilers wrote, so that the other commands work "
     "on them."},
    {"sim",
     "Writes the rank files of a simulated run whose faults are known, for tests. Its options are "
     "listed by profwrap sim --help."},
};

/* Prints text for troff: no character begins a request or an escape. */
static void put(FILE *out, const char *text)
{
    if (*text == '.' || *text == '\'')
        fputs("\\&", out);
    for (; *text; text++) {
        const char *instead = *text == '\\'   ? "\\e"
                              : *text == '-'  ? "\\-"
                              : *text == '\'' ? "\\(aq"
                              : *text == '^'  ? "\\(ha"
                              : *text == '~'  ? "\\(ti"
                              : *text == '`'  ? "\\(ga"
                                              : NULL;
        if (instead)
            fputs(instead, out);
        else
            fputc(*text, out);
    }
}

static void put_line(FILE *out, const char *before, const char *text, const char *after)
{
    fputs(before, out);
    put(out, text);
    fputs(after, out);
}

static void put_option(FILE *out, const struct pw_option_row *row)
{
    fputs(".TP\n", out);
    if (row->letter)
        fprintf(out, "\\fB\\-%c\\fR, ", row->letter);
    put_line(out, "\\fB\\-\\-", row->name, "\\fR");
    if (row->meta[0])
        put_line(out, " \\fI", row->meta, "\\fR");
    put_line(out, "\n", row->help, ".\n");
    if (row->words && !strstr(row->help, ", "))
        put_line(out, ".br\nValues: ", row->words, ".\n");
    if (row->fallback[0])
        put_line(out, ".br\nDefault: ", row->fallback, ".\n");
    put_line(out, ".br\nEnvironment: ", row->variable, ".\n");
}

static void put_options(FILE *out, const char *command)
{
    struct pw_option_row row;
    fputs(".SH OPTIONS\n", out);
    for (int at = 0; pw_manual_next_option(command, &at, &row);)
        put_option(out, &row);
    for (const struct pw_manual_flag *flag = pw_manual_flags; flag->command; flag++)
        if (strcmp(flag->command, command) == 0) {
            put_line(out, ".TP\n\\fB", flag->option, "\\fR\n");
            put_line(out, "", flag->help, ".\n");
        }
    fputs(".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nprint a summary of the usage.\n", out);
}

static void put_synopsis(FILE *out, const char *command)
{
    const char *name, *options;
    fputs(".SH SYNOPSIS\n.nf\n", out);
    for (size_t i = 0; strcmp(command, "ctl") == 0 && (name = pw_ctl_command(i, &options)); i++) {
        put_line(out, "\\fBprofwrap ctl ", name, "\\fR");
        put_line(out, "", options, " DIR\n");
    }
    for (const struct pw_cli_command *c = pw_cli_commands; c->name; c++)
        if (c->usage && strcmp(c->name, command) == 0 && strcmp(command, "ctl") != 0)
            put_line(out, "\\fBprofwrap\\fR ", c->usage, "\n");
    fputs(".fi\n", out);
}

static void put_head(FILE *out, const char *title, const char *name, const char *help)
{
    put_line(out, ".TH ", title,
             " 1 \"\" \"profwrap " PROFWRAP_VERSION "\" \"User Commands\"\n.nh\n.ad l\n");
    put_line(out, ".SH NAME\n", name, " \\- ");
    put_line(out, "", help, "\n");
}

static void put_status(FILE *out, const char *command)
{
    fputs(".SH EXIT STATUS\n", out);
    if (strcmp(command, "run") == 0)
        put(out, "That of the program; 126 or 127 when it could not be started, as in a shell; 2 "
                 "for wrong usage, or when the directory belongs to another job.\n");
    else
        put(out, "0 for success, 1 for a failure, 2 for wrong usage");
    if (strcmp(command, "compare") == 0)
        put(out, ", 3 when B or its steps are slower by more than the threshold, 4 when "
                 "that cannot be told");
    if (strcmp(command, "run") != 0)
        fputs(".\n", out);
}

static void put_command_page(FILE *out, const char *command)
{
    char name[64], title[64];
    const char *help = "", *found;
    for (size_t i = 0; (found = pw_manual_command(i, &help)) && strcmp(found, command) != 0;)
        i++;
    snprintf(name, sizeof(name), "profwrap-%.48s", command);
    snprintf(title, sizeof(title), "PROFWRAP-%.48s", command);
    for (char *c = title; *c; c++)
        *c = *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c;
    put_head(out, title, name, help);
    put_synopsis(out, command);
    fputs(".SH DESCRIPTION\n", out);
    for (size_t i = 0; i < sizeof(descriptions) / sizeof(descriptions[0]); i++)
        if (strcmp(descriptions[i].command, command) == 0)
            put_line(out, "", descriptions[i].text, "\n");
    put_options(out, command);
    put_status(out, command);
    fputs(".SH SEE ALSO\n.BR profwrap (1)\n", out);
}

static void put_commands(FILE *out)
{
    fputs(".SH COMMANDS\nEach has a page of its own, such as\n.BR profwrap\\-report (1).\n", out);
    for (const struct pw_cli_command *c = pw_cli_commands; c->name; c++)
        if (c->usage) {
            put_line(out, ".TP\n\\fBprofwrap\\fR ", c->usage, "\n");
            put_line(out, "", c->help, ".\n");
        }
    fputs(".TP\n\\fBprofwrap help\\fR [COMMAND]\nprint the usage of a command, or of all.\n"
          ".TP\n\\fBprofwrap version\\fR\nprint the version.\n",
          out);
}

static void put_environment(FILE *out)
{
    struct pw_option_row row;
    fputs(
        ".SH ENVIRONMENT\nEach option is also a variable, named on the page of its command. These "
        "are variables only:\n",
        out);
    for (int at = 0; pw_manual_next_option("", &at, &row);) {
        put_line(out, ".TP\n\\fB", row.variable, "\\fR");
        put_line(out, "=\\fI", row.meta, "\\fR\n");
        put_line(out, "", row.help, ".\n");
    }
}

static void put_main_page(FILE *out)
{
    const char *name, *help;
    put_head(out, "PROFWRAP", "profwrap",
             "which rank, phase or link holds an MPI job back, by how much");
    fputs(".SH SYNOPSIS\n.nf\n"
          "mpirun \\-np 8 \\fBprofwrap\\fR [OPTIONS] PROGRAM [ARGS...]\n"
          "\\fBprofwrap\\fR [OPTIONS] LAUNCHER [ARGS...]\n"
          "\\fBprofwrap\\fR COMMAND ...\n.fi\n.SH DESCRIPTION\n",
          out);
    put(out, descriptions[0].text);
    fputc('\n', out);
    put_commands(out);
    put_environment(out);
    fputs(".SH FILES\n.TP\n\\fIDIR\\fR/rank\\-00000.h5, ...\nwhat a rank recorded.\n"
          ".TP\n\\fIDIR\\fR/cluster.h5\nall ranks, merged.\n"
          ".TP\n\\fIDIR\\fR/report.txt, report.json, report.html\nthe report.\n"
          ".SH SEE ALSO\n",
          out);
    for (size_t i = 0; (name = pw_manual_command(i, &help)); i++)
        fprintf(out, "%s.BR profwrap\\-%s (1)", i ? ",\n" : "", name);
    fputc('\n', out);
}

void pw_manual_page(FILE *out, const char *command)
{
    if (command)
        put_command_page(out, command);
    else
        put_main_page(out);
}
