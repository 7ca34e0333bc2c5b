/* Byte queue limits for any transmit queue, for C11 and C++17.
 *
 * Made from the Rust source; do not edit. What holds for every function:
 *   - times are ns of one clock that does not go back, amounts are units: bytes, or packets;
 *   - a null or wrong pointer, and whatever cannot be, is a status below 0, and then nothing was changed, but
 *     for what taut_queue_complete says;
 *   - an object may be used by one thread at a time; different objects have nothing in common.
 */

#ifndef TAUT_H
#define TAUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#if defined(__cplusplus)
#define TAUT_ASSERT(condition) static_assert(condition, #condition)
#else
#define TAUT_ASSERT(condition) _Static_assert(condition, #condition)
#endif
#if defined(_MSC_VER)
#define TAUT_ALIGNED(bytes) __declspec(align(bytes))
#else
#define TAUT_ALIGNED(bytes) __attribute__((aligned(bytes)))
#endif

// The version of this header: `TAUT_VERSION_NUMBER` is what `taut_version_number` returns if the
// library is the same. While the major version is 0, another minor version is another interface.
#define TAUT_VERSION_MAJOR 0

// See `TAUT_VERSION_MAJOR`.
#define TAUT_VERSION_MINOR 1

// See `TAUT_VERSION_MAJOR`.
#define TAUT_VERSION_PATCH 0

// The three in one number: 1,000,000 a major, 1,000 a minor version.
#define TAUT_VERSION_NUMBER 1000

// Words of a `taut_dql`: more than it needs, so that it can grow without another size.
#define TAUT_DQL_WORDS 20

// Words of what the halves share, of the sender and of the completer.
#define TAUT_SHARED_WORDS 80

// See `TAUT_SHARED_WORDS`.
#define TAUT_SENDER_WORDS 8

// See `TAUT_SHARED_WORDS`.
#define TAUT_COMPLETER_WORDS 24

// Words of a `taut_cadence`.
#define TAUT_CADENCE_WORDS 8

// Words of a `taut_stall_watch`.
#define TAUT_STALL_WATCH_WORDS 64

// Bytes that are enough for any limit, for memory that is there before its name is known.
#define TAUT_LIMIT_BYTES_MOST 8192

// The largest state of a registered limit, in bytes: it has to fit into `TAUT_LIMIT_BYTES_MOST`
// bytes with its ledger.
#define TAUT_LIMIT_STATE_BYTES_MOST 4096

// The device is done with it. 1 to 6 are reasons to drop it.
#define TAUT_END_DONE 0

// The driver handed back what it was not given.
#define TAUT_END_STRAY 7

// How many ends there are; a later version may have more.
#define TAUT_ENDS 8

// The result of a call: 0, or why it changed nothing (`taut_queue_complete` has two exceptions).
// Numbers do not change their meaning.
enum taut_status
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // It was done.
  TAUT_STATUS_OK = 0,
  // A pointer is null that must not be.
  TAUT_STATUS_NULL = -1,
  // The object was not initialised, or its memory was overwritten.
  TAUT_STATUS_NOT_INITIALISED = -2,
  // The memory is not aligned as it must be.
  TAUT_STATUS_MISALIGNED = -3,
  // The memory is too small.
  TAUT_STATUS_TOO_SMALL = -4,
  // An object of more than 2^28 - 1 units.
  TAUT_STATUS_OBJECT_TOO_LARGE = -5,
  // 2^31 units or more would be in flight.
  TAUT_STATUS_TOO_MUCH_IN_FLIGHT = -6,
  // More was completed than is in flight.
  TAUT_STATUS_OVER_COMPLETION = -7,
  // Only the object queued last can be taken back, and only once.
  TAUT_STATUS_NOT_QUEUED_LAST = -8,
  // It was completed before it was taken back.
  TAUT_STATUS_ALREADY_COMPLETED = -9,
  // A limit of more than 1,879,048,192 units.
  TAUT_STATUS_LIMIT_TOO_LARGE = -10,
  // The lower bound is above the upper one.
  TAUT_STATUS_MIN_ABOVE_MAX = -11,
  // Not used: `taut_split` begins anew in any memory. Nobody may use earlier halves of it.
  TAUT_STATUS_ALREADY_SPLIT = -12,
  // The halves are of different queues.
  TAUT_STATUS_NOT_THE_SAME_QUEUE = -13,
  // Words that name no discipline, limit or setting; the text says what is allowed.
  TAUT_STATUS_BAD_WORDS = -14,
  // The number of a frame is not below the number of frames.
  TAUT_STATUS_FRAME_OUT_OF_RANGE = -15,
  // The frame is in the queue already.
  TAUT_STATUS_FRAME_IN_USE = -16,
  // The driver's callback failed.
  TAUT_STATUS_DRIVER_FAILED = -17,
  // The driver handed back frames that it was not given.
  TAUT_STATUS_STRAY = -18,
  // The object is in a call already: a callback may not call back.
  TAUT_STATUS_BUSY = -19,
  // Any other error.
  TAUT_STATUS_OTHER = -20,
  // A field is not what its comment allows, such as one that must be 0.
  TAUT_STATUS_BAD_FIELD = -21,
  // Another limit has this name.
  TAUT_STATUS_NAME_TAKEN = -22,
  // A name of a limit is a letter, followed by letters, digits, "-" and "_".
  TAUT_STATUS_BAD_NAME = -23,
  // A state of more than `TAUT_LIMIT_STATE_BYTES_MOST` bytes.
  TAUT_STATUS_STATE_TOO_LARGE = -24,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum taut_status taut_status;
