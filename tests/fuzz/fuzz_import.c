/* `profwrap import` of a trace, plain or gzip'ed. */
#include <dirent.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/import.h"
#include "fuzz.h"

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    return 0;
}

/* Each input is imported into an empty directory; nothing unfinished may stay in it. */
static void empty(const char *path)
{
    DIR *directory = opendir(path);
    for (struct dirent *entry; directory && (entry = readdir(directory));)
        if (entry->d_type != DT_DIR)
            unlinkat(dirfd(directory), entry->d_name, 0);
    if (directory)
        closedir(directory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[FUZZ_PATH], out[FUZZ_PATH];
    char name[] = "import", jobs[] = "-j1", calls[] = "--cuda-calls", output[] = "-o";
    fuzz_put(path, "input.json", data, size);
    fuzz_path(out, "ranks");
    fuzz_begin();
    fuzz_judge(pw_import_command(6, (char *[]){name, jobs, calls, output, out, path, NULL}));
    empty(out);
    return 0;
}
