/* A blocking UDP sender that keeps the kernel's queue below it short, such as a video sender on Wi-Fi wants: a
 * frame that is out of date can still be thrown away, for it was not handed over yet.
 *
 *   cc -std=c11 -D_DEFAULT_SOURCE udp_sender.c -ltaut -o udp_sender && ./udp_sender 192.0.2.1 5004
 *
 * What is in flight is what the socket holds (SIOCOUTQ): where nothing below holds datagrams by their owner
 * (loopback, beyond a container's link) it is 0, and the limit does nothing. */
#include <arpa/inet.h>
#include <inttypes.h>
#include <linux/sockios.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <taut.h>

enum { PAYLOAD_BYTES = 1200, DATAGRAMS = 2000 };

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* What the kernel holds for the socket. It is memory, more than the datagrams' own bytes. */
static uint32_t held(int socket) {
    int bytes = 0;
    return ioctl(socket, SIOCOUTQ, &bytes) == 0 && bytes > 0 ? (uint32_t)bytes : 0;
}

static void must(taut_status status, const char *what) {
    if (status != TAUT_STATUS_OK) {
        fprintf(stderr, "%s: %s\n", what, taut_status_text(status));
        exit(1);
    }
}

int main(int count, char **arguments) {
    struct sockaddr_in to = {0};
    int port = count == 3 ? atoi(arguments[2]) : 0;
    if (port < 1 || port > 65535 || inet_pton(AF_INET, arguments[1], &to.sin_addr) != 1) {
        fprintf(stderr, "usage: udp_sender ADDRESS PORT (1 to 65535)\n");
        return 2;
    }
    to.sin_family = AF_INET;
    to.sin_port = htons((uint16_t)port);
    int out = socket(AF_INET, SOCK_DGRAM, 0);
    if (out < 0 || connect(out, (struct sockaddr *)&to, sizeof to) != 0) {
        perror("socket");
        return 1;
    }

    // ANCHOR: loop
    taut_dql dql;
    must(taut_dql_init(&dql, NULL, now_ns()), "init");
    static char payload[PAYLOAD_BYTES];
    unsigned sent = 0, waited = 0, lost = 0;
    while (sent + lost < DATAGRAMS) {
        if (taut_dql_room(&dql) < 0) {
            /* Now a real sender looks which of its frames is still worth it. */
            waited++;
            poll(NULL, 0, 1);
        } else {
            uint32_t before = held(out);
            if (send(out, payload, sizeof payload, 0) < 0) {
                lost++; /* a closed port of an earlier one, or a full buffer */
            } else {
                uint32_t after = held(out);
                /* Counted after it was sent, for only now its memory is known: nobody completes meanwhile. */
                uint32_t bytes = after > before ? after - before : PAYLOAD_BYTES;
                must(taut_dql_queued(&dql, bytes), "queued");
                sent++;
            }
        }
        taut_snapshot now;
        must(taut_dql_read(&dql, &now), "read");
        uint32_t level = held(out);
        if (level < now.in_flight)
            must(taut_dql_observe_in_flight(&dql, level, now_ns(), NULL), "observe");
    }
    // ANCHOR_END: loop
    taut_snapshot end;
    must(taut_dql_read(&dql, &end), "read");
    printf("%u sent, %u lost, limit %" PRIu32 " bytes of memory, waited %u times\n", sent, lost, end.limit, waited);
    close(out);
    return 0;
}
