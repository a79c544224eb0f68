/* Writes the manual pages and the completion of shells, from the tables of commands (commands.c)
 * and options (core/options.def); run by the build (CMakeLists.txt), and not installed:
 *   profwrap-manual MAN1-DIRECTORY BASH-FILE ZSH-FILE */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "core/log.h"
#include "core/options.h"
#include "core/remedy.h"

/* An option of a command that has no rows in options.def. */
static const struct flag {
    const char *command, *option, *help;
} flags[] = {
    {"recover", "--here", "complete only the files of ranks that ran on this machine"},
    {"sweep", "--dry-run", "only list what would be removed"},
    {NULL, NULL, NULL},
};

/* Commands with rows in options.def. */
static const struct {
    const char *name;
    enum pw_command command;
} with_options[] = {
    {"run", PW_CMD_RUN},         {"merge", PW_CMD_MERGE}, {"report", PW_CMD_REPORT},
    {"compare", PW_CMD_COMPARE}, {"ctl", PW_CMD_CTL},     {"import", PW_CMD_IMPORT},
    {"ask", PW_CMD_ASK},         {"", PW_CMD_ENV},
};

/* The i-th command with a page: its name and its line in --help; NULL behind the last one. */
static const char *command_with_page(size_t i, const char **help)
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

/* The next row of options.def, from *at on, that belongs to the command of this name. Returns 0
 * behind the last one. */
static int next_option(const char *command, int *at, struct pw_option_row *row)
{
    const size_t n = sizeof(with_options) / sizeof(with_options[0]);
    size_t i = 0;
    while (i < n && strcmp(with_options[i].name, command) != 0)
        i++;
    while (i < n && *at < PW_OPT_COUNT) {
        pw_option_describe((enum pw_option)(*at)++, row);
        if (pw_option_is_of(row->command, with_options[i].command))
            return 1;
    }
    return 0;
}

/* ---- manual pages ---- */

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
    {"ctl", "Asks the ranks of a running job, whose directory is DIR, or makes them start and stop "
            "recording, write what they have recorded so far, or serve metrics."},
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
    for (int at = 0; next_option(command, &at, &row);)
        put_option(out, &row);
    for (const struct flag *flag = flags; flag->command; flag++)
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
    for (size_t i = 0; (found = command_with_page(i, &help)) && strcmp(found, command) != 0;)
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
    for (int at = 0; next_option("", &at, &row);) {
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
    for (size_t i = 0; (name = command_with_page(i, &help)); i++)
        fprintf(out, "%s.BR profwrap\\-%s (1)", i ? ",\n" : "", name);
    fputc('\n', out);
}

/* A page of a command, or with NULL that of profwrap. */
static void put_page(FILE *out, const char *command)
{
    if (command)
        put_command_page(out, command);
    else
        put_main_page(out);
}

/* ---- the completion of bash and zsh ---- */

/* What the shell completes for the value: "dir", "file", or "" for nothing. */
static const char *value_kind(const struct pw_option_row *row)
{
    if (strcmp(row->meta, "DIR") == 0)
        return "dir";
    return strcmp(row->meta, "FILE") == 0 ? "file" : "";
}

static void put_command_words(FILE *out)
{
    const char *name, *help;
    for (size_t i = 0; (name = command_with_page(i, &help)); i++)
        fprintf(out, "%s ", name);
    fputs("help version", out);
}

static void put_ctl_commands(FILE *out)
{
    const char *name, *options;
    for (size_t i = 0; (name = pw_ctl_command(i, &options)); i++)
        fprintf(out, "%s%s", i ? " " : "", name);
}

/* ---- bash ---- */

