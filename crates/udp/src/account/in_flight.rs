//! What was handed to the kernel and is not known to be done, by its number.

use std::collections::VecDeque;

/// One send: a datagram, or several that went as one (GSO).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Object {
    /// Bytes on the wire, headers of each datagram included.
    pub bytes: u32,
    /// Datagrams in it.
    pub datagrams: u32,
    /// Nothing will be told of it: it completes with the next that is told of.
    pub quiet: bool,
    /// Memory that it takes, as the kernel counts it; 0 while that is not known.
    pub memory_bytes: u32,
    /// When it was given to the kernel, in ns of the caller's clock.
    pub sent_ns: u64,
    /// The same moment on the wall clock, which stamps are of.
    pub sent_real_ns: u64,
    /// When the call that gave it returned, on the wall clock.
    pub returned_real_ns: u64,
    /// When it entered the discipline, on the wall clock; 0 while that is not known.
    pub entered_real_ns: u64,
}

/// Objects in the order in which they were sent, some of them done.
///
/// Numbers are those that the kernel knows, and wrap.
#[derive(Debug, Default)]
pub(super) struct InFlight {
    objects: VecDeque<(Object, bool)>,
    /// The number of the first.
    first: u32,
    /// Done, but not the first.
    done: usize,
}

/// What a number means.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// It was in flight, and is not any more.
    Completed(Object),
    /// It is done already, or was given up.
    Late,
    /// It was never given.
    Unknown,
}

impl InFlight {
    pub(super) fn starting_at(first: u32) -> Self {
        Self {
            first,
            ..Self::default()
        }
    }

    /// The number of the next object.
    pub(super) fn next(&self) -> u32 {
        self.first.wrapping_add(self.objects.len() as u32)
    }

    pub(super) fn push(&mut self, object: Object) -> u32 {
        let id = self.next();
        self.objects.push_back((object, false));
        id
    }

    /// Leaves out a number: the kernel gave it to something that was dropped at once.
    pub(super) fn skip(&mut self) {
        if self.objects.is_empty() {
            self.first = self.first.wrapping_add(1);
        } else {
            let nothing = Object {
                bytes: 0,
                datagrams: 0,
                quiet: false,
                memory_bytes: 0,
                sent_ns: 0,
                sent_real_ns: 0,
                returned_real_ns: 0,
                entered_real_ns: 0,
            };
            self.objects.push_back((nothing, true));
            self.done += 1;
        }
    }

    pub(super) fn is_in_flight(&self, id: u32) -> bool {
        let at = self.position(id).and_then(|at| self.objects.get(at));
        at.is_some_and(|(_, done)| !done)
    }

    /// Takes back the object that was sent last, if it is not done.
    pub(super) fn pop_last(&mut self) -> Option<Object> {
        match self.objects.back() {
            Some((_, false)) => self.objects.pop_back().map(|(object, _)| object),
            _ => None,
        }
    }

    fn position(&self, id: u32) -> Option<usize> {
        let position = id.wrapping_sub(self.first) as usize;
        (position < self.objects.len()).then_some(position)
    }

    pub(super) fn get_mut(&mut self, id: u32) -> Option<&mut Object> {
        let position = self.position(id)?;
        let (object, done) = self.objects.get_mut(position)?;
        (!*done).then_some(object)
    }

    pub(super) fn complete(&mut self, id: u32) -> Found {
        let Some(position) = self.position(id) else {
            let behind = self.first.wrapping_sub(id);
            let late = behind != 0 && behind <= u32::MAX / 2;
            return if late { Found::Late } else { Found::Unknown };
        };
        let (object, done) = &mut self.objects[position];
        if *done {
            return Found::Late;
        }
        *done = true;
        let object = *object;
        self.done += 1;
        self.forget_done();
        Found::Completed(object)
    }

    /// The number and the object before `id`, if nothing is told of that one: it completes now.
    pub(super) fn complete_quiet_before(&mut self, id: u32) -> Option<(u32, Object)> {
        let before = id.wrapping_sub(1);
        let object = *self.get_mut(before).filter(|object| object.quiet)?;
        self.complete(before);
        Some((before, object))
    }

    /// The first, given up or completed.
    pub(super) fn pop_first(&mut self) -> Option<(u32, Object)> {
        let (object, _) = self.objects.pop_front()?;
        let id = self.first;
        self.first = self.first.wrapping_add(1);
        self.forget_done();
        Some((id, object))
    }

    fn forget_done(&mut self) {
        while let Some((_, true)) = self.objects.front() {
            self.objects.pop_front();
            self.first = self.first.wrapping_add(1);
            self.done -= 1;
        }
    }

    /// The oldest in flight.
    pub(super) fn first(&self) -> Option<&Object> {
        self.objects.front().map(|(object, _)| object)
    }

    /// The youngest that is done, while older ones are in flight: it overtook them. What was left out
    /// overtook nobody.
    pub(super) fn overtaker(&self) -> Option<u32> {
        if self.done == 0 {
            return None;
        }
        let sent = |(object, done): &(Object, bool)| *done && object.datagrams > 0;
        let last = self.objects.iter().rposition(sent)?;
        Some(self.first.wrapping_add(last as u32))
    }

    /// Whether the oldest in flight was sent before `id`.
    pub(super) fn first_is_before(&self, id: u32) -> bool {
        let ahead = id.wrapping_sub(self.first);
        !self.objects.is_empty() && ahead != 0 && ahead <= u32::MAX / 2
    }

    /// Numbers between the oldest in flight and the next.
    pub(super) fn len(&self) -> usize {
        self.objects.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// Those in flight, oldest first.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = (u32, &Object)> {
        let first = self.first;
        let numbered = self.objects.iter().enumerate();
        numbered
            .filter(|(_, (_, done))| !done)
            .map(move |(at, (object, _))| (first.wrapping_add(at as u32), object))
    }

    pub(super) fn last_mut(&mut self, count: usize) -> impl Iterator<Item = (u32, &mut Object)> {
        let length = self.objects.len();
        let from = length - count.min(length);
        let first = self.first.wrapping_add(from as u32);
        self.objects
            .range_mut(from..)
            .enumerate()
            .map(move |(at, (object, _))| (first.wrapping_add(at as u32), object))
    }
}
