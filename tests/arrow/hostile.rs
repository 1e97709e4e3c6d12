//! Structures that break what can be checked of the interface's rules: errors, no harm.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_void};
use std::ptr;
use std::sync::Arc;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, to_ffi};
use arrow_array::types::{Int8Type, Int32Type};
use arrow_array::{
    Array, DictionaryArray, FixedSizeListArray, Int32Array, ListArray, NullArray, StringArray,
    StringViewArray, StructArray, make_array,
};
use arrow_buffer::Buffer;
use arrow_data::ArrayData;
use arrow_schema::{DataType, Field};
use livebuf_arrow::{
    ArrowArray, ArrowSchema, Error, ErrorKind, ImportOptions, RecordBatch, from_batch,
};

#[repr(C)]
struct SchemaLayout {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *mut *mut SchemaLayout,
    dictionary: *mut SchemaLayout,
    release: *mut c_void,
    private_data: *mut c_void,
}

#[repr(C)]
struct ArrayLayout {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *mut *const c_void,
    children: *mut *mut ArrayLayout,
    dictionary: *mut ArrayLayout,
    release: *mut c_void,
    private_data: *mut c_void,
}

/// Imports an array after something was changed in its structures. What it was is put back,
/// so that the `arrow` crate releases what it made.
fn broken(
    array: &dyn Array,
    change: impl FnOnce(&mut SchemaLayout, &mut ArrayLayout),
) -> Result<(), Error> {
    let (mut array, mut schema) = to_ffi(&array.to_data()).unwrap();
    // SAFETY: the structures have these layouts. What tests change breaks rules that are
    // checked before anything is read beyond what is there.
    unsafe {
        let (array, schema) = (&raw mut array, &raw mut schema);
        let saved: (ArrayLayout, SchemaLayout) =
            (array.cast::<ArrayLayout>().read(), schema.cast::<SchemaLayout>().read());
        change(&mut *schema.cast(), &mut *array.cast());
        let result = {
            let schema = ArrowSchema::take(schema.cast());
            let array = ArrowArray::take(array.cast());
            let batch = RecordBatch::new(schema, array);
            let result = from_batch(&batch, &ImportOptions::new()).map(drop);
            std::mem::forget(batch);
            result
        };
        let (mut array, mut schema) = saved;
        drop(FFI_ArrowArray::from_raw(ptr::from_mut(&mut array).cast()));
        drop(FFI_ArrowSchema::from_raw(ptr::from_mut(&mut schema).cast()));
        result
    }
}

fn mismatch(array: &dyn Array, change: impl FnOnce(&mut SchemaLayout, &mut ArrayLayout)) -> String {
    let error = broken(array, change).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Mismatch, "{error}");
    error.to_string()
}

fn numbers() -> Int32Array {
    Int32Array::from(vec![Some(1), None, Some(3)])
}

fn objects() -> StructArray {
    let field = Arc::new(Field::new("x", DataType::Int32, true));
    StructArray::from(vec![(field, Arc::new(numbers()) as _)])
}

fn lists() -> ListArray {
    ListArray::from_iter_primitive::<Int32Type, _, _>([Some([Some(1), Some(2)]), None])
}

#[test]
fn nothing_changed_is_fine() {
    broken(&objects(), |_, _| {}).unwrap();
}

#[test]
fn counts() {
    for length in [-1, i64::MIN, i64::MAX] {
        mismatch(&numbers(), |_, array| array.length = length);
        mismatch(&numbers(), |_, array| array.offset = length);
        mismatch(&objects(), |_, array| array.length = length);
        mismatch(&objects(), |_, array| array.offset = length);
        mismatch(&lists(), |_, array| array.offset = length);
    }
    for count in [-1, 0, 1, 3, i64::MAX] {
        mismatch(&numbers(), |_, array| array.n_buffers = count);
    }
    for count in [-1, 0, 2, i64::MAX] {
        mismatch(&objects(), |_, array| array.n_children = count);
    }
    mismatch(&objects(), |schema, _| schema.n_children = -1);
    mismatch(&objects(), |schema, _| schema.n_children = 0);
    let field = Arc::new(Field::new("item", DataType::Int32, true));
    let fixed = FixedSizeListArray::new(field, 1, Arc::new(numbers()), None);
    mismatch(&fixed, |_, array| array.length = 4);
    mismatch(&fixed, |_, array| array.offset = 1);
    assert!(mismatch(&objects(), |_, array| array.length = 4).contains("column \"x\""));
    // Nulls take no memory, but documents have limits.
    let error = broken(&NullArray::new(1), |_, array| array.length = i64::MAX).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Mismatch);
}

