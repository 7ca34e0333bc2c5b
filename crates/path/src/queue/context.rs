//! The arguments of a call of a half.

/// The time, the sink and the probe of a call.
pub(super) struct Context<'a, S: ?Sized, P> {
    pub now_ns: u64,
    pub sink: &'a mut S,
    pub probe: &'a mut P,
}

impl<'a, S: ?Sized, P> Context<'a, S, P> {
    #[inline(always)]
    pub(super) fn new(now_ns: u64, sink: &'a mut S, probe: &'a mut P) -> Self {
        Self {
            now_ns,
            sink,
            probe,
        }
    }
}