#else
typedef int32_t taut_status;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Why a run stopped.
enum taut_stopped
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // Nothing waits.
  TAUT_STOPPED_IDLE = 0,
  // The limit has no room: run again when `taut_queue_complete` says so.
  TAUT_STOPPED_LIMIT = 1,
  // The ring is full: run again when `taut_queue_complete` says so.
  TAUT_STOPPED_RING_FULL = 2,
  // The first packet is ready at a later time: run again then.
  TAUT_STOPPED_NOT_READY = 3,
  // The doorbell failed; run again after a moment. `taut_queue_failure` has the driver's number.
  TAUT_STOPPED_FAILED = 4,
  // There is no queue, or it was called from a callback of its own.
  TAUT_STOPPED_INVALID = 5,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum taut_stopped taut_stopped;
#else
typedef int32_t taut_stopped;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// A transmit queue on one thread, or under one lock. Made by `taut_queue_new`, and freed by
// `taut_queue_free`.
typedef struct taut_queue taut_queue;

// A rule chosen by its name, with its ledger, for one thread or one lock. It lies in memory of the
// caller, who may move it by copying while no call uses it, and has nothing to free.
typedef struct taut_limit taut_limit;

// The settings of an estimator. Start from `taut_config_default`.
typedef struct taut_config {
  // The limit to begin with, in units.
  uint32_t limit;
  // The least that the limit may become, in units.
  uint32_t limit_min;
  // The most that the limit may become, in units: at most 1,879,048,192.
  uint32_t limit_max;
  // 0, and refused if it is not.
  uint32_t reserved;
  // How long slack is observed before the limit is cut, in ns.
  uint64_t hold_time_ns;
} taut_config;

// A queue limit that one thread, or one lock, owns. The caller chooses where it lies, may move it
// by copying while no call uses it, and has nothing to free.
typedef struct taut_dql {
  uint64_t opaque[TAUT_DQL_WORDS];
} taut_dql;

// Everything of an estimator at one moment, in units; totals wrap at 2^32.
typedef struct taut_snapshot {
  // The limit.
  uint32_t limit;
  // The total up to which may be queued.
  uint32_t adj_limit;
  // Total queued since the last reset.
  uint32_t num_queued;
  // Total completed since the last reset.
  uint32_t num_completed;
  // Left below the limit; one more object may be queued while it is at least 0.
  int32_t room;
  // Queued and not yet completed.
  uint32_t in_flight;
  // The smallest slack of this window; 4294967295 for none.
  uint32_t lowest_slack;
  // What exceeded the limit at the last completion.
  uint32_t prev_over_limit;
  // `num_queued` at the last completion.
  uint32_t prev_num_queued;
  // The object that was queued last, at the last completion.
  uint32_t prev_last_object;
  // The object that was queued last.
  uint32_t last_object;
  // The least that the limit may become.
  uint32_t limit_min;
  // The most that the limit may become.
  uint32_t limit_max;
  // Resets so far, wrapping.
  uint32_t epoch;
  // When the window of slack began, in ns.
  uint64_t window_start_ns;
  // How long slack is observed before the limit is cut, in ns.
  uint64_t hold_time_ns;
} taut_snapshot;

