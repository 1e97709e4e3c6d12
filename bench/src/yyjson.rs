//! Owns the yyjson peer: parsing with yyjson 0.10 and walking its tree.
//!
//! `yyjson-sys` compiles yyjson's header-only accessors into C functions, which
//! would cost yyjson one call per step that C programs do not pay. So only
//! `yyjson_read_opts` and `yyjson_doc_free` are called; the accessors below are
//! the header's inline functions (`yyjson_obj_getn`, `yyjson_arr_foreach`,
//! `yyjson_get_uint` …) written in Rust over the public struct `yyjson_val`,
//! step for step, so that they inline here as they do in C.
//!
//! `Mutable` calls C's functions: they are few beside copying and writing all values.
//!
//! Invariant: every `Value` points at an initialised value of a living
//! `Document`; yyjson lays a container's values out one after the other, keys
//! before their values, and a container's `ofs` leads past its last value.

#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::ptr::{self, NonNull};

use yyjson_sys::{
    yyjson_doc, yyjson_doc_free, yyjson_doc_mut_copy, yyjson_mut_arr_get, yyjson_mut_doc,
    yyjson_mut_doc_free, yyjson_mut_obj_getn, yyjson_mut_set_uint, yyjson_mut_val,
    yyjson_mut_write_opts, yyjson_read_opts, yyjson_val,
};

const TYPE_NULL: u8 = 2;
const TYPE_BOOL: u8 = 3;
const TYPE_NUMBER: u8 = 4;
const TYPE_STRING: u8 = 5;
const TYPE_ARRAY: u8 = 6;
const TYPE_OBJECT: u8 = 7;
const TYPE_MASK: u8 = 0x07;
const SUBTYPE_TRUE: u8 = 1 << 3;
const SUBTYPE_SIGNED: u8 = 1 << 3;
const SUBTYPE_MASK: u8 = 0x18;
const LENGTH_SHIFT: u32 = 8;

/// A parsed document; frees its memory when dropped.
pub(crate) struct Document {
    pointer: NonNull<yyjson_doc>,
}

impl Document {
    /// Parses strict JSON with yyjson's default allocator; `None` when it is not JSON.
    pub(crate) fn parse(json: &[u8]) -> Option<Document> {
        // SAFETY: `json` is readable for its length, and without the flag
        // YYJSON_READ_INSITU (flags are 0) yyjson does not write to it; null
        // allocator and null error pointer are allowed.
        let pointer = unsafe {
            yyjson_read_opts(
                json.as_ptr().cast_mut().cast(),
                json.len(),
                0,
                ptr::null(),
                ptr::null_mut(),
            )
        };
        NonNull::new(pointer).map(|pointer| Document { pointer })
    }

    #[inline(always)]
    pub(crate) fn root(&self) -> Value<'_> {
        // SAFETY: the document is alive until `self` is dropped, and a document
        // that was read has a root.
        let root = unsafe { NonNull::new_unchecked(self.pointer.as_ref().root) };
        Value { pointer: root, document: PhantomData }
    }
}

impl Drop for Document {
    fn drop(&mut self) {
        // SAFETY: the pointer came from yyjson_read_opts and is freed once.
        unsafe { yyjson_doc_free(self.pointer.as_ptr()) }
    }
}

/// A copy of a parsed document that can be changed; frees its memory when dropped.
pub(crate) struct Mutable {
    pointer: NonNull<yyjson_mut_doc>,
}

impl Mutable {
    /// What C programs do to change a document that they parsed; `None` when memory runs out.
    pub(crate) fn copy(document: &Document) -> Option<Mutable> {
        // SAFETY: the document is alive; a null allocator is C's.
        let pointer = unsafe { yyjson_doc_mut_copy(document.pointer.as_ptr(), ptr::null()) };
        NonNull::new(pointer).map(|pointer| Mutable { pointer })
    }

    /// Sets the number at these keys and indices; false when there is no value.
    pub(crate) fn set(&mut self, steps: &[&str], number: u64) -> bool {
        // SAFETY: the document is alive and has a root. yyjson's functions give null for what is
        // not there, and take null.
        unsafe {
            let mut value: *mut yyjson_mut_val = self.pointer.as_ref().root;
            for step in steps {
                let member = yyjson_mut_obj_getn(value, step.as_ptr().cast(), step.len());
                value = match step.parse() {
                    Ok(index) if member.is_null() => yyjson_mut_arr_get(value, index),
                    _ => member,
                };
            }
            yyjson_mut_set_uint(value, number)
        }
    }

    /// All of it as minified JSON; `None` when memory runs out.
    pub(crate) fn write(&self) -> Option<Text> {
        let mut length = 0;
        // SAFETY: the document is alive; a null allocator and no place for an error are allowed.
        let pointer = unsafe {
            yyjson_mut_write_opts(
                self.pointer.as_ptr(),
                0,
                ptr::null(),
                &raw mut length,
                ptr::null_mut(),
            )
        };
        NonNull::new(pointer.cast()).map(|pointer| Text { pointer, length })
    }
}

impl Drop for Mutable {
    fn drop(&mut self) {
        // SAFETY: the pointer came from yyjson_doc_mut_copy and is freed once.
        unsafe { yyjson_mut_doc_free(self.pointer.as_ptr()) }
    }
}

/// Text that yyjson wrote, in memory of C's allocator.
pub(crate) struct Text {
    pointer: NonNull<u8>,
    length: usize,
}

