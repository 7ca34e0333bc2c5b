//! A value that one thread at a time uses, as classes of Python require.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// A value that is moved between threads and used by one at a time.
pub struct Exclusive<T>(Mutex<T>);

impl<T> Exclusive<T> {
    pub fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    pub fn get(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}
