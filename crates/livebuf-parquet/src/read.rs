//! Parquet to documents.

use std::fs::File;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, FixedSizeListArray, GenericListArray, OffsetSizeTrait, RecordBatch,
    RecordBatchReader, StructArray,
};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema, SchemaRef};
use livebuf::{DocBuf, Encoder};
use livebuf_arrow::{ImportOptions, from_stream};
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::file::reader::ChunkReader;
use parquet_variant_compute::{VariantArray, VariantType, unshred_variant};

use crate::error::{Error, ErrorKind, Result, guarded, said};
use crate::{LAYOUT, VALUE, exchange, variant};

/// Rows that are in memory as Arrow's at a time.
const BATCH: usize = 8192;

/// Makes a document of a Parquet file's bytes: see the [crate](crate).
///
/// Of the options, [`values`](ImportOptions::values) and [`variant`](ImportOptions::variant) are set
/// by what the file says.
///
/// # Errors
/// [`ErrorKind::Parquet`] for what is no Parquet file, or damaged, with the column where that is
/// known; [`ErrorKind::Unsupported`] for types that LiveBuf lacks; [`ErrorKind::Document`] for
/// limits of documents.
pub fn from_parquet(
    bytes: impl AsRef<[u8]> + Send + 'static,
    options: &ImportOptions,
) -> Result<DocBuf> {
    read(bytes::Bytes::from_owner(bytes), options)
}

/// The same of a file, of which no more than needed is in memory at a time.
///
/// # Errors
/// As [`from_parquet`], and [`ErrorKind::Io`].
pub fn from_parquet_file(file: File, options: &ImportOptions) -> Result<DocBuf> {
    read(file, options)
}

fn read<R: ChunkReader + 'static>(input: R, options: &ImportOptions) -> Result<DocBuf> {
    guarded(|| {
        let builder = ParquetRecordBatchReaderBuilder::try_new(input)?;
        let pairs = builder.metadata().file_metadata().key_value_metadata();
        let layout = pairs.into_iter().flatten().find(|pair| pair.key == LAYOUT);
        let layout = layout.and_then(|pair| pair.value.clone()).unwrap_or_default();
        let batches = Unshredded::new(builder.with_batch_size(BATCH).build()?)?;
        // Nothing is left out of files whose columns are others than LiveBuf's.
        let is_value = matches!(batches.schema.fields().as_ref(), [field] if field.name() == VALUE);
        let values = is_value && !layout.is_empty();
        let import = options.clone().values(values).variant(variant::decode);
        let document = from_stream(exchange::from_arrow(Box::new(batches)), &import)?;
        if layout != "document" || !is_value {
            return Ok(document);
        }
        let rows = document.valid()?.root().as_array();
        let only = rows.filter(|rows| rows.len() == 1).and_then(|rows| rows.get(0));
        let only = only.ok_or_else(|| {
            Error::new(
                ErrorKind::Parquet,
                "the file is one document by its metadata, not by its rows",
            )
        })?;
        let mut encoder = Encoder::with_options(options.encode_options());
        encoder.value(&only)?;
        Ok(encoder.finish()?)
    })
}

/// Batches of a file with Variants whole again.
struct Unshredded {
    reader: ParquetRecordBatchReader,
    schema: SchemaRef,
}

impl Unshredded {
    fn new(reader: ParquetRecordBatchReader) -> Result<Unshredded> {
        let schema = reader.schema();
        let fields = schema.fields().iter().map(|field| whole_field(field)).collect::<Vec<_>>();
        Ok(Unshredded { reader, schema: Arc::new(Schema::new(fields)) })
    }

    fn read(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        let Some(batch) = self.reader.next().transpose()? else { return Ok(None) };
        let columns = batch.schema_ref().fields().iter().zip(batch.columns());
        let columns = columns.map(|(field, column)| {
            whole(field, column)
                .map_err(|error| external(format!("column {:?}: {}", field.name(), said(&error))))
        });
        RecordBatch::try_new(Arc::clone(&self.schema), columns.collect::<Result<_, _>>()?).map(Some)
    }
}

/// Called through C: panics end here.
impl Iterator for Unshredded {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = guarded(|| Ok(self.read()));
        let batch = batch.unwrap_or_else(|error| Err(external(error.to_string())));
        batch.map_err(|error| external(said(&error))).transpose()
    }
}

/// An error whose message has nothing before it.
fn external(message: String) -> ArrowError {
    ArrowError::ExternalError(message.into())
}

