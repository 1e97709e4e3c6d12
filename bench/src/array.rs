//! Owns long arrays of integers: pushing, the bytes of an element, and random access.

use std::hint::black_box;

use anyhow::{Context as _, Result, ensure};
use fastrand::Rng;
use livebuf::{Array, Doc, DocBuf, Valid};

use crate::report::{Measured, Report, Target, duration};
use crate::timing::{Contest, Effort};

const PUSH_TARGET: f64 = 10.0;
/// Bytes of an element of an array that lies last in the document.
const LAST_BYTES_TARGET: f64 = 8.1;
/// Times the data, of an array that cannot grow in place.
const OTHER_BYTES_TARGET: f64 = 2.5;
/// Beyond what `Vec<i64>` pays for the same index: the cache miss.
const GET_TARGET: f64 = 10.0;
/// Random indices between two turns of the competitors.
const WINDOW: usize = 4096;
