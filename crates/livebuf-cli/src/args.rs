//! What the command line takes: every command, argument and option.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
#[cfg(not(feature = "full"))]
use std::ffi::OsString;
use std::path::PathBuf;

/// JSON-like documents that you read without parsing and edit in place.
///
/// FILE is a LiveBuf document (made by "livebuf from-json"), or - for standard
/// input. Commands that only read take JSON, JSON lines and logs, too: of them a document is made in
/// memory, of lines and logs an array. Text is JSON lines if its name ends with .ndjson or .jsonl, or
/// if a second value begins on another line.
///
/// Edits of standard input print the edited document. JSON that comes in goes out as JSON, and
/// lines as lines.
///
/// In keys, pointers, paths and messages, control characters are escaped as in JSON. In values that
/// are printed as JSON those from U+007F on are as they are, which JSON allows.
///
/// POINTER is a JSON pointer (RFC 6901): "/users/0/name"; "" is the whole
/// document; in a key, ~1 stands for / and ~0 for ~. In JSON's quotes it has JSON's escapes:
/// '"/two\nlines"'.
///
/// QUERY is a JSONPath query (RFC 9535): '$.users[?@.age > 30].name'. Quotes keep the shell
/// from reading it.
///
/// Exit status: 0 success; 1 the answer is no (get, keys, remove, query: not there; validate:
/// damaged; diff: not equal); 2 an error, also where output or messages cannot be written.
#[derive(Debug, Parser)]
#[command(name = "livebuf", version, propagate_version = true, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make a document from JSON
    FromJson(FromJson),
    /// Print a document as JSON
    ///
    /// The document is validated while it is printed. If it is damaged, or has values that JSON
    /// cannot hold, a message says so and the exit status is 2. JSON of up to 1 MiB is only
    /// printed once everything is known to be right. Longer JSON is printed as it is made, so a
    /// part of it may come before such a message. With -o, OUT is made whole or not at all.
    ToJson(ToJson),
    /// Make a Parquet file of a document
    ///
    /// An array of objects becomes columns of Parquet's types. Columns of mixed values become
    /// Variants; so does a document that is no array, in one row. Arrays of other values have one
    /// column, "value".
    ///
    /// Two things are not kept. The order of keys in Variants is lost, unless you give --variant
    /// --no-shred. A missing field comes back as null, unless you give --variant. Values that
    /// Variant cannot hold are refused: see --lossy.
    ///
    /// The command has to be built with its feature "parquet".
    ToParquet(ToParquet),
    /// Make a document of a Parquet file: an array with an object for each row
    ///
    /// A file that to-parquet made of one value, or of an array without objects, becomes that value
    /// again. The command has to be built with its feature "parquet".
    FromParquet(FromParquet),
    /// Print the values at pointers as JSON, one a line
    ///
    /// Pointers to nothing are skipped: the other values are printed, the first such pointer is
    /// named on standard error, and the exit status is 1. If there is an error in the document
    /// or in a pointer (status 2), no value is printed.
    Get(Get),
    /// Set the value at a pointer, in place
    Set(Set),
    /// Remove the value at a pointer, in place
    Remove(Remove),
    /// Append to the array at a pointer, in place
    Push(Push),
    /// Make several edits, all or none
    ///
    /// Each OP is one argument: a word, a pointer, and where the word needs one, a value as JSON
    /// or a second pointer. A pointer with spaces stands in JSON's quotes.
    ///
    ///   'set /lap 56'            as livebuf set
    ///   'push /laps 87.9'        as livebuf push
    ///   'add /wins 1'            add to a number; integers stay integers
    ///   'remove /note'           as livebuf remove
    ///   'move /draft /final'     remove a value and add it elsewhere
    ///   'copy /best /laps/0'     add a copy of a value
    ///   'test /lap 55'           end with an error unless the value is this one
    ///
    /// If one fails, the document stays as it is.
    #[command(verbatim_doc_comment)]
    Edit(EditAll),
    /// Print the values that a query finds as JSON, one a line
    ///
    /// If it finds nothing, nothing is printed and the exit status is 1. Of several files it must
    /// find something in one.
    ///
    /// With --rows and --csv, values that lie in the same object or array make a row:
    /// '$.users[*]["id","name"]' has a row for each user.
    Query(Query),
    /// Show how two documents differ
    ///
    /// The exit status is 0 where they are equal, 1 where
    /// they differ, 2 after an error.
    Diff(Diff),
    /// Apply JSON patches (RFC 6902), in place, all or none
    ///
    /// If one operation cannot be made, the document stays as it is. What begins with { or [ is
    /// JSON text, even if a file has this name.
    Patch(Patch),
    /// Apply a JSON merge patch (RFC 7396), in place
    ///
    /// Members of the patch replace those of the document or are added; null removes a member.
    /// What begins with { or [ is JSON text, even if a file has this name.
    Merge(Merge),
    /// Make, apply and show deltas: the bytes that edits changed
    ///
    /// A delta keeps copies of a document equal without sending it whole. Copies must begin with
    /// equal bytes: this is replication, no merging.
    #[command(subcommand)]
    Delta(Delta),
    /// Print the keys of the object at a pointer, one JSON string a line
    Keys(Keys),
    /// Check documents and logs from end to end
    Validate(Validate),
    /// Show how many bytes each part of a document takes, and its size as JSON
    ///
    /// Columns of tables, and arrays of one type outside of tables and lists, are listed by their
    /// paths: /users/*/age. In these, * stands for each element of an array or each member of an
    /// object. (The other commands take an element's number or a member's key there.) The largest
    /// 200 are listed. With --json, all of tables are, and the largest 1,000 of other arrays.
    Stats(Stats),
    /// Show which keys a document has, with what kinds of values, and how many
    ///
    /// The elements of an array are one entry, [], and so are the members of an object with more
    /// than 64 different keys, *. At most 20 keys of an object are shown, and 60 lines: give a
    /// pointer to see a part.
    Tree(Tree),
    /// Print a document's bytes with their meaning
    Inspect(Inspect),
    /// Write a document anew: no free space, no garbage but padding
    Compact(Compact),
    /// Append JSON lines to a log, print its rows, look after it
    ///
    /// A log is a file of rows that only grows. One command or program writes it at a time; any
    /// number may read it meanwhile.
    #[command(subcommand)]
    Log(Log),
    /// Print a completion script for a shell
    #[cfg(feature = "full")]
    Completions(Completions),
    /// Print the manual page of a command
    #[cfg(feature = "full")]
    Man(Man),
    /// Show with a JSON file what a document costs and saves
    #[cfg(feature = "full")]
    Demo(Demo),
    /// What only the full command has
    #[cfg(not(feature = "full"))]
    #[command(hide = true, name = "demo", aliases = ["completions", "man"], disable_help_flag = true)]
    LeftOut(LeftOut),
}