static const char bash_logic[] =
    "_profwrap()\n"
    "{\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
    "    local command=run first=1 at value word\n"
    "    COMPREPLY=()\n"
    "    # bash takes --option=value as three words.\n"
    "    if [ \"$cur\" = = ]; then\n"
    "        cur=\n"
    "    elif [ \"$prev\" = = ] && [ \"$COMP_CWORD\" -gt 2 ]; then\n"
    "        prev=${COMP_WORDS[COMP_CWORD-2]}\n"
    "    fi\n"
    "    if [ \"$COMP_CWORD\" -gt 1 ]; then\n"
    "        for word in $_profwrap_commands; do\n"
    "            [ \"${COMP_WORDS[1]}\" != \"$word\" ] || { command=$word first=2; }\n"
    "        done\n"
    "    fi\n"
    "    # Behind the program of a run, what the program itself completes.\n"
    "    if [ \"$command\" = run ]; then\n"
    "        at=$first\n"
    "        while [ $at -lt \"$COMP_CWORD\" ]; do\n"
    "            word=${COMP_WORDS[at]}\n"
    "            [ \"$word\" != -- ] || { at=$((at + 1)); break; }\n"
    "            case $word in -*) ;; *) break ;; esac\n"
    "            if _profwrap_value run \"$word\" >/dev/null; then\n"
    "                at=$((at + 1))\n"
    "                [ \"${COMP_WORDS[at]}\" != = ] || at=$((at + 1))\n"
    "            fi\n"
    "            at=$((at + 1))\n"
    "        done\n"
    "        if [ $at -lt \"$COMP_CWORD\" ]; then\n"
    "            if declare -F _command_offset >/dev/null; then\n"
    "                _command_offset $at\n"
    "            else\n"
    "                mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
    "            fi\n"
    "            return\n"
    "        fi\n"
    "    fi\n"
    "    if value=$(_profwrap_value \"$command\" \"$prev\"); then\n"
    "        case $value in\n"
    "        @dir) mapfile -t COMPREPLY < <(compgen -d -- \"$cur\") ;;\n"
    "        @file) mapfile -t COMPREPLY < <(compgen -f -- \"$cur\") ;;\n"
    "        *) mapfile -t COMPREPLY < <(compgen -W \"$value\" -- \"$cur\") ;;\n"
    "        esac\n"
    "        return\n"
    "    fi\n"
    "    case $command:$cur in\n"
    "    *:-*) mapfile -t COMPREPLY < <(compgen -W \"$(_profwrap_options \"$command\")\" -- "
    "\"$cur\") "
    ";;\n"
    "    help:*) mapfile -t COMPREPLY < <(compgen -W \"all $_profwrap_commands\" -- \"$cur\") ;;\n"
    "    version:* | doctor:*) ;;\n"
    "    run:*)\n"
    "        [ \"$COMP_CWORD\" -ne 1 ] ||\n"
    "            mapfile -t COMPREPLY < <(compgen -W \"$_profwrap_commands\" -- \"$cur\")\n"
    "        mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -c -f -- \"$cur\")\n"
    "        ;;\n"
    "    ctl:*)\n"
    "        if [ \"$COMP_CWORD\" -eq 2 ]; then\n"
    "            mapfile -t COMPREPLY < <(compgen -W \"$_profwrap_ctl\" -- \"$cur\")\n"
    "        else\n"
    "            mapfile -t COMPREPLY < <(compgen -d -- \"$cur\")\n"
    "        fi\n"
    "        ;;\n"
    "    *) mapfile -t COMPREPLY < <(compgen -f -- \"$cur\") ;;\n"
    "    esac\n"
    "}\n"
    "complete -o filenames -F _profwrap profwrap\n";

static void put_bash_options(FILE *out, const char *command)
{
    struct pw_option_row row;
    fprintf(out, "    %s) echo \"", command);
    for (int at = 0; next_option(command, &at, &row);) {
        fprintf(out, "--%s ", row.name);
        if (row.letter)
            fprintf(out, "-%c ", row.letter);
    }
    for (const struct flag *flag = flags; flag->command; flag++)
        if (strcmp(flag->command, command) == 0)
            fprintf(out, "%s ", flag->option);
    fprintf(out, "--help%s\" ;;\n", strcmp(command, "run") == 0 ? " --version" : "");
}

static void put_bash_values(FILE *out, const char *command)
{
    struct pw_option_row row;
    for (int at = 0; next_option(command, &at, &row);) {
        const char *kind = value_kind(&row);
        if (!row.meta[0])
            continue;
        fprintf(out, "    %s:--%s", command, row.name);
        if (row.letter)
            fprintf(out, " | %s:-%c", command, row.letter);
        fprintf(out, ") echo \"%s%s", *kind ? "@" : "", kind);
        for (const char *c = row.words ? row.words : ""; *c; c++)
            fputc(*c == '|' ? ' ' : *c, out);
        fputs("\" ;;\n", out);
    }
}

static void put_bash(FILE *out)
{
    const char *name, *help;
    fputs("# bash completion for profwrap, made from its tables of commands and options.\n\n"
          "_profwrap_commands=\"",
          out);
    put_command_words(out);
    fputs("\"\n_profwrap_ctl=\"", out);
    put_ctl_commands(out);
    fputs("\"\n\n_profwrap_options()\n{\n    case $1 in\n", out);
    for (size_t i = 0; (name = command_with_page(i, &help)); i++)
        put_bash_options(out, name);
    fputs("    esac\n}\n\n# What an option takes: words, @dir or @file. Status 1: it takes no "
          "value.\n"
          "_profwrap_value()\n{\n    case $1:$2 in\n",
          out);
    for (size_t i = 0; (name = command_with_page(i, &help)); i++)
        put_bash_values(out, name);
    fputs("    *) return 1 ;;\n    esac\n}\n\n", out);
    fputs(bash_logic, out);
}

