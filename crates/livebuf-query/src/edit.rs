//! Edits of all matches of a query, in one transaction.

use crate::query::{Places, Query};
use livebuf::{Checked, Editor, Error, ErrorKind, New, Result, Storage, Value};

/// The places below the value at a pointer of which none lies within another: the outermost.
fn outermost<S: Storage>(editor: &Editor<S>, below: &str, query: &Query) -> Result<Places> {
    let root = editor.pointer(below)?.ok_or(Error::new(ErrorKind::NotFound, 0))?;
    let mut places = query.locations(root)?;
    places.dedup_by(|place, outer| outer.leads_to(place));
    Ok(Places::of(&places)?.below(below))
}

/// Sets each match to a value, all or none; answers how many were set.
///
/// A match that lies within another one is gone with it, and does not count.
///
/// # Errors
/// As an item of [`Query::find`], and as [`Editor::set_pointer`]. The document is as before then.
///
/// ```
/// use livebuf::json;
/// use livebuf_query::{Query, set_all};
///
/// let mut doc = json!({"laps": [{"sec": 88.4}, {"sec": -1}, {"sec": -1}]});
/// assert_eq!(set_all(&mut doc, &Query::parse("$.laps[?@.sec < 0].sec")?, ())?, 2);
/// assert!(doc.pointer("/laps/2/sec")?.unwrap().is_null());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn set_all<'v, S: Storage>(
    editor: &mut Editor<S>,
    query: &Query,
    new: impl Into<New<'v>>,
) -> Result<usize> {
    set_all_at(editor, "", query, new)
}

/// [`set_all`] in the value at a JSON pointer, which is the query's root.
///
/// # Errors
/// As [`set_all`]; [`ErrorKind::NotFound`] where the pointer leads nowhere.
pub fn set_all_at<'v, S: Storage>(
    editor: &mut Editor<S>,
    pointer: &str,
    query: &Query,
    new: impl Into<New<'v>>,
) -> Result<usize> {
    let new = new.into();
    let mut places = outermost(editor, pointer, query)?;
    editor.transaction(|editor| {
        let count = places.len();
        while let Some(place) = places.next_place() {
            editor.set_pointer(place, new)?;
        }
        Ok::<usize, Error>(count)
    })
}

/// Removes each match, all or none; answers how many were removed.
///
/// A match that lies within another one is gone with it, and does not count.
///
/// # Errors
/// [`ErrorKind::Unsupported`] where the root is among them, since a document always has a value. As
/// an item of [`Query::find`], and as [`Editor::remove_pointer`]. The document is as before then.
///
/// ```
/// use livebuf::json;
/// use livebuf_query::{Query, remove_all};
///
/// let mut doc = json!([1, 20, 3, 40]);
/// assert_eq!(remove_all(&mut doc, &Query::parse("$[?@ >= 20]")?)?, 2);
/// assert_eq!(doc.pointer("/1")?.unwrap(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn remove_all<S: Storage>(editor: &mut Editor<S>, query: &Query) -> Result<usize> {
    remove_all_at(editor, "", query)
}

/// [`remove_all`] in the value at a JSON pointer, which is the query's root.
///
/// # Errors
/// As [`remove_all`]; [`ErrorKind::NotFound`] where the pointer leads nowhere.
pub fn remove_all_at<S: Storage>(
    editor: &mut Editor<S>,
    pointer: &str,
    query: &Query,
) -> Result<usize> {
    let mut places = outermost(editor, pointer, query)?;
    editor.transaction(|editor| {
        let count = places.len();
        while let Some(place) = places.next_place() {
            if !editor.remove_pointer(place)? {
                return Err(Error::new(ErrorKind::NotFound, 0));
            }
        }
        Ok(count)
    })
}

/// Sets each match to a function of it, all or none; answers how many were set.
///
/// The function gets a value and gives the new one, or `None` to leave it. A match within
/// another one comes before that one, which the function sees with the inner ones changed.
///
/// # Errors
/// As an item of [`Query::find`], as [`Editor::set_pointer`], and those of the function. The
/// document is as before then.
///
/// ```
/// use livebuf::json;
/// use livebuf_query::{Query, update_all};
///
/// let mut doc = json!({"prices": [10, 20, "none"]});
/// let query = Query::parse("$.prices[*]")?;
/// let set = update_all(&mut doc, &query, |price| Ok(price.as_i64().map(|price| price * 2)))?;
/// assert_eq!(set, 2);
/// assert_eq!(doc.pointer("/prices/1")?.unwrap(), 40);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn update_all<'v, S: Storage, N: Into<New<'v>>>(
    editor: &mut Editor<S>,
    query: &Query,
    mut update: impl FnMut(Value<'_, Checked>) -> Result<Option<N>>,
) -> Result<usize> {
    let mut places = query.places(editor.doc())?;
    editor.transaction(|editor| {
        let mut count = 0;
        while let Some(place) = places.next_place() {
            let value = editor.pointer(place)?.ok_or(Error::new(ErrorKind::NotFound, 0))?;
            if let Some(new) = update(value)? {
                editor.set_pointer(place, new)?;
                count += 1;
            }
        }
        Ok::<usize, Error>(count)
    })
}
