//! Who keeps what alive: documents outlive what borrows from them, and are released once.
#![allow(unsafe_code)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use livebuf::{Doc, DocBuf, Valid};
use livebuf_arrow::{ArrowArray, Document, ExportOptions, Exporter, TextLayout};

use crate::exchange::{stream_to_arrow, to_arrow};

/// A document that counts how often documents like it were dropped.
struct Counted(DocBuf, Arc<AtomicUsize>);

impl Document for Counted {
    fn open(&self) -> livebuf::Result<Doc<'_>> {
        self.0.open()
    }

    fn valid(&self) -> Option<Doc<'_, Valid>> {
        Document::valid(&self.0)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.1.fetch_add(1, Ordering::SeqCst);
    }
}

fn document() -> (Arc<Counted>, Arc<AtomicUsize>) {
    let rows: Vec<String> = (0..100)
        .map(|n| {
            format!(
                r#"{{"x":1{n}000000000000,"s":"the text of row number {n}","o":{{"y":0.1{n}}}}}"#
            )
        })
        .collect();
    let document = livebuf_json::from_str(&format!("[{}]", rows.join(","))).unwrap();
    let dropped = Arc::new(AtomicUsize::new(0));
    (Arc::new(Counted(document, Arc::clone(&dropped))), dropped)
}

#[test]
fn arrays_outlive_exporter_and_document() {
    let (document, dropped) = document();
    let batch = {
        let exporter = Exporter::new(Arc::clone(&document)).unwrap();
        let text = ExportOptions::new().text(TextLayout::Utf8View);
        to_arrow(exporter.options(text).batch().unwrap())
    };
    drop(document);
    assert_eq!(dropped.load(Ordering::SeqCst), 0);
    let columns: Vec<ArrayRef> = batch.columns().to_vec();
    drop(batch);
    // Any one column keeps it.
    let x = Arc::clone(&columns[0]);
    drop(columns);
    assert_eq!(x.as_primitive::<Int64Type>().value(99), 199_000_000_000_000);
    assert_eq!(dropped.load(Ordering::SeqCst), 0);
    std::thread::spawn(move || drop(x)).join().unwrap();
    assert_eq!(dropped.load(Ordering::SeqCst), 1);
}

#[test]
fn streams_keep_the_document() {
    let (document, dropped) = document();
    let exporter = Exporter::new(document).unwrap().options(ExportOptions::new().batch_rows(30));
    let mut stream = stream_to_arrow(exporter.stream().unwrap());
    drop(exporter);
    let first = stream.next().unwrap().unwrap();
    drop(stream);
    assert_eq!(first.num_rows(), 30);
    assert_eq!(dropped.load(Ordering::SeqCst), 0);
    drop(first);
    assert_eq!(dropped.load(Ordering::SeqCst), 1);
}

#[test]
fn structures_that_nobody_takes_release_all() {
    let (document, dropped) = document();
    let shared: Arc<dyn Document> = document;
    let exporter = Exporter::new(Arc::new(shared)).unwrap();
    drop(exporter.schema().unwrap());
    drop(exporter.batch().unwrap());
    drop(exporter.batch().unwrap().into_parts());
    drop(exporter.stream().unwrap());
    assert_eq!(dropped.load(Ordering::SeqCst), 0);
    drop(exporter);
    assert_eq!(dropped.load(Ordering::SeqCst), 1);
}

/// While something borrows, the document cannot be edited: nobody gets at it mutably.
#[test]
fn edits_are_refused_while_something_borrows() {
    let (document, _) = document();
    let mut document = Arc::new(document.0.clone());
    let batch = Exporter::new(Arc::clone(&document)).unwrap().batch().unwrap();
    assert!(Arc::get_mut(&mut document).is_none());
    drop(batch);
    let editor = Arc::get_mut(&mut document).unwrap();
    editor.set_pointer("/0/x", 5).unwrap();

    let options = ExportOptions::new().copy(true).text(TextLayout::Utf8View);
    let exporter = Exporter::new(Arc::clone(&document)).unwrap().options(options);
    let copy = to_arrow(exporter.batch().unwrap());
    drop(exporter);
    let editor = Arc::get_mut(&mut document).unwrap();
    editor.set_pointer("/0/x", 6).unwrap();
    editor.set_pointer("/0/s", "another text that is longer").unwrap();
    assert_eq!(copy.column(0).as_primitive::<Int64Type>().value(0), 5);
    assert_eq!(copy.column(1).as_string_view().value(0), "the text of row number 0");
}

/// Moving the `Arc`, or what holds it, leaves the bytes where they are.
#[test]
fn bytes_stay_in_place() {
    let (document, _) = document();
    let at = document.0.as_bytes().as_ptr();
    let moved = [Box::new(Arc::clone(&document))];
    assert_eq!(moved[0].0.as_bytes().as_ptr(), at);
    let batch = to_arrow(Exporter::new(document).unwrap().batch().unwrap());
    let slots = batch.column(0).as_primitive::<Int64Type>().values().as_ptr();
    assert_eq!(slots.cast::<u8>(), {
        let doc = Document::valid(&**moved[0]).unwrap();
        let table = doc.root().as_array().unwrap().table().unwrap();
        table.column("x").unwrap().slots::<i64>().unwrap().as_ptr().cast::<u8>()
    });
}

/// A consumer may move children away, and release their parent first.
#[test]
fn children_moved_away_live_on() {
    #[repr(C)]
    struct Layout {
        counts: [i64; 5],
        buffers: *mut *const u8,
        children: *mut *mut ArrowArray,
        dictionary: *mut ArrowArray,
        release: Option<unsafe extern "C" fn(*mut ArrowArray)>,
        private: *mut u8,
    }
    let (document, dropped) = document();
    let (schema, array) = Exporter::new(document).unwrap().batch().unwrap().into_parts();
    drop(schema);
    // SAFETY: the structure has this layout; its first child is an array, moved away as
    // the interface allows, with 100 numbers in its second buffer.
    unsafe {
        let layout = &*std::ptr::from_ref(&array).cast::<Layout>();
        assert_eq!(layout.counts, [100, 0, 0, 1, 3]);
        let child = ArrowArray::take(*layout.children);
        drop(array);
        assert_eq!(dropped.load(Ordering::SeqCst), 0);
        let layout = &*std::ptr::from_ref(&child).cast::<Layout>();
        assert_eq!(layout.counts, [100, 0, 0, 2, 0]);
        let values = (*layout.buffers.add(1)).cast::<i64>();
        assert_eq!(values.add(99).read(), 199_000_000_000_000);
        drop(child);
        assert_eq!(dropped.load(Ordering::SeqCst), 1);
    }
}
