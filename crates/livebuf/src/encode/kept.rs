//! Encoding in memory that the thread keeps from one document to the next.

use super::encoder::Encoder;
use super::options::EncodeOptions;
use super::output::Output;
use crate::store::storage::VecStorage;
use alloc::boxed::Box;
use core::cell::Cell;

/// An encoder with more memory is not kept.
const MOST_KEPT: usize = 4 << 20;

std::thread_local! {
    static KEPT: Cell<Option<Box<Encoder>>> = const { Cell::new(None) };
}

/// Gives `encode` the thread's encoder, restarted.
pub(super) fn with_kept<R>(
    storage: VecStorage,
    options: EncodeOptions,
    encode: impl FnOnce(&mut Encoder) -> R,
) -> R {
    // It is taken meanwhile. A call within `encode` finds none, and a panic drops it.
    let mut encoder = match KEPT.try_with(Cell::take) {
        Ok(Some(mut kept)) => {
            kept.restart(storage, options);
            kept
        }
        _ => Box::new(Encoder::in_storage(storage, options)),
    };
    let result = encode(&mut encoder);
    if encoder.kept_bytes() <= MOST_KEPT {
        // Drops whatever was not finished.
        encoder.out = Output::new(VecStorage::default(), 0);
        // A thread that ends keeps nothing any more.
        let _ = KEPT.try_with(|kept| kept.set(Some(encoder)));
    }
    result
}
