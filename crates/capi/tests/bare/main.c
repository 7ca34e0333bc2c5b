/* Plays one conformance vector on a Cortex-M4 without an operating system, a heap or a libc. The files are in the
 * program (OPS and EXPECTED name them); what it says goes out by semihosting. */
#include "taut.h"

#define NS_PER_MS 1000000ull

/* Both files, each with a zero at its end. */
__asm__(".section .rodata\n"
        ".global operations\noperations: .incbin \"" OPS "\"\n.byte 0\n"
        ".global expected\nexpected: .incbin \"" EXPECTED "\"\n.byte 0\n"
        ".previous");
extern const char operations[], expected[];
extern uint32_t stack_top;

static taut_dql dql;

static void call_host(uint32_t operation, const void *argument) {
    register uint32_t r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
}

static void say(const char *text) { call_host(4, text); }

static _Noreturn void leave(uint32_t code) {
    const uint32_t why[2] = {0x20026, code};
    call_host(0x20, why);
    for (;;) {
    }
}

/* The number at the cursor, with its sign; the cursor goes behind it and the blank after it. */
static int64_t number(const char **at) {
    int64_t value = 0, sign = 1;
    if (**at == '-') {
        sign = -1;
        ++*at;
    }
    while (**at >= '0' && **at <= '9')
        value = value * 10 + *(*at)++ - '0';
    while (**at == ' ')
        ++*at;
    return value * sign;
}

static bool begins(const char **at, const char *word) {
    const char *rest = *at;
    while (*word != 0)
        if (*rest++ != *word++)
            return false;
    *at = rest;
    return true;
}

static void end_line(const char **at) {
    while (**at != 0 && **at != '\n')
        ++*at;
    if (**at == '\n')
        ++*at;
}

static taut_status play(const char **at, uint64_t *now_ns) {
    if (begins(at, "init ")) {
        taut_config config = taut_config_default();
        config.hold_time_ns = (uint64_t)number(at) * NS_PER_MS;
        return taut_dql_init(&dql, &config, *now_ns);
    }
    if (begins(at, "set limit "))
        return taut_dql_set_limit(&dql, (uint32_t)number(at));
    if (begins(at, "set min_limit "))
        return taut_dql_set_limit_min(&dql, (uint32_t)number(at));
    if (begins(at, "set max_limit "))
        return taut_dql_set_limit_max(&dql, (uint32_t)number(at));
    if (begins(at, "set hold "))
        return taut_dql_set_hold_time_ns(&dql, (uint64_t)number(at) * NS_PER_MS);
    if (begins(at, "t ")) {
        *now_ns = (uint64_t)number(at) * NS_PER_MS;
        return TAUT_STATUS_OK;
    }
    if (begins(at, "q "))
        return taut_dql_queued(&dql, (uint32_t)number(at));
    if (begins(at, "c "))
        return taut_dql_completed(&dql, (uint32_t)number(at), *now_ns);
    if (begins(at, "r"))
        return taut_dql_reset(&dql, *now_ns);
    say("unknown operation\n");
    leave(2);
}

static bool agrees(const char **wanted, taut_status status) {
    taut_snapshot now;
    if (begins(wanted, "error"))
        return status != TAUT_STATUS_OK;
    if (status != TAUT_STATUS_OK || taut_dql_read(&dql, &now) != TAUT_STATUS_OK)
        return false;
    const int64_t found[] = {now.limit, now.adj_limit, now.num_queued, now.num_completed, now.room,
                             (int64_t)(now.window_start_ns / NS_PER_MS), now.lowest_slack, now.prev_over_limit,
                             now.prev_num_queued, now.prev_last_object, now.last_object};
    for (unsigned field = 0; field < sizeof found / sizeof found[0]; field++)
        if (number(wanted) != found[field])
            return false;
    return true;
}

_Noreturn void start(void) {
    /* The floating point unit is off at first, and code for it may be anywhere. */
    *(volatile uint32_t *)0xE000ED88 |= 0xFu << 20;
    __asm__ volatile("dsb\nisb");
    const char *at = operations, *wanted = expected;
    uint64_t now_ns = 0;
    while (*at != 0) {
        taut_status status = play(&at, &now_ns);
        if (!agrees(&wanted, status)) {
            say("differs\n");
            leave(1);
        }
        end_line(&at);
        end_line(&wanted);
    }
    leave(*wanted == 0 ? 0 : 1);
}

static _Noreturn void fault(void) {
    say("fault\n");
    leave(3);
}

__attribute__((section(".vectors"), used)) static const void *const vectors[16] = {
    &stack_top, (const void *)start, (const void *)fault, (const void *)fault,
    (const void *)fault, (const void *)fault, (const void *)fault,
};
