//! Documents to Parquet: which columns there are, and their rows in batches.

use std::io::Write;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchReader};
use arrow_schema::{DataType, Field, Schema};
use livebuf::{Array, Kind, Valid, Value};
use livebuf_arrow::{Document, ExportOptions, Exporter, Numbers};
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::arrow::{ArrowSchemaConverter, ArrowWriter};
use parquet::basic::{self, LogicalType};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::schema::types::{SchemaDescriptor, Type};
use parquet_variant_compute::{VariantArray, VariantArrayBuilder, shred_variant};

use crate::error::{Error, ErrorKind, Result, guarded};
use crate::exchange;
use crate::shred::Shape;
use crate::variant::{Loss, encode};
use crate::{Compression, LAYOUT, VALUE, WriteOptions};

/// Rows that are in memory as Arrow's at a time.
const BATCH: usize = 8192;

/// Of the specification of Variant.
const VARIANT_VERSION: i8 = 1;

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
    let exporter = exporter.options(ExportOptions::new().numbers(Numbers::Mixed).batch_rows(BATCH));
    let plan = Plan::of(value, pointer, exporter, options)?;

    let compression = match options.compression {
        Compression::None => basic::Compression::UNCOMPRESSED,
        Compression::Snappy => basic::Compression::SNAPPY,
        #[cfg(feature = "zstd")]
        Compression::Zstd => basic::Compression::ZSTD(Default::default()),
    };
    let mut properties = WriterProperties::builder().set_compression(compression);
    if let Some(layout) = plan.layout {
        let pair = KeyValue::new(LAYOUT.to_owned(), layout.to_owned());
        properties = properties.set_key_value_metadata(Some(vec![pair]));
    }
    let properties = ArrowWriterOptions::new()
        .with_properties(properties.build())
        .with_parquet_schema(parquet_schema(&plan.schema)?);
    let mut file = ArrowWriter::try_new_with_options(writer, Arc::clone(&plan.schema), properties)?;
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
            Column::Variant { key, shredded, .. } => {
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

/// The schema with the version of Variants, which Spark demands and the library leaves out.
fn parquet_schema(schema: &Schema) -> Result<SchemaDescriptor> {
    let made = ArrowSchemaConverter::new().convert(schema)?;
    let fields = made.root_schema().get_fields().iter().map(|field| {
        let about = field.get_basic_info();
        match about.logical_type_ref() {
            Some(LogicalType::Variant(_)) => {
                let group = Type::group_type_builder(field.name())
                    .with_repetition(about.repetition())
                    .with_logical_type(Some(LogicalType::variant(Some(VARIANT_VERSION))))
                    .with_fields(field.get_fields().to_vec());
                group.build().map(Arc::new)
            }
            _ => Ok(Arc::clone(field)),
        }
    });
    let fields = fields.collect::<Result<Vec<_>, _>>()?;
    let root = Type::group_type_builder(made.root_schema().name()).with_fields(fields).build()?;
    Ok(SchemaDescriptor::new(Arc::new(root)))
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

    fn all(&self, is: impl Fn(Kind) -> bool) -> bool {
        (0..self.len()).all(|row| self.get(row).is_some_and(|value| is(value.kind())))
    }
}

enum Column {
    /// By `livebuf-arrow`.
    Typed(Field),
    /// Of a key, or of whole rows.
    Variant { name: String, key: Option<String>, shredded: Option<DataType> },
}

impl Column {
    fn whole_rows() -> Column {
        Column::Variant { name: VALUE.to_owned(), key: None, shredded: None }
    }
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
        let schema = Arc::new(Schema::empty());
        let mut plan = Plan { pointer, exporter, rows, columns: Vec::new(), schema, layout: None };
        (plan.columns, plan.layout) = plan.choose(options)?;
        if options.shred {
            plan.shred();
        }
        let fields = plan.columns.iter().map(|column| match column {
            Column::Typed(field) => Ok(field.clone()),
            Column::Variant { name, shredded, .. } => {
                let empty = VariantArrayBuilder::new(0).build();
                Ok(shred(empty, shredded.as_ref())?.field(name).with_nullable(true))
            }
        });
        plan.schema = Arc::new(Schema::new(fields.collect::<Result<Vec<_>>>()?));
        Ok(plan)
    }

    /// The columns, and what the rows are where they are no table.
    fn choose(&self, options: &WriteOptions) -> Result<(Vec<Column>, Option<&'static str>)> {
        let values = || (vec![Column::whole_rows()], Some("values"));
        let are_objects = self.rows.all(|kind| kind == Kind::Object);
        // Of objects among other values, types would make rows that lack all columns.
        let are_others = self.rows.all(|kind| kind != Kind::Object);
        match &self.rows {
            Rows::One(_) => return Ok((vec![Column::whole_rows()], Some("document"))),
            Rows::Array(_) if options.variant || !(are_objects || are_others) => {
                return Ok(values());
            }
            _ => {}
        }
        let mixed = match self.exporter.mixed() {
            Ok(mixed) => mixed,
            // Too many columns, of which rows have few.
            Err(error)
                if error.kind() == livebuf_arrow::ErrorKind::Limit
                    && matches!(self.rows, Rows::Array(_)) =>
            {
                return Ok(values());
            }
            Err(error) => return Err(error.into()),
        };
        let fields = exchange::schema(self.exporter.schema()?)?;
        let mut columns: Vec<Column> = fields
            .fields()
            .iter()
            .zip(mixed)
            .map(|(field, mixed)| match !mixed && can_be_written(field.data_type()) {
                true => Column::Typed(field.as_ref().clone()),
                false => {
                    let name = field.name().clone();
                    let key = are_objects.then(|| name.clone());
                    Column::Variant { name, key, shredded: None }
                }
            })
            .collect();
        Ok(match &self.rows {
            Rows::Members(_) => {
                if !are_objects && !are_others {
                    columns.truncate(1);
                    columns.push(Column::whole_rows());
                }
                (columns, None)
            }
            _ if columns.is_empty() => values(),
            _ if are_objects => (columns, None),
            _ => (columns, Some("values")),
        })
    }

    fn shred(&mut self) {
        for column in &mut self.columns {
            if let Column::Variant { key, shredded, .. } = column {
                let mut shape = Shape::default();
                let cells = (0..self.rows.len()).map(|row| self.rows.cell(row, key.as_deref()));
                cells.flatten().for_each(|value| shape.see(&value));
                *shredded = shape.data_type();
            }
        }
    }

    /// Batches of the typed columns, if there are any.
    fn typed(&self) -> Result<Option<impl RecordBatchReader + use<>>> {
        let names = self.columns.iter().filter_map(|column| match column {
            Column::Typed(field) => Some(vec![field.name().clone()]),
            Column::Variant { .. } => None,
        });
        let names: Vec<_> = names.collect();
        if names.is_empty() {
            return Ok(None);
        }
        let exporter = self.exporter.clone();
        let exporter = match names.len() == self.columns.len() {
            true => exporter,
            false => exporter.select(names),
        };
        Ok(Some(exchange::to_arrow(exporter.stream()?)?))
    }

    fn variants(
        &self,
        key: Option<&str>,
        rows: std::ops::Range<usize>,
        options: &WriteOptions,
    ) -> Result<VariantArray> {
        let loss = Loss::of(options.lossy);
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
                refused.at(self.pointer)
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
