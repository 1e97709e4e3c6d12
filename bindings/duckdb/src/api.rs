//! DuckDB's types, vectors and values, as safe Rust: all that reads and writes its memory.
#![allow(unsafe_code)]

use crate::error::Fault;
use libduckdb_sys::*;
use std::ffi::{CStr, CString, c_char, c_void};
use std::marker::PhantomData;

/// The number of a type, which DuckDB calls its id.
pub(crate) type Id = DUCKDB_TYPE;

pub(crate) use libduckdb_sys::{
    DUCKDB_TYPE_DUCKDB_TYPE_BIGINT as BIGINT, DUCKDB_TYPE_DUCKDB_TYPE_BLOB as BLOB,
    DUCKDB_TYPE_DUCKDB_TYPE_BOOLEAN as BOOLEAN, DUCKDB_TYPE_DUCKDB_TYPE_DATE as DATE,
    DUCKDB_TYPE_DUCKDB_TYPE_DECIMAL as DECIMAL, DUCKDB_TYPE_DUCKDB_TYPE_DOUBLE as DOUBLE,
    DUCKDB_TYPE_DUCKDB_TYPE_FLOAT as FLOAT, DUCKDB_TYPE_DUCKDB_TYPE_LIST as LIST,
    DUCKDB_TYPE_DUCKDB_TYPE_TIME as TIME, DUCKDB_TYPE_DUCKDB_TYPE_TIMESTAMP as TIMESTAMP,
    DUCKDB_TYPE_DUCKDB_TYPE_TIMESTAMP_TZ as TIMESTAMP_TZ,
    DUCKDB_TYPE_DUCKDB_TYPE_UBIGINT as UBIGINT, DUCKDB_TYPE_DUCKDB_TYPE_UUID as UUID,
    DUCKDB_TYPE_DUCKDB_TYPE_VARCHAR as VARCHAR,
};

/// A type that is owned here.
pub(crate) struct Type(duckdb_logical_type);

impl Drop for Type {
    fn drop(&mut self) {
        // SAFETY: it was made by DuckDB, and is destroyed once.
        unsafe { duckdb_destroy_logical_type(&mut self.0) }
    }
}

impl Type {
    /// A type that has no parameters.
    pub(crate) fn of(id: Id) -> Type {
        // SAFETY: any number may be asked for.
        Type(unsafe { duckdb_create_logical_type(id) })
    }

    /// The same under a name of its own.
    pub(crate) fn named(id: Id, name: &CStr) -> Type {
        let made = Type::of(id);
        // SAFETY: the type is owned here, and DuckDB copies the name.
        unsafe { duckdb_logical_type_set_alias(made.0, name.as_ptr()) };
        made
    }

    pub(crate) fn decimal(width: u8, scale: u8) -> Type {
        // SAFETY: it takes two numbers, and no pointers.
        Type(unsafe { duckdb_create_decimal_type(width, scale) })
    }

    pub(crate) fn list(item: &Type) -> Type {
        // SAFETY: DuckDB copies the item's type.
        Type(unsafe { duckdb_create_list_type(item.0) })
    }

    pub(crate) fn structure(fields: &[(CString, Type)]) -> Type {
        let mut types: Vec<_> = fields.iter().map(|(_, kind)| kind.0).collect();
        let mut names: Vec<_> = fields.iter().map(|(name, _)| name.as_ptr()).collect();
        let count = fields.len() as idx_t;
        // SAFETY: both have `count` elements, which DuckDB copies.
        Type(unsafe { duckdb_create_struct_type(types.as_mut_ptr(), names.as_mut_ptr(), count) })
    }

    pub(crate) fn raw(&self) -> duckdb_logical_type {
        self.0
    }
}

/// Numbers that a vector holds as they are.
pub(crate) trait Plain: Copy {}
impl Plain for bool {}
impl Plain for i32 {}
impl Plain for i64 {}
impl Plain for u64 {}
impl Plain for f32 {}
impl Plain for f64 {}
/// Decimals and UUIDs: the low half, then the high one. Also a list's place: offset and length.
impl Plain for [u64; 2] {}

