/* `profwrap report` of a cluster file: as text, JSON, CSV, folded stacks, and, with D3, as HTML. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/results/htmlpage.h"
#include "fuzz.h"

static int has_html;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    struct pw_htmlpage page;
    char problem[512];
    (void)argc, (void)argv;
    has_html = pw_htmlpage_find("", &page, problem, sizeof(problem)) == 0;
    if (!has_html)
        fprintf(stderr, "without HTML: %s\n", problem);
    return 0;
}

static int report(const char *format, const char *path, const char *output)
{
    char name[] = "report", option[] = "--format", to[] = "-o";
    char *const words[] = {name,
                           option,
                           (char *)(uintptr_t)format,
                           to,
                           (char *)(uintptr_t)output,
                           (char *)(uintptr_t)path,
                           NULL};
    fuzz_begin();
    unlink(output);
    int status = pw_cli_report(6, (char **)(uintptr_t)words);
    fuzz_judge(status);
    return status;
}

/* The data in the page is JSON, and nothing in it ends its element. */
static void check_html(const char *path)
{
    enum { MOST = 1 << 23 };
    static char page[MOST];
    FILE *file = fopen(path, "rb");
    size_t size = file ? fread(page, 1, MOST - 1, file) : 0;
    page[size] = '\0';
    const char *begin = strstr(page, "id=\"data\">"), *end = begin ? strchr(begin, '<') : NULL;
    begin = begin ? strchr(begin, '>') + 1 : NULL;
    json_t *data = end ? json_loadb(begin, (size_t)(end - begin), 0, NULL) : NULL;
    if (!data || strncmp(end, "</script>", 9) != 0) {
        fprintf(stderr, "fuzz: the data of the HTML report is no JSON\n");
        abort();
    }
    json_decref(data);
    fclose(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[FUZZ_PATH], output[FUZZ_PATH];
    fuzz_put(path, "cluster.h5", data, size);
    fuzz_path(output, "report");
    if (report("text", path, output) == 0)
        fuzz_check_text(output);
    if (report("json", path, output) == 0)
        fuzz_check_json(output);
    if (has_html && report("html", path, output) == 0)
        check_html(output);
    report("csv", path, output);
    report("folded", path, output);
    return 0;
}
