/* The stand-in for libcupti: subscribers that may be several, by the functions that end in _v2; see
 * cupti.c. What they answer, and what may not be mixed, is in CUPTI's guide, 2.4. */
#include "inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if STANDIN_CUDA >= 13
/* CUpti_SubscriberParams; in 13.0 it ends before `shares`. */
struct subscription {
    size_t size;
    const char *name;
    char *holder;
    size_t holder_size;
    uint8_t shares, pad[7];
};

static int refuse_subscriber(const struct subscription *params)
{
    if (standin_refusal())
        return standin_refusal();
    const char *held = getenv("STANDIN_HELD"); /* by a tool that is not of this process's */
    const int shares = VERSION >= 130200 && params && params->size >= 40 && params->shares;
    const int is_free = !held && !STANDIN_PROCESS->is_subscribed && !STANDIN_PROCESS->enabled &&
                        (!standin_has_subscribers() || (standin.is_shared && shares));
    if (params && params->holder && (held || standin_has_subscribers()))
        snprintf(params->holder, params->holder_size, "CUPTI for %s", held ? held : standin.holder);
    standin.is_shared = standin_has_subscribers() ? standin.is_shared : shares;
    return is_free ? 0 : OTHER_SUBSCRIBER;
}

EXPORT int cuptiSubscribe_v2(void **subscriber, standin_callback *callback, void *arg,
                             struct subscription *params)
{
    (void)arg;
    const int refused = refuse_subscriber(params);
    if (refused)
        return refused;
    if (VERSION < 130200)
        return standin_subscribe_process(subscriber, callback);
    for (int i = 1; i < CLIENTS; i++)
        if (!standin.clients[i].is_subscribed) {
            if (!standin_has_subscribers())
                snprintf(standin.holder, sizeof(standin.holder), "%s",
                         params && params->name ? params->name : "somebody");
            memset(&standin.clients[i], 0, sizeof(standin.clients[i]));
            standin.clients[i].per_thread = standin.clients[i].is_subscribed = 1;
            standin.clients[i].callback = callback;
            *subscriber = &standin.clients[i];
            return 0;
        }
    return INVALID;
}
#endif

EXPORT int cuptiEnableCallback(uint32_t is_on, struct client *client, int domain, uint32_t callback)
{
    enum { DRIVER = 1 };
    if (!client || !client->is_subscribed || domain != DRIVER)
        return INVALID;
    client->watched[callback] = is_on != 0;
    return 0;
}

EXPORT int cuptiUnsubscribe(void *subscriber)
{
    struct client *client = subscriber;
    if (!client || !client->is_subscribed)
        return INVALID;
    standin.faults += client != STANDIN_PROCESS && atomic_load(&standin.flushing) != 0;
    client->is_subscribed = 0;
    client->enabled = client == STANDIN_PROCESS ? client->enabled : 0;
    return 0;
}

#if STANDIN_CUDA >= 135
static int is_valid(struct client *client)
{
    standin.faults += !client->is_subscribed; /* what was freed is read */
    return client->is_subscribed;
}

EXPORT int cuptiActivityRegisterCallbacks_v2(struct client *client, standin_request *request,
                                             standin_complete_v2 *complete)
{
    client->request = request; /* there is one parameter more, which the caller need not read */
    client->complete_v2 = complete;
    return is_valid(client) ? 0 : INVALID;
}

EXPORT int cuptiActivityEnable_v2(struct client *client, int kind, void *config)
{
    (void)config;
    return is_valid(client) ? standin_enable(client, kind) : INVALID;
}

EXPORT int cuptiActivityDisable_v2(struct client *client, int kind, void *config)
{
    (void)config;
    return is_valid(client) ? standin_disable(client, kind) : INVALID;
}

EXPORT int cuptiActivityEnableRuntimeApi_v2(struct client *client, uint32_t callback, uint8_t is_on)
{
    client->calls[1][callback] = is_on;
    return is_valid(client) ? 0 : INVALID;
}

EXPORT int cuptiActivityEnableDriverApi_v2(struct client *client, uint32_t callback, uint8_t is_on)
{
    client->calls[0][callback] = is_on;
    return is_valid(client) ? 0 : INVALID;
}

EXPORT int cuptiActivityGetAttribute_v2(struct client *client, int number, size_t *size,
                                        void *value)
{
    return is_valid(client) ? standin_get_attribute(client, number, size, value) : INVALID;
}

EXPORT int cuptiActivitySetAttribute_v2(struct client *client, int number, size_t *size,
                                        void *value)
{
    return is_valid(client) ? standin_set_attribute(client, number, size, value) : INVALID;
}

EXPORT int cuptiActivityGetNumDroppedRecords_v2(struct client *client, void *context,
                                                uint32_t stream, size_t *count)
{
    (void)context, (void)stream;
    return is_valid(client) ? standin_count_dropped(client, count) : INVALID;
}

EXPORT int cuptiActivityGetStructSize(int kind, uint32_t version, size_t *size)
{
    *size = kind < KINDS ? standin_sizes[kind] : 0;
    return *size && !version ? 0 : INVALID;
}
#endif
