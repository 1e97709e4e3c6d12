//! `read_livebuf`: rows of documents and logs, by columns.

use crate::api::{Argument, BOOLEAN, Chunk, Type, VARCHAR, freed, kept, most_rows, shared};
use crate::columns::{add, fill, kind, wanted};
use crate::error::{Fault, caught};
use crate::source::{Reader, Source, find};
use arrow_array::RecordBatch;
use arrow_schema::Field;
use libduckdb_sys::*;
use std::collections::HashSet;
use std::ffi::CString;
use std::sync::{Arc, Mutex, PoisonError};

const NAME: &str = "read_livebuf";

/// A call in a statement: which files, and which columns they have.
struct Call {
    files: Vec<String>,
    pointer: String,
    fields: Vec<Field>,
    /// Whether a column after these has each row's file.
    filename: bool,
    /// How many rows there are, and whether all files were looked at.
    rows: (u64, bool),
    /// Threads that find work, as far as is known.
    threads: u64,
}

/// One run of it.
struct Scan {
    call: Arc<Call>,
    /// The columns that documents have, of those that the statement needs.
    fields: Vec<Field>,
    /// What goes into each vector.
    outputs: Vec<Output>,
    queue: Mutex<Queue>,
}

enum Output {
    /// One of `fields`.
    Field(usize),
    Filename,
    /// A column that stands for the rows, where only their count is wanted.
    Nothing,
}

/// The parts that no thread has taken yet.
#[derive(Default)]
struct Queue {
    next_file: usize,
    /// The file that is open, by its place, and its next part.
    open: Option<(usize, Arc<Source>, usize)>,
}

/// What a thread is reading.
#[derive(Default)]
struct Local {
    reading: Option<(usize, Reader)>,
    /// Rows, and the first that DuckDB has not got yet.
    batch: Option<(RecordBatch, usize)>,
}

impl Call {
    fn new(pattern: &str, pointer: String, filename: bool, union: bool) -> Result<Call, Fault> {
        let files = find(pattern)?;
        let (mut fields, mut rows, mut parts, mut seen) = (Vec::new(), 0, 0, 0);
        for file in &files {
            let look = || {
                let source = Source::open(file, &pointer)?;
                Ok((source.rows(), source.parts(), source.schema()?))
            };
            let (more, more_parts, schema) = look().map_err(|fault: Fault| fault.in_file(file))?;
            (rows, parts, seen) = (rows + more, parts + more_parts, seen + 1);
            add(&mut fields, &schema.fields).map_err(|conflict| {
                let (one, other) = *conflict;
                let message = format!(
                    "column {:?} is {} here, but {} in files before",
                    one.name(),
                    other.data_type(),
                    one.data_type()
                );
                Fault::Other(message).in_file(file)
            })?;
            // Columns follow from the first file that has rows.
            if more > 0 && !union {
                break;
            }
        }
        if fields.is_empty() {
            return Err(Fault::Other(format!(
                "{pattern}: no file has rows, so no columns are known"
            )));
        }
        let threads = (parts + files.len() - seen) as u64;
        let fields = fields.iter().map(wanted).collect();
        let all = rows.saturating_mul(files.len() as u64) / seen.max(1) as u64;
        let rows = (all, seen == files.len());
        Ok(Call { files, pointer, fields, filename, rows, threads })
    }

    /// The columns, under names that DuckDB tells apart.
    fn columns(&self) -> Vec<(CString, Type)> {
        let mut seen = HashSet::new();
        let filename = self.filename.then(|| ("filename", Type::of(VARCHAR)));
        let fields = self.fields.iter().map(|field| (field.name().as_str(), kind(field)));
        fields
            .chain(filename)
            .map(|(name, kind)| {
                let mut unique = name.replace('\0', "");
                let plain = unique.clone();
                let mut count = 0;
                while !seen.insert(unique.to_lowercase()) {
                    count += 1;
                    unique = format!("{plain}_{count}");
                }
                (CString::new(unique).unwrap_or_default(), kind)
            })
            .collect()
    }
}

impl Scan {
    fn new(call: Arc<Call>, columns: impl Iterator<Item = u64>) -> Scan {
        let mut fields = Vec::new();
        let outputs = columns.map(|column| {
            let column = usize::try_from(column).unwrap_or(usize::MAX);
            if let Some(field) = call.fields.get(column) {
                fields.push(field.clone());
                return Output::Field(fields.len() - 1);
            }
            match call.filename && column == call.fields.len() {
                true => Output::Filename,
                false => Output::Nothing,
            }
        });
        let outputs = outputs.collect();
        Scan { call, fields, outputs, queue: Mutex::default() }
    }

