/* profwrap-import: the program that `profwrap import` executes. */
#include "cli/commands.h"

int main(int argc, char **argv)
{
    return pw_import_command(argc, argv);
}
