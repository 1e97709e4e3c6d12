//! JSONPath (RFC 9535) on LiveBuf documents.
//!
//! A [`Query`] is compiled once and asked of any documents, whose values it reads in place.
//!
//! ```
//! use livebuf::json;
//! use livebuf_query::Query;
//!
//! let doc = json!({"laps": [
//!     {"driver": "Ada", "sec": 88.4}, {"driver": "Alan", "sec": 87.9}, {"driver": "Grace", "sec": 87.2}
//! ]});
//! let query = Query::parse("$.laps[?@.sec < 88 && match(@.driver, 'A.*')].driver")?;
//! let found = query.first(&doc)?.unwrap();
//! assert_eq!(found.value(), "Alan");
//! assert_eq!(found.location().to_string(), "$['laps'][1]['driver']");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Values that JSON lacks
//!
//! Queries see a document as the JSON text that it prints as. Dates, times, UUIDs and bytes are
//! text to comparisons and functions; decimals are numbers. Numbers compare by their exact
//! values, whatever their kind: `1`, `1.0` and the decimal `1.00` are equal.
//!
//! # Untrusted queries and documents
//!
//! No text overflows the stack: filters, parentheses and functions lie within each other 32 deep
//! at most. Each query has a budget of steps ([`Query::with_budget`]), and regular expressions
//! take steps for their work. A regular expression that is no I-Regexp (RFC 9485), that is longer
//! than 64 KiB, or whose compiled form would take more than a mebibyte, matches nothing. Those of a
//! query's text take at most 8 MiB together.

// Files use those above them in this list only.
mod budget;
mod compare;
mod edit;
mod error;
mod location;
#[cfg(doctest)]
mod pages;
mod parameter;
mod parse;
mod query;
mod regexp;
mod scan;
mod steps;
mod syntax;
mod walk;

pub use edit::{remove_all, remove_all_at, set_all, set_all_at, update_all};
pub use error::QueryError;
pub use location::{Location, Step};
pub use parameter::Parameter;
pub use query::{Match, Matches, Places, Query, Values};
