/* Byte queue limits for any transmit queue, for C11 and C++17.
 *
 * Generated from the Rust source; do not edit. Rules for every function:
 *   - times are ns of one monotonic clock, amounts are units: bytes, or packets;
 *   - a null pointer, an object that was not initialised, an object of another kind and an invalid
 *     value return a status below 0, and nothing is changed, except as documented for
 *     taut_queue_complete;
 *   - for a queue that was freed, too; the value of a taut_queue pointer is checked without access
 *     to memory. Any other pointer is null or points to memory of the caller: otherwise the
 *     behaviour is undefined, as for every function of C;
 *   - an object can be used by one thread at a time; different objects are independent.
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

// The version of this header: `taut_version_number` returns `TAUT_VERSION_NUMBER` if the library
// has the same version. While the major version is 0, another minor version is another interface.
#define TAUT_VERSION_MAJOR 0

// See `TAUT_VERSION_MAJOR`.
#define TAUT_VERSION_MINOR 1

// See `TAUT_VERSION_MAJOR`.
#define TAUT_VERSION_PATCH 0

// The three in one number: 1,000,000 a major, 1,000 a minor version.
#define TAUT_VERSION_NUMBER 1000

// Maximum limit in units: with it, no limit applies except the ring.
#define TAUT_LIMIT_MAX 1879048192

// Words of a `taut_dql`: more than it needs, so that it can grow without another size.
#define TAUT_DQL_WORDS 20

// Words of the shared state, of the sender and of the completer.
#define TAUT_SHARED_WORDS 80

// See `TAUT_SHARED_WORDS`.
#define TAUT_SENDER_WORDS 8

// See `TAUT_SHARED_WORDS`.
#define TAUT_COMPLETER_WORDS 24

// Words of a `taut_coalescer`.
#define TAUT_COALESCER_WORDS 8

// Words of a `taut_stall_detector`.
#define TAUT_STALL_DETECTOR_WORDS 64

// Bytes that are enough for any limit, for memory that is allocated before its name is known.
#define TAUT_LIMIT_BYTES_MAX 8192

// Maximum size of the state of a registered limit, in bytes: it must fit into
// `TAUT_LIMIT_BYTES_MAX` bytes with its ledger.
#define TAUT_LIMIT_STATE_BYTES_MAX 4096

// The device completed the frame. 1 to 6 are drop reasons.
#define TAUT_OUTCOME_COMPLETED 0

// The driver returned a frame that is not in the ring. Its owner stays the same.
#define TAUT_OUTCOME_UNKNOWN_COMPLETION 7

// The queue was freed while the frame was in the ring. It can be used again when the driver no
// longer uses it.
#define TAUT_OUTCOME_IN_RING 8

// The number of outcomes; a later version can have more.
#define TAUT_OUTCOMES 9

// The result of a call: 0, or why it changed nothing (`taut_queue_complete` has two exceptions).
// Numbers do not change their meaning.
enum taut_status
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // Success.
  TAUT_STATUS_OK = 0,
  // A required pointer is null.
  TAUT_STATUS_NULL = -1,
  // The object was not initialised, or its memory was overwritten.
  TAUT_STATUS_NOT_INITIALISED = -2,
  // The memory is not aligned as required.
  TAUT_STATUS_MISALIGNED = -3,
  // The memory is too small.
  TAUT_STATUS_TOO_SMALL = -4,
  // An object of more than 2^28 - 1 units.
  TAUT_STATUS_OBJECT_TOO_LARGE = -5,
  // 2^31 units or more would be in flight.
  TAUT_STATUS_TOO_MUCH_IN_FLIGHT = -6,
  // More was completed than is in flight.
  TAUT_STATUS_OVER_COMPLETION = -7,
  // Only the object queued last can be removed, and only once.
  TAUT_STATUS_NOT_QUEUED_LAST = -8,
  // It was completed before it was removed.
  TAUT_STATUS_ALREADY_COMPLETED = -9,
  // A limit of more than 1,879,048,192 units.
  TAUT_STATUS_LIMIT_TOO_LARGE = -10,
  // The lower bound is above the upper one.
  TAUT_STATUS_MIN_ABOVE_MAX = -11,
  // Not used: `taut_split` initialises any memory. Earlier halves of it must not be used.
  TAUT_STATUS_ALREADY_SPLIT = -12,
  // The halves are of different queues.
  TAUT_STATUS_DIFFERENT_QUEUES = -13,
  // Unknown discipline, limit or setting; the text lists the allowed ones.
  TAUT_STATUS_BAD_SPEC = -14,
  // The number of a frame is not below the number of frames.
  TAUT_STATUS_FRAME_OUT_OF_RANGE = -15,
  // The frame is in the queue already.
  TAUT_STATUS_FRAME_IN_USE = -16,
  // The driver's callback failed.
  TAUT_STATUS_DRIVER_FAILED = -17,
  // The driver returned frames that are not in the ring.
  TAUT_STATUS_UNKNOWN_COMPLETION = -18,
  // The queue is in a call already, of a callback or of another thread.
  TAUT_STATUS_BUSY = -19,
  // Any other error.
  TAUT_STATUS_OTHER = -20,
  // A field has a value that its comment does not allow, such as one that must be 0.
  TAUT_STATUS_BAD_FIELD = -21,
  // Another limit has this name.
  TAUT_STATUS_NAME_TAKEN = -22,
  // A name of a limit is a letter, followed by letters, digits, "-" and "_".
  TAUT_STATUS_BAD_NAME = -23,
  // A state of more than `TAUT_LIMIT_STATE_BYTES_MAX` bytes.
  TAUT_STATUS_STATE_TOO_LARGE = -24,
  // The queue was freed, or the pointer is not a queue.
  TAUT_STATUS_BAD_HANDLE = -25,
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
  // No packet waits.
  TAUT_STOPPED_IDLE = 0,
  // The limit has no room: run again when `taut_queue_complete` reports it.
  TAUT_STOPPED_LIMIT = 1,
  // The ring is full: run again when `taut_queue_complete` reports it.
  TAUT_STOPPED_RING_FULL = 2,
  // The first packet is ready at a later time: run again then.
  TAUT_STOPPED_NOT_READY = 3,
  // The doorbell failed; run again after a moment. `taut_queue_driver_error` returns the error
  // number of the driver.
  TAUT_STOPPED_FAILED = 4,
  // The queue is null, was freed, or is in a call already.
  TAUT_STOPPED_INVALID = 5,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum taut_stopped taut_stopped;
#else
typedef int32_t taut_stopped;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// A transmit queue on one thread, or under one lock. `taut_queue_new` creates it, and
// `taut_queue_free` frees it. The pointer is a number: every function returns
// `TAUT_STATUS_BAD_HANDLE`, or as documented, for a queue that was freed and for a pointer to
// other memory. A call during another call for the same queue, from a callback or from another
// thread, returns `TAUT_STATUS_BUSY` and changes nothing.
typedef struct taut_queue taut_queue;

// A rule chosen by its name, with its ledger, for one thread or one lock. It is placed in memory
// of the caller, can be moved by copying while no call uses it, and needs no freeing.
typedef struct taut_limit taut_limit;

// The settings of a limit. Start from `taut_config_default`.
typedef struct taut_config {
  // The initial limit, in units.
  uint32_t limit;
  // Minimum limit, in units.
  uint32_t limit_min;
  // Maximum limit, in units: at most `TAUT_LIMIT_MAX`.
  uint32_t limit_max;
  // Must be 0.
  uint32_t reserved;
  // How long slack is observed before the limit is decreased, in ns.
  uint64_t hold_time_ns;
} taut_config;

// A queue limit that one thread, or one lock, owns. It is placed in memory of the caller, can be
// moved by copying while no call uses it, and needs no freeing.
typedef struct taut_dql {
  uint64_t opaque[TAUT_DQL_WORDS];
} taut_dql;

// The state of a limit and its ledger at one moment, in units; totals wrap at 2^32.
typedef struct taut_snapshot {
  // The limit.
  uint32_t limit;
  // The total up to which units can be queued.
  uint32_t adj_limit;
  // Total queued since the last reset.
  uint32_t num_queued;
  // Total completed since the last reset.
  uint32_t num_completed;
  // Units left below the limit; one more object can be queued while it is at least 0.
  int32_t room;
  // Queued and not yet completed.
  uint32_t in_flight;
  // The smallest slack of this window; 4294967295 for none.
  uint32_t lowest_slack;
  // Units beyond the limit at the last completion.
  uint32_t prev_over_limit;
  // `num_queued` at the last completion.
  uint32_t prev_num_queued;
  // Size of the object queued last, in units, at the last completion.
  uint32_t prev_last_object;
  // Size of the object queued last, in units.
  uint32_t last_object;
  // Minimum limit.
  uint32_t limit_min;
  // Maximum limit.
  uint32_t limit_max;
  // Resets so far, wrapping.
  uint32_t epoch;
  // When the window of slack began, in ns.
  uint64_t window_start_ns;
  // How long slack is observed before the limit is decreased, in ns.
  uint64_t hold_time_ns;
} taut_snapshot;

// The state that the halves share. It must stay in place while either half is used, and each half
// writes its own lines of 128 bytes in it.
typedef struct TAUT_ALIGNED(128) taut_shared {
  uint64_t opaque[TAUT_SHARED_WORDS];
} taut_shared;

// The half of the thread that queues. It can be copied to another place, but only one copy can be
// used.
typedef struct taut_sender {
  uint64_t opaque[TAUT_SENDER_WORDS];
} taut_sender;

// The half of the thread that reaps. It can be copied to another place, but only one copy can be
// used.
typedef struct taut_completer {
  uint64_t opaque[TAUT_COMPLETER_WORDS];
} taut_completer;

// Reports completions at a regular interval. It reports earlier when more is pending than the
// limit, because the device might then starve. Only the count is delayed. It is placed in memory
// of the caller, can be moved by copying while no call uses it, and needs no freeing.
typedef struct taut_coalescer {
  uint64_t opaque[TAUT_COALESCER_WORDS];
} taut_coalescer;

// Detects a device whose oldest unit in flight is older than a threshold: it stalled, or it lost
// completions. An age is never too low, and too high by at most an eighth of the threshold and one
// completion interval. It is placed in memory of the caller, can be moved by copying while no call
// uses it, and needs no freeing.
typedef struct taut_stall_detector {
  uint64_t opaque[TAUT_STALL_DETECTOR_WORDS];
} taut_stall_detector;

// The counts of a stall detector.
typedef struct taut_stalls {
  // Stalls.
  uint64_t count;
  // The maximum age above the threshold, in ns.
  uint64_t longest_ns;
  // When a stall was last found, in ns.
  uint64_t last_stall_ns;
} taut_stalls;

// A completion batch, for the functions of a limit. Units are bytes, or packets.
typedef struct taut_limit_batch {
  // The time of the batch.
  uint64_t now_ns;
  // The rate of the device in units per second; 0 while it is unknown.
  uint64_t rate_per_s;
  // Units completed: at most `in_flight`, and 0 only to close a reap with `more_pending`.
  uint32_t units;
  // Units in flight before the batch.
  uint32_t in_flight;
  // Size of the object queued last, in units.
  uint32_t last_object;
  // Times that the sender was blocked: it had something to send and no room. Wraps.
  uint32_t times_blocked;
  // Maximum units that the ring holds, less one object, while it stops the sender before the
  // limit does; 4294967295 otherwise.
  uint32_t ring_units;
  // The reap stopped at its budget with completions pending.
  bool more_pending;
} taut_limit_batch;

// A custom limit, as functions. Each receives the state of its limit. They must not call the limit
// that they belong to, and must return: no exception and no `longjmp` can leave them.
typedef struct taut_limit_functions {
  // Starts a new limit. Can be null.
  void (*begin)(void *state,
                uint64_t now_ns);
  // Returns the limit in units. It is called after `begin` and after `reset`. One more object
  // can be queued while the limit is not exceeded, so that 0 admits single objects. The maximum
  // is `TAUT_LIMIT_MAX`, to which larger values are clamped.
  uint32_t (*limit)(void *state);
  // Processes a completion batch. Returns the limit from now on, as `limit` does.
  uint32_t (*completed)(void *state,
                        const struct taut_limit_batch *batch);
  // Discards all history: nothing is in flight any more.
  void (*reset)(void *state,
                uint64_t now_ns);
  // It counts packets, not bytes.
  bool in_packets;
} taut_limit_functions;

// Settings of a queue. Start from `taut_queue_options_default`.
typedef struct taut_queue_options {
  // Free slots at which a queue that stopped for a full ring starts again, at most the ring; 0
  // for half of it.
  uint32_t restart_slots;
  // Maximum packets for one doorbell, at least 1.
  uint32_t burst_packets;
  // Maximum packets reaped in one batch, at least 1. Default: no maximum, because the limit
  // needs complete batches.
  uint32_t reap_budget_packets;
  // Must be 0.
  uint32_t reserved;
  // Interval at which completions are reported to the limit, in ns; 0 reports each batch. Frames
  // are returned immediately in any case.
  uint64_t coalesce_ns;
  // Stall threshold: maximum age of the oldest unit in flight, in ns; 0 disables stall
  // detection.
  uint64_t stall_threshold_ns;
} taut_queue_options;

// A packet, as passed to the queue and to the driver.
typedef struct taut_packet {
  // The number of its frame, below the number of frames of the queue. The content of the frame
  // belongs to the caller.
  uint32_t frame;
  // Its length on the wire, headers once, in bytes; 0 counts as 1.
  uint32_t bytes;
  // A hash of the flow's addresses and ports, the same for every packet of a flow.
  // `taut_classify` sets it, and the next two fields.
  uint32_t flow;
  // Priority 0 to 15, as the kernel derives it from the type of service.
  uint8_t priority;
  // The two ECN bits of the IP header: 0 for none, 1 or 2 if it can be marked, 3 if it is
  // marked. The driver writes a 3 into the header (`taut_mark_congestion`).
  uint8_t ecn;
  // Must be 0.
  uint16_t reserved;
} taut_packet;

// The driver: the operations of a ring. All callbacks run within calls of the queue, must not call
// it, and must return: no exception and no `longjmp` can leave them.
typedef struct taut_ring {
  // Passed to each callback.
  void *context;
  // Slots of the ring, at least 1.
  uint32_t capacity_slots;
  // Must be 0.
  uint32_t reserved;
  // Slots that can be filled now.
  uint32_t (*slots_free)(void *context);
  // Puts a packet into the ring; called only while a slot is free. Returns false for a packet
  // that this device can never send, which is dropped.
  bool (*submit)(void *context,
                 const struct taut_packet *packet,
                 uint64_t now_ns);
  // Rings the doorbell: the device can send the submitted packets. Returns 0, or an error number
  // of the driver; submitted packets then stay in the ring, and the next run rings again.
  int32_t (*kick)(void *context,
                  uint64_t now_ns);
  // Writes the numbers of up to `budget` completed frames to `frames`, oldest first. Returns how
  // many, or an error number of the driver below 0. More than `budget` is a failure too: none of
  // them is completed.
  int32_t (*reap)(void *context,
                  uint32_t *frames,
                  uint32_t budget,
                  uint64_t now_ns);
  // Returns whether a completion means that the packet left the device; null means that it does.
  bool (*completions_valid)(void *context);
} taut_ring;

// Receives each accepted frame exactly once.
typedef struct taut_sink {
  // Passed to the callback.
  void *context;
  // Returns the frame to the caller. `taut_outcome_text` is the text of `outcome`. The frame can
  // be used again, except for two outcomes: `TAUT_OUTCOME_IN_RING`, and
  // `TAUT_OUTCOME_UNKNOWN_COMPLETION`, which only reports a fault.
  void (*frame_done)(void *context,
                     uint32_t frame,
                     uint32_t outcome);
} taut_sink;

// The result of a completion batch.
typedef struct taut_completed {
  // Packets completed, and their bytes.
  uint32_t packets;
  // See `packets`.
  uint32_t bytes;
  // Stale packets, sent before a reset: returned, but not counted.
  uint32_t stale_packets;
  // The queue was stopped and is not any more: run it.
  bool schedule;
  // The driver returned the maximum of a batch, and might have more: complete again.
  bool more_pending;
  // A packet is in flight for longer than the threshold: repair the ring, then call
  // `taut_queue_reset`.
  bool stalled;
  // Age of the oldest packet, in ns.
  uint64_t stalled_ns;
} taut_completed;

// State and counters of a queue.
typedef struct taut_queue_stats {
  // The limit, in its units; `TAUT_LIMIT_MAX` if it is `unlimited`.
  uint32_t limit;
  // Submitted to the ring and not completed, in the limit's units.
  uint32_t in_flight;
  // Backlog of the discipline in packets.
  uint64_t backlog_packets;
  // Its bytes.
  uint64_t backlog_bytes;
  // Packets submitted to the ring.
  uint64_t sent_packets;
  // Their bytes.
  uint64_t sent_bytes;
  // Packets completed.
  uint64_t completed_packets;
  // Packets dropped, for any reason.
  uint64_t dropped_packets;
  // Packets marked by the discipline.
  uint64_t marked_packets;
  // Times that the limit stopped the queue.
  uint64_t limit_stops;
  // Times that the ring stopped the queue.
  uint64_t ring_stops;
  // Stalls.
  uint64_t stalls;
  // Completions are early, before packets left the device: no limit applies then.
  bool early_completions;
  // No limit applies except the ring: the limit is "off", or completions are early.
  bool unlimited;
} taut_queue_stats;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Returns the meaning of a status, in English; never null, and never to be freed. Any thread can
// call it.
const char *taut_status_text(int32_t status);

// Returns the version of the library, such as "0.1.0"; never to be freed. Any thread can call it.
const char *taut_version(void);

// Returns the version of the library in the form of `TAUT_VERSION_NUMBER`. Any thread can call it.
uint32_t taut_version_number(void);

// Returns the defaults of Linux's byte queue limits: a limit from 0 to the maximum, with a hold
// time of a second. Any thread can call it.
struct taut_config taut_config_default(void);

// Initialises a limit with the settings of `config`, or the defaults if it is null.
taut_status taut_dql_init(struct taut_dql *dql,
                          const struct taut_config *config,
                          uint64_t now_ns);

// Counts one object as passed to the device. Call it before the device can see it. No object is
// rejected for exceeding the limit: check the room after each.
taut_status taut_dql_queued(struct taut_dql *dql,
                            uint32_t units);

// Removes the object queued last, which the device never saw: a send that failed.
taut_status taut_dql_unqueue(struct taut_dql *dql,
                             uint32_t units);

// Returns the units left below the limit: one more object can be queued while it is at least 0.
// -2147483648 if it is not a `taut_dql`.
int32_t taut_dql_room(const struct taut_dql *dql);

// Counts the units completed since the last call, and updates the limit. Call it once for each
// batch that completed something; not with 0 if nothing completed.
taut_status taut_dql_completed(struct taut_dql *dql,
                               uint32_t units,
                               uint64_t now_ns);

// Counts completions of a device that reports its outstanding units. `completed` is null, or
// receives the units completed. A level at which nothing completed has no effect.
taut_status taut_dql_observe_in_flight(struct taut_dql *dql,
                                       uint32_t units,
                                       uint64_t now_ns,
                                       uint32_t *completed);

// Corrects the ledger to the units that the device holds, after completions were lost or counted
// twice. `excess` is null, or receives the units that the ledger had in excess.
taut_status taut_dql_repair(struct taut_dql *dql,
                            uint32_t in_flight,
                            uint64_t now_ns,
                            int64_t *excess);

// Discards the units in flight and restarts from the minimum limit. Call it after the device was
// flushed. Settings stay.
taut_status taut_dql_reset(struct taut_dql *dql,
                           uint64_t now_ns);

// Sets the limit explicitly; the next completion moves it between its bounds.
taut_status taut_dql_set_limit(struct taut_dql *dql,
                               uint32_t limit);

// Sets the minimum of the limit, from the next completion on.
taut_status taut_dql_set_limit_min(struct taut_dql *dql,
                                   uint32_t limit_min);

// Sets the maximum of the limit, from the next completion on.
taut_status taut_dql_set_limit_max(struct taut_dql *dql,
                                   uint32_t limit_max);

// Sets how long slack is observed before the limit is decreased, in ns.
taut_status taut_dql_set_hold_time_ns(struct taut_dql *dql,
                                      uint64_t hold_time_ns);

// Reads the state at this moment.
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

// As `taut_dql_room`, from the sending thread. The other thread can change it at any time.
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

// Sets limit, bounds and hold time explicitly, from the completing thread. Contradictory settings
// are all rejected.
taut_status taut_completer_set_config(struct taut_completer *completer,
                                      const struct taut_config *config);

// As `taut_dql_room`, from the completing thread, to check whether a stopped sender can continue.
int32_t taut_completer_room(const struct taut_completer *completer);

// As `taut_dql_read`, from the completing thread.
taut_status taut_completer_read(const struct taut_completer *completer,
                                struct taut_snapshot *snapshot);

// As `taut_dql_reset`, while neither thread queues or completes.
taut_status taut_halves_reset(struct taut_sender *sender,
                              struct taut_completer *completer,
                              uint64_t now_ns);

// Initialises a coalescer; with a period of 0, it reports everything at once.
taut_status taut_coalescer_init(struct taut_coalescer *coalescer,
                                uint64_t period_ns);

// Adds the completions of a batch. `units_out` receives all units to be completed now: pass them
// to `taut_dql_completed` unless it is 0, because they are no longer pending here. `limit` is the
// current limit.
taut_status taut_coalescer_add(struct taut_coalescer *coalescer,
                               uint32_t units,
                               uint32_t limit,
                               uint64_t now_ns,
                               uint32_t *units_out);

// Polls the coalescer at its timer: as `taut_coalescer_add`, without new completions.
taut_status taut_coalescer_poll(struct taut_coalescer *coalescer,
                                uint64_t now_ns,
                                uint32_t *units_out);

// Returns the pending units; 0 if it is not a `taut_coalescer`.
uint32_t taut_coalescer_pending(const struct taut_coalescer *coalescer);

// Returns when to call `taut_coalescer_poll`, in ns; 18446744073709551615 while nothing is
// pending.
uint64_t taut_coalescer_next_wakeup_ns(const struct taut_coalescer *coalescer);

// Discards the pending units and the current period. Call it when the limit is reset.
taut_status taut_coalescer_reset(struct taut_coalescer *coalescer);

// Creates one; 1000000000 (a second) suits any link, 0 detects nothing.
taut_status taut_stall_detector_init(struct taut_stall_detector *detector,
                                     uint64_t threshold_ns);

// Call it after each completion, with the totals after it: `num_queued` and `num_completed` of
// `taut_dql_read`.
taut_status taut_stall_detector_completed(struct taut_stall_detector *detector,
                                          uint32_t num_queued,
                                          uint32_t num_completed,
                                          uint64_t now_ns);

// Checks whether the oldest unit in flight is older than the threshold now: `age_ns` receives its
// age, or 0 if it is not. `burst_start_ns` is when something was last queued while nothing was in
// flight. Call it periodically, also while nothing completes.
taut_status taut_stall_detector_check(struct taut_stall_detector *detector,
                                      uint32_t num_queued,
                                      uint32_t num_completed,
                                      uint64_t burst_start_ns,
                                      uint64_t now_ns,
                                      uint64_t *age_ns);

// Reads the counts.
taut_status taut_stall_detector_read(const struct taut_stall_detector *detector,
                                     struct taut_stalls *stalls);

// Discards the units in flight and the current stall, for when the limit is reset; the counts
// stay.
taut_status taut_stall_detector_reset(struct taut_stall_detector *detector);

// Returns the bytes that the limit with this name needs; 0 for an unknown name. Names are
// "off", "dql", "taut", "taut:99.5%", a size such as "40k" or packets such as "32p". "dql:packets"
// and "taut:packets" count packets. Each can have a cap in time ("dql:2ms").
// `taut_limit_help` lists them all, with those of `taut_limit_register`. Any thread can call it.
size_t taut_limit_size(const char *spec);

// Returns the alignment of the memory of a limit, in bytes; that of `malloc` suffices. Any thread
// can call it.
size_t taut_limit_align(void);

// Creates the limit named `spec` in `memory`, which is then the `taut_limit`. It allocates
// nothing. On failure, `error` receives the reason with the allowed names, truncated to
// `error_bytes` including the terminating NUL; it can be null.
taut_status taut_limit_init(void *memory,
                            size_t bytes,
                            const char *spec,
                            uint64_t now_ns,
                            char *error,
                            size_t error_bytes);

// Counts one object as passed to the device, in bytes, or as 1 for a limit in packets
// (`taut_limit_in_packets`). Call it before the device can see it.
taut_status taut_limit_queued(struct taut_limit *limit,
                              uint32_t units,
                              uint64_t now_ns);

// Removes the object queued last, which the device never saw: a send that failed.
taut_status taut_limit_unqueue(struct taut_limit *limit,
                               uint32_t units);

// Returns the units left below the limit: one more object can be queued while it is at least 0.
// -9223372036854775808 if it is not a `taut_limit`.
int64_t taut_limit_room(struct taut_limit *limit);

// Reports a blocked sender: it has something to send and no room. Without it, rules other than
// "dql" learn nothing.
taut_status taut_limit_blocked(struct taut_limit *limit);

// Counts the units completed since the last call, and updates the limit: once for each batch.
// `more_pending` means that the batch stopped at a budget with completions pending. A batch of 0
// changes nothing, except that it ends such a sequence.
taut_status taut_limit_completed(struct taut_limit *limit,
                                 uint32_t units,
                                 bool more_pending,
                                 uint64_t now_ns);

// Discards the units in flight and the learnt state. Call it after the device was flushed.
// Settings stay.
taut_status taut_limit_reset(struct taut_limit *limit,
                             uint64_t now_ns);

// Returns the limit as an operator reads it, in its units: "7p" is 7, and allows 7 packets. 0 also
// if it is not a `taut_limit`.
uint32_t taut_limit_value(struct taut_limit *limit);

// Returns the units queued and not yet completed; 0 also if it is not a `taut_limit`.
uint32_t taut_limit_in_flight(struct taut_limit *limit);

// Returns `true` if no limit applies, as with "off": `taut_limit_value` is then `TAUT_LIMIT_MAX`.
// `false` also if it is not a `taut_limit`.
bool taut_limit_unlimited(struct taut_limit *limit);

// Returns `true` if it counts packets, not bytes.
bool taut_limit_in_packets(struct taut_limit *limit);

// Counts completions of a device that reports its outstanding units. A level at which nothing
// completed has no effect.
taut_status taut_limit_observe_in_flight(struct taut_limit *limit,
                                         uint32_t units,
                                         uint64_t now_ns);

// Reads the current settings; `limit` is the current limit.
taut_status taut_limit_config(struct taut_limit *limit,
                              struct taut_config *config);

// Changes settings: read them by `taut_limit_config`, change some, and pass them here.
taut_status taut_limit_set_config(struct taut_limit *limit,
                                  const struct taut_config *config);

// Registers a custom limit under `name`. Every function of this header then accepts the name as it
// accepts built-in ones: also as "name:2ms", and as "name:packets" unless the limit counts
// packets. `help` describes it in one line. Both texts and `functions` are copied.
//
// Each limit that is created from the name has a state of its own, which is passed to each
// function: `state_bytes` bytes, at most `TAUT_LIMIT_STATE_BYTES_MAX`, zeroed, and aligned for
// any type. The state might move between two calls. Memory that it points to is not freed. With 0
// bytes, the pointer must not be used.
//
// Only `completed` is required. If `limit` is null, the limit is 0 after `begin` and `reset`. If
// `reset` is null, a reset zeroes the state and calls `begin`.
//
// Any thread can call it, also while others create limits. A registered limit stays until the
// process ends. Returns `TAUT_STATUS_NULL` if an argument or `completed` is null,
// `TAUT_STATUS_STATE_TOO_LARGE`, `TAUT_STATUS_BAD_NAME` or `TAUT_STATUS_NAME_TAKEN`; then nothing
// was registered.
taut_status taut_limit_register(const char *name,
                                const char *help,
                                const struct taut_limit_functions *functions,
                                size_t state_bytes);

// Writes help for every limit to `text`, truncated to `text_bytes` including the terminating NUL:
// one line for each, its name first. Returns the bytes that the whole text needs, including the
// terminating NUL. `text` can be null. Any thread can call it.
size_t taut_limit_help(char *text,
                       size_t text_bytes);

// Returns the name of an outcome; never null, and never to be freed. Any thread can call it.
const char *taut_outcome_text(uint32_t outcome);

// Returns the default settings. Any thread can call it.
struct taut_queue_options taut_queue_options_default(void);

// Creates a queue for frames 0 to `frames` - 1 (at most 2^24). `qdisc` is a discipline in tc's
// syntax ("fq_codel ecn", "pfifo limit 500"), `limit` a limit by its name (`taut_limit_size`).
// Returns null on failure; `error` then receives the reason, truncated to `error_bytes` including
// the zero, and can be null. `options` can be null: then `taut_queue_options_default` applies.
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

// Sends as much as limit and ring have room for. `again_ns` is null, or receives when to run again
// for `TAUT_STOPPED_NOT_READY`.
taut_stopped taut_queue_run(struct taut_queue *queue,
                            uint64_t now_ns,
                            uint64_t *again_ns);

// Reaps completions. Call it when the device interrupts or was polled, and at
// `taut_queue_next_wakeup_ns`. `completed` can be null. It can return packets even if it fails
// with `TAUT_STATUS_DRIVER_FAILED` or `TAUT_STATUS_UNKNOWN_COMPLETION`. The next successful call
// reports them.
taut_status taut_queue_complete(struct taut_queue *queue,
                                uint64_t now_ns,
                                struct taut_completed *completed);

// Returns when to call `taut_queue_complete` even if the device reports nothing, in ns;
// 18446744073709551615 for never.
uint64_t taut_queue_next_wakeup_ns(struct taut_queue *queue);

// Discards everything in flight and restarts. Call it after the driver has flushed or rebuilt its
// ring. The next `reap` returns frames that were in it; they count as stale, and end in the sink.
taut_status taut_queue_reset(struct taut_queue *queue,
                             uint64_t now_ns);

// Changes a setting, by the name and in the form of sysfs: "limit_max" "40000", "hold_time" "500"
// (ms), "stall_thrs" "1000" (ms). `error` receives the allowed values, and can be null.
taut_status taut_queue_set(struct taut_queue *queue,
                           const char *name,
                           const char *value,
                           char *error,
                           size_t error_bytes);

// Corrects the ledger to the content of the ring, after completions were lost, and restarts the
// queue; the limit stays. `excess` is null, or receives the units that the ledger had in
// excess. The queue keeps a frame that it wrote off until `reap` returns it. Its completion is not
// counted.
taut_status taut_queue_repair(struct taut_queue *queue,
                              uint32_t ring_packets,
                              uint32_t ring_bytes,
                              uint64_t now_ns,
                              int64_t *excess);

// Reads the state and the counters of the queue.
taut_status taut_queue_read_stats(struct taut_queue *queue,
                                  struct taut_queue_stats *stats);

// Returns the error number of the last failed callback of the driver; 0 without a failure.
int32_t taut_queue_driver_error(struct taut_queue *queue);

// Destroys the queue. The sink receives each frame that the queue still has: waiting ones as
// flushed, and those in the ring as `TAUT_OUTCOME_IN_RING`. `TAUT_STATUS_BAD_HANDLE` if it was
// freed already, and `TAUT_STATUS_BUSY` from a callback or during a call of another thread, which
// frees nothing.
taut_status taut_queue_free(struct taut_queue *queue,
                            uint64_t now_ns);

// Sets flow, priority and ECN bits of `packet` from the headers at `data`: those of an Ethernet
// frame, or an IP header if `ethernet` is false, as on a TUN device. A short or malformed packet
// is best effort, and of flow 0. Any thread can call it.
taut_status taut_classify(struct taut_packet *packet,
                          const uint8_t *data,
                          size_t bytes,
                          bool ethernet);

// Marks congestion in the headers that `taut_classify` reads, and updates the checksum of IPv4:
// for a packet whose `ecn` is 3 when it is submitted. Returns `true` if the packet is marked. A
// packet without ECN support, and null, stay unchanged. Any thread can call it.
bool taut_mark_congestion(uint8_t *data,
                          size_t bytes,
                          bool ethernet);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* TAUT_H */

TAUT_ASSERT(sizeof(taut_dql) == 160);
TAUT_ASSERT(sizeof(taut_coalescer) == 64);
TAUT_ASSERT(sizeof(taut_stall_detector) == 512);
TAUT_ASSERT(sizeof(taut_config) == 24 && offsetof(taut_config, hold_time_ns) == 16);
TAUT_ASSERT(sizeof(taut_snapshot) == 72 && offsetof(taut_snapshot, window_start_ns) == 56);
TAUT_ASSERT(sizeof(taut_stalls) == 24);
TAUT_ASSERT(sizeof(taut_packet) == 16 && offsetof(taut_packet, ecn) == 13);
TAUT_ASSERT(sizeof(taut_queue_options) == 32 && offsetof(taut_queue_options, coalesce_ns) == 16);
TAUT_ASSERT(sizeof(taut_completed) == 24 && offsetof(taut_completed, stalled_ns) == 16);
TAUT_ASSERT(offsetof(taut_queue_stats, unlimited) == 89);