// The state that the halves share. It must stay where it is for as long as either half is used,
// and each half writes lines of 128 bytes of its own in it.
typedef struct TAUT_ALIGNED(128) taut_shared {
  uint64_t opaque[TAUT_SHARED_WORDS];
} taut_shared;

// The half of the thread that queues. It may be copied to another place, but only one may be used.
typedef struct taut_sender {
  uint64_t opaque[TAUT_SENDER_WORDS];
} taut_sender;

// The half of the thread that reaps. It may be copied to another place, but only one may be used.
typedef struct taut_completer {
  uint64_t opaque[TAUT_COMPLETER_WORDS];
} taut_completer;

// Reports completions at a regular interval, or earlier when more is pending than the limit,
// because the device might then run dry. Only the count is delayed. The caller chooses where it
// lies, may move it by copying while no call uses it, and has nothing to free.
typedef struct taut_cadence {
  uint64_t opaque[TAUT_CADENCE_WORDS];
} taut_cadence;

// Detects a device whose oldest unit in flight is older than a threshold: it stopped, or it
// reports less than it was given. An age is never too low, and too high by at most an eighth of
// the threshold and one completion interval. The caller chooses where it lies, may move it by
// copying while no call uses it, and has nothing to free.
typedef struct taut_stall_watch {
  uint64_t opaque[TAUT_STALL_WATCH_WORDS];
} taut_stall_watch;

// The counts of a stall watch.
typedef struct taut_stalls {
  // Stalls.
  uint64_t count;
  // The greatest age above the threshold that was found, in ns.
  uint64_t longest_ns;
  // When a stall was last found, in ns.
  uint64_t last_at_ns;
} taut_stalls;

// A completion batch, for the functions of a limit. Units are bytes, or packets.
typedef struct taut_limit_batch {
  // The time of the batch.
  uint64_t now_ns;
  // The rate of the device in units per second; 0 while it is unknown.
  uint64_t rate_per_s;
  // Units completed: at most `in_flight`, and 0 only to close a reap with `more`.
  uint32_t units;
  // Units in flight before the batch.
  uint32_t in_flight;
  // Units of the object that was queued last.
  uint32_t last_object;
  // Times that there was something to send and no room, wrapping.
  uint32_t times_blocked;
  // The most units that the ring holds, less one object, while it stops the sender before the
  // limit does; 4294967295 otherwise.
  uint32_t ring_units;
  // The reap stopped at its budget with completions pending.
  bool more;
} taut_limit_batch;

// A limit of the program's own, as functions. Each receives the state of its limit. They must not
// call the limit that they belong to, and must return: no exception and no `longjmp` may leave
// them.
typedef struct taut_limit_functions {
  // The state for `taut_limit_init_functions`, which must stay valid as long as the limit is
  // used; null for `taut_limit_register`.
  void *context;
  // Starts a new limit. May be null.
  void (*begin)(void *state,
                uint64_t now_ns);
  // Returns the limit in units. It is called after `begin` and after `reset`. One more object
  // may be queued while the limit is not exceeded, so that 0 lets single objects through. More
  // than 1,879,048,192 counts as that.
  uint32_t (*limit)(void *state);
  // Processes a completion batch. Returns the limit from now on, as `limit` does.
  uint32_t (*completed)(void *state,
                        const struct taut_limit_batch *batch);
  // Forgets all history: nothing is in flight any more.
  void (*reset)(void *state,
                uint64_t now_ns);
  // It counts packets, not bytes.
  bool in_packets;
} taut_limit_functions;

// How a queue is set up. Start from `taut_queue_options_default`.
typedef struct taut_queue_options {
  // Free slots at which a queue that stopped for a full ring starts again, at most the ring; 0
  // for half of it.
  uint32_t restart_slots;
  // Most packets for one doorbell, at least 1.
  uint32_t burst_packets;
  // Maximum of packets reaped in one batch, at least 1. Default: no maximum, because the limit
  // needs complete batches.
  uint32_t reap_budget_packets;
  // 0, and refused if it is not.
  uint32_t reserved;
  // Interval at which completions are reported to the limit, in ns; 0 reports each batch. Frames
  // are returned immediately in any case.
  uint64_t cadence_ns;
  // Age of the oldest unit in flight that counts as a stall, in ns; 0 watches nothing.
  uint64_t stall_threshold_ns;
} taut_queue_options;

