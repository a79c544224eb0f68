/* Macros that make the text of --help for options whose value is one of several words. The words
 * of an option are a list: a macro in a header of its own (activity_words.h, import_formats.h,
 * report_formats.h). A row of the list is the word, a remark for --help, and what the word stands
 * for in the code. A list takes two macros, FIRST for its first row and NEXT for the others, so
 * that the text can be "a|b|c" or "a, b, c". Used by options.def and run/activities.c. Nothing but
 * macros. */
#ifndef PW_CORE_CHOICES_H
#define PW_CORE_CHOICES_H

#define PW_CHOICE_WORDS(LIST) LIST(PW_CHOICE_WORD, PW_CHOICE_BAR_WORD)     /* "a|b" */
#define PW_CHOICE_DEFAULT(LIST) LIST(PW_CHOICE_WORD, PW_CHOICE_COMMA_WORD) /* "a,b" */
#define PW_CHOICE_LIST(LIST) LIST(PW_CHOICE_WORD, PW_CHOICE_LIST_WORD)     /* "a, b" */
#define PW_CHOICE_HELP(LIST)                                             \
    LIST(PW_CHOICE_HELP_ROW, PW_CHOICE_LIST_HELP_ROW) /* "a (remark), b" \
                                                       */

#define PW_CHOICE_WORD(word, remark, what) #word
#define PW_CHOICE_BAR_WORD(word, remark, what) "|" #word
#define PW_CHOICE_COMMA_WORD(word, remark, what) "," #word
#define PW_CHOICE_LIST_WORD(word, remark, what) ", " #word
#define PW_CHOICE_HELP_ROW(word, remark, what) #word remark
#define PW_CHOICE_LIST_HELP_ROW(word, remark, what) ", " #word remark

#endif
