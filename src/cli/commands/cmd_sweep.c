/* `profwrap sweep`: removes the user's shared memory that no process uses any more. */
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "core/log.h"
#include "core/remedy.h"
#include "rank/run/sweep.h"

static int print_help(void)
{
    printf(
        "Usage: profwrap sweep [--dry-run]\n\nRemoves shared memory of yours that no process of a "
        "run uses any more.\nWhat 'profwrap recover' could take from it is lost.\n\n"
        "  --dry-run   only list what would be removed\n");
    return 0;
}

int pw_cli_sweep(int argc, char **argv)
{
    const char *option = argc == 2 ? argv[1] : "";
    const int is_dry = strcmp(option, "--dry-run") == 0;
    if (strcmp(option, "-h") == 0 || strcmp(option, "--help") == 0)
        return print_help();
    if (argc > 2 || (argc == 2 && !is_dry)) {
        pw_error("usage: profwrap sweep [--dry-run]");
        return 2;
    }
    int n = pw_sweep_segments(is_dry ? stdout : NULL);
    if (n < 0) {
        pw_error("cannot look at shared memory: %s", pw_remedy((int)n));
        return 1;
    }
    printf(is_dry ? "%d would be removed\n" : "%d removed\n", n);
    return 0;
}