// A packet, as it is handed in and as the driver gets it.
typedef struct taut_packet {
  // The number of its frame, below the number of frames of the queue. The content of the frame
  // belongs to the caller.
  uint32_t frame;
  // Its length on the wire, headers once, in bytes; 0 counts as 1.
  uint32_t bytes;
  // A hash of the flow's addresses and ports, the same for every packet of a flow.
  uint32_t flow;
  // Priority 0 to 15, as the kernel derives it from the type of service.
  uint8_t priority;
  // The two bits of ECN as in the IP header: 0 for none, 1 or 2 if it may be marked, 3 if it is
  // marked. The driver writes a 3 into the header.
  uint8_t ecn;
  // 0, and refused if it is not.
  uint16_t reserved;
} taut_packet;

// The driver: the operations of a ring. All callbacks run within calls of the queue, must not call
// it, and must return: no exception and no `longjmp` may leave them.
typedef struct taut_ring {
  // Given to each callback.
  void *context;
  // Slots of the ring, at least 1.
  uint32_t capacity_slots;
  // 0, and refused if it is not.
  uint32_t reserved;
  // Slots that can be filled now.
  uint32_t (*slots_free)(void *context);
  // Puts a packet into the ring; called only while a slot is free. Returns false for a packet
  // that this device can never send, which is dropped.
  bool (*submit)(void *context,
                 const struct taut_packet *packet,
                 uint64_t now_ns);
  // Rings the doorbell: the device may send what was submitted. Returns 0, or an error number of
  // the driver; what was submitted then stays in the ring, and the next run rings again.
  int32_t (*kick)(void *context,
                  uint64_t now_ns);
  // Writes the numbers of up to `budget` completed frames to `frames`, oldest first, and returns
  // how many, or an error number of the driver below 0. More than `budget` is a failure too:
  // none of them is completed.
  int32_t (*reap)(void *context,
                  uint32_t *frames,
                  uint32_t budget,
                  uint64_t now_ns);
  // Whether a completion means that the packet left the device; may be null, then it does.
  bool (*completions_are_true)(void *context);
} taut_ring;

// Where frames end, each once.
typedef struct taut_sink {
  // Given to the callback.
  void *context;
  // The frame is the caller's again, and `end` says why: `taut_end_text` has the words. For
  // `TAUT_END_STRAY` it is only a report: the driver handed back what it was not given.
  void (*ended)(void *context,
                uint32_t frame,
                uint32_t end);
} taut_sink;

// What a round of completions did.
typedef struct taut_completed {
  // Packets that the device is done with, and their bytes.
  uint32_t packets;
  // See `packets`.
  uint32_t bytes;
  // Packets of before a reset: given back, but not counted.
  uint32_t late_packets;
  // The queue was stopped and is not any more: run it.
  bool run;
  // The driver handed back as many as a round may have, and may have more: complete again.
  bool more;
  // Something is in flight for longer than the threshold: repair the ring, then call
  // `taut_queue_reset`.
  bool stalled;
  // For how long, in ns.
  uint64_t stalled_ns;
} taut_completed;

// What a queue holds and did.
typedef struct taut_queue_figures {
  // How much may be in flight, in the limit's units.
  uint32_t limit;
  // Given to the ring and not completed, in the limit's units.
  uint32_t in_flight;
  // Waits in the discipline.
  uint64_t waiting_packets;
  // Its bytes.
  uint64_t waiting_bytes;
  // Given to the ring.
  uint64_t sent_packets;
  // Their bytes.
  uint64_t sent_bytes;
  // The device is done with.
  uint64_t completed_packets;
  // Dropped, for any reason.
  uint64_t dropped_packets;
  // Marked by the discipline.
  uint64_t marked_packets;
  // Times that the limit stopped the queue.
  uint64_t limit_stops;
  // Times that the ring stopped the queue.
  uint64_t ring_stops;
  // Stalls.
  uint64_t stalls;
  // Completions do not mean that packets left the device: there is no limit then.
  bool completions_are_false;
} taut_queue_figures;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// What a status means, in English; never null, and never to be freed. Any thread may call it.
const char *taut_status_text(int32_t status);

// The version of the library, such as "0.1.0"; never to be freed. Any thread may call it.
const char *taut_version(void);

// The version of the library as `TAUT_VERSION_NUMBER` writes it. Any thread may call it.
uint32_t taut_version_number(void);

// The defaults that users of Linux's byte queue limits know: from 0, up to the largest limit, with
// a hold time of a second. Any thread may call it.
struct taut_config taut_config_default(void);

