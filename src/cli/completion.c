/* Completion for bash and zsh; see manual.h. The scripts' logic is text here, and their tables are
 * made from those of profwrap. */
#include <string.h>

#include "cli/commands.h"
#include "cli/manual.h"

/* What the shell completes for the value: "dir", "file", or "" for nothing. */
static const char *value_kind(const struct pw_option_row *row)
{
    if (strcmp(row->meta, "DIR") == 0)
        return "dir";
    return strcmp(row->meta, "FILE") == 0 ? "file" : "";
}

static void put_commands(FILE *out)
{
    const char *name, *help;
    for (size_t i = 0; (name = pw_manual_command(i, &help)); i++)
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
    for (int at = 0; pw_manual_next_option(command, &at, &row);) {
        fprintf(out, "--%s ", row.name);
        if (row.letter)
            fprintf(out, "-%c ", row.letter);
    }
    for (const struct pw_manual_flag *flag = pw_manual_flags; flag->command; flag++)
        if (strcmp(flag->command, command) == 0)
            fprintf(out, "%s ", flag->option);
    fprintf(out, "--help%s\" ;;\n", strcmp(command, "run") == 0 ? " --version" : "");
}

static void put_bash_values(FILE *out, const char *command)
{
    struct pw_option_row row;
    for (int at = 0; pw_manual_next_option(command, &at, &row);) {
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

void pw_complete_bash(FILE *out)
{
    const char *name, *help;
    fputs("# bash completion for profwrap, made from its tables of commands and options.\n\n"
          "_profwrap_commands=\"",
          out);
    put_commands(out);
    fputs("\"\n_profwrap_ctl=\"", out);
    put_ctl_commands(out);
    fputs("\"\n\n_profwrap_options()\n{\n    case $1 in\n", out);
    for (size_t i = 0; (name = pw_manual_command(i, &help)); i++)
        put_bash_options(out, name);
    fputs("    esac\n}\n\n# What an option takes: words, @dir or @file. Status 1: it takes no "
          "value.\n"
          "_profwrap_value()\n{\n    case $1:$2 in\n",
          out);
    for (size_t i = 0; (name = pw_manual_command(i, &help)); i++)
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
    for (int at = 0; pw_manual_next_option(command, &at, &row);)
        put_zsh_option(out, &row);
    for (const struct pw_manual_flag *flag = pw_manual_flags; flag->command; flag++)
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

void pw_complete_zsh(FILE *out)
{
    const char *name, *help;
    fputs("#compdef profwrap\n# zsh completion for profwrap, made from its tables of commands and "
          "options.\n\n_profwrap() {\n    local command=run\n    local -a known=(\n",
          out);
    for (size_t i = 0; (name = pw_manual_command(i, &help)); i++) {
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
    for (size_t i = 0; (name = pw_manual_command(i, &help)); i++)
        put_zsh_command(out, name);
    fputs("    help)\n        known+=('all:print all options')\n"
          "        (( CURRENT == 2 )) && _describe -t commands command known\n"
          "        ;;\n    esac\n}\n\n_profwrap \"$@\"\n",
          out);
}