/// Bytes of a value of a vector. Decimals are made with 38 digits only.
fn width(id: Id) -> usize {
    match id {
        BOOLEAN => 1,
        DATE | FLOAT => 4,
        BIGINT | UBIGINT | DOUBLE | TIME | TIMESTAMP | TIMESTAMP_TZ => 8,
        DECIMAL | UUID | LIST | VARCHAR | BLOB => 16,
        _ => 0,
    }
}

/// A vector of DuckDB, while a function of ours runs.
pub(crate) struct Vector<'a> {
    raw: duckdb_vector,
    rows: usize,
    id: Id,
    /// The bits of its rows, once they are writable; else null.
    validity: *mut u64,
    lives: PhantomData<&'a ()>,
}

/// Texts or blobs of a vector.
pub(crate) struct Texts<'a> {
    data: &'a [duckdb_string_t],
    validity: Option<&'a [u64]>,
}

impl<'a> Texts<'a> {
    /// The bytes of a row; none for NULL.
    #[inline]
    pub(crate) fn get(&self, row: usize) -> Option<&'a [u8]> {
        if let Some(validity) = self.validity
            && validity.get(row / 64)? >> (row % 64) & 1 == 0
        {
            return None;
        }
        let text = self.data.get(row)?;
        // SAFETY: the first four bytes are the length in both layouts; at most 12 bytes lie
        // within, others where the pointer leads, as long as the vector lives.
        unsafe {
            let length = text.value.inlined.length as usize;
            let start = match length <= 12 {
                true => (&raw const text.value.inlined.inlined).cast::<u8>(),
                false => text.value.pointer.ptr.cast_const().cast(),
            };
            Some(std::slice::from_raw_parts(start, length))
        }
    }
}

