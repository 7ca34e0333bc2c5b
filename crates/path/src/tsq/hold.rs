//! Who works on a flow, when two threads may.

use taut_dql::sync::{AtomicU32, Ordering};

const FREE: u32 = 0;
const HELD: u32 = 1;
/// Held, and somebody else found work meanwhile.
const NOTED: u32 = 2;

/// Lets one thread at a time work on a flow; whoever finds it held leaves a note, and the holder
/// does that work before he lets go.
#[derive(Debug)]
pub struct Hold {
    state: AtomicU32,
    #[cfg(loom)]
    ignores_notes: bool,
}

impl Hold {
    /// Held by nobody.
    pub fn new() -> Self {
        Self {
            state: AtomicU32::new(FREE),
            #[cfg(loom)]
            ignores_notes: false,
        }
    }

    /// The broken variant that the model check must catch: it lets go without a look at the note.
    #[cfg(loom)]
    pub fn that_ignores_notes() -> Self {
        Self {
            ignores_notes: true,
            ..Self::new()
        }
    }

    /// For whoever has work on the flow: takes it, or leaves a note for its holder. If this returns
    /// true, do the work and [`let_go`](Self::let_go); if not, the holder will do it.
    pub fn take_or_note(&self) -> bool {
        let mut seen = self.state.load(Ordering::Relaxed);
        loop {
            let next = if seen == FREE { HELD } else { NOTED };
            // A note is written even where one stands: the holder then reads what we did before.
            match self
                .state
                .compare_exchange(seen, next, Ordering::AcqRel, Ordering::Relaxed)
            {
                Ok(_) => return seen == FREE,
                Err(now) => seen = now,
            }
        }
    }

    /// For the holder: lets go if no note was left. Returns false if there was one: still held; do
    /// the work again and come back.
    pub fn let_go(&self) -> bool {
        #[cfg(loom)]
        if self.ignores_notes {
            self.state.store(FREE, Ordering::Release);
            return true;
        }
        let free = self
            .state
            .compare_exchange(HELD, FREE, Ordering::AcqRel, Ordering::Acquire);
        if free.is_err() {
            // Only the holder takes a note, so it still stands. A swap, to read what it was left for.
            self.state.swap(HELD, Ordering::AcqRel);
        }
        free.is_ok()
    }

    /// Whether somebody works on the flow.
    pub fn is_held(&self) -> bool {
        self.state.load(Ordering::Acquire) != FREE
    }

    pub(super) fn reset(&self) {
        self.state.store(FREE, Ordering::Release);
    }
}

impl Default for Hold {
    fn default() -> Self {
        Self::new()
    }
}
