//! The number types that columns hold as they are.

use crate::block::column_type::ColumnType;

mod sealed {
    /// The types that columns hold.
    pub trait Sealed: bytemuck::Pod {}
}

/// A number type that a column can hold as it is: `i8` to `u64`, `f32`, `f64`.
pub trait Element: sealed::Sealed {
    /// The columns that hold it. Of `f32` and `f64` these are the columns of numbers, too, where
    /// whole values are integers.
    const COLUMNS: &'static [ColumnType];
}

macro_rules! element {
    ($($type:ty => $($column:ident)|+),+) => {
        $(
            impl sealed::Sealed for $type {}
            impl Element for $type {
                const COLUMNS: &'static [ColumnType] = &[$(ColumnType::$column),+];
            }
        )+
    };
}
element!(i8 => I8, i16 => I16, i32 => I32, i64 => I64, u8 => U8, u16 => U16, u32 => U32,
         u64 => U64, f32 => F32 | NumbersF32 | MarkedF32, f64 => F64 | NumbersF64 | MarkedF64);
