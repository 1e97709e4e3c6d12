//! The lock of a document.
#![allow(unsafe_code)]

use std::cell::{Cell, UnsafeCell};
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use parking_lot::Mutex;
use pyo3::prelude::*;

/// A value that one thread at a time looks at.
///
/// Threads that are attached to the interpreter take turns (the module asks for that also
/// where they need not), so a flag tells who has the lock; the two atomic operations of a
/// mutex take a tenth of a look-up's time. Who works [detached](Lock::detach) while it has
/// the lock holds a mutex beside, for others to wait for.
pub(crate) struct Lock<T> {
    taken: Cell<bool>,
    working: Mutex<()>,
    value: UnsafeCell<T>,
}

// SAFETY: the flag is touched by attached threads only, one at a time; the value by who has
// the lock, and what one leaves to the next is handed over with the interpreter's own lock.
unsafe impl<T: Send> Sync for Lock<T> {}

/// The lock, until this is dropped.
pub(crate) struct Guard<'a, T> {
    lock: &'a Lock<T>,
    /// It ends in the thread in which it began, attached.
    stays: PhantomData<*mut ()>,
}

impl<T> Lock<T> {
    pub(crate) fn new(value: T) -> Self {
        Lock { taken: Cell::new(false), working: Mutex::new(()), value: UnsafeCell::new(value) }
    }

    /// Waits for the lock, if need be letting other Python threads run meanwhile.
    #[inline]
    pub(crate) fn lock<'a>(&'a self, py: Python<'a>) -> Guard<'a, T>
    where
        T: Send,
    {
        if self.taken.get() {
            self.wait(py);
        }
        self.taken.set(true);
        Guard { lock: self, stays: PhantomData }
    }

    #[cold]
    fn wait(&self, py: Python<'_>)
    where
        T: Send,
    {
        while self.taken.get() {
            let working = &self.working;
            py.detach(|| drop(working.lock()));
        }
    }

    /// Runs the work of who has the lock while other Python threads run.
    pub(crate) fn detach<R: Send>(&self, py: Python<'_>, work: impl FnOnce() -> R + Send) -> R {
        let _waited_for = self.working.lock();
        py.detach(work)
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: who has the lock, has the value.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T> Drop for Guard<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        self.lock.taken.set(false);
    }
}
