//! What C passes by a pointer. The type of an argument says what the pointer is for, so that the
//! functions that C calls need not say it, and are safe.
//!
//! | type | in C | what lies there |
//! |---|---|---|
//! | `In<T>` | `const T *` | a variable to be read |
//! | `Array<T>` | `const T *` | as many elements as the argument beside it says |
//! | `Terminated<T>` | `const T *` | text that ends with NUL |
//! | `Out<T>` | `T *` | a variable to be written, whatever it holds |
//! | `Buffer<T>` | `T *` | room for as many elements as the argument beside it says |
//! | `InOut<T>` | `T *` | a variable that was written before, to be changed |
//! | `Owned<T>` | `T *` | what this library put on the heap, and gets back |
//!
//! Any of them may be NULL, and their methods look. For the rest they rely on what the header asks
//! of C. A pointer that is not NULL leads to a variable of its type, or to as many as the length
//! beside it says, until the call returns. Where it is a document, a key, an iteration or the like,
//! a call of this library wrote it, and C changed nothing in it. Meanwhile no other thread changes
//! what the call reads, or uses what it changes. Nothing but C makes these types, since their fields
//! are private; `from_raw` is for what lies within one of C's structures, or in a copy of it.
//!
//! What is borrowed lives as long as the argument, and thus no longer than the call. Two arguments
//! may lead to the same memory: an output is written by `put`, which borrows nothing, when all that
//! the call reads was read.

use core::ffi::{CStr, c_char};
use core::mem::MaybeUninit;
use core::ptr::{self, NonNull};
use core::slice;

use livebuf::raw::is_ascii;

use crate::status::{NULL, Result, livebuf_code, livebuf_error};