impl<'a> Vector<'a> {
    /// # Safety
    /// The vector is flat, has room for `rows` rows, and lives for `'a`.
    pub(crate) unsafe fn new(raw: duckdb_vector, rows: usize) -> Vector<'a> {
        // SAFETY: the vector lives. The type is a copy.
        let id = unsafe {
            let kind = Type(duckdb_vector_get_column_type(raw));
            duckdb_get_type_id(kind.0)
        };
        Vector { raw, rows, id, validity: std::ptr::null_mut(), lives: PhantomData }
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Its rows as texts or blobs.
    pub(crate) fn texts(&self) -> Result<Texts<'a>, Fault> {
        if !matches!(self.id, VARCHAR | BLOB) {
            return Err(self.unexpected());
        }
        if self.rows == 0 {
            return Ok(Texts { data: &[], validity: None });
        }
        // SAFETY: such vectors have a text for each row, and a bit where some are NULL.
        unsafe {
            let data = duckdb_vector_get_data(self.raw).cast_const().cast();
            let bits = duckdb_vector_get_validity(self.raw).cast_const();
            let words = self.rows.div_ceil(64);
            Ok(Texts {
                data: std::slice::from_raw_parts(data, self.rows),
                validity: (!bits.is_null()).then(|| std::slice::from_raw_parts(bits, words)),
            })
        }
    }

    #[cold]
    fn unexpected(&self) -> Fault {
        Fault::Other(format!("a vector has the unexpected type {}", self.id))
    }

    /// Its values, to be written.
    pub(crate) fn values<T: Plain>(&mut self) -> Result<&mut [T], Fault> {
        if width(self.id) != size_of::<T>() {
            return Err(self.unexpected());
        }
        if self.rows == 0 {
            return Ok(&mut []);
        }
        // SAFETY: such vectors have a value of that width for each row. They are set to zero first,
        // which is a value of each of these types.
        unsafe {
            let data = duckdb_vector_get_data(self.raw).cast::<T>();
            std::ptr::write_bytes(data, 0, self.rows);
            Ok(std::slice::from_raw_parts_mut(data, self.rows))
        }
    }

    /// Fills it with numbers.
    pub(crate) fn copy<T: Plain>(&mut self, values: &[T]) -> Result<(), Fault> {
        let to = self.values::<T>()?;
        if to.len() != values.len() {
            return Err(Fault::Other(format!("{} values for {} rows", values.len(), to.len())));
        }
        to.copy_from_slice(values);
        Ok(())
    }

    /// The bits of its rows: one where a value is. All are set at first.
    fn validity(&mut self) -> &mut [u64] {
        // SAFETY: DuckDB makes a bit for each row, which stays while the vector keeps its size.
        unsafe {
            if self.validity.is_null() {
                duckdb_vector_ensure_validity_writable(self.raw);
                self.validity = duckdb_vector_get_validity(self.raw);
            }
            std::slice::from_raw_parts_mut(self.validity, self.rows.div_ceil(64))
        }
    }

    /// Makes all rows NULL whose bit is not set.
    pub(crate) fn set_validity(&mut self, bits: impl IntoIterator<Item = u64>) {
        self.validity().iter_mut().zip(bits).for_each(|(word, bits)| *word = bits);
    }

    /// Makes a row NULL.
    #[inline]
    pub(crate) fn set_null(&mut self, row: usize) {
        if let Some(word) = self.validity().get_mut(row / 64) {
            *word &= !(1 << (row % 64));
        }
    }

    /// Puts a copy of a text or blob into a row.
    #[inline]
    pub(crate) fn put(&mut self, row: usize, text: &[u8]) -> Result<(), Fault> {
        if row >= self.rows || !matches!(self.id, VARCHAR | BLOB) {
            return Err(self.unexpected());
        }
        if u32::try_from(text.len()).is_err() {
            return Err(Fault::Other("a text or blob of more than 4 GiB".to_owned()));
        }
        // SAFETY: the row is there, and DuckDB copies the bytes. Short texts lie within.
        unsafe {
            if text.len() <= 12 {
                let mut inlined = [0 as c_char; 12];
                let bytes = &mut inlined[..text.len()];
                bytes.iter_mut().zip(text).for_each(|(to, &from)| *to = from as c_char);
                let data = duckdb_vector_get_data(self.raw).cast::<duckdb_string_t>();
                let inlined = duckdb_string_t__bindgen_ty_1__bindgen_ty_2 {
                    length: text.len() as u32,
                    inlined,
                };
                data.add(row)
                    .write(duckdb_string_t { value: duckdb_string_t__bindgen_ty_1 { inlined } });
                return Ok(());
            }
            let (start, length) = (text.as_ptr().cast(), text.len() as idx_t);
            duckdb_vector_assign_string_element_len(self.raw, row as idx_t, start, length);
        }
        Ok(())
    }

    /// The vector of a field, of a vector of structs of so many fields.
    pub(crate) fn field(&mut self, index: usize) -> Vector<'_> {
        // SAFETY: a field's vector has the rows of its struct's.
        unsafe { Vector::new(duckdb_struct_vector_get_child(self.raw, index as idx_t), self.rows) }
    }

    /// The vector of the elements, of a vector of lists, made for so many of them.
    pub(crate) fn elements(&mut self, count: usize) -> Result<Vector<'_>, Fault> {
        // SAFETY: the room is made first.
        unsafe {
            let size = count as idx_t;
            if duckdb_list_vector_reserve(self.raw, size) != duckdb_state_DuckDBSuccess
                || duckdb_list_vector_set_size(self.raw, size) != duckdb_state_DuckDBSuccess
            {
                return Err(self.unexpected());
            }
            Ok(Vector::new(duckdb_list_vector_get_child(self.raw), count))
        }
    }
}

/// The columns of a call.
pub(crate) struct Chunk<'a> {
    raw: duckdb_data_chunk,
    rows: usize,
    lives: PhantomData<&'a ()>,
}