// Makes one with the settings of `config`, or the defaults where that is null.
taut_status taut_dql_init(struct taut_dql *dql,
                          const struct taut_config *config,
                          uint64_t now_ns);

// Counts one object as passed to the device. Call it before the device can see it. No object is
// rejected for exceeding the limit: check the room after each.
taut_status taut_dql_queued(struct taut_dql *dql,
                            uint32_t units);

// Takes back the object queued last, which the device never saw: a send that failed.
taut_status taut_dql_unqueue(struct taut_dql *dql,
                             uint32_t units);

// Units left below the limit: one more object may be queued while it is at least 0. -2147483648 if
// it is not a `taut_dql`.
int32_t taut_dql_room(const struct taut_dql *dql);

// Counts the units completed since the last call, and updates the limit. Call it once for each
// batch that completed something; not with 0 if nothing completed.
taut_status taut_dql_completed(struct taut_dql *dql,
                               uint32_t units,
                               uint64_t now_ns);

// Counts completions of a device that reports how much is still outstanding. `completed` is null,
// or receives how many units completed. A level at which nothing completed has no effect.
taut_status taut_dql_observe_in_flight(struct taut_dql *dql,
                                       uint32_t units,
                                       uint64_t now_ns,
                                       uint32_t *completed);

// Brings the ledger to what the device really holds, after completions were lost or counted twice.
// `too_much` is null, or gets by how much the ledger said too much.
taut_status taut_dql_repair(struct taut_dql *dql,
                            uint32_t in_flight,
                            uint64_t now_ns,
                            int64_t *too_much);

// Forgets what is in flight and restarts from the minimum of the limit, for when the device was
// flushed. Settings stay.
taut_status taut_dql_reset(struct taut_dql *dql,
                           uint64_t now_ns);

// Sets the limit by hand; the next completion brings it between its bounds.
taut_status taut_dql_set_limit(struct taut_dql *dql,
                               uint32_t limit);

// Sets the least that the limit may become, from the next completion on.
taut_status taut_dql_set_limit_min(struct taut_dql *dql,
                                   uint32_t limit_min);

// Sets the most that the limit may become, from the next completion on.
taut_status taut_dql_set_limit_max(struct taut_dql *dql,
                                   uint32_t limit_max);

// Sets how long slack is observed before the limit is cut, in ns.
taut_status taut_dql_set_hold_time_ns(struct taut_dql *dql,
                                      uint64_t hold_time_ns);

// Everything at this moment.
taut_status taut_dql_read(const struct taut_dql *dql,
                          struct taut_snapshot *snapshot);

// Creates the two halves of a queue, with the settings of `config`, or the defaults if it is null.
//
// The caller stops and starts the sender. A sender that stops writes its flag, issues a full fence
// (`atomic_thread_fence(memory_order_seq_cst)`) and reads the room again. A completer issues a
// fence after `taut_completer_completed`, before it reads the room and the flag.
taut_status taut_split(struct taut_shared *shared,
                       const struct taut_config *config,
                       uint64_t now_ns,
                       struct taut_sender *sender,
                       struct taut_completer *completer);

// As `taut_dql_queued`, from the sending thread.
taut_status taut_sender_queued(struct taut_sender *sender,
                               uint32_t units);

// As `taut_dql_unqueue`, from the sending thread.
taut_status taut_sender_unqueue(struct taut_sender *sender,
                                uint32_t units);

// As `taut_dql_room`, from the sending thread. The other may change it at any time.
int32_t taut_sender_room(const struct taut_sender *sender);

// As `taut_dql_completed`, from the completing thread.
taut_status taut_completer_completed(struct taut_completer *completer,
                                     uint32_t units,
                                     uint64_t now_ns);

// As `taut_dql_observe_in_flight`, from the completing thread. The level must be read while no
// object is between `taut_sender_queued` and the device: hold one lock around both.
taut_status taut_completer_observe_in_flight(struct taut_completer *completer,
                                             uint32_t units,
                                             uint64_t now_ns,
                                             uint32_t *completed);

// Sets limit, bounds and hold time explicitly, from the completing thread. Settings that
// contradict each other are all rejected.
taut_status taut_completer_set_config(struct taut_completer *completer,
                                      const struct taut_config *config);

// As `taut_dql_room`, from the completing thread, to see whether a stopped sender may go on.
int32_t taut_completer_room(const struct taut_completer *completer);

// As `taut_dql_read`, from the completing thread.
taut_status taut_completer_read(const struct taut_completer *completer,
                                struct taut_snapshot *snapshot);

