//! The objects that the kernel has not completed, by id.

use std::collections::VecDeque;

/// One send: a datagram, or several that were sent as one (GSO).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Object {
    /// Bytes on the wire, headers of each datagram included.
    pub bytes: u32,
    /// Datagrams in it.
    pub datagrams: u32,
    /// The kernel reports no completion of it: it completes with the next reported one.
    pub unreported: bool,
    /// The caller's tag, see [`Datagram::tag`](crate::Datagram::tag).
    pub tag: u32,
    /// Its memory, as the kernel counts it; 0 while unknown.
    pub memory_bytes: u32,
    /// When it was passed to the kernel, in ns of the caller's clock.
    pub sent_ns: u64,
    /// The same moment on the wall clock, which timestamps use.
    pub sent_real_ns: u64,
    /// When the call that passed it returned, on the wall clock.
    pub returned_real_ns: u64,
}

/// Objects in the order in which they were sent, some of them completed.
///
/// Ids are those of the kernel, and wrap.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    objects: VecDeque<(Object, bool)>,
    /// The id of the first.
    first: u32,
    /// Number of completed objects behind the first.
    done: usize,
    bytes: u32,
    memory_bytes: u64,
}

/// Why an id cannot complete.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NotInFlight {
    /// It was completed or abandoned before.
    Stale,
    /// The id is unknown.
    Unknown,
}

impl InFlight {
    pub(super) fn starting_at(first: u32) -> Self {
        Self {
            first,
            ..Self::default()
        }
    }

    /// Returns the id of the next object.
    pub(crate) fn next(&self) -> u32 {
        self.first.wrapping_add(self.objects.len() as u32)
    }

    pub(super) fn push(&mut self, object: Object) -> u32 {
        let id = self.next();
        self.bytes += object.bytes;
        self.memory_bytes += u64::from(object.memory_bytes);
        self.objects.push_back((object, false));
        id
    }

    /// Skips an id, which the kernel assigned to a datagram that it dropped immediately.
    pub(super) fn skip(&mut self) {
        if self.objects.is_empty() {
            self.first = self.first.wrapping_add(1);
        } else {
            self.objects.push_back((Object::default(), true));
            self.done += 1;
        }
    }

    /// Returns the object with this id, if it is in flight.
    pub(crate) fn get(&self, id: u32) -> Option<&Object> {
        let (object, done) = self.objects.get(self.position(id)?)?;
        (!done).then_some(object)
    }

    /// Removes the last object, if it is in flight.
    pub(super) fn pop_last(&mut self) -> Option<Object> {
        let &(object, done) = self.objects.back()?;
        if done {
            return None;
        }
        self.objects.pop_back();
        self.subtract(&object);
        Some(object)
    }

    fn subtract(&mut self, object: &Object) {
        self.bytes -= object.bytes;
        self.memory_bytes -= u64::from(object.memory_bytes);
    }

    fn position(&self, id: u32) -> Option<usize> {
        let position = id.wrapping_sub(self.first) as usize;
        (position < self.objects.len()).then_some(position)
    }

    /// Removes the object with this id from those in flight.
    pub(super) fn complete(&mut self, id: u32) -> Result<Object, NotInFlight> {
        let Some(position) = self.position(id) else {
            let behind = self.first.wrapping_sub(id);
            let is_stale = behind != 0 && behind <= u32::MAX / 2;
            return Err(match is_stale {
                true => NotInFlight::Stale,
                false => NotInFlight::Unknown,
            });
        };
        let (object, done) = &mut self.objects[position];
        if std::mem::replace(done, true) {
            return Err(NotInFlight::Stale);
        }
        let object = *object;
        self.done += 1;
        self.subtract(&object);
        self.drop_done();
        Ok(object)
    }

    /// Completes the object before `id` if it is unreported.
    pub(super) fn complete_unreported_before(&mut self, id: u32) -> Option<(u32, Object)> {
        let before = id.wrapping_sub(1);
        self.get(before).filter(|object| object.unreported)?;
        Some((before, self.complete(before).ok()?))
    }