macro_rules! pointers {
    ($($(#[$about:meta])* $name:ident = *$kind:tt;)+) => {
        $(
            $(#[$about])*
            #[repr(transparent)]
            pub struct $name<T>(*$kind T);

            impl<T> $name<T> {
                /// Whether C passed none.
                #[inline]
                #[allow(dead_code)]
                pub(crate) fn is_null(&self) -> bool {
                    self.0.is_null()
                }

                /// Where it lies, to be compared.
                #[inline]
                #[allow(dead_code)]
                pub(crate) fn address(&self) -> *const T {
                    self.0
                }
            }
        )+
    };
}

pointers! {
    /// C's variable, which is read.
    In = *const;
    /// C's array, which is read. Its length is in the argument beside it.
    Array = *const;
    /// Text that ends with NUL.
    Terminated = *const;
    /// C's variable, which is written, and not read before.
    Out = *mut;
    /// C's memory, which is written. Its length is in the argument beside it.
    Buffer = *mut;
    /// C's variable, which is changed.
    InOut = *mut;
    /// What a call put on the heap for C, which gives it back.
    Owned = *mut;
}

macro_rules! copied {
    ($($name:ident)+) => {
        $(
            impl<T> Clone for $name<T> {
                #[inline]
                fn clone(&self) -> Self {
                    *self
                }
            }

            impl<T> Copy for $name<T> {}
        )+
    };
}

// Those that borrow nothing to be changed.
copied! { In Array Terminated Out }

impl<T> In<T> {
    pub(crate) const NULL: In<T> = In(ptr::null());

    /// A variable of this call's own.
    ///
    /// # Safety
    /// It is there for as long as this is used.
    #[inline]
    pub(crate) unsafe fn from_raw(pointer: *const T) -> In<T> {
        In(pointer)
    }

    /// The variable, if there is one.
    #[inline]
    pub(crate) fn option(&self) -> Option<&T> {
        // SAFETY: C passes NULL or a variable that is there until the call returns, and that
        // nobody changes meanwhile, as the page of this module says.
        unsafe { self.0.as_ref() }
    }

    /// The variable. NULL is an error.
    #[inline]
    pub(crate) fn get(&self) -> Result<&T> {
        self.option().ok_or(NULL)
    }
}

impl<T> Array<T> {
    /// What lies within something that C passed, or a copy of it.
    ///
    /// # Safety
    /// It is NULL or good for as many elements as the length beside it says, for as long as this is
    /// used.
    #[inline]
    pub(crate) unsafe fn from_raw(pointer: *const T) -> Array<T> {
        Array(pointer)
    }

    /// The elements, whose count is the argument beside this one. NULL stands for no elements.
    #[inline]
    pub(crate) fn slice(&self, count: usize) -> Result<&[T]> {
        // SAFETY: C passes as many elements as it says in the argument beside this one, and nobody
        // changes them until the call returns.
        unsafe { elements(self.0, count) }
    }

    /// The same of what is bytes, be it text or memory of no type.
    #[inline]
    pub(crate) fn bytes(&self, length: usize) -> Result<&[u8]> {
        const { assert!(size_of::<T>() == 1) };
        // SAFETY: as in `slice`. All that is a byte long may be looked at as a byte.
        unsafe { elements(self.0.cast(), length) }
    }

    /// The same as text.
    #[inline]
    pub(crate) fn text(&self, length: usize) -> Result<&str> {
        // SAFETY: what this returns is borrowed from the argument, so it is used within the call.
        unsafe { self.kept_text(length) }
    }

    /// Text that C leaves where it is after the call returned.
    ///
    /// # Safety
    /// The header asks C to keep it for as long as what borrows it is used.
    pub(crate) unsafe fn kept_text<'t>(&self, length: usize) -> Result<&'t str> {
        const { assert!(size_of::<T>() == 1) };
        // SAFETY: as in `slice`; for how long it is there, this function's caller knows.
        text_in(unsafe { elements(self.0.cast(), length) }?)
    }

    /// This, where it is not NULL: also no elements must lie somewhere.
    #[inline]
    pub(crate) fn some(&self) -> Result<&Self> {
        if self.0.is_null() { Err(NULL) } else { Ok(self) }
    }
}

/// # Safety
/// `pointer` is NULL or good for reading `count` elements as long as they are used.
#[inline]
unsafe fn elements<'a, T>(pointer: *const T, count: usize) -> Result<&'a [T]> {
    match pointer.is_null() {
        true if count == 0 => Ok(&[]),
        true => Err(NULL),
        // Where no elements are, nothing need be aligned.
        false if count == 0 && align_of::<T>() > 1 => Ok(&[]),
        // More bytes cannot lie in memory, so the length is wrong.
        false if count > isize::MAX as usize && size_of::<T>() == 1 => {
            Err(livebuf_error::of(livebuf_code::LIVEBUF_OUT_OF_BOUNDS))
        }
        // SAFETY: it is not NULL, so it is good for `count` elements.
        false => Ok(unsafe { slice::from_raw_parts(pointer, count) }),
    }
}

/// Bytes as text.
#[inline]
pub(crate) fn text_in(bytes: &[u8]) -> Result<&str> {
    // Most keys are short and ASCII, which is seen here faster than by a call.
    if bytes.len() <= 32 && is_ascii(bytes) {
        // SAFETY: ASCII is UTF-8.
        return Ok(unsafe { core::str::from_utf8_unchecked(bytes) });
    }
    match core::str::from_utf8(bytes) {
        Ok(text) => Ok(text),
        Err(error) => Err(bad_text(error.valid_up_to())),
    }
}

#[cold]
fn bad_text(offset: usize) -> livebuf_error {
    livebuf_error { offset: offset as u64, ..livebuf_error::of(livebuf_code::LIVEBUF_BAD_TEXT) }
}

impl Terminated<c_char> {
    /// The bytes before NUL.
    pub(crate) fn bytes(&self) -> Result<&[u8]> {
        match self.0.is_null() {
            true => Err(NULL),
            // SAFETY: C passes text that ends with NUL, and nobody changes it until the call
            // returns.
            false => Ok(unsafe { CStr::from_ptr(self.0) }.to_bytes()),
        }
    }
}

impl<T> Out<T> {
    #[cfg(any(feature = "small", feature = "json"))]
    pub(crate) const NULL: Out<T> = Out(ptr::null_mut());

    /// Writes the variable, if C wants to know.
    #[inline]
    pub(crate) fn put(self, value: T) {
        if let Some(place) = self.place() {
            // SAFETY: C passes a variable that may be written. Nothing borrows it, since this type
            // lends nothing, and types that do are for what was written before.
            unsafe { place.write(value) };
        }
    }

    /// Where the variable is, to be written field by field.
    #[inline]
    pub(crate) fn place(self) -> Option<NonNull<T>> {
        NonNull::new(self.0)
    }

    /// This, where it is not NULL.
    #[inline]
    pub(crate) fn some(self) -> Result<Self> {
        if self.0.is_null() { Err(NULL) } else { Ok(self) }
    }
}

impl<T> Buffer<T> {
    /// Where it begins, for what keeps it longer than a call.
    #[inline]
    pub(crate) fn into_raw(self) -> *mut T {
        self.0
    }

    /// Room for `count` elements, which is the argument beside this one; none for NULL.
    #[inline]
    pub(crate) fn room(&mut self, count: usize) -> &mut [MaybeUninit<T>] {
        if self.0.is_null() {
            return &mut [];
        }
        let count = count.min(isize::MAX as usize / size_of::<T>());
        // SAFETY: it is not NULL, so C passes memory for as many elements as it says in the
        // argument beside this one, which nobody else uses until the call returns. What it holds
        // does not matter.
        unsafe { slice::from_raw_parts_mut(self.0.cast(), count) }
    }

    /// The same of what is bytes.
    pub(crate) fn byte_room(&mut self, count: usize) -> &mut [MaybeUninit<u8>] {
        const { assert!(size_of::<T>() == 1) };
        let room = self.room(count);
        // SAFETY: they have the same size, and any byte may be there.
        unsafe { &mut *(ptr::from_mut(room) as *mut [MaybeUninit<u8>]) }
    }
}

impl Buffer<u8> {
    /// Writes these at the beginning. False where they have no room.
    #[inline]
    pub(crate) fn begin<const N: usize>(&mut self, bytes: [u8; N], length: usize) -> bool {
        let has_room = !self.0.is_null() && length >= N;
        if has_room {
            // SAFETY: it is not NULL, so C passes memory of `length` bytes, which is the argument
            // beside this one.
            unsafe { self.0.cast::<[u8; N]>().write(bytes) };
        }
        has_room
    }

    /// All of it as bytes, whose count is the argument beside this one.
    #[inline]
    pub(crate) fn bytes(&mut self, length: usize) -> Result<&mut [u8]> {
        // The length is looked at as in all else that C passes.
        Array(self.0.cast_const()).slice(length)?;
        match length {
            0 => Ok(&mut []),
            // SAFETY: it is not NULL and not too long. C passes memory that nobody else uses until
            // the call returns. The core writes such memory before it reads there.
            _ => Ok(unsafe { slice::from_raw_parts_mut(self.0, length) }),
        }
    }
}

impl<T> InOut<T> {
    /// The variable, if there is one.
    #[inline]
    pub(crate) fn option(&self) -> Option<&T> {
        // SAFETY: C passes NULL or a variable that a call of this library wrote, which is there
        // until this call returns. Nobody changes it meanwhile but this call.
        unsafe { self.0.as_ref() }
    }

    /// The same to be changed.
    #[inline]
    pub(crate) fn option_mut(&mut self) -> Option<&mut T> {
        // SAFETY: as in `option`; no other thread uses it meanwhile. This borrows the only pointer to
        // it that the call has.
        unsafe { self.0.as_mut() }
    }

    /// The same. NULL is an error.
    #[inline]
    #[allow(dead_code)]
    pub(crate) fn get_mut(&mut self) -> Result<&mut T> {
        self.option_mut().ok_or(NULL)
    }

    /// The same for a call within this one, which lends nothing meanwhile.
    #[cfg(feature = "json")]
    pub(crate) fn again(&mut self) -> InOut<T> {
        InOut(self.0)
    }

    /// The same to be read within this call.
    #[inline]
    #[allow(dead_code)]
    pub(crate) fn reader(&self) -> In<T> {
        In(self.0)
    }
}

#[cfg(feature = "std")]
impl<T> Owned<T> {
    pub(crate) fn option(&self) -> Option<&T> {
        // SAFETY: C passes NULL or what a call put on the heap, and did not give it back yet.
        unsafe { self.0.as_ref() }
    }

    /// What C gives back, and does not use again.
    pub(crate) fn take(self) -> Option<Box<T>> {
        // SAFETY: `Box::into_raw` made the pointer where C got it. C gives it back once, and no
        // other thread uses it.
        (!self.0.is_null()).then(|| unsafe { Box::from_raw(self.0) })
    }
}
