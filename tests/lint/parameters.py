"""How many functions have more parameters than a reader keeps apart.   parameters.py ROOT

Values that always travel together belong in a struct with a name. The number of functions with more
than PARAMETERS may only fall: who lowers it lowers FUNCTIONS, too.
"""

import re
import sys

import tree

PARAMETERS = 5
FUNCTIONS = 0

# Signatures that somebody else's interface gives; each with whose.
EXEMPT = {
    "init_v4": "NCCL's profiler plugin",
    "note_op_past": "profwrap.h, which programs are compiled with",
    "take_request": "libmicrohttpd's requests",
    "pw_otf2_note_error": "OTF2's error messages",
    "la_symbind64": "the dynamic loader's auditor (LD_AUDIT)",
    "pw_rocm_say_stream": "rocprofiler's requests for external correlation ids",
    "pw_rocm_take_buffer": "rocprofiler's buffers",
    "rocprofiler_register_library_api_table": "rocprofiler-register",
    "pw_nvtx_payload_extended": "NVTX's extension of payloads",
}

# MPI's functions, also under the merge's names for them, and what OTF2 calls for each of its records.
GIVEN = ("MPI_", "pw_ex_", "pw_otf2_on_")

COMMENT = re.compile(r"/\*.*?\*/", re.S)
# With the lines that a backslash continues it on.
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.)*$", re.M | re.S)
# clang-format puts what begins a definition, and its body's brace, in column 0.
DEFINITION = re.compile(r"^[A-Za-z_][\w \t*]*?\b(\w+)\(([^;{}]*)\)[^;{}()]*\n?\{", re.M)


def count(parameters):
    """The number of parameters between the parentheses of a definition."""
    depth, commas = 0, 0
    for char in parameters:
        depth += (char in "([") - (char in ")]")
        commas += char == "," and depth == 0
    return commas + 1


def definitions(source):
    """(name, number of parameters) of each function that the source defines."""
    for match in DEFINITION.finditer(DIRECTIVE.sub("", COMMENT.sub("", source))):
        yield match.group(1), count(match.group(2))


def main(root):
    names = [name for name in tree.files(root, ".c", ".h") if name.startswith(("src/", "include/"))]
    checked, many = 0, []
    for name in names:
        for function, parameters in definitions(tree.text(root, name) or ""):
            checked += 1
            if parameters > PARAMETERS and function not in EXEMPT and not function.startswith(GIVEN):
                many.append(f"{name}: {function}() has {parameters} parameters")
    problems = []
    if len(many) > FUNCTIONS:
        problems = many + [f"{len(many)} functions with more than {PARAMETERS}, {FUNCTIONS} may be"]
    tree.finish("parameters", problems, checked)


if __name__ == "__main__":
    main(sys.argv[1])
