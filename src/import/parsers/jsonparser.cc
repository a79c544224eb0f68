// The only C++ of profwrap: simdjson's on-demand parser behind jsonobject.h, without exceptions.
#include "import/parsers/jsonobject.h"

#include <cerrno>
#include <new>
#include <simdjson.h>

namespace ondemand = simdjson::ondemand;

struct pw_json_parser {
    ondemand::parser parser;
};

extern "C" struct pw_json_parser *pw_json_parser_create(void)
{
    return new (std::nothrow) pw_json_parser;
}

extern "C" void pw_json_parser_destroy(struct pw_json_parser *parser)
{
    delete parser;
}

namespace
{

int read_members(ondemand::object object, int depth, pw_json_object *out);

pw_json_item *add(pw_json_object *out, std::string_view key, int depth)
{
    if (out->n == PW_JSON_ITEMS) {
        out->left_out = 1;
        return nullptr;
    }
    pw_json_item *item = &out->items[out->n++];
    *item = pw_json_item();
    item->text = ""; // stays "" for an object of depth 0
    item->key = key.data();
    item->key_length = static_cast<uint32_t>(key.size());
    item->depth = static_cast<uint8_t>(depth);
    return item;
}

void set(pw_json_item *item, pw_json_type type, std::string_view text)
{
    item->type = type;
    item->text = text.data();
    item->length = static_cast<uint32_t>(text.size());
}

// Removes the white space at the end of a token, which simdjson includes.
std::string_view trim(std::string_view token)
{
    size_t n = token.size();
    while (n > 0 && static_cast<unsigned char>(token[n - 1]) <= ' ')
        n--;
    return token.substr(0, n);
}

int read_object(ondemand::value value, int depth, pw_json_item *item, pw_json_object *out)
{
    ondemand::object inner;
    std::string_view text;
    if (value.get_object().get(inner))
        return -EINVAL;
    item->type = PW_JSON_OBJECT;
    if (depth == 0)
        return read_members(inner, depth + 1, out);
    if (inner.raw_json().get(text))
        return -EINVAL;
    set(item, PW_JSON_OBJECT, trim(text));
    return 0;
}

int read_array(ondemand::value value, pw_json_item *item)
{
    ondemand::array array;
    std::string_view text;
    if (value.get_array().get(array) || array.raw_json().get(text))
        return -EINVAL;
    set(item, PW_JSON_ARRAY, trim(text));
    return 0;
}

int read_value(ondemand::value value, int depth, pw_json_item *item, pw_json_object *out)
{
    ondemand::json_type type;
    std::string_view text;
    if (value.type().get(type)) { // NaN and Infinity, which Python's json writes
        set(item, PW_JSON_OTHER, trim(value.raw_json_token()));
        return 0;
    }
    switch (type) {
    case ondemand::json_type::object:
        return read_object(value, depth, item, out);
    case ondemand::json_type::array:
        return read_array(value, item);
    case ondemand::json_type::string:
        if (value.get_string().get(text))
            return -EINVAL;
        set(item, PW_JSON_TEXT, text);
        return 0;
    case ondemand::json_type::number:
        set(item, PW_JSON_NUMBER, trim(value.raw_json_token()));
        return 0;
    default:
        set(item, PW_JSON_OTHER, trim(value.raw_json_token()));
        return 0;
    }
}

int read_members(ondemand::object object, int depth, pw_json_object *out)
{
    for (auto field : object) {
        std::string_view key;
        ondemand::value value;
        if (field.unescaped_key().get(key) || field.value().get(value))
            return -EINVAL;
        pw_json_item *item = add(out, key, depth);
        int err = item ? read_value(value, depth, item, out) : 0;
        if (err)
            return err;
    }
    return 0;
}

} // namespace

extern "C" int pw_json_parse(struct pw_json_parser *parser, const char *text, size_t length,
                             struct pw_json_object *out)
{
    out->n = 0;
    out->left_out = 0;
    ondemand::document document;
    ondemand::object object;
    auto error = parser->parser.iterate(text, length, length + PW_JSON_PADDING).get(document);
    if (error)
        return error == simdjson::MEMALLOC ? -ENOMEM : -EINVAL;
    if (document.get_object().get(object))
        return -EINVAL;
    return read_members(object, 0, out);
}
