"""The folders of the corpus from which each reader's inputs are made."""
import os

HERE = os.path.dirname(os.path.abspath(__file__))
CORPUS = os.path.join(HERE, "corpus")
KINDS = {"changing": ["rank"], "compare": ["cluster"], "dump": ["rank", "cluster"],
         "flight": ["import"], "growing": ["journal"], "import": ["import"], "merge": ["rank"],
         "recover": ["journal"], "report": ["cluster"], "snapshot": ["journal"],
         "timeline": ["rank"], "load": ["rank", "cluster"], "pickle": ["import"]}
IN_PYTHON = ("load", "pickle")


def files_of(kind):
    """The paths of the files in the folder of this kind; [] if there is no such folder."""
    folder = os.path.join(CORPUS, kind)
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    return [os.path.join(folder, name) for name in names]


def missing(reader):
    """The reader's folders that have no file, so that no input can be made from them."""
    return [kind for kind in KINDS[reader] if not files_of(kind)]
