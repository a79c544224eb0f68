/* `profwrap import` of a trace, plain or gzip'ed, into an empty directory; by the file's name it
 * may be one of MindSpore or Ascend. What cannot be JSON is also read as the file of a MindInsight
 * directory or of an Ascend profile that has such words; each is of a rank of its own, because the
 * files of a rank are read together. */
#include <string.h>
#include <sys/stat.h>

#include "cli/commands.h"
#include "fuzz.h"

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    return 0;
}

static void import_as(const char *file, const uint8_t *data, size_t size)
{
    char path[FUZZ_PATH], out[FUZZ_PATH];
    char name[] = "import", jobs[] = "-j1", calls[] = "--cuda-calls", output[] = "-o";
    fuzz_put(path, file, data, size);
    fuzz_path(out, "ranks");
    fuzz_begin();
    fuzz_judge(pw_import_command(6, (char *[]){name, jobs, calls, output, out, path, NULL}));
    fuzz_empty(out);
}

static int is_json(const uint8_t *data, size_t size)
{
    return size && memchr("{[\x1f", data[0], 3);
}

#define PROFILE "1_ascend_pt"

static void make_profile(void)
{
    char path[FUZZ_PATH];
    mkdir(fuzz_path(path, PROFILE), 0700);
    mkdir(fuzz_path(path, PROFILE "/ASCEND_PROFILER_OUTPUT"), 0700);
}

static void import_as_table(const uint8_t *data, size_t size)
{
    static const struct {
        const char *word, *file;
    } tables[] = {
        {"Accelerator Core", PROFILE "/ASCEND_PROFILER_OUTPUT/kernel_details.csv"},
        {"step_num", "step_trace_raw_0_detail_time.csv"},
        {"op_name", "output_timeline_data_1.txt"},
        {"run_start", "aicpu_intermediate_2.csv"},
        {"children_id", "minddata_pipeline_raw_3.csv"},
        {"GetNext", "minddata_aicpu_4.txt"},
        {";", "activity_execute_timestamp_6.txt"},
        {"", "device_queue_profiling_5.txt"},
    };
    size_t i = 0;
    make_profile();
    while (!memmem(data, size, tables[i].word, strlen(tables[i].word)))
        i++;
    import_as(tables[i].file, data, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    import_as("input.json", data, size);
    import_as("trace_view.json", data, size);
    if (!is_json(data, size))
        import_as_table(data, size);
    return 0;
}
