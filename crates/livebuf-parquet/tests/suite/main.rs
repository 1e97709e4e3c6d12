//! Documents to Parquet and back; the public cases of shredded Variants; files that are wrong.

mod cases;
mod hostile;
mod properties;
mod round_trips;

use std::sync::Arc;

use livebuf::DocBuf;
use livebuf_parquet::{ImportOptions, WriteOptions, from_parquet, to_parquet};

pub(crate) fn json(text: &str) -> Arc<DocBuf> {
    Arc::new(livebuf_json::from_str(text).unwrap())
}

pub(crate) fn text(document: &DocBuf) -> String {
    livebuf_json::to_string(document.valid().unwrap().root()).unwrap()
}

pub(crate) fn written(document: &Arc<DocBuf>, options: &WriteOptions) -> Vec<u8> {
    let mut bytes = Vec::new();
    to_parquet(Arc::clone(document), &mut bytes, options).unwrap();
    bytes
}

pub(crate) fn back(document: &Arc<DocBuf>, options: &WriteOptions) -> DocBuf {
    from_parquet(written(document, options), &ImportOptions::new()).unwrap()
}
