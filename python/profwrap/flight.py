"""Makes JSON of Flight Recorder dumps, which PyTorch writes as pickles, for `profwrap import`.

    python3 -m profwrap.flight FILE...        writes FILE.json

A pickle may name any function for its reader to call; here it may hold plain values only, as PyTorch's
do, and one that names anything is refused.
"""
import json
import os
import pickle
import sys


class PlainValues(pickle.Unpickler):
    """Numbers, texts, lists, tuples and dicts: nothing is looked up, so nothing can be called."""

    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"it names {module}.{name}, which no dump does")

    def persistent_load(self, pid):
        raise pickle.UnpicklingError("it refers to something outside of it, which no dump does")


def convert(path):
    """Writes the JSON beside the dump, and returns its path."""
    with open(path, "rb") as file:
        try:
            dump = PlainValues(file).load()
        except Exception as error:  # a damaged pickle raises about anything
            raise ValueError(f"is no pickle of plain values: {error}") from error
    text = json.dumps(dump)
    part = path + ".json.part"
    with open(part, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(part, path + ".json")
    return path + ".json"


def _in_one_line(error):
    """Its text, which may have some of the file's."""
    return "".join(c if c.isprintable() else " " for c in str(error))[:300]


def main(paths):
    if not paths or paths[0].startswith("-"):
        print("usage: python3 -m profwrap.flight FILE...", file=sys.stderr)
        return 2
    status = 0
    for path in paths:
        try:
            convert(path)
        except OSError as error:
            print(f"{path}: cannot be read or written: {error.strerror}", file=sys.stderr)
            status = 1
        except (ValueError, TypeError, RecursionError) as error:
            print(f"{path}: {_in_one_line(error)}", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
