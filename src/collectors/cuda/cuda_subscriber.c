/* Calls CUPTI's functions with or without _v2; see cuda_subscriber.h. */
#include "collectors/cuda/cuda_subscriber.h"

#include <string.h>

#include "rank/probe/scope.h"

/* Reads the sizes of records now, because buffers may be converted after the subscription has
 * ended. */
static bool read_sizes(void)
{
    for (int kind = 1; kind < PW_CUPTI_KINDS; kind++) {
        size_t size = 0;
        int result = pw_cuda.cupti->record_size(kind, 0, &size);
        if (!result && size <= PW_POOL_SLOT)
            atomic_store(&pw_cuda_borrow_notes()->stride[kind], (uint32_t)size);
        else if (pw_cuda_uses(kind))
            return false;
    }
    return true;
}

/* Whether to subscribe so that others may subscribe, too. False if a profiler in the process uses
 * the older functions: these would be refused, and Kineto tries only once. */
static bool may_share(void)
{
    char path[PATH_MAX];
    return pw_cuda.version >= PW_CUPTI_SUBSCRIBERS_CLOCKS && pw_cuda.cupti->has_v2 &&
           read_sizes() &&
           !pw_scope_path(pw_scope_is_importing, "cuptiActivityRegisterCallbacks", 0, path);
}

static int subscribe(size_t size, bool shares, pw_cupti_callback *call)
{
    void *subscriber = NULL;
    char holder[sizeof(pw_cuda.other)] = "";
    struct pw_cupti_subscription params = {.size = size,
                                           .name = "profwrap",
                                           .holder = holder,
                                           .holder_size = sizeof(holder),
                                           .shares = shares};
    int result = pw_cuda.cupti->subscribe_v2(&subscriber, call, NULL, &params);
    holder[sizeof(holder) - 1] = '\0';
    if (!result)
        atomic_store(&pw_cuda.subscriber, subscriber);
    else if (holder[0])
        memcpy(pw_cuda.other, holder, sizeof(holder));
    return result;
}

static int share(pw_cupti_clock *clock, pw_cupti_callback *call)
{
    size_t size = sizeof(clock);
    int result = may_share() ? subscribe(sizeof(struct pw_cupti_subscription), true, call)
                             : PW_CUPTI_NOT_SUPPORTED;
    if (result)
        return result;
    atomic_store(&pw_cuda.is_shared, 1);
    result = pw_subscriber_set_attribute(PW_CUPTI_CLOCK, &size, &clock);
    if (result)
        pw_subscriber_end();
    pw_cuda.was_shared |= !result;
    return result;
}

/* Subscribes alone. Fails when the application has a subscription, even if it does not use it
 * now. */
static int hold(pw_cupti_callback *call)
{
    const struct pw_cupti *cupti = pw_cuda.cupti;
    void *subscriber = NULL;
    int result = 0;
    if (!cupti->unsubscribe)
        return 0;
    if (cupti->subscribe_v2 && pw_cuda.version >= PW_CUPTI_SUBSCRIBERS_NAMES &&
        pw_cuda.version < PW_CUPTI_SEVERAL_SUBSCRIBERS) {
        result = subscribe(offsetof(struct pw_cupti_subscription, shares), false, call);
    } else if (cupti->subscribe) {
        result = cupti->subscribe(&subscriber, call, NULL);
        atomic_store(&pw_cuda.subscriber, result ? NULL : subscriber);
    }
    return result == PW_CUPTI_OTHER_SUBSCRIBER && !pw_theirs_is_subscribed() ? result : 0;
}

int pw_subscriber_begin(pw_cupti_clock *clock, pw_cupti_callback *call)
{
    static const char unknown[] = "another tool";
    memcpy(pw_cuda.other, unknown, sizeof(unknown));
    atomic_store(&pw_cuda.is_shared, 0);
    if (!share(clock, call))
        return 0;
    int result = hold(call);
    /* The clock first: it is used by kinds that are enabled later. */
    result = result ? result : pw_cuda.cupti->set_clock(clock);
    if (result)
        pw_subscriber_end();
    return result;
}

void pw_subscriber_end(void)
{
    void *subscriber = atomic_exchange(&pw_cuda.subscriber, NULL);
    if (subscriber)
        pw_cuda.cupti->unsubscribe(subscriber);
    atomic_store(&pw_cuda.is_shared, 0);
}

