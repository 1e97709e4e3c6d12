//! Logs: files of rows that only grow, for what files of JSON lines are used for.
//!
//! A log is a file of documents. Each holds rows as columns, where they are alike. Rows are
//! appended one by one or many at once, read by their numbers, and read by columns, group by
//! group. One writer and any number of readers use a log side by side. After a crash all rows are
//! there that were synced, and no half row is. `docs/LOG.md` says what the bytes mean.
//!
//! ```
//! use livebuf_log::{Log, LogReader};
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("events.lblog");
//! let mut log = Log::create(&path)?;
//! log.append(&livebuf::json!({"kind": "start", "user": 7}))?;
//! log.extend([&livebuf::json!({"kind": "click", "user": 7}), &livebuf::json!({"kind": "end", "user": 7})])?;
//! log.close()?; // waits for the disk
//!
//! let reader = LogReader::open(&path)?;
//! assert_eq!(reader.len(), 3);
//! assert_eq!(reader.get(2)?.unwrap().value().unwrap().get("kind").unwrap(), "end");
//! for group in reader.groups(..) {
//!     for row in group?.array().unwrap().iter() {
//!         assert_eq!(row.get("user").unwrap(), 7);
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! On Windows a file's lock keeps others from reading it, too: there readers open a log only while
//! no writer has it open.
//!
//! Modules, each using only those before it: `error`, `layout` (headers), `file`, `frames` (which
//! frames a file has), `group` (rows in memory), `reader`, `writer`, `repair`.

mod error;
#[cfg(all(test, target_os = "linux"))]
mod faults;
mod file;
mod frames;
mod group;
mod layout;
mod reader;
mod repair;
mod writer;

pub use error::{Error, ErrorKind, Result};
pub use frames::Torn;
pub use group::{Group, Row};
pub use layout::MAGIC;
pub use reader::{Groups, LogReader, Refreshed, Rows, Stats};
pub use repair::{Repaired, repair};
pub use writer::{Compacted, Dropped, Log, LogOptions, LogStats};
