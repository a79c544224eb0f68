/* The mutator of journals: changes blocks and corrects their checksums, because a reader ignores
 * blocks with wrong checksums. */
#include <string.h>

#include "dice.h"
#include "rank/journal/journalform.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);

enum { MOST_BLOCKS = 256, BYTES_EVERY = 10, MOST_EDITS = 3 };

struct block {
    size_t at;
    struct pw_block_header header;
};

static size_t list_blocks(const uint8_t *data, size_t size, struct block *out)
{
    size_t n = 0;
    for (size_t at = 0; at + sizeof(out->header) <= size && n < MOST_BLOCKS;) {
        struct block *block = &out[n];
        block->at = at;
        memcpy(&block->header, data + at, sizeof(block->header));
        if (block->header.magic != PW_JOURNAL_MAGIC ||
            block->header.length > size - at - sizeof(block->header))
            break;
        at += sizeof(block->header) + block->header.length;
        n++;
    }
    return n;
}

static void seal(uint8_t *data, struct block *block)
{
    uint8_t *payload = data + block->at + sizeof(block->header);
    block->header.check = 0;
    block->header.check = pw_block_check(&block->header, payload);
    memcpy(data + block->at, &block->header, sizeof(block->header));
}

static void change_payload(uint8_t *data, struct block *block, struct dice *dice)
{
    static const size_t sizes[] = {1, 2, 4, 8};
    uint8_t *payload = data + block->at + sizeof(block->header);
    size_t size = sizes[dice_below(dice, 4)], length = block->header.length;
    for (size_t n = 1 + dice_below(dice, 3); n && length >= size; n--)
        pick_bytes(dice, payload + dice_below(dice, length - size + 1), size);
}

/* A block once more, or the block gone; the new size. */
static size_t copy_block(uint8_t *data, size_t size, size_t most, const struct block *from,
                         size_t to)
{
    uint8_t copy[sizeof(from->header) + PW_JOURNAL_MOST];
    size_t length = sizeof(from->header) + from->header.length;
    if (length > sizeof(copy) || size + length > most)
        return size;
    memcpy(copy, data + from->at, length);
    memmove(data + to + length, data + to, size - to);
    memcpy(data + to, copy, length);
    return size + length;
}

static size_t remove_block(uint8_t *data, size_t size, const struct block *block)
{
    size_t end = block->at + sizeof(block->header) + block->header.length;
    memmove(data + block->at, data + end, size - end);
    return size - (end - block->at);
}

static size_t edit(uint8_t *data, size_t size, size_t most, struct dice *dice)
{
    static struct block blocks[MOST_BLOCKS];
    size_t n = list_blocks(data, size, blocks);
    if (!n)
        return 0;
    struct block *block = &blocks[dice_below(dice, n)];
    switch (dice_below(dice, 12)) {
    case 0:
        return copy_block(data, size, most, block, blocks[dice_below(dice, n)].at);
    case 1:
        return remove_block(data, size, block);
    case 2:
        block->header.kind = (uint32_t)dice_below(dice, 8);
        break;
    case 3: /* what follows begins too early: it is cut off */
        block->header.length = (uint32_t)dice_below(dice, block->header.length + 1);
        break;
    default:
        change_payload(data, block, dice);
        break;
    }
    seal(data, block);
    return size;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    struct dice dice = {seed};
    size_t edits = dice_below(&dice, BYTES_EVERY) ? 1 + dice_below(&dice, MOST_EDITS) : 0,
           now = size;
    for (size_t i = 0; i < edits && now; i++)
        now = edit(data, now, most, &dice);
    return edits && now ? now : LLVMFuzzerMutate(data, size, most);
}
