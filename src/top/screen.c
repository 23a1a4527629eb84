/* SPDX-License-Identifier: Apache-2.0 */
#include "top/screen.h"

#include <curses.h>
#include <errno.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/attr.h"
#include "top/cells.h"

enum { ESCAPE_MS = 50 }; /* an escape alone is that key */

static SCREEN *screen;
static volatile sig_atomic_t is_interrupted;

static const struct {
    enum top_style style;
    chtype attributes;
    short color; /* of a pair; 0: none */
} styles[] = {
    {TOP_PLAIN, A_NORMAL, 0},
    {TOP_BOLD, A_BOLD, 0},
    {TOP_DIM, A_DIM, 0},
    {TOP_RED, A_BOLD, COLOR_RED},
    {TOP_YELLOW, A_NORMAL, COLOR_YELLOW},
    {TOP_GREEN, A_NORMAL, COLOR_GREEN},
    {TOP_REVERSE, A_REVERSE, 0},
};

static void make_colors(void)
{
    if (!has_colors() || start_color() == ERR)
        return;
    (void)use_default_colors();
    for (size_t i = 0; i < ARRAY_LEN(styles); i++)
        if (styles[i].color)
            (void)init_pair(styles[i].color, styles[i].color, -1);
}

static void on_interrupt(int number)
{
    (void)number;
    is_interrupted = 1;
}

int top_screen_open(struct err *reterr)
{
    struct sigaction interrupt = {.sa_handler = on_interrupt}; /* curses' own would end us with 1 */

    (void)setlocale(LC_CTYPE, "");
    if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))
        screen = newterm(NULL, stdout, stdin);
    if (!screen) {
        (void)err_set(reterr, -ENOTTY, "this is no terminal, or TERM does not say which");
        err_hint(reterr, "--once prints the table once");
        return -ENOTTY;
    }
    (void)sigaction(SIGINT, &interrupt, NULL);
    (void)set_escdelay(ESCAPE_MS);
    make_colors();
    (void)cbreak();
    (void)noecho();
    (void)nonl();
    (void)keypad(stdscr, TRUE);
    (void)curs_set(0);
    return 0;
}

void top_screen_close(void)
{
    if (!screen)
        return;
    (void)endwin();
    delscreen(screen);
    screen = NULL;
}

void top_screen_size(size_t *ret_width, size_t *ret_height)
{
    int height, width;
    getmaxyx(stdscr, height, width);
    *ret_width = (size_t)width;
    *ret_height = (size_t)height;
}

static void show_style(char byte)
{
    for (size_t i = 0; i < ARRAY_LEN(styles); i++)
        if (byte == (char)styles[i].style)
            (void)attrset((int)(styles[i].attributes |
                                (chtype)(styles[i].color ? COLOR_PAIR(styles[i].color) : 0)));
}

static void show_line(int y, struct span line)
{
    (void)move(y, 0);
    (void)attrset(A_NORMAL);
    while (line.n > 0) {
        size_t n = 0;
        while (n < line.n && (unsigned char)line.p[n] > TOP_REVERSE)
            n++;
        if (n > 0)
            (void)addnstr(line.p, (int)n);
        (void)span_take(&line, n);
        if (line.n > 0)
            show_style(*span_take(&line, 1).p);
    }
}

void top_screen_show(struct span lines)
{
    (void)erase();
    for (int y = 0; lines.n > 0; y++)
        show_line(y, span_split(&lines, '\n'));
    (void)refresh();
}

bool top_screen_is_interrupted(void)
{
    return is_interrupted;
}

int top_screen_key(int wait_ms)
{
    static const struct {
        int theirs;
        enum top_key ours;
    } keys[] = {
        {KEY_UP, TOP_KEY_UP},         {KEY_DOWN, TOP_KEY_DOWN},
        {KEY_PPAGE, TOP_KEY_PAGE_UP}, {KEY_NPAGE, TOP_KEY_PAGE_DOWN},
        {KEY_HOME, TOP_KEY_HOME},     {27, TOP_KEY_ESCAPE},
        {'\r', TOP_KEY_ENTER},        {'\n', TOP_KEY_ENTER},
        {KEY_ENTER, TOP_KEY_ENTER},   {KEY_BACKSPACE, TOP_KEY_RUBOUT},
        {127, TOP_KEY_RUBOUT},        {8, TOP_KEY_RUBOUT},
        {KEY_RESIZE, TOP_KEY_NONE},
    };
    timeout(wait_ms);
    errno = 0;
    int key = is_interrupted ? ERR : getch();
    if (is_interrupted)
        return TOP_KEY_INTERRUPT;
    if (key == ERR)
        return errno == EIO || errno == EBADF ? TOP_KEY_GONE : TOP_KEY_NONE;
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        if (key == keys[i].theirs)
            return keys[i].ours;
    return key > 0 && key < 128 ? key : TOP_KEY_NONE;
}