/// A pointer, which may stand in JSON's quotes.
fn pointer(text: &str) -> serde_json::Result<String> {
    if text.starts_with('"') { serde_json::from_str(text) } else { Ok(text.to_owned()) }
}

/// Where a command's result goes.
#[derive(Args, Debug)]
pub(crate) struct Output {
    /// Write to this file (- is standard output, the default)
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,
    /// Write over a file that exists
    #[arg(short, long)]
    pub(crate) force: bool,
}

#[derive(Args, Debug)]
pub(crate) struct FromJson {
    /// JSON text (- is standard input)
    #[arg(value_name = "IN")]
    pub(crate) input: PathBuf,
    #[command(flatten)]
    pub(crate) output: Output,
    /// The text is JSON lines (NDJSON), or values one after another, as jq prints them: make one
    /// array of them
    #[arg(long)]
    pub(crate) lines: bool,
    /// With --lines: make a document of each value, in the directory OUT: 000001.lbuf,
    /// 000002.lbuf and so on
    #[arg(long, requires = "lines", requires = "output")]
    pub(crate) each: bool,
    /// With --lines: pass over lines that are no JSON, and say how many. Each line must be a
    /// value by itself
    #[arg(long, requires = "lines")]
    pub(crate) skip_bad: bool,
    /// Which value counts if a key occurs twice in an object
    #[arg(long, value_name = "WHICH", default_value = "last")]
    pub(crate) duplicate_keys: Duplicates,
    /// How numbers are kept
    #[arg(long, value_name = "HOW", default_value = "exact")]
    pub(crate) numbers: Numbers,
    /// What becomes of escapes that are half of a surrogate pair, such as \ud800
    #[arg(long, value_name = "HOW", default_value = "error")]
    pub(crate) surrogates: Surrogates,
    /// Store text that is a date, a date and time (RFC 3339) or a UUID as such a value
    #[arg(long)]
    pub(crate) recognize: bool,
    /// Store arrays of similar objects as objects, not as columns
    #[arg(long)]
    pub(crate) no_tables: bool,
    /// Fewest bytes of a number in a column: 8 makes all columns of numbers i64, u64 or f64
    #[arg(long, value_name = "BYTES", default_value = "1", value_parser = widths())]
    pub(crate) min_width: u8,
}