    /// A part that nobody has taken: the place of its file, and its rows.
    fn take(&self) -> Result<Option<(usize, Reader)>, Fault> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let (place, source, part) = loop {
            if let Some((place, source, next)) = &mut queue.open {
                if *next < source.parts() {
                    *next += 1;
                    break (*place, Arc::clone(source), *next - 1);
                }
                queue.open = None;
            }
            let place = queue.next_file;
            let Some(file) = self.call.files.get(place) else { return Ok(None) };
            queue.next_file += 1;
            let source = Source::open(file, &self.call.pointer);
            let source = source.map_err(|fault| fault.in_file(file))?;
            queue.open = Some((place, Arc::new(source), 0));
        };
        drop(queue);
        match source.read(part, &self.fields) {
            Ok(reader) => Ok(Some((place, reader))),
            Err(fault) => Err(fault.in_file(&self.call.files[place])),
        }
    }

    /// Fills a chunk with the next rows; none at the end.
    fn fill(&self, local: &mut Local, out: &mut Chunk<'_>) -> Result<(), Fault> {
        loop {
            let Some((place, reader)) = &mut local.reading else {
                local.reading = self.take()?;
                if local.reading.is_none() {
                    out.set_rows(0);
                    return Ok(());
                }
                continue;
            };
            let file = &self.call.files[*place];
            if let Some((batch, next)) = &mut local.batch {
                let rows = (batch.num_rows() - *next).min(most_rows());
                if rows > 0 {
                    out.set_rows(rows);
                    let part = batch.slice(*next, rows);
                    *next += rows;
                    return self.put(&part, reader, file, out).map_err(|fault| fault.in_file(file));
                }
                local.batch = None;
            }
            // Errors count rows from here on.
            let first = reader.first_row;
            let failed = |fault: Fault| match first {
                0 => fault.in_file(file),
                first => fault.in_file(&format!("{file}, from row {first} on")),
            };
            match reader.next().map_err(failed)? {
                Some(batch) => local.batch = Some((batch, 0)),
                None => local.reading = None,
            }
        }
    }

    fn put(
        &self,
        rows: &RecordBatch,
        reader: &Reader,
        file: &str,
        out: &mut Chunk<'_>,
    ) -> Result<(), Fault> {
        for (index, output) in self.outputs.iter().enumerate() {
            let mut vector = out.column(index)?;
            match output {
                Output::Field(field) => match reader.places.get(*field).copied().flatten() {
                    Some(place) => fill(rows.column(place), None, &mut vector)?,
                    None => vector.set_validity(std::iter::repeat(0)),
                },
                Output::Filename => {
                    (0..out.rows()).try_for_each(|row| vector.put(row, file.as_bytes()))?;
                }
                Output::Nothing => vector.set_validity(std::iter::repeat(0)),
            }
        }
        Ok(())
    }
}

/// Makes the function known.
///
/// # Safety
/// The connection is open.
#[allow(unsafe_code)]
pub(crate) unsafe fn register(connection: duckdb_connection) -> Result<(), Fault> {
    let named = [
        (c"pointer", VARCHAR),
        // A word of SQL: it must be quoted.
        (c"table", VARCHAR),
        (c"filename", BOOLEAN),
        (c"union_by_name", BOOLEAN),
    ];
    // SAFETY: what is made is destroyed, and DuckDB copies names and types.
    let state = unsafe {
        let mut function = duckdb_create_table_function();
        duckdb_table_function_set_name(function, c"read_livebuf".as_ptr());
        duckdb_table_function_add_parameter(function, Type::of(VARCHAR).raw());
        for (name, id) in named {
            let kind = Type::of(id);
            duckdb_table_function_add_named_parameter(function, name.as_ptr(), kind.raw());
        }
        duckdb_table_function_set_bind(function, Some(bind));
        duckdb_table_function_set_init(function, Some(init));
        duckdb_table_function_set_local_init(function, Some(local_init));
        duckdb_table_function_set_function(function, Some(run));
        duckdb_table_function_supports_projection_pushdown(function, true);
        let state = duckdb_register_table_function(connection, function);
        duckdb_destroy_table_function(&mut function);
        state
    };
    match state == duckdb_state_DuckDBSuccess {
        true => Ok(()),
        false => Err(Fault::Other(format!("DuckDB does not take the function {NAME}"))),
    }
}

