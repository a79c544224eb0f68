"""The manual pages and the completion of bash and zsh, as they are installed: they know every command and
option that `profwrap help all` lists, and no others."""

import os
import re
import shutil
import subprocess
import sys

import harness as h

OWN = {"--help", "--version", "-h", "-V"}


def commands():
    """{command: the options in its usage}"""
    text = h.run(h.profwrap("help", "all")).stdout.decode()
    usage = text[text.index("Usage:"):text.index("\n\nOptions of run")]
    found = {}
    for line in usage.splitlines()[1:]:
        words = line.split("profwrap ", 1)[1]
        name = re.match(r"\[?(\w+)", words).group(1)
        left = re.split(r"  +", words)[0]
        found.setdefault(name, set()).update(re.findall(r"(?<!\w)--[\w-]+", left))
    h.check(len(found) > 10, "only", found)
    return found


def options():
    """{command: {"--option": (letter or "", name of its value or "")}}"""
    text = h.run(h.profwrap("help", "all")).stdout.decode()
    known = {name: {option: ("", "") for option in words} for name, words in commands().items()}
    for title, part in re.findall(r"^Options of (\w+)[^\n]*\n(.*?)\n\n", text, re.M | re.S):
        for letter, name, value in re.findall(r"^  (?:(-\w),)? +(--[\w-]+) (\S*)", part, re.M):
            known[title][name] = (letter, value)
    h.check(sum(map(len, known.values())) > 60, "too few options in help all")
    return known


def installed(*parts):
    """A file that `cmake --install` leaves, from a prefix of this case."""
    prefix = os.path.abspath("prefix")
    if not os.path.isdir(prefix):
        h.run([h.place("CMAKE"), "--install", h.place("BUILD"), "--prefix", prefix])
    path = os.path.join(prefix, "share", *parts)
    h.check(os.path.exists(path), path, "is not installed")
    return path


def shell(name):
    found = shutil.which(name)
    if not found:
        raise h.Skipped(f"no {name}")
    return found


# ---- bash ----


def complete(*words):
    """What bash offers behind these words, of which the last is what has been typed of one."""
    script = installed("bash-completion", "completions", "profwrap")
    quoted = " ".join("'" + word + "'" for word in ("profwrap", *words))
    code = (f"set -u; source '{script}'; COMP_WORDS=({quoted}); COMP_CWORD={len(words)}; _profwrap;"
            'printf "%s\\n" ${COMPREPLY[@]+"${COMPREPLY[@]}"}')
    done = subprocess.run([shell("bash"), "--norc", "-c", code], capture_output=True, text=True)
    h.equal((done.returncode, done.stderr), (0, ""), f"bash, behind {words}")
    return set(done.stdout.split())


@h.case
def bash_knows_commands_and_options():
    h.check(set(commands()) | {"help", "version"} <= complete(""), "commands", complete(""))
    h.check("mpirun" not in complete("merge", "mpiru"), "merge takes programs")
    for command, known in options().items():
        wanted = set(known) | {letter for letter, _ in known.values() if letter}
        h.equal(complete(command, "-") - OWN, wanted, f"options of {command}")
        h.check("--help" in complete(command, "--h"), command, "has no --help")
    wanted = set(options()["run"])
    h.equal({word for word in complete("--") if word.startswith("--")} - OWN, wanted, "options before a program")


@h.case
def bash_completes_values():
    os.makedirs("folder")
    h.equal(complete("--level", ""), {"0", "1", "2"}, "levels")
    h.equal(complete("report", "--format", "c"), {"csv", "chrome"}, "formats with c")
    h.equal(complete("report", "--format", "=", "js"), {"json"}, "formats with js, behind =")
    h.equal(complete("report", "--format", "="), complete("report", "--format", ""), "right behind =")
    h.equal(complete("-o", "fol"), {"folder"}, "directories")
    h.equal(complete("ctl", "s"), {"status", "start", "stop", "snapshot"}, "commands of ctl")
    h.equal(complete("help", "mer"), {"merge"}, "help")
    h.equal(complete("help", "al"), {"all"}, "all of the help")
    h.equal(complete("report", "--top", ""), set(), "a number")


@h.case
def bash_leaves_the_program_its_options():
    for words in (("ls",), ("-o", "x", "ls"), ("--level", "=", "2", "ls"), ("run", "-q", "--", "ls"), ("--audit", "ls")):
        h.equal(complete(*words, "--a"), set(), f"behind {words}")
        h.check("--audit" in complete(*words[:-1], "--a") or "--" in words, "before the program", words)