/// Which value counts if a key occurs twice in an object.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Duplicates {
    /// The last of the values
    Last,
    /// The JSON is refused
    Error,
}

/// How numbers are kept.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Numbers {
    /// By their value
    Exact,
    /// As their text, so that 1.50 and 1E3 come back as they were
    Text,
}

/// What becomes of half of a surrogate pair.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Surrogates {
    /// The JSON is refused
    Error,
    /// They become U+FFFD, the replacement character
    Replace,
}

/// What to print for infinities and NaN, which JSON does not have.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum NonFinite {
    /// Nothing: the document is not printed
    Error,
    /// null
    Null,
}

/// The widths that columns of numbers have.
fn widths() -> impl TypedValueParser<Value = u8> {
    PossibleValuesParser::new(["1", "2", "4", "8"]).try_map(|width| width.parse::<u8>())
}

#[derive(Args, Debug)]
pub(crate) struct ToParquet {
    /// The document
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) output: Output,
    /// Write the value at this pointer. The members of an object there are rows, too
    #[arg(long, value_name = "POINTER", value_parser = pointer)]
    pub(crate) table: Option<String>,
    /// Write each row as one Variant, in a column "value"
    #[arg(long)]
    pub(crate) variant: bool,
    /// Store no part of Variants as columns of their own
    #[arg(long)]
    pub(crate) no_shred: bool,
    /// Write the nearest value where Variant cannot keep one: a number of many digits
    #[arg(long)]
    pub(crate) lossy: bool,
    /// How pages are compressed
    #[arg(long, value_name = "HOW", default_value = "snappy")]
    pub(crate) compression: Compression,
}

/// How pages of a Parquet file are compressed.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Compression {
    /// Not at all
    None,
    /// Snappy: fast, and read by all
    Snappy,
    /// Zstandard: smaller
    Zstd,
}

#[derive(Args, Debug)]
pub(crate) struct FromParquet {
    /// The Parquet file (- is standard input)
    #[arg(value_name = "IN")]
    pub(crate) input: PathBuf,
    #[command(flatten)]
    pub(crate) output: Output,
    /// Leave out fields that are null
    #[arg(long)]
    pub(crate) skip_nulls: bool,
}

#[derive(Args, Debug)]
pub(crate) struct ToJson {
    /// The document
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) output: Output,
    /// Print indented, on many lines
    #[arg(long)]
    pub(crate) pretty: bool,
    /// Print JSON lines (NDJSON): each element of the array that the document is
    #[arg(long, conflicts_with = "pretty")]
    pub(crate) lines: bool,
    /// What to print for infinities and NaN, which JSON does not have
    #[arg(long, value_name = "WHAT", default_value = "error")]
    pub(crate) non_finite: NonFinite,
    /// Do not validate the document. This is less work, but finds damage only where it stops
    /// the printing: the JSON may be wrong without a message
    #[arg(long)]
    pub(crate) no_validate: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Get {
    /// The document
    pub(crate) file: PathBuf,
    /// Pointers to the values
    #[arg(required = true, value_name = "POINTER", value_parser = pointer)]
    pub(crate) pointers: Vec<String>,
    /// Print text as it is, without quotes and escapes, and bytes as they are
    #[arg(short, long)]
    pub(crate) raw: bool,
    /// Print indented, on many lines
    #[arg(long)]
    pub(crate) pretty: bool,
}