    /// Removes the oldest object in flight.
    pub(super) fn pop_first(&mut self) -> Option<(u32, Object)> {
        let id = self.first;
        Some((id, self.complete(id).ok()?))
    }

    fn drop_done(&mut self) {
        while let Some((_, true)) = self.objects.front() {
            self.objects.pop_front();
            self.first = self.first.wrapping_add(1);
            self.done -= 1;
        }
    }

    /// Returns the oldest object in flight.
    pub(super) fn first(&self) -> Option<&Object> {
        self.objects.front().map(|(object, _)| object)
    }

    /// Returns the newest completed object, if it overtook an older one in flight. A skipped id
    /// overtakes nothing.
    pub(super) fn overtaker(&self) -> Option<u32> {
        if self.done == 0 {
            return None;
        }
        let sent = |(object, done): &(Object, bool)| *done && object.datagrams > 0;
        let last = self.objects.iter().rposition(sent)?;
        Some(self.first.wrapping_add(last as u32))
    }

    /// Returns `true` if the oldest in flight was sent before `id`.
    pub(super) fn first_is_before(&self, id: u32) -> bool {
        let ahead = id.wrapping_sub(self.first);
        !self.objects.is_empty() && ahead != 0 && ahead <= u32::MAX / 2
    }

    /// Returns the number of ids between the oldest in flight and the next.
    pub(super) fn len(&self) -> usize {
        self.objects.len()
    }

    /// Returns the bytes in flight, on the wire.
    pub(crate) fn bytes(&self) -> u32 {
        self.bytes
    }

    /// Returns the memory of the objects in flight, as the kernel counts it.
    pub(super) fn memory_bytes(&self) -> u64 {
        self.memory_bytes
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// Returns the objects in flight, oldest first.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = (u32, &Object)> {
        let first = self.first;
        let numbered = self.objects.iter().enumerate();
        numbered
            .filter(|(_, (_, done))| !done)
            .map(move |(at, (object, _))| (first.wrapping_add(at as u32), object))
    }

    /// Returns the last `count` objects, oldest first.
    pub(super) fn last_mut(&mut self, count: usize) -> impl Iterator<Item = &mut Object> {
        let from = self.objects.len().saturating_sub(count);
        self.objects.range_mut(from..).map(|(object, _)| object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(bytes: u32) -> Object {
        Object {
            bytes,
            datagrams: 1,
            memory_bytes: 2 * bytes,
            ..Object::default()
        }
    }

    #[test]
    fn byte_sums_are_conserved() {
        let mut objects = InFlight::starting_at(u32::MAX);
        for bytes in [1, 10, 100, 1_000] {
            objects.push(object(bytes));
        }
        assert_eq!((objects.bytes(), objects.memory_bytes()), (1_111, 2_222));
        objects.pop_last();
        assert_eq!(objects.complete(0), Ok(object(10)));
        assert_eq!(objects.overtaker(), Some(0));
        assert_eq!((objects.bytes(), objects.memory_bytes()), (101, 202));
        assert_eq!(objects.pop_first(), Some((u32::MAX, object(1))));
        assert_eq!(
            objects.first(),
            Some(&object(100)),
            "the overtaker left too"
        );
        assert_eq!(objects.pop_first(), Some((1, object(100))));
        assert_eq!((objects.bytes(), objects.memory_bytes()), (0, 0));
    }

    #[test]
    fn numbers_are_valid_once() {
        let mut objects = InFlight::starting_at(5);
        objects.push(object(1));
        assert_eq!(objects.complete(4), Err(NotInFlight::Stale));
        assert_eq!(objects.complete(6), Err(NotInFlight::Unknown));
        assert_eq!(objects.complete(5), Ok(object(1)));
        assert_eq!(objects.complete(5), Err(NotInFlight::Stale));
    }

    #[test]
    fn skipped_id_overtakes_nothing() {
        let mut objects = InFlight::starting_at(0);
        objects.push(object(1));
        objects.skip();
        assert_eq!((objects.next(), objects.overtaker()), (2, None));
        assert_eq!(objects.pop_last(), None, "not in flight");
    }
}
