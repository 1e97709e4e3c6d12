//! The blocks of a document: how the bytes of each are read and written.

pub(crate) mod absent;
pub(crate) mod column;
pub(crate) mod column_type;
pub(crate) mod dictionary;
pub(crate) mod list;
pub(crate) mod map;
pub(crate) mod offsets;
pub(crate) mod owner;
pub(crate) mod record;
pub(crate) mod run;
pub(crate) mod shape;
pub(crate) mod table;
pub(crate) mod tensor;
pub(crate) mod walk;
