//! Flows over queues: each on one, spread by weight, the same on every machine.

use taut_path::queue::{FlowMap, FlowMapError};

const FLOWS: u32 = 100_000;

fn shares(map: &FlowMap, queues: usize) -> Vec<f64> {
    let mut flows = vec![0; queues];
    // Hashes that differ in few bits are the hard case.
    for flow in 0..FLOWS {
        flows[map.queue(flow)] += 1;
    }
    flows
        .into_iter()
        .map(|flows| f64::from(flows) / f64::from(FLOWS))
        .collect()
}

#[test]
fn equal_queues_have_as_many_flows() {
    let map = FlowMap::equal(8, 1).expect("eight queues");
    for share in shares(&map, 8) {
        assert!((share - 0.125).abs() < 0.005, "{share}");
    }
}

#[test]
fn weights_are_kept_to_the_nearest_entry() {
    let weights = [5, 0, 2, 1];
    let map = FlowMap::weighted(&weights, 1).expect("a queue has a weight");
    for (share, weight) in shares(&map, 4).into_iter().zip(weights) {
        let wanted = f64::from(weight) / 8.0;
        assert!(
            (share - wanted).abs() < 0.5 / 128.0 + 0.005,
            "{share} for {weight}"
        );
    }
    let large = FlowMap::weighted(&[u32::MAX; 3], 1).expect("weights");
    let of = |queue| {
        large
            .entries()
            .iter()
            .filter(|&&entry| entry == queue)
            .count()
    };
    assert!((0..3).all(|queue| (42..=43).contains(&of(queue))));
}

#[test]
fn another_seed_spreads_otherwise_and_the_same_seed_alike() {
    let [one, same, other] = [1, 1, 2].map(|seed| FlowMap::equal(8, seed).expect("queues"));
    assert!((0..FLOWS).all(|flow| one.queue(flow) == same.queue(flow)));
    let moved = (0..FLOWS)
        .filter(|&flow| one.queue(flow) != other.queue(flow))
        .count();
    assert!(moved > FLOWS as usize / 2, "{moved}");
    // What it was when it was written: a map is the same on every machine and in every version.
    let first: Vec<usize> = (0..8).map(|flow| one.queue(flow)).collect();
    assert_eq!(first, [3, 0, 2, 7, 4, 3, 7, 5]);
}

#[test]
fn a_changed_entry_moves_its_flows_and_no_others() {
    let before = FlowMap::equal(4, 7).expect("queues");
    let mut after = before.clone();
    after.set(5, 0).expect("there is a queue 0");
    let moved = (0..FLOWS).filter(|&flow| before.queue(flow) != after.queue(flow));
    let moved: Vec<u32> = moved.collect();
    assert!(
        moved
            .iter()
            .all(|&flow| before.queue(flow) == 1 && after.queue(flow) == 0)
    );
    let share = moved.len() as f64 / f64::from(FLOWS);
    assert!((share - 1.0 / 128.0).abs() < 0.002, "{share}");
}

#[test]
fn what_cannot_be_is_refused() {
    assert_eq!(FlowMap::equal(0, 1), Err(FlowMapError::NoQueues));
    let queues = 129;
    assert_eq!(
        FlowMap::equal(queues, 1),
        Err(FlowMapError::TooManyQueues { queues: 129 })
    );
    assert_eq!(FlowMap::weighted(&[], 1), Err(FlowMapError::NoQueues));
    assert_eq!(FlowMap::weighted(&[0, 0], 1), Err(FlowMapError::NoQueues));
    let mut map = FlowMap::equal(2, 1).expect("queues");
    let refused = map.set(0, 2).expect_err("there is no queue 2");
    assert_eq!(refused.to_string(), "queue 2; allowed: 0 to 1");
}
