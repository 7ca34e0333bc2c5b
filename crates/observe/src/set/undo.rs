//! What restores the values before a change.

use super::change::Change;
use super::settings::to_text;
use crate::queue_set::QueueSet;

/// Settings that restore the old values of some queues, as `taut set` takes them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undo {
    /// The queues, such as `0-3,7`.
    pub queues: String,
    /// Names and values, such as `limit_max max hold_time 1000ms`.
    pub settings: String,
}

/// Returns what undoes `changes`: one entry for all queues that had the same values.
pub fn undo(changes: &[Change]) -> Vec<Undo> {
    let mut found: Vec<(String, Vec<u32>)> = Vec::new();
    for queue in changes.chunk_by(|a, b| a.queue == b.queue) {
        let old = queue.iter().filter(|it| it.old != it.new).map(|it| {
            let tunable = it.setting.tunable();
            format!("{} {}", tunable.name(), to_text(tunable, it.old))
        });
        let old = old.collect::<Vec<_>>().join(" ");
        if old.is_empty() {
            continue;
        }
        match found.iter_mut().find(|(text, _)| *text == old) {
            Some((_, queues)) => queues.push(queue[0].queue),
            None => found.push((old, vec![queue[0].queue])),
        }
    }
    let entry = |(settings, queues): (String, Vec<u32>)| Undo {
        queues: QueueSet::ranges(&queues),
        settings,
    };
    found.into_iter().map(entry).collect()
}
