"""A picture of what a command shows on a terminal: an SVG file with its text and colours."""
import fcntl
import html
import os
import pty
import re
import struct
import subprocess
import termios

LINKS = re.compile(r"\x1b\]8;;[^\x1b]*\x1b\\")
STYLES = re.compile(r"\x1b\[([0-9;]*)m")
COLOURS = {"31": "#ff7b72", "32": "#7ee787", "33": "#e3b341", "34": "#79c0ff", "35": "#d2a8ff", "36": "#76e3ea"}
WIDE, HIGH, MARGIN = 8.4, 19, 16  # of a character, of a line, around them


def recorded(command, columns, env):
    """What the command writes to a terminal of so many columns."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
                               env={**env, "TERM": "xterm", "NO_COLOR": ""})
    os.close(slave)
    text = b""
    while True:
        try:
            text += os.read(master, 65536)
        except OSError:  # every process has closed it
            break
    os.close(master)
    assert process.wait() == 0, text
    return text.decode().replace("\r\n", "\n")


def pieces(line):
    """(column, text, codes) of each part of a line that has one style."""
    column, at, codes, out = 0, 0, [], []
    for mark in [*STYLES.finditer(line), None]:
        text = line[at:mark.start() if mark else len(line)]
        if text:
            out.append((column, text, codes))
        column += len(text)
        if mark:
            at, codes = mark.end(), [code for code in mark[1].split(";") if code not in ("", "0")]
    return out


def drawn(column, text, codes, y):
    style = "".join([f' fill="{COLOURS[code]}"' for code in codes if code in COLOURS] +
                    [' font-weight="bold"' for code in codes if code == "1"] +
                    [' opacity="0.55"' for code in codes if code == "2"])
    return (f'<text x="{MARGIN + column * WIDE:.1f}" y="{y}" textLength="{len(text) * WIDE:.1f}"'
            f'{style} xml:space="preserve">{html.escape(text)}</text>')


def as_svg(text, columns):
    lines = LINKS.sub("", text).rstrip("\n").split("\n")
    width, height = round(2 * MARGIN + columns * WIDE), 2 * MARGIN + HIGH * len(lines)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
           f'height="{height}" font-family="ui-monospace, DejaVu Sans Mono, Menlo, Consolas, monospace" '
           'font-size="14" fill="#e6edf3">',
           f'<rect width="{width}" height="{height}" rx="8" fill="#0d1117"/>']
    for i, line in enumerate(lines):
        out += [drawn(*piece, MARGIN + HIGH * i + 14) for piece in pieces(line) if piece[1].strip()]
    return "\n".join([*out, "</svg>", ""])
