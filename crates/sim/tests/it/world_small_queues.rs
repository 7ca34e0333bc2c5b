//! Small queues from socket to wire, in the world of two hosts.

use crate::world_support::{MS, SECOND, bulk, config, connection, plain};
use taut_path::tsq::{Settings, Sizing, memory_bytes};
use taut_sim::tcp::TcpConfig;
use taut_sim::world::{App, CLIENT, SERVER, SmallQueues, World};

const RATE: u64 = 1_000_000_000;
const LIMIT_BYTES: u32 = 40_000;

fn small_queues(limit_bytes: u32) -> SmallQueues {
    SmallQueues {
        settings: Settings {
            sizing: Sizing::Fixed,
            limit_bytes,
        },
        connections: 2,
        deferred_delay_ns: 1_000,
        hold_ns: 0,
        orphans: false,
    }
}

fn tcp() -> TcpConfig {
    TcpConfig {
        receive_buffer_bytes: 4 << 20,
        ..TcpConfig::default()
    }
}

/// Runs two bulk streams over a gigabit; samples them each 100 us.
fn run(small_queues: Option<SmallQueues>, mut look: impl FnMut(&World<()>)) -> World<()> {
    let mut world = plain(&config(RATE, 10_000), || ());
    if let Some(small_queues) = &small_queues {
        world
            .use_small_queues(small_queues)
            .expect("valid settings");
    }
    for _ in 0..2 {
        world.connect(&connection(tcp()), bulk(4 << 20), App::Sink, 0);
    }
    for at in 1..=SECOND / 100_000 {
        world.run_until(at * 100_000).expect("no queue goes wrong");
        look(&world);
    }
    world
}

fn received(world: &World<()>) -> u64 {
    (0..2)
        .map(|number| world.report(number, SERVER).received_bytes)
        .sum()
}

#[test]
fn small_queues_keep_budget_and_throughput() {
    let packet = u64::from(memory_bytes(1_514, None));
    let mut max = [0, 0];
    let world = run(Some(small_queues(LIMIT_BYTES)), |world| {
        for number in [0, 1] {
            let seen = world.small_queue(number, CLIENT).expect("it has one");
            assert!(
                seen.charged_bytes <= u64::from(LIMIT_BYTES) + packet,
                "{seen:?}"
            );
            assert_eq!(seen.charged_bytes, u64::from(seen.packets) * packet);
            let max = &mut max[number as usize];
            *max = seen.charged_bytes.max(*max);
        }
    });
    assert!(
        max.iter().all(|&max| max > u64::from(LIMIT_BYTES)),
        "{max:?}"
    );
    // 1448 of 1514 bytes, for the whole second except its start.
    let line = RATE as f64 / 8.0 * 1_448.0 / 1_514.0;
    let share = received(&world) as f64 / line;
    assert!((0.99..=1.0).contains(&share), "{share}");
    let totals = world.small_queue_totals(CLIENT);
    assert!(totals.throttled > 10_000, "{totals:?}");
    assert!(
        totals.throttled - totals.deferred <= 2,
        "each is reported: {totals:?}"
    );
    assert_eq!(world.small_queue_totals(SERVER), Default::default());
    assert_eq!(world.orphaned_packets(CLIENT), 0);
}

#[test]
fn streams_without_budgets_fill_their_windows() {
    let world = run(None, |_| {});
    assert_eq!(world.small_queue(0, CLIENT), None);
    let held = run(Some(small_queues(LIMIT_BYTES)), |_| {});
    for number in [0, 1] {
        let (free, held) = (world.report(number, CLIENT), held.report(number, CLIENT));
        assert!(
            free.srtt_ns > 10 * held.srtt_ns,
            "{} {}",
            free.srtt_ns,
            held.srtt_ns
        );
        assert!(free.cwnd_bytes > 5 * held.cwnd_bytes);
    }
}

#[test]
fn unlock_processes_the_marked_work() {
    let limit_bytes = 128 << 10;
    let free = run(Some(small_queues(limit_bytes)), |_| {});
    // An application that starts locks its socket. Without an unlock it sends nothing.
    for (hold_ns, lost_ns) in [(200_000, 200_000), (SECOND, SECOND)] {
        let config = SmallQueues {
            hold_ns,
            ..small_queues(limit_bytes)
        };
        let world = run(Some(config), |_| {});
        let bytes_lost = received(&free) - received(&world);
        let at_most = RATE / 8 * lost_ns / SECOND;
        assert!(
            bytes_lost <= at_most,
            "{hold_ns}: {bytes_lost} of {at_most}"
        );
        if hold_ns == SECOND {
            assert!(received(&world) < 100_000, "all waits for the owner");
        } else {
            assert!(received(&world) * 100 > received(&free) * 99);
        }
    }
}

#[test]
fn locked_flow_is_deferred_to_its_owner() {
    // Two packets at a time: the first ten wait for room at once.
    let config = SmallQueues {
        hold_ns: 200_000,
        ..small_queues(0)
    };
    let world = run(Some(config), |_| {});
    let totals = world.small_queue_totals(CLIENT);
    assert_eq!(
        totals.deferred_to_owner, 2,
        "one for each stream: {totals:?}"
    );
    assert!(received(&world) * 8 > RATE / 2, "{}", received(&world));
}

#[test]
fn orphaned_packets_are_counted() {
    let config = SmallQueues {
        orphans: true,
        ..small_queues(LIMIT_BYTES)
    };
    let mut max = 0;
    let world = run(Some(config), |world| {
        let seen = world.small_queue(0, CLIENT).expect("it has one");
        max = max.max(seen.charged_bytes);
    });
    let reaped = world.completions(CLIENT);
    assert_eq!(world.orphaned_packets(CLIENT), reaped.completed_packets);
    // The ring of 256 packets is full, without charges.
    assert!(
        world.report(0, CLIENT).srtt_ns > 2 * MS,
        "{:?}",
        world.report(0, CLIENT)
    );
}
