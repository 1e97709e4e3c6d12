//! JSON Merge Patch (RFC 7396): an object whose members replace those of a document, and
//! whose nulls remove them.

use crate::error::{PatchError, Result};
use crate::patch::valid;
use livebuf::{
    AsValue, DocBuf, Editor, EncodeOptions, Encoder, Fields, Key, NodeId, Storage, Valid, Value,
    View,
};
use livebuf_json::ReadOptions;

/// Merges a patch (RFC 7396) into a document, in one [transaction](Editor::transaction): if it
/// fails, no byte of the document changes.
///
/// Members of the patch replace those of the document, objects member by member. Null removes a
/// member. Arrays and scalars are replaced whole. A patch that is no object replaces the root.
///
/// Time is linear in the patch, beside that of the edits.
///
/// # Errors
/// [`PatchErrorKind::Document`](crate::PatchErrorKind::Document) where the document refuses an
/// edit or the transaction, with the place. Damage of either document.
///
/// ```
/// use livebuf::json;
///
/// let mut doc = json!({"title": "Goodbye!", "author": {"given": "John", "family": "Doe"}});
/// let patch = json!({"title": "Hello!", "author": {"family": null}, "tags": ["example"]});
/// livebuf_patch::merge(&mut doc, &patch)?;
/// assert_eq!(
///     livebuf_json::to_string(&doc)?,
///     r#"{"title":"Hello!","author":{"given":"John"},"tags":["example"]}"#
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn merge<'p, S: Storage>(editor: &mut Editor<S>, patch: impl AsValue<'p>) -> Result<()> {
    merge_at(editor, "", patch)
}

/// [`merge`] into the value at a JSON pointer.
///
/// # Errors
/// As [`merge`]; where the pointer leads nowhere.
///
/// ```
/// let mut doc = livebuf::json!({"laps": [{"sec": 88.4, "note": "pit"}]});
/// livebuf_patch::merge_at(&mut doc, "/laps/0", &livebuf::json!({"note": null}))?;
/// assert_eq!(livebuf_json::to_string(&doc)?, r#"{"laps":[{"sec":88.4}]}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn merge_at<'p, S: Storage>(
    editor: &mut Editor<S>,
    pointer: &str,
    patch: impl AsValue<'p>,
) -> Result<()> {
    let patch = valid(patch)?;
    editor.transaction(|editor| merge_valid(editor, pointer, patch))
}

/// [`merge`] with a patch in JSON text (UTF-8).
///
/// # Errors
/// As [`merge`]; [`PatchErrorKind::Json`](crate::PatchErrorKind::Json).
///
/// ```
/// let mut doc = livebuf::json!({"lap": 55, "note": "pit stop"});
/// livebuf_patch::merge_json(&mut doc, br#"{"lap": 56, "note": null}"#)?;
/// assert_eq!(format!("{:?}", doc.root().as_object()?.unwrap()), r#"{"lap": 56}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn merge_json<S: Storage>(editor: &mut Editor<S>, text: &[u8]) -> Result<()> {
    // A patch is read once: columns would not pay.
    let options = ReadOptions::new().limits(editor.limits()).tables(false);
    merge(editor, &livebuf_json::from_slice_with(text, &options)?)
}

/// An object of the document, and the members of the patch that are still to be merged into it.
struct OpenObject<'p> {
    node: NodeId,
    /// Its key in the object around it.
    key: &'p str,
    members: Fields<'p, Valid>,
}

fn merge_valid<S: Storage>(
    editor: &mut Editor<S>,
    pointer: &str,
    patch: Value<'_, Valid>,
) -> Result<()> {
    let Some(members) = patch.as_object() else {
        editor.set_pointer(pointer, patch)?;
        return Ok(());
    };
    let root = match editor.find(pointer)? {
        Some(node) if editor.value(node)?.is_object() => node,
        _ => {
            put(patch, |value| editor.set_pointer(pointer, value).map(|_| ()))?;
            return Ok(());
        }
    };
    let mut open = vec![OpenObject { node: root, key: "", members: members.iter() }];
    while let Some(object) = open.last_mut() {
        let Some((key, value)) = object.members.next() else {
            open.pop();
            continue;
        };
        if !editor.is_current(object.node) {
            // A small buffer remembers few edits: look the objects up again.
            look_up(editor, pointer, &mut open)?;
        }
        let Some(&OpenObject { node, .. }) = open.last() else { break };
        match member(editor, node, key, value) {
            Ok(None) => {}
            Ok(Some(below)) => open.push(below),
            Err(error) => return Err(error.at(&place(pointer, &open, key))),
        }
    }
    Ok(())
}

