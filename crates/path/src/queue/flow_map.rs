//! Which of several queues a flow goes through.

use alloc::boxed::Box;
use core::fmt;

/// Entries of the table: enough that eight queues with equal weights differ by less than a tenth,
/// and what many cards have.
const ENTRIES: usize = 128;

/// An indirection table as cards have it for receiving: a flow's hash names an entry, the entry a
/// queue. A flow stays on its queue until the table is changed; then what it has in the old queue
/// may be overtaken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowMap {
    seed: u32,
    queues: u16,
    table: Box<[u16]>,
}

/// Why there is no such map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlowMapError {
    /// No queue has a weight above 0.
    NoQueues,
    /// More queues than the table has entries.
    TooManyQueues {
        /// The queues asked for.
        queues: usize,
    },
    /// An entry names a queue that there is not.
    NoSuchQueue {
        /// The queue named.
        queue: u16,
        /// Queues that there are.
        queues: u16,
    },
}

impl fmt::Display for FlowMapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoQueues => f.write_str("no queue has a weight; at least one must"),
            Self::TooManyQueues { queues } => {
                write!(f, "{queues} queues; allowed: 1 to {ENTRIES}")
            }
            Self::NoSuchQueue { queue, queues } => {
                write!(f, "queue {queue}; allowed: 0 to {}", queues - 1)
            }
        }
    }
}

impl core::error::Error for FlowMapError {}

impl FlowMap {
    /// As many entries for each of `queues`; entries that are left over go to the first of them.
    ///
    /// # Errors
    /// For no queues, or more than there are entries.
    pub fn equal(queues: u16, seed: u32) -> Result<Self, FlowMapError> {
        check(queues.into())?;
        let table = (0..ENTRIES).map(|entry| (entry % usize::from(queues)) as u16);
        Ok(Self {
            seed,
            queues,
            table: table.collect(),
        })
    }

    /// Entries in proportion to `weights`, one for each queue, to the nearest entry. A queue of
    /// weight 0 gets none.
    ///
    /// # Errors
    /// If all weights are 0, or there are more than entries.
    pub fn weighted(weights: &[u32], seed: u32) -> Result<Self, FlowMapError> {
        check(weights.len())?;
        let sum: u64 = weights.iter().copied().map(u64::from).sum();
        if sum == 0 {
            return Err(FlowMapError::NoQueues);
        }
        // An entry belongs to the queue in whose part of the sum its middle lies.
        let middle = |entry: usize| (2 * entry as u64 + 1) * sum;
        let mut queue = 0;
        let mut until = u64::from(weights[0]);
        let table = (0..ENTRIES).map(|entry| {
            while middle(entry) > until * 2 * ENTRIES as u64 && queue + 1 < weights.len() {
                queue += 1;
                until += u64::from(weights[queue]);
            }
            queue as u16
        });
        let table = table.collect();
        let queues = weights.len() as u16;
        Ok(Self {
            seed,
            queues,
            table,
        })
    }

    /// The queue for a flow, by the hash that its packets carry.
    pub fn queue(&self, flow: u32) -> usize {
        let entry = mixed(flow ^ self.seed) as usize % self.table.len();
        usize::from(self.table[entry])
    }

    /// Gives an entry to another queue.
    ///
    /// # Errors
    /// If there is no such queue; an entry is taken modulo the table.
    pub fn set(&mut self, entry: usize, queue: u16) -> Result<(), FlowMapError> {
        if queue >= self.queues {
            let queues = self.queues;
            return Err(FlowMapError::NoSuchQueue { queue, queues });
        }
        self.table[entry % ENTRIES] = queue;
        Ok(())
    }

    /// The table.
    pub fn entries(&self) -> &[u16] {
        &self.table
    }
}

fn check(queues: usize) -> Result<(), FlowMapError> {
    match queues {
        0 => Err(FlowMapError::NoQueues),
        1..=ENTRIES => Ok(()),
        queues => Err(FlowMapError::TooManyQueues { queues }),
    }
}

/// Each bit of the result depends on each bit of the value: flows whose hashes differ in a few bits
/// are spread as well. Multipliers found by search for the least bias (Wellons, "lowbias32").
const fn mixed(value: u32) -> u32 {
    let value = (value ^ (value >> 16)).wrapping_mul(0x21f0_aaad);
    let value = (value ^ (value >> 15)).wrapping_mul(0xd35a_2d97);
    value ^ (value >> 15)
}