impl Text {
    pub(crate) fn as_bytes(&self) -> &[u8] {
        // SAFETY: yyjson wrote so many bytes there, which live until `self` is dropped.
        unsafe { std::slice::from_raw_parts(self.pointer.as_ptr(), self.length) }
    }
}

impl Drop for Text {
    fn drop(&mut self) {
        // SAFETY: without an allocator yyjson took the memory from C's `malloc`.
        unsafe { yyjson_sys::free(self.pointer.as_ptr().cast()) }
    }
}

/// A value of a parsed document.
#[derive(Clone, Copy)]
pub(crate) struct Value<'a> {
    pointer: NonNull<yyjson_val>,
    document: PhantomData<&'a Document>,
}

impl<'a> Value<'a> {
    #[inline(always)]
    fn raw(self) -> &'a yyjson_val {
        // SAFETY: the invariant of this file.
        unsafe { self.pointer.as_ref() }
    }

    #[inline(always)]
    fn tag(self) -> u8 {
        (self.raw().tag & 0xFF) as u8
    }

    #[inline(always)]
    fn type_code(self) -> u8 {
        self.tag() & TYPE_MASK
    }

    #[inline(always)]
    fn length(self) -> usize {
        (self.raw().tag >> LENGTH_SHIFT) as usize
    }

    /// The next value in memory: an object's first key, an array's first
    /// element, a key's value. May only be read when there is one.
    #[inline(always)]
    fn following(self) -> Value<'a> {
        Value {
            // SAFETY: at most one past the array that all values of a document form.
            pointer: unsafe { self.pointer.add(1) },
            document: PhantomData,
        }
    }

    /// The value after this one in its container. May only be read when this
    /// one is not the last.
    #[inline(always)]
    fn sibling(self) -> Value<'a> {
        let is_container = self.tag() & (TYPE_ARRAY & TYPE_OBJECT) == (TYPE_ARRAY & TYPE_OBJECT);
        let distance_bytes = if is_container {
            // SAFETY: containers hold `ofs`; and any bit pattern is a usize.
            unsafe { self.raw().uni.ofs }
        } else {
            size_of::<yyjson_val>()
        };
        Value {
            // SAFETY: yyjson's own step; at most one past the array of all values.
            pointer: unsafe { self.pointer.byte_add(distance_bytes) },
            document: PhantomData,
        }
    }

    #[inline(always)]
    fn text(self) -> &'a [u8] {
        // SAFETY: only called on strings and keys, which hold `str` of this length.
        unsafe { std::slice::from_raw_parts(self.raw().uni.str_.cast(), self.length()) }
    }

    /// `yyjson_obj_getn`: a search through the keys in order.
    #[inline(always)]
    pub(crate) fn get(self, name: &str) -> Option<Value<'a>> {
        self.fields()
            .find(|(key, _)| key.length() == name.len() && key.text() == name.as_bytes())
            .map(|(_, value)| value)
    }

    /// `yyjson_obj_foreach`; nothing when this is no object.
    #[inline(always)]
    fn fields(self) -> impl Iterator<Item = (Value<'a>, Value<'a>)> {
        let is_object = self.type_code() == TYPE_OBJECT;
        let mut left = if is_object { self.length() } else { 0 };
        let mut next = self.following();
        std::iter::from_fn(move || {
            left = left.checked_sub(1)?;
            let key = next;
            let value = key.following();
            next = value.sibling();
            Some((key, value))
        })
    }

    /// `yyjson_arr_foreach`; `None` when this is no array.
    #[inline(always)]
    pub(crate) fn elements(self) -> Option<impl Iterator<Item = Value<'a>>> {
        if self.type_code() != TYPE_ARRAY {
            return None;
        }
        let mut left = self.length();
        let mut next = self.following();
        Some(std::iter::from_fn(move || {
            left = left.checked_sub(1)?;
            let element = next;
            next = element.sibling();
            Some(element)
        }))
    }

    #[inline(always)]
    pub(crate) fn is_null(self) -> bool {
        self.tag() == TYPE_NULL
    }

    #[inline(always)]
    pub(crate) fn as_u64(self) -> Option<u64> {
        // SAFETY: a number of subtype "unsigned" (no subtype bit) holds `u64_`.
        (self.tag() == TYPE_NUMBER).then(|| unsafe { self.raw().uni.u64_ })
    }

    #[inline(always)]
    pub(crate) fn as_str(self) -> Option<&'a str> {
        (self.type_code() == TYPE_STRING).then(|| {
            // SAFETY: yyjson validates UTF-8 unless told otherwise, and was not.
            unsafe { std::str::from_utf8_unchecked(self.text()) }
        })
    }

    /// The same value in serde_json's tree, to compare answers.
    pub(crate) fn to_json(self) -> serde_json::Value {
        let subtype = self.tag() & SUBTYPE_MASK;
        // SAFETY: every member of the union is eight bytes, all initialised.
        let bits = unsafe { self.raw().uni.u64_ };
        match self.type_code() {
            TYPE_BOOL => (subtype == SUBTYPE_TRUE).into(),
            TYPE_NUMBER if subtype == 0 => bits.into(),
            TYPE_NUMBER if subtype == SUBTYPE_SIGNED => (bits as i64).into(),
            TYPE_NUMBER => f64::from_bits(bits).into(),
            TYPE_STRING => self.as_str().into(),
            TYPE_ARRAY => self.elements().into_iter().flatten().map(Value::to_json).collect(),
            TYPE_OBJECT => self
                .fields()
                .filter_map(|(key, value)| Some((key.as_str()?, value.to_json())))
                .collect(),
            _ => serde_json::Value::Null,
        }
    }
}