/// What all edits take.
#[derive(Args, Debug)]
pub(crate) struct Editing {
    /// Say how many bytes of the document were written
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// Do not validate the whole document first. Space that the edit frees is then neither
    /// reused nor wiped, since something else may refer to it
    #[arg(long)]
    pub(crate) no_validate: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Set {
    /// The document (- edits standard input and writes to standard output, JSON as JSON)
    pub(crate) file: PathBuf,
    /// Where to set it: adds or replaces a member, replaces an element; /list/- appends to a
    /// list
    #[arg(value_parser = pointer)]
    pub(crate) pointer: String,
    /// POINTER is a query (JSONPath, RFC 9535): set every value that it finds, all or none, and say
    /// how many there were
    #[arg(short, long, conflicts_with = "parents")]
    pub(crate) all: bool,
    /// Most steps of the query (10,000,000,000 by default: minutes)
    #[arg(long, value_name = "STEPS", requires = "all")]
    pub(crate) budget: Option<u64>,
    /// The new value as JSON (- reads it from standard input)
    #[arg(value_name = "JSON", allow_negative_numbers = true)]
    pub(crate) value: String,
    /// The value is text, not JSON
    #[arg(long)]
    pub(crate) string: bool,
    /// Make missing objects on the way (and an array for -)
    #[arg(short, long)]
    pub(crate) parents: bool,
    #[command(flatten)]
    pub(crate) editing: Editing,
}

#[derive(Args, Debug)]
pub(crate) struct Remove {
    /// The document (- edits standard input and writes to standard output, JSON as JSON)
    pub(crate) file: PathBuf,
    /// What to remove
    #[arg(value_parser = pointer)]
    pub(crate) pointer: String,
    /// POINTER is a query (JSONPath, RFC 9535): remove every value that it finds, all or none, and
    /// say how many there were
    #[arg(short, long)]
    pub(crate) all: bool,
    /// Most steps of the query (10,000,000,000 by default: minutes)
    #[arg(long, value_name = "STEPS", requires = "all")]
    pub(crate) budget: Option<u64>,
    #[command(flatten)]
    pub(crate) editing: Editing,
}

#[derive(Args, Debug)]
pub(crate) struct Push {
    /// The document (- edits standard input and writes to standard output, JSON as JSON)
    pub(crate) file: PathBuf,
    /// Which array
    #[arg(value_parser = pointer)]
    pub(crate) pointer: String,
    /// The new element as JSON (- reads it from standard input)
    #[arg(value_name = "JSON", allow_negative_numbers = true)]
    pub(crate) value: String,
    /// The element is text, not JSON
    #[arg(long)]
    pub(crate) string: bool,
    #[command(flatten)]
    pub(crate) editing: Editing,
}

#[derive(Args, Debug)]
pub(crate) struct EditAll {
    /// The document (- edits standard input and writes to standard output, JSON as JSON)
    pub(crate) file: PathBuf,
    /// The edits, in their order (- reads them from standard input, one a line)
    #[arg(required = true, value_name = "OP")]
    pub(crate) operations: Vec<String>,
    #[command(flatten)]
    pub(crate) editing: Editing,
}

#[derive(Args, Debug)]
pub(crate) struct Query {
    /// The documents
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// A JSONPath query (RFC 9535)
    #[arg(value_name = "QUERY")]
    pub(crate) query: String,
    /// Most steps (10,000,000,000 by default: minutes). A step looks at about one value
    #[arg(long, value_name = "STEPS")]
    pub(crate) budget: Option<u64>,
    /// Print where the values are, as normalized paths. If there are several files, each line
    /// begins with the file's name and a colon
    #[arg(long, conflicts_with_all = ["raw", "pretty"])]
    pub(crate) paths: bool,
    /// Print where the values are, as pointers: those with control characters in JSON's quotes
    #[arg(long, conflicts_with_all = ["raw", "pretty", "paths"])]
    pub(crate) pointers: bool,
    /// Print a JSON object for each row: the values in it by their keys, or by their indexes
    #[arg(long, conflicts_with_all = ["raw", "pretty", "paths", "pointers"])]
    pub(crate) rows: bool,
    /// Print rows as comma-separated values (RFC 4180), with a line of keys before the others, once
    /// for all files. The columns are the keys that QUERY ends with, in their order, or else those
    /// that occur. Text is printed as it is, and nothing for null and what is missing
    #[arg(long, conflicts_with_all = ["raw", "pretty", "paths", "pointers", "rows"])]
    pub(crate) csv: bool,
    /// Print text as it is, without quotes and escapes, and bytes as they are
    #[arg(short, long)]
    pub(crate) raw: bool,
    /// Print indented, on many lines
    #[arg(long)]
    pub(crate) pretty: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Diff {
    /// A document, JSON or a log (- is standard input)
    #[arg(value_name = "A")]
    pub(crate) one: PathBuf,
    /// Another one
    #[arg(value_name = "B")]
    pub(crate) two: PathBuf,
    /// Print the JSON patch (RFC 6902) that makes A equal to B
    #[arg(long, conflicts_with = "merge")]
    pub(crate) patch: bool,
    /// Print the JSON merge patch (RFC 7396) that makes A equal to B
    #[arg(long)]
    pub(crate) merge: bool,
    /// The order of an object's members counts
    #[arg(long, conflicts_with = "merge")]
    pub(crate) ordered: bool,
    /// Print nothing: the exit status tells
    #[arg(short, long, conflicts_with_all = ["patch", "merge"])]
    pub(crate) quiet: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Patch {
    /// The document (- edits standard input and writes to standard output, JSON as JSON)
    pub(crate) file: PathBuf,
    /// JSON patches: JSON text, or files with JSON or documents (- is standard input)
    #[arg(required = true, value_name = "PATCH")]
    pub(crate) patches: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) editing: Editing,
}

#[derive(Args, Debug)]
pub(crate) struct Merge {
    /// The document (- edits standard input and writes to standard output, JSON as JSON)
    pub(crate) file: PathBuf,
    /// The merge patch: JSON text, or a file with JSON or a document (- is standard input)
    #[arg(value_name = "PATCH", allow_negative_numbers = true)]
    pub(crate) patch: PathBuf,
    #[command(flatten)]
    pub(crate) editing: Editing,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Delta {
    /// Give a document a state, from which deltas can lead on
    ///
    /// Copy the document then: deltas apply to copies of these bytes.
    Begin(DeltaBegin),
    /// Edit a document, and write the delta of the edits to a file
    Make(DeltaMake),
    /// Apply deltas to a copy of the document, in their order, all or none
    Apply(DeltaApply),
    /// Print the contents of a delta
    Show(DeltaShow),
}

#[derive(Args, Debug)]
pub(crate) struct DeltaBegin {
    /// The document
    pub(crate) file: PathBuf,
}

#[derive(Args, Debug)]
pub(crate) struct DeltaMake {
    /// The document, which is edited in place
    pub(crate) file: PathBuf,
    /// Where the delta goes
    #[arg(value_name = "OUT")]
    pub(crate) output: PathBuf,
    /// The edits, as livebuf edit takes them (- reads them from standard input, one a line)
    #[arg(required = true, value_name = "OP")]
    pub(crate) operations: Vec<String>,
    /// Keep the bytes of before, too: such a delta can be taken back
    #[arg(long)]
    pub(crate) old: bool,
    /// Keep a SHA-256 of the whole document, with which apply compares the result
    #[arg(long)]
    pub(crate) digest: bool,
    /// Write over a file OUT that exists
    #[arg(short, long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) editing: Editing,
}

#[derive(Args, Debug)]
pub(crate) struct DeltaApply {
    /// The document
    pub(crate) file: PathBuf,
    /// The deltas
    #[arg(required = true, value_name = "DELTA")]
    pub(crate) deltas: Vec<PathBuf>,
    /// Take the deltas back instead, the last one first. They must hold the bytes of before
    #[arg(long)]
    pub(crate) revert: bool,
    #[command(flatten)]
    pub(crate) editing: Editing,
}

#[derive(Args, Debug)]
pub(crate) struct DeltaShow {
    /// The delta
    pub(crate) delta: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Keys {
    /// The document
    pub(crate) file: PathBuf,
    /// Which object (by default the whole document)
    #[arg(default_value = "", hide_default_value = true, value_parser = pointer)]
    pub(crate) pointer: String,
    /// Only keys that begin with this, ordered by their bytes
    #[arg(long, value_name = "P", conflicts_with_all = ["from", "to"])]
    pub(crate) prefix: Option<String>,
    /// Only keys from this one on, ordered by their bytes
    #[arg(long, value_name = "A")]
    pub(crate) from: Option<String>,
    /// Only keys before this one, ordered by their bytes
    #[arg(long, value_name = "B")]
    pub(crate) to: Option<String>,
    /// Print keys as they are, without quotes and escapes
    #[arg(short, long)]
    pub(crate) raw: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Validate {
    /// The documents and logs
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Do not print whether it is valid or damaged: the exit status tells (0 or 1). Any other
    /// error (status 2: no such file, not a document) is still reported on standard error
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Stats {
    /// The document
    pub(crate) file: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Tree {
    /// The document
    pub(crate) file: PathBuf,
    /// Only what is here (by default the whole document)
    #[arg(default_value = "", hide_default_value = true, value_parser = pointer)]
    pub(crate) pointer: String,
}

#[derive(Args, Debug)]
pub(crate) struct Inspect {
    /// The document
    pub(crate) file: PathBuf,
    /// Only the bytes of the value here
    #[arg(value_parser = pointer)]
    pub(crate) pointer: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct Compact {
    /// The document (- is standard input; of JSON it makes compact JSON)
    pub(crate) file: PathBuf,
    /// Write to this file (- is standard output) and leave FILE as it is
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,
    /// Write over a file OUT that exists
    #[arg(short, long)]
    pub(crate) force: bool,
    /// Print how many bytes it had and has
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Log {
    /// Append JSON lines (NDJSON) of standard input, or of a file
    ///
    /// Makes the log if there is none. Values may also follow one another, each over many lines, as
    /// jq prints them. They are appended as they come, so text that is no JSON ends the command
    /// (status 2) when values before it are in the log; a message says how many. Bytes of an earlier write that did not end are cut off, with a message.
    Append(LogAppend),
    /// Print rows as JSON lines
    Cat(LogCat),
    /// Show how many rows a log has, and where its bytes go
    Info(LogInfo),
    /// Write a log anew: full groups, and no bytes that are not needed
    Compact(LogFile),
    /// Keep all readable rows of a damaged log; the old file stays as FILE.damaged
    Repair(LogFile),
}

#[derive(Args, Debug)]
pub(crate) struct LogAppend {
    /// The log
    pub(crate) file: PathBuf,
    /// JSON lines (- is standard input, the default)
    #[arg(value_name = "IN", default_value = "-", hide_default_value = true)]
    pub(crate) input: PathBuf,
    /// Wait for the disk whenever lines were appended, not only at the end
    #[arg(long)]
    pub(crate) sync: bool,
    /// Pass over lines that are no JSON, and say how many. Each line must be a value by itself
    #[arg(long)]
    pub(crate) skip_bad: bool,
    /// What becomes of escapes that are half of a surrogate pair, such as \ud800
    #[arg(long, value_name = "HOW", default_value = "error")]
    pub(crate) surrogates: Surrogates,
}

#[derive(Args, Debug)]
pub(crate) struct LogCat {
    /// The log
    pub(crate) file: PathBuf,
    /// Only rows from this number on; the first is 0
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub(crate) from: u64,
    /// Only rows before this number
    #[arg(long, value_name = "M", conflicts_with = "follow")]
    pub(crate) to: Option<u64>,
    /// Go on with rows that come, until interrupted
    #[arg(long)]
    pub(crate) follow: bool,
    /// What to print for infinities and NaN, which JSON does not have
    #[arg(long, value_name = "WHAT", default_value = "error")]
    pub(crate) non_finite: NonFinite,
}

#[derive(Args, Debug)]
pub(crate) struct LogInfo {
    /// The log
    pub(crate) file: PathBuf,
    /// Read and validate every row first. If one is damaged, the exit status is 1
    #[arg(long)]
    pub(crate) validate: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct LogFile {
    /// The log
    pub(crate) file: PathBuf,
}

#[cfg(feature = "full")]
#[derive(Args, Debug)]
pub(crate) struct Completions {
    /// Which shell
    pub(crate) shell: clap_complete::Shell,
}

#[cfg(feature = "full")]
#[derive(Args, Debug)]
pub(crate) struct Man {
    /// Which command, such as log append (by default livebuf itself)
    pub(crate) command: Vec<String>,
}

#[cfg(feature = "full")]
#[derive(Args, Debug)]
pub(crate) struct Demo {
    /// A JSON file; by default what "cargo metadata" prints for the workspace here
    pub(crate) file: Option<PathBuf>,
    /// Also write the document to this file, and make the edits there
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,
    /// Write over a file that exists
    #[arg(short, long)]
    pub(crate) force: bool,
}

#[cfg(not(feature = "full"))]
#[derive(Args, Debug)]
pub(crate) struct LeftOut {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<OsString>,
}
