/* What NVTX finds in NVTX_INJECTION64_PATH: for each object of the application that has NVTX in it,
 * the first call of any function comes here to have the object's function pointers set. Nothing is
 * remembered of the object, which may be unloaded; without a segment to record into the answer is
 * no, and NVTX's calls do nothing from then on. */
#include "collectors/nvtx/nvtx_api.h"
#include "collectors/nvtx/nvtx_event.h"
#include "rank/probe/probe.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table);
EXPORT int InitializeInjectionNvtxExtension(nvtxExtModuleInfo_t *module);

static bool is_wanted(void)
{
    const struct pw_segment_shared *segment = pw_probe_borrow_segment();
    return segment && (segment->activities & PW_ACTIVITY_NVTX);
}

static void set_pointers(const NvtxExportTableCallbacks *callbacks, NvtxCallbackModule module,
                         const struct pw_nvtx_callback *ours)
{
    NvtxFunctionTable table = NULL;
    unsigned int size = 0;
    if (!callbacks->GetModuleFunctionTable(module, &table, &size) || !table)
        return;
    for (; ours->function; ours++)
        if (ours->number < size && table[ours->number])
            *table[ours->number] = ours->function;
}

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table)
{
    const NvtxExportTableCallbacks *callbacks =
        get_table && is_wanted() ? get_table(NVTX_ETID_CALLBACKS) : NULL;
    if (!callbacks || callbacks->struct_size < sizeof(*callbacks))
        return 0;
    set_pointers(callbacks, NVTX_CB_MODULE_CORE, pw_nvtx_core);
    set_pointers(callbacks, NVTX_CB_MODULE_CORE2, pw_nvtx_core2);
    set_pointers(callbacks, NVTX_CB_MODULE_SYNC, pw_nvtx_sync);
    return 1;
}

int InitializeInjectionNvtxExtension(nvtxExtModuleInfo_t *module)
{
    if (!module || !is_wanted() || module->moduleId != NVTX_EXT_PAYLOAD_MODULEID ||
        module->segmentsCount < 1 || !module->segments)
        return 0;
    const nvtxExtModuleSegment_t *segment = &module->segments[0];
    for (const struct pw_nvtx_callback *ours = pw_nvtx_payload; ours->function; ours++)
        if (ours->number < segment->slotCount)
            segment->functionSlots[ours->number] = (intptr_t)ours->function;
    return 1;
}
