//! The lock of a document.
#![allow(unsafe_code)]

use std::cell::{Cell, UnsafeCell};
use std::collections::VecDeque;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::thread::{self, Thread, ThreadId};
use std::time::{Duration, Instant};

use pyo3::prelude::*;

/// A value that one thread at a time looks at.
///
/// Threads that are attached to the interpreter take turns. (The module asks for that on
/// interpreters without a global lock, too.) So a plain flag tells whether the lock is taken.
/// The two atomic operations of a mutex would take a tenth of a look-up's time.
///
/// A thread may detach while it has the lock. Others then wait in a queue. A free lock goes to
/// the thread that asks for it: handing it over at each call would cost a switch of threads, a
/// hundred times a look-up. But the first thread in the queue gets the lock once it has waited
/// for [`PATIENCE`].
///
/// A thread may also keep the lock from one call to the next, for a transaction
/// ([`Guard::keep`]). Its own calls then come in, and those of others wait.
///
/// A thread that waits looks for signals now and then, so that Ctrl-C ends the wait. Handlers are
/// Python code, which may look at the value. So a thread leaves the queue while its handlers run.
///
/// While a thread has the lock it must run no code that could come back here: it would wait for
/// itself. Builds with debug assertions panic then.
pub(crate) struct Lock<T> {
    taken: Cell<bool>,
    /// The thread that keeps the lock.
    keeper: Cell<Option<ThreadId>>,
    /// The thread that keeps the lock is in a call.
    busy: Cell<bool>,
    queue: UnsafeCell<VecDeque<Waiting>>,
    /// Number of the waiting thread that was handed the lock and has not noticed yet; 0 for
    /// none.
    handed_to: Cell<u64>,
    numbers: Cell<u64>,
    /// The thread that took the lock last, to find those that wait for themselves.
    #[cfg(debug_assertions)]
    holder: Cell<Option<ThreadId>>,
    value: UnsafeCell<T>,
}

/// A thread that waits for the lock.
struct Waiting {
    number: u64,
    thread: Thread,
    since: Instant,
}

/// How long others may take the lock before a thread that waits for it.
const PATIENCE: Duration = Duration::from_millis(1);

/// How long a thread waits before it looks for signals.
const SLICE: Duration = Duration::from_millis(50);

// SAFETY: only attached threads touch the flag, the queue and the numbers, one at a time. Only
// the thread that has the lock touches the value. The interpreter's lock makes its changes
// visible to the next thread.
unsafe impl<T: Send> Sync for Lock<T> {}

/// What a thread may keep locked from one call to the next.
pub(crate) trait Kept {
    /// The caller. Finding out may run Python code, so no lock is held meanwhile.
    type Caller;

    /// Whether [`enter`](Self::enter) must know the caller.
    fn asks(&self) -> bool;

    fn caller(py: Python<'_>) -> Self::Caller;

    /// The thread that keeps the lock begins a call.
    fn enter(&mut self, caller: Option<&Self::Caller>);
}

/// Holds the lock until it is dropped.
pub(crate) struct Guard<'a, T> {
    lock: &'a Lock<T>,
    /// It must be dropped in the thread in which it was made, attached.
    stays: PhantomData<*mut ()>,
}

impl<T: Send + Kept> Lock<T> {
    pub(crate) fn new(value: T) -> Self {
        Lock {
            taken: Cell::new(false),
            keeper: Cell::new(None),
            busy: Cell::new(false),
            queue: UnsafeCell::default(),
            handed_to: Cell::new(0),
            numbers: Cell::new(0),
            #[cfg(debug_assertions)]
            holder: Cell::new(None),
            value: UnsafeCell::new(value),
        }
    }

    /// Waits for the lock. Other Python threads run meanwhile.
    ///
    /// # Errors
    /// What the handler of a signal raised, as `KeyboardInterrupt`.
    #[inline]
    pub(crate) fn lock<'a>(&'a self, py: Python<'a>) -> PyResult<Guard<'a, T>> {
        if self.taken.get() {
            self.wait(py)?;
        }
        Ok(self.guard())
    }

    /// The lock, if it is free: without looking at anything else.
    #[inline]
    pub(crate) fn free<'a>(&'a self, _attached: Python<'a>) -> Option<Guard<'a, T>> {
        (!self.taken.get()).then(|| self.guard())
    }