/// Finds the files and their columns.
///
/// # Safety
/// Only DuckDB calls it.
#[allow(unsafe_code)]
unsafe extern "C" fn bind(info: duckdb_bind_info) {
    let done = caught(|| {
        // SAFETY: DuckDB hands over a value of its own for each argument.
        let (pattern, pointer, filename, union) = unsafe {
            let named = |name: &std::ffi::CStr| {
                Argument::new(duckdb_bind_get_named_parameter(info, name.as_ptr()))
            };
            let pattern = Argument::new(duckdb_bind_get_parameter(info, 0));
            let pointer = named(c"pointer").or_else(|| named(c"table"));
            (pattern, pointer, named(c"filename"), named(c"union_by_name"))
        };
        let Some(pattern) = pattern else {
            return Err(Fault::Argument(1, "a path or a pattern of paths"));
        };
        let pointer = pointer.map_or(Ok(String::new()), |pointer| pointer.text())?;
        let filename = filename.is_some_and(|argument| argument.bool());
        let union = union.is_none_or(|argument| argument.bool());
        let call = Call::new(&pattern.text()?, pointer, filename, union)?;
        for (name, kind) in call.columns() {
            // SAFETY: DuckDB copies both.
            unsafe { duckdb_bind_add_result_column(info, name.as_ptr(), kind.raw()) };
        }
        // SAFETY: numbers; DuckDB keeps the data until it has it freed.
        unsafe {
            duckdb_bind_set_cardinality(info, call.rows.0, call.rows.1);
            duckdb_bind_set_bind_data(info, shared(Arc::new(call)), Some(freed::<Arc<Call>>));
        }
        Ok(())
    });
    if let Err(fault) = done {
        // SAFETY: DuckDB copies the message.
        unsafe { duckdb_bind_set_error(info, fault.message(NAME).as_ptr()) };
    }
}

/// Begins a run.
///
/// # Safety
/// Only DuckDB calls it, after [`bind`].
#[allow(unsafe_code)]
unsafe extern "C" fn init(info: duckdb_init_info) {
    let done = caught(|| {
        // SAFETY: the data is that of `bind`; columns are counted first.
        unsafe {
            let call = &*duckdb_init_get_bind_data(info).cast::<Arc<Call>>();
            let count = duckdb_init_get_column_count(info);
            let columns = (0..count).map(|index| duckdb_init_get_column_index(info, index));
            let scan = Scan::new(Arc::clone(call), columns);
            duckdb_init_set_max_threads(info, call.threads.max(1));
            duckdb_init_set_init_data(info, shared(scan), Some(freed::<Scan>));
        }
        Ok(())
    });
    if let Err(fault) = done {
        // SAFETY: DuckDB copies the message.
        unsafe { duckdb_init_set_error(info, fault.message(NAME).as_ptr()) };
    }
}

/// Begins the work of a thread.
///
/// # Safety
/// Only DuckDB calls it.
#[allow(unsafe_code)]
unsafe extern "C" fn local_init(info: duckdb_init_info) {
    // SAFETY: DuckDB keeps it until it has it freed.
    unsafe { duckdb_init_set_init_data(info, kept(Local::default()), Some(freed::<Local>)) };
}

/// Fills a chunk.
///
/// # Safety
/// Only DuckDB calls it, after [`init`] and [`local_init`].
#[allow(unsafe_code)]
unsafe extern "C" fn run(info: duckdb_function_info, output: duckdb_data_chunk) {
    let done = caught(|| {
        // SAFETY: the data are those of `init` and of `local_init`. The latter is one thread's.
        let (scan, local, mut out) = unsafe {
            let scan = &*duckdb_function_get_init_data(info).cast::<Scan>();
            let local = &mut *duckdb_function_get_local_init_data(info).cast::<Local>();
            (scan, local, Chunk::empty(output))
        };
        scan.fill(local, &mut out)
    });
    if let Err(fault) = done {
        // SAFETY: DuckDB copies the message.
        unsafe { duckdb_function_set_error(info, fault.message(NAME).as_ptr()) };
    }
}
