/* The members of a Kineto event; see kineto_event.h. */
#include "import/kineto_event.h"

#include <string.h>

static const struct {
    const char *key;
    uint8_t length, depth;
} keys[PW_KINETO_KEY_COUNT] = {
#define PW_KINETO_ROW(id, depth, key) {key, sizeof(key) - 1, depth},
    PW_KINETO_KEYS(PW_KINETO_ROW)
#undef PW_KINETO_ROW
};

enum { LENGTHS = sizeof(((struct pw_kineto_index *)0)->first) };

void pw_kineto_index_init(struct pw_kineto_index *index)
{
    memset(index, 0, sizeof(*index));
    for (int k = PW_KINETO_KEY_COUNT - 1; k >= 0; k--) {
        index->next[k] = index->first[keys[k].length];
        index->first[keys[k].length] = (uint8_t)(k + 1);
    }
}

void pw_kineto_event_sort(const struct pw_kineto_index *index, const struct pw_json_object *object,
                          struct pw_kineto_event *out)
{
    memset(out, 0, sizeof(*out));
    for (size_t i = 0; i < object->n; i++) {
        const struct pw_json_item *item = &object->items[i];
        if (item->key_length >= LENGTHS)
            continue;
        for (uint8_t k = index->first[item->key_length]; k; k = index->next[k - 1])
            if (keys[k - 1].depth == item->depth && keys[k - 1].key[0] == item->key[0] &&
                memcmp(keys[k - 1].key, item->key, item->key_length) == 0) {
                out->duplicate |= out->of[k - 1] != NULL;
                out->of[k - 1] = item;
                break;
            }
    }
}

int pw_kineto_is(const struct pw_json_item *item, const char *word)
{
    return item && item->length == strlen(word) && memcmp(item->text, word, item->length) == 0;
}

int64_t pw_kineto_int(const struct pw_kineto_event *event, enum pw_kineto_key key, int64_t least,
                      int64_t most, int64_t otherwise)
{
    int64_t value;
    if (pw_json_to_int(event->of[key], &value) || value < least || value > most)
        return otherwise;
    return value;
}
