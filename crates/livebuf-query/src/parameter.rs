//! Values that a query's text leaves open.

/// The value of a parameter: `$` and a name, where a query compares or selects.
///
/// ```
/// use livebuf_query::{Parameter, Query};
///
/// let doc = livebuf::json!([{"id": 7, "name": "Ada"}, {"id": 8, "name": "Alan"}]);
/// let query = Query::parse_with("$[?@.id == $id][$field]", |name| match name {
///     "id" => Some(Parameter::Number("8".to_owned())),
///     "field" => Some(Parameter::Text("name".to_owned())),
///     _ => None,
/// })?;
/// assert_eq!(query.first(&doc)?.unwrap().value(), "Alan");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Parameter {
    /// The value null.
    Null,
    /// A boolean.
    Bool(bool),
    /// A number, as JSON writes it. An integer in brackets is an index.
    Number(String),
    /// Text, also of dates, times and UUIDs. In brackets it is a name.
    Text(String),
}
