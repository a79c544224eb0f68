# SPDX-License-Identifier: Apache-2.0
"""`python -m profwrap`, where profwrap was installed by pip."""

from ._command import main

main()