// As `taut_dql_reset`, while neither thread queues or completes.
taut_status taut_halves_reset(struct taut_sender *sender,
                              struct taut_completer *completer,
                              uint64_t now_ns);

// As `taut_dql_repair`, while neither thread queues or completes.
taut_status taut_halves_repair(struct taut_sender *sender,
                               struct taut_completer *completer,
                               uint32_t in_flight,
                               uint64_t now_ns,
                               int64_t *too_much);

// Makes one; a period of 0 hands everything on at once.
taut_status taut_cadence_init(struct taut_cadence *cadence,
                              uint64_t period_ns);

// Adds the completions of a batch. `due` receives all units to be completed now: pass them to
// `taut_dql_completed` unless it is 0, because they have left the cadence. `limit` is the current
// limit.
taut_status taut_cadence_add(struct taut_cadence *cadence,
                             uint32_t units,
                             uint32_t limit,
                             uint64_t now_ns,
                             uint32_t *due);

// For the timer: as `taut_cadence_add`, with nothing new.
taut_status taut_cadence_due(struct taut_cadence *cadence,
                             uint64_t now_ns,
                             uint32_t *due);

// Units that wait to be handed on; 0 for what is no `taut_cadence`.
uint32_t taut_cadence_pending(const struct taut_cadence *cadence);

// When to call `taut_cadence_due`, in ns; 18446744073709551615 while nothing is pending.
uint64_t taut_cadence_next_wakeup_ns(const struct taut_cadence *cadence);

// Forgets what is pending and the period that runs; for when the limit is reset.
taut_status taut_cadence_reset(struct taut_cadence *cadence);

// Creates one; 1000000000 (a second) suits any link, 0 detects nothing.
taut_status taut_stall_watch_init(struct taut_stall_watch *watch,
                                  uint64_t threshold_ns);

// Call it after each completion, with the totals after it: `num_queued` and `num_completed` of
// `taut_dql_read`.
taut_status taut_stall_watch_completed(struct taut_stall_watch *watch,
                                       uint32_t num_queued,
                                       uint32_t num_completed,
                                       uint64_t now_ns);

// Checks whether the oldest unit in flight is older than the threshold now: `age_ns` receives its
// age, or 0 if it is not. `burst_start_ns` is when something was last queued while nothing was in
// flight. Call it from time to time, also while nothing completes.
taut_status taut_stall_watch_check(struct taut_stall_watch *watch,
                                   uint32_t num_queued,
                                   uint32_t num_completed,
                                   uint64_t burst_start_ns,
                                   uint64_t now_ns,
                                   uint64_t *age_ns);

// Reads the counts.
taut_status taut_stall_watch_read(const struct taut_stall_watch *watch,
                                  struct taut_stalls *stalls);

// Forgets what is in flight and the current stall, for when the limit is reset; the counts stay.
taut_status taut_stall_watch_reset(struct taut_stall_watch *watch);

// Bytes that the limit with this name needs; 0 if there is no such name. Names are "off", "dql",
// "taut", "taut:99.5%", a size such as "40k" or packets such as "32p". "dql:packets"
// learns a number of packets, and so can taut; each can have a cap in time ("dql:2ms").
// `taut_limit_help` lists them all, with those of `taut_limit_register`. Any thread may call it.
size_t taut_limit_size(const char *words);

// Alignment of the memory of a limit, in bytes; that of `malloc` suffices. Any thread may call it.
size_t taut_limit_align(void);

// Creates the limit named `words` in `memory`, which is then the `taut_limit`. It allocates
// nothing. On failure, `error` receives the reason, with the allowed names, cut to `error_bytes`
// with its zero; it may be null.
taut_status taut_limit_init(void *memory,
                            size_t bytes,
                            const char *words,
                            uint64_t now_ns,
                            char *error,
                            size_t error_bytes);

// Counts one object as passed to the device, in bytes, or as 1 for a limit in packets
// (`taut_limit_in_packets`). Call it before the device can see it.
taut_status taut_limit_queued(struct taut_limit *limit,
                              uint32_t units,
                              uint64_t now_ns);

// Takes back the object queued last, which the device never saw: a send that failed.
taut_status taut_limit_unqueue(struct taut_limit *limit,
                               uint32_t units);

// Units left below the limit: one more object may be queued while it is at least 0.
// -9223372036854775808 for what is no `taut_limit`.
int64_t taut_limit_room(struct taut_limit *limit);

