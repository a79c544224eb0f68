# SPDX-License-Identifier: Apache-2.0
"""Runs at Python's start under `profwrap run`, whose PYTHONPATH begins with this directory: watches
for the import of torch, and then imports the program's own sitecustomize.

Any Python may run this, also Python 2: plain syntax only.
"""

import sys


def _start():
    import os

    here = os.path.dirname(os.path.abspath(__file__))
    if sys.version_info >= (3, 9):
        try:
            import _profwrap_hook

            _profwrap_hook.install(os.path.dirname(here))
        except Exception:  # the program then runs as without profwrap
            pass
        sys.modules.pop("_profwrap_hook", None)
    sys.path[:] = [path for path in sys.path if path != here]
    sys.path_importer_cache.pop(here, None)


_start()
# Imports the next sitecustomize on the path in place of this one. If there is none, or it fails,
# Python's site module, which imports us, handles the exception.
sys.modules.pop("sitecustomize", None)
import sitecustomize  # noqa: E402, F401
