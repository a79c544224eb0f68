"""The messages that end a command, collected from the source: every text of pw_error(), and the texts that
reach it as a `problem`. test_errors.py checks that each says what to do next, and provokes them.

    messages.py     prints them, with their files"""
import os
import re

TREE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "src")
# Parts of traces that are not imported, and notes on rank files: remarks, which do not end a command.
ELSEWHERE = ("import/", "collectors/", "aggregate/input/input.c", "core/log.c", "rank/live/",
             "cli/serve/serve_requests.c")
CALL = re.compile(r"\b(pw_error|usage_error|snprintf|fail|fail_with|complain)\(")
BODY = re.compile(r"^static const char \*(?:refuse|why_not)\([^;]*?\n\{(.*?)\n\}", re.M | re.S)  # their texts
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|/\*.*?\*/|[()]|\w+|.', re.S)
FORMAT = re.compile(r"%(?:%|[-+ #0]*(?:\*|\d+)?(?:\.(?:\*|\d+))?(?:hh|h|ll|l|z|j|t)?[a-zA-Z])")
UNPACK = {"PRId64": "%d", "PRId32": "%d", "PRIu64": "%u", "PRIx64": "%x"}


def arguments(text, at):
    """The tokens of each argument of the call whose parenthesis was opened before `at`."""
    parts, depth = [[]], 1
    for found in TOKEN.finditer(text, at):
        token = found[0]
        depth += (token == "(") - (token == ")")
        if depth == 0:
            return parts
        if token == "," and depth == 1:
            parts.append([])
        elif not token.startswith("/*"):
            parts[-1].append(token)
    return parts


def literals(tokens):
    """The string literals of an argument: adjacent ones are one. `PRId64` is a part of its literal, and so
    is the end of a literal behind it, which begins with the letters that PRId64 has replaced."""
    texts, joins = [], False
    for token in tokens:
        if token.isspace():
            continue
        is_text = token.startswith('"')
        if is_text or token in UNPACK:
            piece = token[1:-1] if is_text else UNPACK[token][1:]
            texts, joins = (texts[:-1] + [texts[-1] + piece] if joins else texts + [piece]), True
        else:
            joins = False
    return [re.sub(r"\\(.)", lambda found: {"n": "\n"}.get(found[1], found[1]), one) for one in texts]


def texts_of(name, parts):
    """The messages in a call: its format, or with "%s" alone the texts that may stand for it."""
    if name == "snprintf":
        if "problem" not in "".join(parts[0]) and "why" != "".join(parts[0]).strip():
            return []
        parts = parts[2:]
    found = [one for part in parts for one in literals(part)]
    if not found:
        return []
    return [one for one in found if " " in one.strip() and FORMAT.sub("", one).strip()] \
        if found[0] in ("%s", "%s %s") or name.startswith("fail") else found[:1]


def collect():
    """{message: [file:line]}, the message as its format."""
    messages = {}
    for folder, _, names in os.walk(TREE):
        for name in sorted(names):
            path = os.path.join(folder, name)
            short = os.path.relpath(path, TREE)
            if not name.endswith(".c") or short.startswith(ELSEWHERE):
                continue
            with open(path, encoding="utf-8") as file:
                text = file.read()
            for body in BODY.finditer(text):
                line = text.count("\n", 0, body.start()) + 1
                for one in literals(TOKEN.findall(body[1])):
                    if FORMAT.sub("", one).count(" ") > 2:
                        messages.setdefault(one, []).append(f"{short}:{line}")
            for call in CALL.finditer(text):
                for one in texts_of(call[1], arguments(text, call.end())):
                    if FORMAT.sub("", one).strip(" :;,.%"):
                        line = text.count("\n", 0, call.start()) + 1
                        messages.setdefault(one, []).append(f"{short}:{line}")
    return messages


def pattern(message):
    """What the message is when it is printed; parts of it may come before or behind it."""
    return re.compile(".*?".join(re.escape(part) for part in FORMAT.split(message.replace("%%", "\0")))
                      .replace("\0", "%"), re.S)


if __name__ == "__main__":
    for message, places in sorted(collect().items(), key=lambda row: row[1]):
        print(f"{', '.join(places)}: {message}")