// Reports that there is something to send and no room. Without it, rules other than "dql" learn
// nothing.
taut_status taut_limit_refused(struct taut_limit *limit);

// Counts the units completed since the last call, and updates the limit: once for each batch.
// `more` means that the batch stopped at a budget with completions pending. A batch of 0 changes
// nothing, except that it ends such a sequence.
taut_status taut_limit_completed(struct taut_limit *limit,
                                 uint32_t units,
                                 bool more,
                                 uint64_t now_ns);

// Forgets what is in flight and what was learnt, for when the device was flushed. Settings stay.
taut_status taut_limit_reset(struct taut_limit *limit,
                             uint64_t now_ns);

// The limit as an operator reads it, in its units: "7p" is 7, and allows 7 packets. 0 also if it
// is not a `taut_limit`.
uint32_t taut_limit_value(struct taut_limit *limit);

// Units queued and not yet completed; 0 also for what is no `taut_limit`.
uint32_t taut_limit_in_flight(struct taut_limit *limit);

// Whether it counts packets, not bytes.
bool taut_limit_in_packets(struct taut_limit *limit);

// Counts completions of a device that reports how much is still outstanding. A level at which
// nothing completed has no effect.
taut_status taut_limit_observe_in_flight(struct taut_limit *limit,
                                         uint32_t units,
                                         uint64_t now_ns);

// The settings in force; `limit` is the limit of now.
taut_status taut_limit_config(struct taut_limit *limit,
                              struct taut_config *config);

// Changes settings: read them by `taut_limit_config`, change some, and give them back.
taut_status taut_limit_set_config(struct taut_limit *limit,
                                  const struct taut_config *config);

// Creates a limit of the program's own in `memory`, which is then the `taut_limit`.
// `TAUT_LIMIT_BYTES_MOST` bytes are enough. It allocates nothing.
taut_status taut_limit_init_functions(void *memory,
                                      size_t bytes,
                                      const struct taut_limit_functions *functions,
                                      uint64_t now_ns);

// Registers a limit of the program's own under `name`. Every function of this header then accepts
// the name as it accepts built-in ones: also as "name:2ms", and as "name:packets" unless the limit
// counts packets. `help` describes it in one line. Both texts and `functions` are copied.
//
// Each limit that is created from the name has a state of its own, which is passed to each
// function: `state_bytes` bytes, at most `TAUT_LIMIT_STATE_BYTES_MOST`, zeroed, and aligned for
// any type. The state might move between two calls. Memory that it points to is not freed. With
// 0 bytes, the pointer must not be used.
//
// Only `completed` is required. If `limit` is null, the limit is 0 after `begin` and `reset`. If
// `reset` is null, a reset zeroes the state and calls `begin`.
//
// Any thread may call it, also while others create limits. A registered limit stays until the
// process ends. Returns `TAUT_STATUS_NULL` if an argument or `completed` is null,
// `TAUT_STATUS_BAD_FIELD` if `context` is not, `TAUT_STATUS_STATE_TOO_LARGE`,
// `TAUT_STATUS_BAD_NAME` or `TAUT_STATUS_NAME_TAKEN`; then nothing was registered.
taut_status taut_limit_register(const char *name,
                                const char *help,
                                const struct taut_limit_functions *functions,
                                size_t state_bytes);

// Writes help for every limit to `text`, cut to `text_bytes` with its zero: one line for each, its
// name first. Returns the bytes that the whole text needs, with its zero. `text` may be null. Any
// thread may call it.
size_t taut_limit_help(char *text,
                       size_t text_bytes);

// The name of an end; never null, and never to be freed. Any thread may call it.
const char *taut_end_text(uint32_t end);

// What holds where nothing is said. Any thread may call it.
struct taut_queue_options taut_queue_options_default(void);

// Creates a queue for frames 0 to `frames` - 1 (at most 2^24). `qdisc` is a discipline in tc's
// syntax ("fq_codel ecn", "pfifo limit 500"), `limit` a limit by its name (`taut_limit_size`).
// Returns null on failure; `error` then receives the reason, cut to `error_bytes` with its zero,
// and may be null. `options` may be null: then `taut_queue_options_default` applies.
struct taut_queue *taut_queue_new(const char *qdisc,
                                  const char *limit,
                                  const struct taut_ring *ring,
                                  const struct taut_sink *sink,
                                  uint32_t frames,
                                  const struct taut_queue_options *options,
                                  uint64_t now_ns,
                                  char *error,
                                  size_t error_bytes);

