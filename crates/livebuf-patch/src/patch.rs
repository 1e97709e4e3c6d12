//! `Patch`: a list of operations (RFC 6902), kept as a document.

use crate::error::{PatchError, PatchErrorKind, Result};
use livebuf::raw::pointer;
use livebuf::{Array, AsValue, DocBuf, DuplicateKeys, EncodeOptions, Encoder, Key, Valid, Value};
use livebuf_json::{ReadOptions, quoted};
use std::fmt;
use std::str::FromStr;

/// A JSON patch (RFC 6902): operations that change a document, in their order.
///
/// It is kept as a document, an array of objects as the RFC has them. So its values can be
/// of every kind that documents have: dates, decimals, bytes and tensors stay what they are.
///
/// ```
/// use livebuf::json;
/// use livebuf_patch::Patch;
///
/// let patch: Patch = r#"[
///     {"op": "test", "path": "/driver", "value": "Ada"},
///     {"op": "add", "path": "/laps/-", "value": 87.9}
/// ]"#.parse()?;
/// let mut doc = json!({"driver": "Ada", "laps": [88.4]});
/// patch.apply(&mut doc)?;
/// assert_eq!(doc.pointer("/laps/1")?.unwrap(), 87.9);
///
/// // From a document, and back.
/// let patch = Patch::from_value(&json!([{"op": "remove", "path": "/laps/0"}]))?;
/// assert_eq!(patch.to_json()?, r#"[{"op":"remove","path":"/laps/0"}]"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Patch {
    doc: DocBuf,
}

/// One operation of a [`Patch`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Operation<'p> {
    /// Adds a member, or replaces it, or inserts an element before the one at this place.
    Add {
        /// Where.
        path: &'p str,
        /// The new value.
        value: Value<'p, Valid>,
    },
    /// Removes a member or element, which must be there.
    Remove {
        /// Where.
        path: &'p str,
    },
    /// Puts a value in the place of another, which must be there.
    Replace {
        /// Where.
        path: &'p str,
        /// The new value.
        value: Value<'p, Valid>,
    },
    /// Removes a value and adds it elsewhere.
    Move {
        /// Where it is.
        from: &'p str,
        /// Where it is added.
        path: &'p str,
    },
    /// Adds a copy of a value.
    Copy {
        /// Where it is.
        from: &'p str,
        /// Where the copy is added.
        path: &'p str,
    },
    /// Fails unless the value at this place equals this one.
    Test {
        /// Where.
        path: &'p str,
        /// The expected value.
        value: Value<'p, Valid>,
    },
}

impl<'p> Operation<'p> {
    /// Its name, as the member `op` has it.
    pub fn name(&self) -> &'static str {
        match self {
            Operation::Add { .. } => "add",
            Operation::Remove { .. } => "remove",
            Operation::Replace { .. } => "replace",
            Operation::Move { .. } => "move",
            Operation::Copy { .. } => "copy",
            Operation::Test { .. } => "test",
        }
    }

    /// Its place: the pointer `path`.
    pub fn path(&self) -> &'p str {
        match *self {
            Operation::Add { path, .. }
            | Operation::Remove { path }
            | Operation::Replace { path, .. }
            | Operation::Move { path, .. }
            | Operation::Copy { path, .. }
            | Operation::Test { path, .. } => path,
        }
    }

    /// Of a move or copy, where the value is.
    pub fn from(&self) -> Option<&'p str> {
        match *self {
            Operation::Move { from, .. } | Operation::Copy { from, .. } => Some(from),
            _ => None,
        }
    }

    /// Of an add, replace or test, the value.
    pub fn value(&self) -> Option<Value<'p, Valid>> {
        match *self {
            Operation::Add { value, .. }
            | Operation::Replace { value, .. }
            | Operation::Test { value, .. } => Some(value),
            _ => None,
        }
    }

    /// Reads an operation. Members that the RFC does not know are ignored.
    fn read(object: Value<'p, Valid>) -> Result<Self> {
        static OP: Key<'static> = Key::new("op");
        static PATH: Key<'static> = Key::new("path");
        static FROM: Key<'static> = Key::new("from");
        static VALUE: Key<'static> = Key::new("value");
        let malformed = |message: String| PatchError::new(PatchErrorKind::Malformed, message);
        let Some(members) = object.as_object() else {
            return Err(malformed(format!("it is no object but {}", kind(object))));
        };
        let text = |key: &'static Key<'static>| match members.get(key) {
            None => Err(malformed(format!("the member {:?} is missing", key.as_str()))),
            Some(value) => value.as_str().ok_or_else(|| {
                malformed(format!("its {:?} is no text but {}", key.as_str(), kind(value)))
            }),
        };
        let pointer = |key| {
            let text = text(key)?;
            check_pointer(text)
                .map_err(|why| malformed(format!("its {:?} {why}", Key::as_str(key))).at(text))?;
            Ok::<_, PatchError>(text)
        };
        let value = || match members.get(&VALUE) {
            Some(value) => Ok(value),
            None => Err(malformed("the member \"value\" is missing; null must be written".into())),
        };
        let name = text(&OP)?;
        let read = || {
            Ok(match name {
                "add" => Operation::Add { path: pointer(&PATH)?, value: value()? },
                "remove" => Operation::Remove { path: pointer(&PATH)? },
                "replace" => Operation::Replace { path: pointer(&PATH)?, value: value()? },
                "move" => Operation::Move { from: pointer(&FROM)?, path: pointer(&PATH)? },
                "copy" => Operation::Copy { from: pointer(&FROM)?, path: pointer(&PATH)? },
                "test" => Operation::Test { path: pointer(&PATH)?, value: value()? },
                other => {
                    return Err(malformed(format!(
                        "there is no operation {}, only add, remove, replace, move, copy and test",
                        quoted(other)
                    )));
                }
            })
        };
        read()
    }
}