    #[inline]
    fn guard(&self) -> Guard<'_, T> {
        self.taken.set(true);
        #[cfg(debug_assertions)]
        self.holder.set(Some(thread::current().id()));
        Guard { lock: self, stays: PhantomData }
    }

    /// Returns when the lock is free, or was handed to this thread.
    #[cold]
    fn wait(&self, py: Python<'_>) -> PyResult<()> {
        if self.is_kept_here() && !self.busy.get() {
            // SAFETY: this thread keeps the lock, and is in no other call.
            let asks = unsafe { &*self.value.get() }.asks();
            let caller = asks.then(|| T::caller(py));
            if self.is_kept_here() && !self.busy.get() {
                self.busy.set(true);
                // SAFETY: as above.
                unsafe { &mut *self.value.get() }.enter(caller.as_ref());
                return Ok(());
            }
            if !self.taken.get() {
                return Ok(());
            }
        }
        #[cfg(debug_assertions)]
        assert!(
            self.holder.get() != Some(thread::current().id())
                || self.is_kept() && !self.is_kept_here(),
            "this thread has the lock that it waits for: Python code ran under it"
        );
        let number = self.numbers.get() + 1;
        self.numbers.set(number);
        let since = Instant::now();
        loop {
            let waiting = Waiting { number, thread: thread::current(), since };
            // A thread that left the queue to look for signals keeps its turn.
            let queue = self.queue();
            let at = queue.partition_point(|other| other.since <= since);
            queue.insert(at, waiting);
            py.detach(|| thread::park_timeout(SLICE));
            if self.handed_to.get() == number {
                self.handed_to.set(0);
                return Ok(());
            }
            self.queue().retain(|waiting| waiting.number != number);
            if !self.taken.get() {
                return Ok(());
            }
            py.check_signals()?;
            if !self.taken.get() {
                return Ok(());
            }
        }
    }

    /// Does work while other Python threads run. This thread must have the lock.
    pub(crate) fn detach<R: Send>(&self, py: Python<'_>, work: impl FnOnce() -> R + Send) -> R {
        debug_assert!(self.taken.get());
        py.detach(work)
    }
}

impl<T> Lock<T> {
    /// Whether any thread keeps the lock from one call to the next.
    pub(crate) fn is_kept(&self) -> bool {
        self.keeper.get().is_some()
    }

    /// Whether this thread does.
    pub(crate) fn is_kept_here(&self) -> bool {
        self.keeper.get() == Some(thread::current().id())
    }

    /// Takes over the lock that another thread keeps, unless it is in a call.
    pub(crate) fn take_over(&self, _attached: Python<'_>) -> bool {
        let idle = self.is_kept() && !self.busy.get();
        if idle {
            self.keeper.set(Some(thread::current().id()));
        }
        idle
    }

    #[allow(clippy::mut_from_ref, reason = "for attached threads, of which one runs")]
    #[inline]
    fn queue(&self) -> &mut VecDeque<Waiting> {
        // SAFETY: attached threads run one at a time, and no caller keeps the reference while
        // another could run.
        unsafe { &mut *self.queue.get() }
    }

    /// Wakes the first in the queue, or hands the lock over to it.
    #[cold]
    fn pass_on(&self) {
        let queue = self.queue();
        let Some(first) = queue.front() else { return };
        first.thread.unpark();
        if first.since.elapsed() < PATIENCE {
            self.taken.set(false);
        } else {
            self.handed_to.set(first.number);
            queue.pop_front();
        }
    }
}

impl<T> Guard<'_, T> {
    /// Keeps the lock for this thread's next calls.
    pub(crate) fn keep(&self) {
        self.lock.keeper.set(Some(thread::current().id()));
        self.lock.busy.set(true);
    }

    /// Keeps the lock no longer: others get it after this call.
    pub(crate) fn release(&self) {
        self.lock.keeper.set(None);
        self.lock.busy.set(false);
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: this thread has the lock, so no other touches the value.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T> Drop for Guard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        if self.lock.is_kept() {
            return self.lock.busy.set(false);
        }
        #[cfg(debug_assertions)]
        self.lock.holder.set(None);
        match self.lock.queue().is_empty() {
            true => self.lock.taken.set(false),
            false => self.lock.pass_on(),
        }
    }
}
