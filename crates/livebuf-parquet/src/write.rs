//! Documents to Parquet: which columns there are, and their rows in batches.

use std::io::Write;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchReader};
use arrow_schema::{DataType, Field, Schema};
use livebuf::{Array, Kind, Valid, Value};
use livebuf_arrow::{Document, ExportOptions, Exporter};
use parquet::arrow::ArrowWriter;
use parquet::basic;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet_variant_compute::{VariantArray, VariantArrayBuilder, shred_variant};

use crate::error::{Error, ErrorKind, Result, guarded};
use crate::exchange;
use crate::shred::Shape;
use crate::variant::{Loss, encode};
use crate::{Compression, LAYOUT, VALUE, WriteOptions};

/// Rows that are in memory as Arrow's at a time.
const BATCH: usize = 8192;

/// Writes the value at a pointer of a document as a Parquet file: see the [crate](crate).
///
/// # Errors
/// [`ErrorKind::NotFound`]; [`ErrorKind::Unsupported`] with a pointer to a value that cannot be
/// kept; [`ErrorKind::Document`] for damage; [`ErrorKind::Io`] of the writer. What was written
/// before is no Parquet file.
pub fn to_parquet<D: Document, W: Write + Send>(
    document: Arc<D>,
    writer: W,
    options: &WriteOptions,
) -> Result<()> {
    // What others may write meanwhile is copied, so that it stays valid.
    let document: Arc<dyn Document> = match document.is_shared() {
        true => Arc::new(document.open()?.as_bytes().to_vec()),
        false => document,
    };
    guarded(|| write(&document, writer, options))
}

fn write(
    document: &Arc<dyn Document>,
    writer: impl Write + Send,
    options: &WriteOptions,
) -> Result<()> {
    let valid = match document.valid() {
        Some(valid) => valid,
        None => document.open()?.validate()?,
    };
    let pointer = options.table.as_deref().unwrap_or("");
    let value = valid.root().pointer(pointer).ok_or_else(|| {
        Error::new(ErrorKind::NotFound, format!("the document has nothing at {pointer:?}"))
    })?;
    let exporter = Exporter::new(Arc::new(Arc::clone(document)))?.at(pointer)?;
    let exporter = exporter.options(ExportOptions::new().exact(true).batch_rows(BATCH));
    let plan = Plan::of(value, pointer, exporter, options)?;

    let mut properties = WriterProperties::builder()
        .set_compression(match options.compression {
            Compression::None => basic::Compression::UNCOMPRESSED,
            Compression::Snappy => basic::Compression::SNAPPY,
            #[cfg(feature = "zstd")]
            Compression::Zstd => basic::Compression::ZSTD(Default::default()),
        })
        .build()
        .into_builder();
    if let Some(layout) = plan.layout {
        let pair = KeyValue::new(LAYOUT.to_owned(), layout.to_owned());
        properties = properties.set_key_value_metadata(Some(vec![pair]));
    }
    let mut file =
        ArrowWriter::try_new(writer, Arc::clone(&plan.schema), Some(properties.build()))?;
    let mut typed = plan.typed()?;
    for start in (0..plan.rows.len()).step_by(BATCH) {
        let rows = BATCH.min(plan.rows.len() - start);
        let found = match &mut typed {
            Some(batches) => batches.next().transpose()?,
            None => None,
        };
        let mut found = found.iter().flat_map(|batch| batch.columns());
        let columns = plan.columns.iter().map(|column| match column {
            Column::Typed(_) => found.next().cloned().ok_or_else(|| {
                Error::new(ErrorKind::Document, "the document changed while it was read")
            }),
            Column::Variant { key, shredded } => {
                let array = plan.variants(key.as_deref(), start..start + rows, options)?;
                Ok(ArrayRef::from(shred(array, shredded.as_ref())?))
            }
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        file.write(&RecordBatch::try_new(Arc::clone(&plan.schema), columns)?)?;
    }
    file.close()?;
    Ok(())
}

fn shred(array: VariantArray, by: Option<&DataType>) -> Result<VariantArray> {
    Ok(match by {
        Some(by) => shred_variant(&array, by)?,
        None => array,
    })
}

/// Where the rows are.
enum Rows<'a> {
    One(Value<'a, Valid>),
    Array(Array<'a, Valid>),
    Members(Vec<(&'a str, Value<'a, Valid>)>),
}

impl<'a> Rows<'a> {
    fn len(&self) -> usize {
        match self {
            Rows::One(_) => 1,
            Rows::Array(array) => array.len(),
            Rows::Members(members) => members.len(),
        }
    }

    fn get(&self, row: usize) -> Option<Value<'a, Valid>> {
        match self {
            Rows::One(value) => Some(*value),
            Rows::Array(array) => array.get(row),
            Rows::Members(members) => members.get(row).map(|(_, value)| *value),
        }
    }

    /// What is under a key of a row, or the row.
    fn cell(&self, row: usize, key: Option<&str>) -> Option<Value<'a, Valid>> {
        let value = self.get(row)?;
        match key {
            Some(key) => value.as_object()?.get(key),
            None => Some(value),
        }
    }

    fn are_objects(&self) -> bool {
        (0..self.len()).all(|row| self.get(row).is_some_and(|row| row.kind() == Kind::Object))
    }
}

enum Column {
    /// Of this key, by `livebuf-arrow`.
    Typed(String),
    /// Of this key, or of whole rows.
    Variant { key: Option<String>, shredded: Option<DataType> },
}

struct Plan<'a> {
    pointer: &'a str,
    exporter: Exporter,
    rows: Rows<'a>,
    columns: Vec<Column>,
    schema: Arc<Schema>,
    layout: Option<&'static str>,
}

