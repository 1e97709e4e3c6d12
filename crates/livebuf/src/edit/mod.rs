//! Editing in place (FORMAT 12, EDITING).
//!
//! Every edit runs twice (`sink`). The first run reads, counts the bytes, and checks; it may
//! fail. The second run writes, and cannot fail. A failed edit leaves the used bytes as they
//! were.
//!
//! Places that live across edits are held as [`NodeId`]s. [`NodeMut`] is a cursor that borrows
//! the editor and keeps its own handle fresh.
//!
//! The files, lowest first. Each uses those above it in this table, and no others.
//!
//! | file | holds |
//! |---|---|
//! | `handles` | handles, and what becomes of them when edits move containers |
//! | `new` | the arguments of edits: new values, detached values, names of children |
//! | `member` | looking keys up in records |
//! | `editor` | the editor: opening, looking at containers, checks that edits share |
//! | `free` | freeing values |
//! | `sink` | the two runs of an edit |
//! | `parts` | text, keys, shapes, maps that are filled entry by entry |
//! | `copy`, `detach` | copies of values of other documents; hanging detached values |
//! | `literal` | new values, and replacing old ones |
//! | `feed`, `rules` | values as columns see them; how columns grow and widen |
//! | `dissolve`, `extras`, `column` | columns of arrays, tables and lists |
//! | `object`, `entries`, `row`, `array` | members of objects, fields of rows, elements |
//! | `set` | one interface to them, and JSON pointers |
//! | `cursor`, `values`, `transaction`, `doc_buf`, `state`, `template`, `alone` | what is made of edits |

#[cfg(feature = "alloc")]
mod alone;
mod array;
mod column;
mod copy;
mod cursor;
mod detach;
mod dissolve;
mod doc_buf;
mod editor;
mod entries;
mod extras;
mod feed;
mod free;
mod handles;
mod literal;
mod member;
mod new;
mod object;
mod parts;
mod row;
mod rules;
mod set;
mod short;
mod sink;
#[cfg(feature = "delta")]
mod state;
mod template;
mod transaction;
mod values;

#[cfg(feature = "alloc")]
pub use alone::{Alone, AloneMemory};
pub use cursor::NodeMut;
#[cfg(feature = "alloc")]
pub use editor::DocBuf;
pub use editor::Editor;
pub use handles::NodeId;
pub use new::{Child, Detached, New};
pub use short::Simple;
#[cfg(feature = "delta")]
pub(crate) use state::state_place;
pub use template::{Stamp, Stamped, Template};
