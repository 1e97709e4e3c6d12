//! Memory that is kept in reserve: if the system gives none, errors can still be made.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes that are kept.
const KEPT: usize = 256 << 10;

/// Pieces are of so many bytes, or a multiple.
const UNIT: usize = size_of::<u128>();

/// What is larger is refused, so that calls end with `MemoryError`.
const SMALL: usize = 4 << 10;

/// The system's memory, and a little of its own for small pieces, once the system gives none. The
/// standard library ends the process where a piece is refused that it cannot do without; errors,
/// and what leads to them, need such pieces.
pub(crate) struct Spare {
    kept: UnsafeCell<[u128; KEPT / UNIT]>,
    /// At which unit the free part begins, and how many pieces are in use: in the upper and the
    /// lower half.
    state: AtomicUsize,
}

const HALF: u32 = usize::BITS / 2;
const COUNT: usize = (1 << HALF) - 1;

impl Spare {
    pub(crate) const fn new() -> Spare {
        Spare { kept: UnsafeCell::new([0; KEPT / UNIT]), state: AtomicUsize::new(0) }
    }

    #[cold]
    fn take(&self, layout: Layout) -> *mut u8 {
        if layout.size() > SMALL || layout.align() > UNIT {
            return std::ptr::null_mut();
        }
        let units = layout.size().div_ceil(UNIT);
        let taken = self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, |state| {
            let (end, count) = ((state >> HALF) + units, state & COUNT);
            (end <= KEPT / UNIT).then_some((end << HALF) | (count + 1))
        });
        match taken {
            // SAFETY: the part from here on is free, and long enough.
            Ok(state) => unsafe { self.kept.get().cast::<u8>().add((state >> HALF) * UNIT) },
            Err(_) => std::ptr::null_mut(),
        }
    }

    #[inline]
    fn has(&self, piece: *mut u8) -> bool {
        (piece as usize).wrapping_sub(self.kept.get() as usize) < KEPT
    }

    /// The last piece that is given back makes all free.
    #[cold]
    fn give(&self) {
        let _ = self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, |state| {
            Some(if state & COUNT == 1 { 0 } else { state - 1 })
        });
    }
}

// SAFETY: parts of the memory are handed out once, by an atomic counter.
unsafe impl Sync for Spare {}

// SAFETY: pieces are the system's, or parts of the kept memory that nobody else has, aligned to 16.
unsafe impl GlobalAlloc for Spare {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the layout is passed on as it came, and this function and the system's ask the
        // same of it.
        let piece = unsafe { System.alloc(layout) };
        if piece.is_null() { self.take(layout) } else { piece }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the layout is passed on as it came, and this function and the system's ask the
        // same of it.
        let piece = unsafe { System.alloc_zeroed(layout) };
        if !piece.is_null() {
            return piece;
        }
        let piece = self.take(layout);
        if !piece.is_null() {
            // SAFETY: a piece of this size.
            unsafe { piece.write_bytes(0, layout.size()) };
        }
        piece
    }

    #[inline]
    unsafe fn dealloc(&self, piece: *mut u8, layout: Layout) {
        if self.has(piece) {
            return self.give();
        }
        // SAFETY: the piece is not of the kept memory, so the system gave it out, with this
        // layout.
        unsafe { System.dealloc(piece, layout) }
    }

    #[inline]
    unsafe fn realloc(&self, piece: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !self.has(piece) {
            // SAFETY: the piece is not of the kept memory, so the system gave it out, with this
            // layout.
            let moved = unsafe { System.realloc(piece, layout, size) };
            if !moved.is_null() {
                return moved;
            }
        }
        // SAFETY: the caller says that the size is right for this alignment.
        let wanted = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        // SAFETY: sizes are not 0; both pieces are as long as what is copied, and apart.
        unsafe {
            let moved = self.alloc(wanted);
            if !moved.is_null() {
                moved.copy_from_nonoverlapping(piece, size.min(layout.size()));
                self.dealloc(piece, layout);
            }
            moved
        }
    }
}