/* ---- functions that work with both interfaces ---- */

static void *shared(void)
{
    return atomic_load(&pw_cuda.is_shared) ? atomic_load(&pw_cuda.subscriber) : NULL;
}

int pw_subscriber_set_callbacks(const struct pw_subscriber_calls *calls)
{
    void *subscriber = shared();
    if (subscriber)
        return pw_cuda.cupti->set_callbacks_v2(subscriber, calls->request_v2, calls->complete_v2);
    int result = pw_cuda.cupti->set_callbacks(calls->request, calls->complete);
    atomic_store(&pw_cuda.has_process, result == PW_CUPTI_SUCCESS);
    return result;
}

void pw_subscriber_set_thread_ids(void)
{
    int type = PW_CUPTI_THREAD_ID_SYSTEM;
    size_t size = sizeof(type);
    if (shared())
        pw_subscriber_set_attribute(PW_CUPTI_THREAD_IDS, &size, &type);
    else if (pw_cuda.cupti->set_thread_ids)
        pw_cuda.cupti->set_thread_ids(type);
}

int pw_subscriber_get_attribute(int attribute, size_t *size, void *value)
{
    const struct pw_cupti *cupti = pw_cuda.cupti;
    void *subscriber = shared();
    if (subscriber)
        return cupti->get_attribute_v2(subscriber, attribute, size, value);
    return cupti->get_attribute ? cupti->get_attribute(attribute, size, value)
                                : PW_CUPTI_NOT_SUPPORTED;
}

int pw_subscriber_set_attribute(int attribute, size_t *size, void *value)
{
    const struct pw_cupti *cupti = pw_cuda.cupti;
    void *subscriber = shared();
    if (subscriber)
        return cupti->set_attribute_v2(subscriber, attribute, size, value);
    return cupti->set_attribute ? cupti->set_attribute(attribute, size, value)
                                : PW_CUPTI_NOT_SUPPORTED;
}

int pw_subscriber_switch_kind(int kind, bool is_on)
{
    const struct pw_cupti *cupti = pw_cuda.cupti;
    void *subscriber = shared();
    if (subscriber)
        return is_on ? cupti->enable_v2(subscriber, kind, NULL)
                     : cupti->disable_v2(subscriber, kind, NULL);
    return is_on ? cupti->enable(kind) : cupti->disable(kind);
}

bool pw_subscriber_chooses_calls(void)
{
    return shared() || (pw_cuda.cupti->enable_runtime && pw_cuda.cupti->enable_driver);
}

void pw_subscriber_switch_call(int domain, uint32_t callback, bool is_on)
{
    const struct pw_cupti *cupti = pw_cuda.cupti;
    const bool is_runtime = domain == PW_CUPTI_DOMAIN_RUNTIME;
    void *subscriber = shared();
    if (subscriber)
        (is_runtime ? cupti->enable_runtime_v2 : cupti->enable_driver_v2)(subscriber, callback,
                                                                          is_on);
    else
        (is_runtime ? cupti->enable_runtime : cupti->enable_driver)(callback, is_on);
}

int pw_subscriber_drops(void *context, uint32_t stream, size_t *count)
{
    void *subscriber = shared();
    return subscriber ? pw_cuda.cupti->drops_v2(subscriber, context, stream, count)
                      : pw_cuda.cupti->drops(context, stream, count);
}

/* Steps by the sizes that read_sizes() has read: the new function needs a subscriber, and the older
 * one must not be mixed with it. */
int pw_subscriber_next(uint8_t *bytes, size_t used, void **record)
{
    uint8_t *at = bytes;
    uint32_t kind, size = 0;
    if (!pw_cuda.was_shared)
        return pw_cuda.cupti->next(bytes, used, record);
    if (*record) {
        memcpy(&kind, *record, sizeof(kind));
        size = kind < PW_CUPTI_KINDS ? atomic_load(&pw_cuda_borrow_notes()->stride[kind]) : 0;
        at = (uint8_t *)*record + size;
    }
    if (*record && !size)
        return PW_CUPTI_INVALID_KIND;
    if (at + sizeof(kind) > bytes + used)
        return PW_CUPTI_LIMIT_REACHED;
    *record = at;
    return PW_CUPTI_SUCCESS;
}