impl RecordBatchReader for Unshredded {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

fn is_variant(field: &Field) -> bool {
    field.extension_type_name() == Some(VARIANT)
}

const VARIANT: &str = <VariantType as arrow_schema::extension::ExtensionType>::NAME;

fn with_type(field: &Field, kind: DataType) -> FieldRef {
    Arc::new(field.clone().with_data_type(kind))
}

/// The field of what [`whole`] makes.
fn whole_field(field: &Field) -> FieldRef {
    if is_variant(field) {
        let parts = ["metadata", "value"].map(|name| Field::new(name, DataType::BinaryView, false));
        return with_type(field, DataType::Struct(parts.to_vec().into()));
    }
    with_type(
        field,
        match field.data_type() {
            DataType::Struct(fields) => {
                DataType::Struct(fields.iter().map(|field| whole_field(field)).collect())
            }
            DataType::List(item) => DataType::List(whole_field(item)),
            DataType::LargeList(item) => DataType::LargeList(whole_field(item)),
            DataType::FixedSizeList(item, length) => {
                DataType::FixedSizeList(whole_field(item), *length)
            }
            kind => kind.clone(),
        },
    )
}

/// An array in which Variants are not shredded.
fn whole(field: &Field, array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    if is_variant(field) {
        check(array)?;
        let found = unshred_variant(&VariantArray::try_new(array)?)?;
        let DataType::Struct(parts) = whole_field(field).data_type().clone() else {
            return Ok(Arc::clone(array));
        };
        let columns = [found.metadata_column(), found.value_column()].map(binary_view);
        let columns = columns.into_iter().collect::<Result<Vec<_>, _>>()?;
        return Ok(Arc::new(StructArray::try_new(parts, columns, array.nulls().cloned())?));
    }
    match array.data_type() {
        DataType::Struct(fields) => {
            let parts = array.as_struct();
            let columns =
                fields.iter().zip(parts.columns()).map(|(field, column)| whole(field, column));
            let columns = columns.collect::<Result<Vec<_>, _>>()?;
            let fields = fields.iter().map(|field| whole_field(field)).collect();
            Ok(Arc::new(StructArray::try_new_with_length(
                fields,
                columns,
                parts.nulls().cloned(),
                parts.len(),
            )?))
        }
        DataType::List(item) => whole_list(item, array.as_list::<i32>()),
        DataType::LargeList(item) => whole_list(item, array.as_list::<i64>()),
        DataType::FixedSizeList(item, length) => {
            let list = array.as_fixed_size_list();
            let values = whole(item, list.values())?;
            let nulls = list.nulls().cloned();
            Ok(Arc::new(FixedSizeListArray::try_new(whole_field(item), *length, values, nulls)?))
        }
        _ => Ok(Arc::clone(array)),
    }
}

fn whole_list<O: OffsetSizeTrait>(
    item: &Field,
    list: &GenericListArray<O>,
) -> Result<ArrayRef, ArrowError> {
    let values = whole(item, list.values())?;
    let (offsets, nulls) = (list.offsets().clone(), list.nulls().cloned());
    Ok(Arc::new(GenericListArray::try_new(whole_field(item), offsets, values, nulls)?))
}

fn binary_view(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    arrow_cast::cast(array, &DataType::BinaryView)
}

/// Refuses values that would take readers too long, wherever a shredded Variant has some.
fn check(array: &ArrayRef) -> Result<(), ArrowError> {
    let Some(parts) = array.as_struct_opt() else { return Ok(()) };
    if let Some(values) = parts.column_by_name("value") {
        let values = arrow_cast::cast(values, &DataType::BinaryView)?;
        for value in values.as_binary_view().iter().flatten() {
            variant::check(value)
                .map_err(|message| ArrowError::InvalidArgumentError(message.into_owned()))?;
        }
    }
    match parts.column_by_name("typed_value") {
        Some(typed) => check_typed(typed),
        None => Ok(()),
    }
}

fn check_typed(typed: &ArrayRef) -> Result<(), ArrowError> {
    match typed.data_type() {
        DataType::Struct(_) => typed.as_struct().columns().iter().try_for_each(check),
        DataType::List(_) => check(typed.as_list::<i32>().values()),
        DataType::LargeList(_) => check(typed.as_list::<i64>().values()),
        DataType::FixedSizeList(..) => check(typed.as_fixed_size_list().values()),
        _ => Ok(()),
    }
}