// Enqueues a packet, which waits until `taut_queue_run`. The queue owns its frame until the sink
// receives it.
taut_status taut_queue_enqueue(struct taut_queue *queue,
                               const struct taut_packet *packet,
                               uint64_t now_ns);

// Sends as much as limit and ring have room for. `again_ns` is null, or gets when to run again for
// `TAUT_STOPPED_NOT_READY`.
taut_stopped taut_queue_run(struct taut_queue *queue,
                            uint64_t now_ns,
                            uint64_t *again_ns);

// Reaps completions. Call it when the device interrupts or was polled, and at
// `taut_queue_next_wakeup_ns`. `completed` may be null. After `TAUT_STATUS_DRIVER_FAILED` and
// `TAUT_STATUS_STRAY` packets might have been returned even so: call it again, and it reports them
// and whether to run.
taut_status taut_queue_complete(struct taut_queue *queue,
                                uint64_t now_ns,
                                struct taut_completed *completed);

// When to call `taut_queue_complete` even if the device reports nothing, in ns;
// 18446744073709551615 for never.
uint64_t taut_queue_next_wakeup_ns(struct taut_queue *queue);

// Forgets everything in flight and restarts, after the driver has flushed or rebuilt its ring. The
// next `reap` returns frames that were in it; they count as late, and end in the sink.
taut_status taut_queue_reset(struct taut_queue *queue,
                             uint64_t now_ns);

// Changes a setting, by the name and in the form of sysfs: "limit_max" "40000", "hold_time" "500"
// (ms), "stall_thrs" "1000" (ms). `error` receives what is allowed, and may be null.
taut_status taut_queue_set(struct taut_queue *queue,
                           const char *name,
                           const char *value,
                           char *error,
                           size_t error_bytes);

// Reads a setting or a metric by its name in sysfs: those of `taut_queue_set`, and "inflight",
// "stall_cnt", "stall_max" (ms). `error` receives the names that exist, and may be null.
taut_status taut_queue_get(struct taut_queue *queue,
                           const char *name,
                           uint64_t *value,
                           char *error,
                           size_t error_bytes);

// Sets the interval at which completions are reported to the limit, in ns; 0 reports each batch.
taut_status taut_queue_set_cadence_ns(struct taut_queue *queue,
                                      uint64_t cadence_ns);

// Corrects the ledger to what the ring holds, after completions were lost, and restarts the queue;
// the limit stays. `too_much` is null, or receives by how many units the ledger was too high. A
// frame that was taken for lost belongs to the queue until `reap` returns it, late or never, and
// does not count then.
taut_status taut_queue_repair(struct taut_queue *queue,
                              uint32_t ring_packets,
                              uint32_t ring_bytes,
                              uint64_t now_ns,
                              int64_t *too_much);

// What the queue holds and did.
taut_status taut_queue_read(struct taut_queue *queue,
                            struct taut_queue_figures *figures);

// The number that the driver's callback failed with last; 0 if none did.
int32_t taut_queue_failure(struct taut_queue *queue);

// Destroys the queue: waiting packets end in the sink as flushed. Returns how many frames are
// still in the ring, which belong to the driver from then on. Null has no effect. A call from a
// callback frees nothing and returns 4294967295.
uint32_t taut_queue_free(struct taut_queue *queue,
                         uint64_t now_ns);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* TAUT_H */

TAUT_ASSERT(sizeof(taut_dql) == 160);
TAUT_ASSERT(sizeof(taut_cadence) == 64);
TAUT_ASSERT(sizeof(taut_stall_watch) == 512);
TAUT_ASSERT(sizeof(taut_config) == 24 && offsetof(taut_config, hold_time_ns) == 16);
TAUT_ASSERT(sizeof(taut_snapshot) == 72 && offsetof(taut_snapshot, window_start_ns) == 56);
TAUT_ASSERT(sizeof(taut_stalls) == 24);
TAUT_ASSERT(sizeof(taut_packet) == 16 && offsetof(taut_packet, ecn) == 13);
TAUT_ASSERT(sizeof(taut_queue_options) == 32 && offsetof(taut_queue_options, cadence_ns) == 16);
TAUT_ASSERT(sizeof(taut_completed) == 24 && offsetof(taut_completed, stalled_ns) == 16);
TAUT_ASSERT(offsetof(taut_queue_figures, completions_are_false) == 88);