fn kind(value: Value<'_, Valid>) -> String {
    format!("{:?}", value.kind()).to_lowercase()
}

/// Why a text is no JSON pointer.
fn check_pointer(text: &str) -> Result<(), &'static str> {
    if pointer::split(text).is_err() {
        return Err("does not begin with /, as JSON pointers do, nor is it empty");
    }
    match pointer::unescaped(text) {
        Ok(_) => Ok(()),
        Err(_) => Err("has a ~ without 0 or 1 behind it: ~0 stands for ~, ~1 for /"),
    }
}

impl Patch {
    /// The patch that a value states. The value is copied.
    ///
    /// # Errors
    /// [`PatchErrorKind::Malformed`] with the operation's number; damage of the document.
    ///
    /// ```
    /// use livebuf::json;
    /// use livebuf_patch::Patch;
    /// let patch = Patch::from_value(&json!([{"op": "add", "path": "/lap", "value": 55}]))?;
    /// assert_eq!(patch.len(), 1);
    /// let error = Patch::from_value(&json!([{"op": "add", "path": "/lap"}])).unwrap_err();
    /// assert_eq!(error.to_string(), r#"operation 0: the member "value" is missing; null must be written"#);
    /// # Ok::<(), livebuf_patch::PatchError>(())
    /// ```
    pub fn from_value<'v>(value: impl AsValue<'v>) -> Result<Patch> {
        let mut doc = DocBuf::new()?;
        doc.set_root(value.as_value())?;
        Patch::over(doc)
    }

    /// The patch in JSON text (UTF-8). A key that occurs twice in an object is refused.
    ///
    /// # Errors
    /// [`PatchErrorKind::Json`], [`PatchErrorKind::Malformed`].
    pub fn from_slice(text: &[u8]) -> Result<Patch> {
        let options = ReadOptions::new().duplicate_keys(DuplicateKeys::Error);
        Patch::over(livebuf_json::from_slice_with(text, &options)?)
    }

    /// The patch that a document states.
    ///
    /// # Errors
    /// As [`from_value`](Self::from_value).
    pub fn from_doc(doc: DocBuf) -> Result<Patch> {
        if doc.is_trusted() { Patch::over(doc) } else { Patch::from_value(&doc) }
    }

    fn over(doc: DocBuf) -> Result<Patch> {
        let root = doc.valid()?.root();
        let Some(operations) = root.as_array() else {
            return Err(PatchError::new(
                PatchErrorKind::Malformed,
                format!("a patch is an array of operations, but this is {}", kind(root)),
            ));
        };
        for (number, object) in operations.iter().enumerate() {
            Operation::read(object).map_err(|error| error.of(number, ""))?;
        }
        Ok(Patch { doc })
    }

    /// A patch of these operations.
    pub(crate) fn write<'v>(operations: impl Iterator<Item = Operation<'v>>) -> Result<Patch> {
        let options = EncodeOptions::default();
        let mut encoder = Encoder::with_options(options);
        encoder.begin_array()?;
        for operation in operations {
            encoder.begin_object()?;
            encoder.key("op")?;
            encoder.str(operation.name())?;
            if let Some(from) = operation.from() {
                encoder.key("from")?;
                encoder.str(from)?;
            }
            encoder.key("path")?;
            encoder.str(operation.path())?;
            if let Some(value) = operation.value() {
                encoder.key("value")?;
                encoder.value(&value)?;
            }
            encoder.end_object()?;
        }
        encoder.end_array()?;
        Ok(Patch { doc: encoder.finish()? })
    }

    fn array(&self) -> Option<Array<'_, Valid>> {
        self.doc.valid().ok()?.root().as_array()
    }

    /// How many operations it has.
    pub fn len(&self) -> usize {
        self.array().map_or(0, |operations| operations.len())
    }

    /// Whether it has no operations, and so changes nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The operations in their order.
    ///
    /// ```
    /// use livebuf_patch::{Operation, Patch};
    /// let patch = Patch::from_slice(br#"[{"op": "move", "from": "/a", "path": "/b"}]"#)?;
    /// let operation = patch.operations().next().unwrap();
    /// assert!(matches!(operation, Operation::Move { from: "/a", path: "/b" }));
    /// # Ok::<(), livebuf_patch::PatchError>(())
    /// ```
    pub fn operations(&self) -> impl Iterator<Item = Operation<'_>> {
        // They were read when the patch was made.
        self.array().into_iter().flatten().filter_map(|object| Operation::read(object).ok())
    }

    /// The patch as a document: an array of operations.
    pub fn doc(&self) -> &DocBuf {
        &self.doc
    }

    /// The patch as a document of its own.
    pub fn into_doc(self) -> DocBuf {
        self.doc
    }

    /// The patch as JSON text. Dates, decimals and bytes become text there, as in documents.
    ///
    /// # Errors
    /// [`PatchErrorKind::Json`] where a value has an infinity or NaN, which JSON lacks.
    pub fn to_json(&self) -> Result<String> {
        Ok(livebuf_json::to_string(&self.doc)?)
    }
}

impl FromStr for Patch {
    type Err = PatchError;

    /// As [`Patch::from_slice`].
    fn from_str(text: &str) -> Result<Patch> {
        Patch::from_slice(text.as_bytes())
    }
}

impl fmt::Debug for Patch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Patch")?;
        f.debug_list().entries(self.operations()).finish()
    }
}

/// Valid values of what is given: as they are where that is known, else validated.
pub(crate) fn valid<'v>(value: impl AsValue<'v>) -> livebuf::Result<Value<'v, Valid>> {
    match value.as_valid() {
        Some(value) => Ok(value),
        None => value.as_value().validate(),
    }
}
