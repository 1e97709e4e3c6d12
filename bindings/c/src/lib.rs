//! The C API of LiveBuf: `include/livebuf.h` is generated from this crate's text, so
//! the comments on what is exported speak to C programmers.
//!
//! Nothing here touches the bytes of documents; the core crate does. Modules, lowest first:
//!
//! | module | job |
//! |---|---|
//! | `status` | statuses, errors, versions |
//! | `args` | what C passes by pointers |
//! | `text` | text that is written to C's memory |
//! | `document` | `livebuf_doc` over the caller's memory: init, open, read, validate |
//! | `read` | values, text, remembered keys |
//! | `iterate` | members and elements in order, and ordered ranges |
//! | `column` | arrays and tables by column |
//! | `edit` | handles, new values, edits |
//! | `tensor` | tensors, read and to be stored |
//! | `template` | prepared messages |
//! | `transaction` | edits that happen whole or not at all |
//! | `changes` | which bytes edits change: a callback, a recorder |
//! | `context` | documents that manage their memory, files (`std`) |
//! | `delta` | changes as bytes to send, undo (`std`) |
//! | `json` | JSON text in and out (`json`) |
//! | `patch` | patches, merge patches, differences (`json`) |
//! | `query` | JSONPath (`json`) |
//!
//! Every pointer that C gives is checked against NULL and otherwise believed, since C alone knows
//! how many bytes it is good for. `args` says what C is trusted with. No document's bytes can make a
//! call panic; where the library can catch a panic all the same (`std`), edits and all that parses
//! answer `LIVEBUF_INTERNAL`.
#![cfg_attr(not(feature = "std"), no_std)]
// A C interface is raw pointers and exported names.
#![allow(unsafe_code, non_camel_case_types)]
// C's callbacks get back the pointer that C gave with them (`user`). Nothing here looks at it.
#![allow(clippy::not_unsafe_ptr_arg_deref)]

pub mod args;
pub mod changes;
pub mod column;
#[cfg(feature = "std")]
pub mod context;
#[cfg(feature = "std")]
pub mod delta;
pub mod document;
pub mod edit;
pub mod iterate;
#[cfg(feature = "json")]
pub mod json;
#[cfg(feature = "json")]
pub mod patch;
#[cfg(feature = "json")]
pub mod query;
pub mod read;
pub mod status;
pub mod template;
pub mod tensor;
pub mod text;
pub mod transaction;

/// Firmware has nowhere to unwind to. Not reached by any bytes of a document.
#[cfg(not(feature = "std"))]
#[panic_handler]
fn panic(_info: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