/// Merges one member, or opens the two objects that are to be merged.
fn member<'p, S: Storage>(
    editor: &mut Editor<S>,
    node: NodeId,
    key: &'p str,
    value: Value<'p, Valid>,
) -> Result<Option<OpenObject<'p>>> {
    // A key that is looked up twice remembers where it was.
    let name = Key::new(key);
    match value.view() {
        View::Null => {
            editor.remove(node, &name)?;
        }
        View::Object(members) => {
            if let Some(below) = editor.child(node, &name)?
                && editor.value(below)?.is_object()
            {
                return Ok(Some(OpenObject { node: below, key, members: members.iter() }));
            }
            put(value, |value| editor.set(node, &name, value).map(|_| ()))?;
        }
        _ => {
            editor.set(node, &name, value)?;
        }
    }
    Ok(None)
}

/// Finds the open objects again, from the value at the pointer on.
fn look_up<S: Storage>(
    editor: &Editor<S>,
    pointer: &str,
    open: &mut [OpenObject<'_>],
) -> Result<()> {
    let gone = || PatchError::from(livebuf::Error::new(livebuf::ErrorKind::StaleHandle, 0));
    let mut node = editor.find(pointer)?.ok_or_else(gone)?;
    for (depth, object) in open.iter_mut().enumerate() {
        if depth > 0 {
            node = editor.child(node, object.key)?.ok_or_else(gone)?;
        }
        object.node = node;
    }
    Ok(())
}

#[cold]
fn place(base: &str, open: &[OpenObject<'_>], key: &str) -> String {
    let mut pointer = base.to_owned();
    for token in open.iter().skip(1).map(|object| object.key).chain([key]) {
        push_token(&mut pointer, token);
    }
    pointer
}

/// Adds a key to a pointer.
pub(crate) fn push_token(pointer: &mut String, key: &str) {
    pointer.push('/');
    for character in key.chars() {
        match character {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            other => pointer.push(other),
        }
    }
}

/// Hands over what an object of a patch becomes if there was none: itself without its nulls.
fn put(
    patch: Value<'_, Valid>,
    with: impl FnOnce(Value<'_>) -> livebuf::Result<()>,
) -> livebuf::Result<()> {
    if has_null(patch) { with(without_nulls(patch)?.root()) } else { with(patch.checked()) }
}

/// Whether an object has a null as a member, or one below it has, arrays left out.
pub(crate) fn has_null(patch: Value<'_, Valid>) -> bool {
    let mut open: Vec<Fields<'_, Valid>> = Vec::new();
    open.extend(patch.as_object().map(|members| members.iter()));
    while let Some(members) = open.last_mut() {
        match members.next().map(|(_, value)| value.view()) {
            None => drop(open.pop()),
            Some(View::Null) => return true,
            Some(View::Object(below)) => open.push(below.iter()),
            Some(_) => {}
        }
    }
    false
}

fn without_nulls(patch: Value<'_, Valid>) -> livebuf::Result<DocBuf> {
    let options = EncodeOptions { tables: false, ..EncodeOptions::default() };
    let mut encoder = Encoder::with_options(options);
    let mut open: Vec<Fields<'_, Valid>> = Vec::new();
    open.extend(patch.as_object().map(|members| members.iter()));
    encoder.begin_object()?;
    while let Some(members) = open.last_mut() {
        let Some((key, value)) = members.next() else {
            open.pop();
            encoder.end_object()?;
            continue;
        };
        match value.view() {
            View::Null => {}
            View::Object(below) => {
                encoder.key(key)?;
                encoder.begin_object()?;
                open.push(below.iter());
            }
            _ => {
                encoder.key(key)?;
                encoder.value(&value)?;
            }
        }
    }
    encoder.finish()
}
