//! Owns the counting allocator: the system's, which counts only while asked to.
//!
//! Crates that count always would slow the peers that allocate, and so flatter
//! us; here an allocation outside `count` costs one relaxed load. A grown
//! allocation counts as old and new at the same time, as if it always moved.

#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicIsize, Ordering::Relaxed};

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

static COUNTS: AtomicBool = AtomicBool::new(false);
static LIVE_BYTES: AtomicIsize = AtomicIsize::new(0);
static PEAK_BYTES: AtomicIsize = AtomicIsize::new(0);
static ALLOCATIONS: AtomicIsize = AtomicIsize::new(0);

fn allocated(bytes: usize) {
    if COUNTS.load(Relaxed) {
        let live = LIVE_BYTES.fetch_add(bytes as isize, Relaxed) + bytes as isize;
        PEAK_BYTES.fetch_max(live, Relaxed);
        ALLOCATIONS.fetch_add(1, Relaxed);
    }
}

fn freed(bytes: usize) {
    if COUNTS.load(Relaxed) {
        LIVE_BYTES.fetch_sub(bytes as isize, Relaxed);
    }
}

// SAFETY: every call goes on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        allocated(layout.size());
        // SAFETY: everything is passed on as it came, and the system's allocator asks the same
        // of it.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        allocated(layout.size());
        // SAFETY: everything is passed on as it came, and the system's allocator asks the same
        // of it.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        freed(layout.size());
        // SAFETY: everything is passed on as it came, and the system's allocator asks the same
        // of it.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        allocated(new_size);
        freed(layout.size());
        // SAFETY: everything is passed on as it came, and the system's allocator asks the same
        // of it.
        unsafe { System.realloc(pointer, layout, new_size) }
    }
}

/// Makes freed memory stay with the process: glibc stops returning it after it
/// has seen a large block freed. Without this, page faults of whoever allocates
/// first decide many ratios.
pub(crate) fn keep_memory() {
    const LARGEST_THAT_COUNTS: usize = 31 << 20;
    drop(black_box(Vec::<u8>::with_capacity(LARGEST_THAT_COUNTS)));
}

/// What a piece of work took from the allocator.
pub(crate) struct Taken {
    /// The most bytes held at one time, beyond those held before.
    pub(crate) peak_bytes: usize,
    /// Calls that allocated or grew.
    pub(crate) allocations: usize,
}

/// Runs `work`, counting all allocations of the process, which has one thread.
pub(crate) fn count<R>(work: impl FnOnce() -> R) -> (R, Taken) {
    LIVE_BYTES.store(0, Relaxed);
    PEAK_BYTES.store(0, Relaxed);
    ALLOCATIONS.store(0, Relaxed);
    COUNTS.store(true, Relaxed);
    let result = work();
    COUNTS.store(false, Relaxed);
    let taken = Taken {
        peak_bytes: PEAK_BYTES.load(Relaxed).max(0) as usize,
        allocations: ALLOCATIONS.load(Relaxed).max(0) as usize,
    };
    (result, taken)
}