impl<'a> Plan<'a> {
    fn of(
        value: Value<'a, Valid>,
        pointer: &'a str,
        exporter: Exporter,
        options: &WriteOptions,
    ) -> Result<Plan<'a>> {
        let rows = match (value.as_array(), value.as_object()) {
            (Some(array), _) => Rows::Array(array),
            (_, Some(object)) if options.table.is_some() && !options.variant => {
                Rows::Members(object.iter().collect())
            }
            _ => Rows::One(value),
        };
        let is_table = rows.len() > 0 && !options.variant && rows.are_objects();
        let layout = match &rows {
            Rows::One(_) => Some("document"),
            Rows::Array(_) if !is_table => Some("values"),
            _ => None,
        };
        let schema = Arc::new(Schema::empty());
        let mut plan = Plan { pointer, exporter, rows, columns: Vec::new(), schema, layout };
        let has_columns = match &plan.rows {
            Rows::One(_) => false,
            Rows::Array(_) => !options.variant,
            Rows::Members(_) => true,
        };
        match if has_columns { plan.typed_or_not()? } else { None } {
            Some(columns) => {
                let keys = columns.into_iter().map(|(key, field)| (Some(key), field));
                plan.settle(keys.collect(), options)?;
            }
            None => {
                plan.layout.get_or_insert("values");
                plan.settle(vec![(None, None)], options)?;
            }
        }
        Ok(plan)
    }

    /// Each column's key, and its field where a type holds all its values. `None` where there are
    /// too many columns, so that whole rows are better.
    fn typed_or_not(&self) -> Result<Option<Vec<(String, Option<Field>)>>> {
        let limited = |error: livebuf_arrow::Error| match error.kind() {
            livebuf_arrow::ErrorKind::Limit => Ok(None),
            _ => Err(Error::from(error)),
        };
        let mixed = match self.exporter.mixed() {
            Ok(mixed) => mixed,
            Err(error) => return limited(error),
        };
        let schema = exchange::schema(self.exporter.schema()?)?;
        let columns = schema.fields().iter().zip(mixed).map(|(field, mixed)| {
            let is_typed = !mixed && can_be_written(field.data_type());
            (field.name().clone(), is_typed.then(|| field.as_ref().clone()))
        });
        let columns: Vec<_> = columns.collect();
        Ok((!columns.is_empty()).then_some(columns))
    }

    fn settle(
        &mut self,
        columns: Vec<(Option<String>, Option<Field>)>,
        options: &WriteOptions,
    ) -> Result<()> {
        let mut fields = Vec::with_capacity(columns.len());
        for (key, field) in columns {
            let name = key.as_deref().unwrap_or(VALUE);
            if let Some(field) = field {
                self.columns.push(Column::Typed(name.to_owned()));
                fields.push(field);
                continue;
            }
            // The values of an array that holds no objects have no key.
            let is_value = self.layout.is_some();
            let key = key.filter(|_| !is_value);
            let shredded = if options.shred {
                let mut shape = Shape::default();
                for row in 0..self.rows.len() {
                    if let Some(value) = self.rows.cell(row, key.as_deref()) {
                        shape.see(&value);
                    }
                }
                shape.data_type()
            } else {
                None
            };
            let empty = shred(VariantArrayBuilder::new(0).build(), shredded.as_ref())?;
            fields.push(empty.field(key.as_deref().unwrap_or(VALUE)));
            self.columns.push(Column::Variant { key, shredded });
        }
        self.schema = Arc::new(Schema::new(fields));
        Ok(())
    }

    /// Batches of the typed columns, if there are any.
    fn typed(&self) -> Result<Option<impl RecordBatchReader>> {
        let names = self.columns.iter().filter_map(|column| match column {
            Column::Typed(name) => Some(vec![name.clone()]),
            Column::Variant { .. } => None,
        });
        let names: Vec<_> = names.collect();
        if names.is_empty() {
            return Ok(None);
        }
        let exporter = self.exporter.clone();
        let exporter = if self.layout.is_some() { exporter } else { exporter.select(names) };
        Ok(Some(exchange::to_arrow(exporter.stream()?)?))
    }

    fn variants(
        &self,
        key: Option<&str>,
        rows: std::ops::Range<usize>,
        options: &WriteOptions,
    ) -> Result<VariantArray> {
        let loss = if options.lossy { Loss::Nearest } else { Loss::Refuse };
        let mut builder = VariantArrayBuilder::new(rows.len());
        for row in rows {
            let Some(value) = self.rows.cell(row, key) else {
                builder.append_null();
                continue;
            };
            encode(&value, &mut builder, loss, 0).map_err(|mut refused| {
                if let Some(key) = key {
                    refused = refused.within(key);
                }
                refused = match &self.rows {
                    Rows::One(_) => refused,
                    Rows::Array(_) => refused.within(&row.to_string()),
                    Rows::Members(members) => refused.within(members[row].0),
                };
                let place = format!("{}{}", self.pointer, refused.pointer);
                let message = format!("at {place:?}: {}", refused.message);
                Error::new(ErrorKind::Unsupported, message)
            })?;
        }
        Ok(builder.build())
    }
}

/// Parquet has no groups without fields, and readers differ about lists without elements.
fn can_be_written(kind: &DataType) -> bool {
    match kind {
        DataType::Struct(fields) => {
            !fields.is_empty() && fields.iter().all(|field| can_be_written(field.data_type()))
        }
        DataType::List(item) => can_be_written(item.data_type()),
        DataType::FixedSizeList(item, length) => *length > 0 && can_be_written(item.data_type()),
        _ => true,
    }
}