/* ---- zsh ---- */

/* Inside of quotes, in a specification of _arguments. */
static void put_spec_text(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (strchr("[]:\\", *text))
            fputc('\\', out);
        fputs(*text == '\'' ? "'\\''" : (char[]){*text, '\0'}, out);
    }
}

static void put_zsh_value(FILE *out, const struct pw_option_row *row)
{
    const char *kind = value_kind(row);
    fputc(':', out);
    put_spec_text(out, row->meta);
    fputc(':', out);
    if (*kind)
        fputs(strcmp(kind, "dir") == 0 ? "_files -/" : "_files", out);
    else if (row->words)
        fputc('(', out);
    for (const char *c = row->words ? row->words : ""; *c; c++)
        fputc(*c == '|' ? ' ' : *c, out);
    fputs(row->words ? ")" : *kind ? "" : " ", out);
}

static void put_zsh_option(FILE *out, const struct pw_option_row *row)
{
    const int takes = row->meta[0] != '\0';
    fputs("            ", out);
    if (row->letter)
        fprintf(out, "'(-%c --%s)'{-%c%s,--%s%s}'[", row->letter, row->name, row->letter,
                takes ? "+" : "", row->name, takes ? "=" : "");
    else
        fprintf(out, "'--%s%s[", row->name, takes ? "=" : "");
    put_spec_text(out, row->help);
    fputc(']', out);
    if (takes)
        put_zsh_value(out, row);
    fputs("' \\\n", out);
}

static void put_zsh_command(FILE *out, const char *command)
{
    struct pw_option_row row;
    fprintf(out, "    %s)\n        _arguments -s -S \\\n", command);
    for (int at = 0; next_option(command, &at, &row);)
        put_zsh_option(out, &row);
    for (const struct flag *flag = flags; flag->command; flag++)
        if (strcmp(flag->command, command) == 0)
            fprintf(out, "            '%s[%s]' \\\n", flag->option, flag->help);
    if (strcmp(command, "ctl") == 0) {
        fputs("            '1:order:(", out);
        put_ctl_commands(out);
        fputs(")' '2:directory of the job:_files -/' \\\n", out);
    } else if (strcmp(command, "run") == 0) {
        fputs("            '(- *)'{-V,--version}'[print the version]' '*:::program:_normal' \\\n",
              out);
    } else {
        fputs("            '*:file:_files' \\\n", out);
    }
    fputs("            '(- *)'{-h,--help}'[print the usage]'\n        ;;\n", out);
}

static void put_zsh(FILE *out)
{
    const char *name, *help;
    fputs("#compdef profwrap\n# zsh completion for profwrap, made from its tables of commands and "
          "options.\n\n_profwrap() {\n    local command=run\n    local -a known=(\n",
          out);
    for (size_t i = 0; (name = command_with_page(i, &help)); i++) {
        fprintf(out, "        '%s:", name);
        put_spec_text(out, help);
        fputs("'\n", out);
    }
    fputs(
        "        'help:print the usage of a command'\n        'version:print the version'\n    )\n"
        "    if (( CURRENT > 2 )) && (( ${known[(I)${words[2]}:*]} )); then\n"
        "        command=$words[2]\n        shift words\n        (( CURRENT-- ))\n"
        "    elif (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then\n"
        "        _describe -t commands command known\n    fi\n    case $command in\n",
        out);
    for (size_t i = 0; (name = command_with_page(i, &help)); i++)
        put_zsh_command(out, name);
    fputs("    help)\n        known+=('all:print all options')\n"
          "        (( CURRENT == 2 )) && _describe -t commands command known\n"
          "        ;;\n    esac\n}\n\n_profwrap \"$@\"\n",
          out);
}

/* ---- the files ---- */

static FILE *open_file(const char *path)
{
    FILE *file = fopen(path, "w");
    if (!file)
        pw_error("cannot write %s: %s", path, pw_remedy(errno));
    return file;
}

/* Returns 0, or 1 after an error was printed. */
static int close_file(FILE *file, const char *path)
{
    if (fclose(file) == 0)
        return 0;
    pw_error("cannot write %s: %s", path, pw_remedy(errno));
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
    put_page(file, command);
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
    for (size_t i = 0; (command = command_with_page(i, &help)); i++)
        failed |= write_page(argv[1], command);
    failed |= write_script(argv[2], put_bash);
    return failed | write_script(argv[3], put_zsh);
}