# ---- zsh ----


ZSH = """
_describe() { print -l -- ${(P)${@[-1]}} }
_arguments() { print -l -- "$@" }
_files() { }
words=(%s) CURRENT=%d
source %s
"""


def specifications(*words):
    """The specifications that the function gives to zsh's _arguments and _describe."""
    script = installed("zsh", "site-functions", "_profwrap")
    code = ZSH % (" ".join(f"'{word}'" for word in ("profwrap", *words)), len(words) + 1, script)
    done = subprocess.run([shell("zsh"), "-f", "-c", code], capture_output=True, text=True)
    h.equal((done.returncode, done.stderr), (0, ""), f"zsh, behind {words}")
    return done.stdout.splitlines()


@h.case
def zsh_knows_commands_and_options():
    first = specifications("")
    found = {line.split(":")[0] for line in first if re.match(r"\w+:", line)}
    h.equal(found, set(commands()) | {"help", "version"}, "commands")
    for command, known in options().items():
        lines = specifications(command, "")
        found = {word for line in lines for word in re.findall(r"^(?:\([^)]*\))?(--?[\w-]+)[=+]?\[", line)}
        wanted = set(known) | {letter for letter, _ in known.values() if letter}
        h.equal(found - OWN, wanted, f"options of {command}")
        for name, (_, value) in known.items():
            (line,) = [line for line in lines if re.match(rf"(\([^)]*\))?{name}=?\[", line)]
            h.equal("=[" in line, bool(value), f"that {name} takes a value: {line}")


@h.case
def zsh_really_completes():
    """In a terminal of zsh's own."""
    folder = os.path.dirname(installed("zsh", "site-functions", "_profwrap"))
    code = f"""
        zmodload zsh/zpty || exit 77
        await() {{ until [[ $seen == *$1* ]]; do zpty -r -t shell part && seen+=$part || sleep 0.05; done }}
        zpty -b shell 'PS1=READY TERM=dumb zsh -f -i'
        zpty -w shell "fpath=({folder} \\$fpath); autoload -U compinit; compinit -u -D; print -r SE''T"
        await SET
        zpty -w -n shell $'profwrap report --form\\t'
        await --format=
        zpty -w -n shell $'\\C-uprofwrap ctl sna\\t'
        await 'ctl snapshot'
        print done
    """
    done = subprocess.run([shell("zsh"), "-f", "-c", code], capture_output=True, text=True, timeout=h.PATIENCE_S)
    if done.returncode == 77:
        raise h.Skipped("zsh without zpty")
    h.equal(done.stdout, "done\n", "what the script printed")


# ---- manual pages ----


def page(name):
    """The text of a page; groff's warnings are errors."""
    path = installed("man", "man1", name + ".1")
    done = subprocess.run([shell("man"), "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", path],
                          capture_output=True, text=True, env=h.environment(MANROFFSEQ="", LC_ALL="C.UTF-8"))
    h.equal((done.returncode, done.stderr), (0, ""), f"warnings of {name}.1")
    done = subprocess.run([shell("man"), "-E", "UTF-8", "-l", path], capture_output=True, text=True,
                          env=h.environment(MANWIDTH="400", MANPAGER="cat", LC_ALL="C.UTF-8"))
    return re.sub(".\b", "", done.stdout)


@h.case
def every_command_has_a_page():
    main = page("profwrap")
    for command in commands():
        h.check(f"profwrap-{command}(1)" in re.sub(r"\s", "", main), "profwrap.1 does not name", command)
    everything = h.run(h.profwrap("help", "all")).stdout.decode()
    for variable in re.findall(r"^  (PROFWRAP_\w+)=", everything, re.M):
        h.check(f"{variable}=" in main, "profwrap.1 has no", variable)
    for command, known in options().items():
        text = page("profwrap-" + command)
        found = set(re.findall(r"^ {7}(?:-\w, )?(--[\w-]+)", text, re.M))
        h.equal(found - OWN, set(known), f"options of profwrap-{command}.1")
        h.check("SYNOPSIS" in text and "EXIT STATUS" in text, "sections of", command)


if __name__ == "__main__":
    sys.exit(h.main(sys.argv[1:]))