#[test]
fn pointers() {
    mismatch(&numbers(), |_, array| array.buffers = ptr::null_mut());
    // SAFETY: the array has two buffers.
    mismatch(&numbers(), |_, array| unsafe { *array.buffers.add(1) = ptr::null() });
    mismatch(&objects(), |_, array| array.children = ptr::null_mut());
    mismatch(&objects(), |schema, _| schema.children = ptr::null_mut());
    mismatch(&objects(), |schema, _| schema.format = ptr::null());
    // Names may be missing.
    broken(&objects(), |schema, _| schema.name = ptr::null()).unwrap();
    let dictionary = DictionaryArray::<Int8Type>::from_iter(["a", "b"]);
    mismatch(&dictionary, |_, array| array.dictionary = ptr::null_mut());
    // Then they are numbers.
    broken(&dictionary, |schema, _| schema.dictionary = ptr::null_mut()).unwrap();
    for (formats, kind) in [
        (&[c"", c"?", c"+", c"w:99999999999", c"ts", c"d:"][..], ErrorKind::Unsupported),
        (&[c"u", c"vu", c"+l", c"b\xFF"][..], ErrorKind::Mismatch),
    ] {
        for format in formats.iter().map(|format: &&CStr| format.as_ptr()) {
            let error = broken(&numbers(), |schema, _| schema.format = format).unwrap_err();
            assert_eq!(error.kind(), kind, "{error}");
        }
    }
    let released = broken(&numbers(), |schema, _| schema.release = ptr::null_mut());
    assert_eq!(released.unwrap_err().kind(), ErrorKind::Producer);
    let released = broken(&numbers(), |_, array| array.release = ptr::null_mut());
    assert_eq!(released.unwrap_err().kind(), ErrorKind::Producer);
}

/// An array that the `arrow` crate would refuse to make.
fn unchecked(
    kind: DataType,
    length: usize,
    buffers: Vec<Buffer>,
    children: Vec<ArrayData>,
) -> Arc<dyn Array> {
    let data = ArrayData::builder(kind).len(length).buffers(buffers).child_data(children);
    // SAFETY: nothing but the import looks at it.
    make_array(unsafe { data.build_unchecked() })
}

#[test]
fn offsets() {
    for offsets in [[0, 3, 2], [-1, 0, 1], [2, 1, 3], [0, -5, 3]] {
        let lists =
            ListArray::from_iter_primitive::<Int32Type, _, _>([Some([Some(1)]), Some([Some(2)])]);
        let bytes = offsets.as_ptr().cast::<c_void>();
        // SAFETY: the array has two buffers.
        let message = mismatch(&lists, |_, array| unsafe { *array.buffers.add(1) = bytes });
        assert_eq!(message, "the offsets are negative or do not rise");
    }
    let lists =
        ListArray::from_iter_primitive::<Int32Type, _, _>([Some([Some(1)]), Some([Some(2)])]);
    let beyond = [0, 1, 4];
    // SAFETY: the array has two buffers.
    let message = mismatch(&lists, |_, array| unsafe {
        *array.buffers.add(1) = beyond.as_ptr().cast();
    });
    assert_eq!(message, "the offsets lead beyond the elements");
}

#[test]
fn texts() {
    let text = StringArray::from(vec!["ab", "c"]);
    let bytes = b"a\xFFc";
    // SAFETY: the array has three buffers.
    let message = mismatch(&text, |_, array| unsafe {
        *array.buffers.add(2) = bytes.as_ptr().cast();
    });
    assert_eq!(message, "text is not UTF-8");
    let view = |words: [i32; 4]| {
        let views = StringViewArray::from(vec!["a text of more than twelve bytes"]);
        // SAFETY: the array has a buffer of views behind that of validity.
        broken(&views, |_, array| unsafe { *array.buffers.add(1) = words.as_ptr().cast() })
    };
    view([20, 0, 0, 12]).unwrap();
    for words in [
        [-1, 0, 0, 0],
        [20, 0, 0, 13],
        [20, 0, 1, 0],
        [20, 0, -1, 0],
        [20, 0, 0, -1],
        [i32::MAX, 0, 0, i32::MAX],
    ] {
        assert_eq!(view(words).unwrap_err().kind(), ErrorKind::Mismatch);
    }
}

#[test]
fn dictionary_indices() {
    for index in [-1i8, 2, 127] {
        let values = StringArray::from(vec!["a", "b"]).to_data();
        let kind = DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8));
        let keys = Buffer::from_slice_ref([0i8, 1, index]);
        let dictionary = ArrayData::builder(kind).len(3).add_buffer(keys).add_child_data(values);
        // SAFETY: nothing but the import looks at it.
        let (mut array, mut schema) = to_ffi(&unsafe { dictionary.build_unchecked() }).unwrap();
        // SAFETY: they belong together, and are moved away.
        let batch = unsafe {
            let schema = ArrowSchema::take(ptr::from_mut(&mut schema).cast());
            RecordBatch::new(schema, ArrowArray::take(ptr::from_mut(&mut array).cast()))
        };
        let error = from_batch(&batch, &ImportOptions::new()).unwrap_err();
        assert_eq!((error.kind(), error.row()), (ErrorKind::Mismatch, Some(2)));
    }
}

#[test]
fn fixed_lists_of_no_width() {
    let kind = DataType::FixedSizeList(Arc::new(Field::new("item", DataType::Int32, true)), 0);
    let lists = unchecked(kind, 3, Vec::new(), vec![numbers().slice(0, 0).to_data()]);
    broken(&*lists, |_, _| {}).unwrap();
    let bytes = unchecked(
        DataType::FixedSizeBinary(0),
        3,
        vec![Buffer::from_slice_ref([0u8; 0])],
        Vec::new(),
    );
    broken(&*bytes, |_, _| {}).unwrap();
}
