"""Reads everything that profwrap.load() offers for a directory, whatever its files contain."""

import profwrap

# What load() raises for a wrong request, or for what is not there.
_ANSWERS = (profwrap.FileError, FileNotFoundError)


def _try(ask, wrong, *allowed):
    try:
        ask()
    except (*_ANSWERS, *allowed) as problem:
        text = str(problem)
        if isinstance(problem, profwrap.FileError) and (
            not text.isprintable() or not any(name in text for name in (".h5", "report.json"))
        ):
            wrong.append(f"one line must name the file: {text!r}")
    except MemoryError:
        wrong.append("MemoryError")
    except Exception as problem:  # what is looked for
        wrong.append(f"{type(problem).__name__}: {problem}")


def _read_rank(run, number, wrong):
    rank = run.rank(number)
    for path in ("/events/comm", "/events/range", "/events/gap", "/events/kernel", "/steps"):
        _try(lambda path=path: rank.table(path), wrong, KeyError)
        _try(lambda path=path: rank.table(path, clock="cluster"), wrong, KeyError, ValueError)
    for path in ("/comms", "/clock", "/overhead", "/samples/queue", "/samples/process", "/windows"):
        _try(lambda path=path: rank.table(path), wrong, KeyError)
    for ask in (rank.timeline, lambda: rank.strings, lambda: rank.metadata, rank._repr_html_):
        _try(ask, wrong, KeyError)


def read_everything(path):
    """The faults in how load() handles the directory, as a list of texts."""
    wrong = []
    try:
        run = profwrap.load(path, pandas=False)
    except _ANSWERS:
        return wrong
    _try(lambda: run.attributes, wrong)
    _try(lambda: dir(run), wrong)
    _try(run._repr_html_, wrong)
    _try(run.summary, wrong)
    names = []
    _try(lambda: names.extend(run._table_names()), wrong)
    for name in names:
        _try(lambda name=name: run.table(name), wrong, KeyError)
    for number in run.rank_numbers:
        _try(lambda number=number: _read_rank(run, number, wrong), wrong)
    return wrong
