"""The corpus: which folders of it each reader's inputs are made of."""
import os

HERE = os.path.dirname(os.path.abspath(__file__))
CORPUS = os.path.join(HERE, "corpus")
KINDS = {"changing": ["rank"], "compare": ["cluster"], "dump": ["rank", "cluster"],
         "flight": ["import"], "growing": ["journal"], "import": ["import"], "merge": ["rank"],
         "recover": ["journal"], "report": ["cluster"], "snapshot": ["journal"],
         "timeline": ["rank"], "load": ["rank", "cluster"], "pickle": ["import"]}
IN_PYTHON = ("load", "pickle")


def files_of(kind):
    """The paths of the folder's files; none of a folder that does not exist."""
    folder = os.path.join(CORPUS, kind)
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    return [os.path.join(folder, name) for name in names]


def missing(reader):
    """Folders without a file, of which no input can be made."""
    return [kind for kind in KINDS[reader] if not files_of(kind)]
