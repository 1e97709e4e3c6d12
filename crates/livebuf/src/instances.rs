//! The editors that most programs use, compiled here in builds for tests.
//!
//! An editor is generic, so each crate that edits compiles it anew, which takes longer than all
//! else in the tests. At the level of optimisation that tests are built with, the compiler takes an
//! instance from another crate if that crate has one. So this file names every edit for the common
//! storages once, and the tests of all crates link what was compiled for it.

use crate::edit::{DocBuf, Editor, New, NodeId};
use crate::error::Result;
use crate::mapped::FileStorage;
use crate::store::storage::Storage;

/// Every edit, by the functions that all others call.
fn edits<S: Storage>(doc: &mut Editor<S>, node: NodeId, new: New<'_>) -> Result<()> {
    doc.set_root(new)?;
    doc.set_pointer("", new)?;
    doc.set_pointer_with_parents("", new)?;
    doc.set(node, "", new)?;
    doc.set(node, 0, new)?;
    doc.push(node, new)?;
    doc.insert(node, 0, new)?;
    doc.rename(node, "", "")?;
    doc.remove(node, "")?;
    doc.remove(node, 0)?;
    doc.remove_pointer("")?;
    if let Some(part) = doc.detach(node, "")? {
        doc.discard(part)?;
    }
    doc.swap(node, 0, 0)?;
    doc.truncate(node, 0)?;
    doc.pop(node)?;
    doc.clear(node)?;
    doc.reserve(node, 0)?;
    doc.begin_transaction()?;
    doc.rollback_transaction()?;
    doc.commit_transaction()?;
    doc.find("")?;
    doc.root_mut()?;
    doc.pointer("")?;
    doc.value(node)?;
    Ok(())
}

type Edits<D> = fn(&mut D, NodeId, New<'_>) -> Result<()>;

/// Nobody calls this. It is compiled since other crates could.
#[inline(never)]
#[allow(clippy::type_complexity)]
pub fn instances<'b>() -> (Edits<DocBuf>, Edits<Editor<&'b mut [u8]>>, Edits<Editor<FileStorage>>) {
    (edits, edits, edits)
}