impl<'a> Chunk<'a> {
    /// Arguments.
    ///
    /// # Safety
    /// The chunk lives for `'a`, and its vectors are flat.
    pub(crate) unsafe fn given(raw: duckdb_data_chunk) -> Chunk<'a> {
        // SAFETY: the caller says what lives, and for how long.
        let rows = unsafe { duckdb_data_chunk_get_size(raw) } as usize;
        Chunk { raw, rows, lives: PhantomData }
    }

    /// Columns to be filled.
    ///
    /// # Safety
    /// The same; the vectors are new.
    pub(crate) unsafe fn empty(raw: duckdb_data_chunk) -> Chunk<'a> {
        Chunk { raw, rows: 0, lives: PhantomData }
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    pub(crate) fn columns(&self) -> usize {
        // SAFETY: the chunk lives.
        unsafe { duckdb_data_chunk_get_column_count(self.raw) as usize }
    }

    pub(crate) fn column(&self, index: usize) -> Result<Vector<'a>, Fault> {
        if index >= self.columns() {
            return Err(Fault::Other(format!("DuckDB has no column {index}")));
        }
        // SAFETY: the column is there, with the chunk's rows.
        Ok(unsafe {
            Vector::new(duckdb_data_chunk_get_vector(self.raw, index as idx_t), self.rows)
        })
    }

    /// Rows that are going to be filled: as many as a vector has room for, at most.
    pub(crate) fn set_rows(&mut self, rows: usize) {
        self.rows = rows.min(most_rows());
        // SAFETY: vectors have room for this many.
        unsafe { duckdb_data_chunk_set_size(self.raw, self.rows as idx_t) };
    }
}

/// Rows that a vector has room for.
pub(crate) fn most_rows() -> usize {
    // SAFETY: it takes nothing, and returns a number.
    unsafe { duckdb_vector_size() as usize }
}

/// A value that is owned here: an argument of a table function.
pub(crate) struct Argument(duckdb_value);

impl Drop for Argument {
    fn drop(&mut self) {
        // SAFETY: it was made by DuckDB, and is destroyed once.
        unsafe { duckdb_destroy_value(&mut self.0) }
    }
}

impl Argument {
    /// # Safety
    /// The value is null or owned by nobody else.
    pub(crate) unsafe fn new(raw: duckdb_value) -> Option<Argument> {
        // SAFETY: the caller says what lives, and for how long.
        let is_null = raw.is_null() || unsafe { duckdb_is_null_value(raw) };
        let value = Argument(raw);
        (!is_null).then_some(value)
    }

    pub(crate) fn text(&self) -> Result<String, Fault> {
        // SAFETY: DuckDB answers a text that it made for us, and that we free.
        unsafe {
            let text = duckdb_get_varchar(self.0);
            if text.is_null() {
                return Err(Fault::Argument(1, "text"));
            }
            let copy = CStr::from_ptr(text).to_str().map(str::to_owned);
            duckdb_free(text.cast());
            copy.map_err(|_| Fault::Argument(1, "text in UTF-8"))
        }
    }

    pub(crate) fn bool(&self) -> bool {
        // SAFETY: the value lives.
        unsafe { duckdb_get_bool(self.0) }
    }
}

/// Data that DuckDB keeps for one thread of ours: as a pointer, and to be freed by [`freed`].
pub(crate) fn kept<T: Send>(data: T) -> *mut c_void {
    Box::into_raw(Box::new(data)).cast()
}

/// The same for data that threads share.
pub(crate) fn shared<T: Send + Sync>(data: T) -> *mut c_void {
    kept(data)
}

/// Frees what [`kept`] made.
///
/// # Safety
/// The pointer is one of [`kept`] of the same type, and is not used again.
pub(crate) unsafe extern "C" fn freed<T>(data: *mut c_void) {
    // SAFETY: as promised. No drop of ours panics.
    drop(unsafe { Box::from_raw(data.cast::<T>()) });
}
