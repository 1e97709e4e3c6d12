//! Documents to Parquet, and from it.

use crate::args::{Compression, FromParquet, ToParquet};
use crate::convert::{check_output, write};
use crate::failure::{Failure, Outcome, name};
use crate::progress;
use crate::source::{Source, read};
use livebuf_parquet::{Error, ErrorKind, ImportOptions, WriteOptions};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

pub(crate) fn to_parquet(args: &ToParquet) -> Outcome {
    check_output(&args.output)?;
    let source = Source::load(&args.file)?;
    source.doc(&args.file)?;
    let mut options = WriteOptions::new()
        .variant(args.variant)
        .shred(!args.no_shred)
        .lossy(args.lossy)
        .compression(match args.compression {
            Compression::None => livebuf_parquet::Compression::None,
            Compression::Snappy => livebuf_parquet::Compression::Snappy,
            Compression::Zstd => livebuf_parquet::Compression::Zstd,
        });
    if let Some(pointer) = &args.table {
        options = options.table(pointer);
    }
    let mut bytes = Vec::new();
    progress::during(&format!("converting {}", name(&args.file)), || match source {
        Source::Mapped(file) => livebuf_parquet::to_parquet(Arc::new(file), &mut bytes, &options),
        Source::Read(document) => {
            livebuf_parquet::to_parquet(Arc::new(document), &mut bytes, &options)
        }
        Source::Made(document) => {
            livebuf_parquet::to_parquet(Arc::new(document.to_vec()), &mut bytes, &options)
        }
    })
    .map_err(|error| {
        let failure = failed(&args.file, &error);
        match error.kind() {
            ErrorKind::Unsupported if !args.lossy => {
                failure.with_hint("--lossy writes the nearest value instead")
            }
            _ => failure,
        }
    })?;
    write(&args.output, &bytes)
}

pub(crate) fn from_parquet(args: &FromParquet) -> Outcome {
    check_output(&args.output)?;
    let options = ImportOptions::new().skip_nulls(args.skip_nulls);
    let what = format!("converting {}", name(&args.input));
    let found = if args.input.is_file() {
        let file = File::open(&args.input).map_err(|error| Failure::io(&args.input, &error))?;
        progress::during(&what, || livebuf_parquet::from_parquet_file(file, &options))
    } else {
        let bytes = read(&args.input)?;
        progress::during(&what, || livebuf_parquet::from_parquet(bytes, &options))
    };
    let document = found.map_err(|error| failed(&args.input, &error))?;
    write(&args.output, document.as_bytes())
}

fn failed(path: &Path, error: &Error) -> Failure {
    match error.core_error() {
        Some(error) => Failure::document(path, error),
        None => Failure::trouble(format!("{}: {error}", name(path))),
    }
}
