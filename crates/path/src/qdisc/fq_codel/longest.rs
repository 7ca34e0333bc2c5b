//! The flow with the most bytes queued, computed on demand.

use alloc::vec::Vec;

/// A tree of maxima: each inner node has the larger weight of its two children. Changes since the
/// last query are only recorded, so that a queue that is never full has no cost for it.
#[derive(Debug)]
pub(crate) struct LongestFlow {
    /// The root is at 1, the children of `n` at `2n` and `2n + 1`, the flows from `leaves` on.
    weights: Vec<u64>,
    leaves: usize,
    changed: Vec<u32>,
}

impl LongestFlow {
    /// A tree for flows 0 to `flows`, with weight 0.
    pub(crate) fn new(flows: usize) -> Self {
        let leaves = flows.next_power_of_two();
        Self {
            weights: alloc::vec![0; 2 * leaves],
            leaves,
            changed: Vec::with_capacity(flows),
        }
    }

    /// Records a change of the weight of `flow`. Between two queries, each flow is recorded at most
    /// once.
    #[inline(never)]
    pub(crate) fn note(&mut self, flow: u32) {
        self.changed.push(flow);
    }

    /// Returns the flow with the largest weight, the first of equal ones. `weight_of` returns the
    /// weights of the recorded flows.
    pub(crate) fn find(&mut self, mut weight_of: impl FnMut(u32) -> u64) -> u32 {
        let depth = self.leaves.ilog2() as usize + 1;
        // The cheaper of two: one path per change, or the whole tree.
        let each = self.changed.len() * depth <= self.leaves;
        while let Some(flow) = self.changed.pop() {
            let leaf = self.leaves + flow as usize;
            self.weights[leaf] = weight_of(flow);
            if each {
                self.repair_above(leaf);
            }
        }
        if !each {
            for node in (1..self.leaves).rev() {
                self.weights[node] = self.larger_child(node);
            }
        }
        self.descend()
    }

    fn larger_child(&self, node: usize) -> u64 {
        self.weights[2 * node].max(self.weights[2 * node + 1])
    }

    fn repair_above(&mut self, leaf: usize) {
        let mut node = leaf / 2;
        while node > 0 {
            let weight = self.larger_child(node);
            if self.weights[node] == weight {
                break;
            }
            self.weights[node] = weight;
            node /= 2;
        }
    }

    fn descend(&self) -> u32 {
        let mut node = 1;
        while node < self.leaves {
            let left = 2 * node;
            node = left + usize::from(self.weights[left] < self.weights[node]);
        }
        (node - self.leaves) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The result of a linear search.
    fn first_largest(weights: &[u64]) -> u32 {
        let largest = weights.iter().max();
        let at = weights.iter().position(|weight| Some(weight) == largest);
        at.unwrap_or(0) as u32
    }

    #[test]
    fn tree_equals_a_linear_search() {
        // Around powers of two, and with few and many changes between two queries.
        for flows in [1, 2, 3, 5, 8, 9, 64, 100] {
            let mut tree = LongestFlow::new(flows);
            let mut weights = alloc::vec![0u64; flows];
            let mut draw = 1u64;
            for round in 0..500 {
                let mut noted = alloc::vec![false; flows];
                for _ in 0..round % 13 {
                    draw = draw.wrapping_mul(6_364_136_223_846_793_005) + 1;
                    let flow = (draw >> 33) as usize % flows;
                    weights[flow] = draw >> 60;
                    if !noted[flow] {
                        tree.note(flow as u32);
                    }
                    noted[flow] = true;
                }
                let found = tree.find(|flow| weights[flow as usize]);
                assert_eq!(found, first_largest(&weights), "{flows} flows");
            }
        }
    }
}
