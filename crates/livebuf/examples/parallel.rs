//! Reads a table from all processors: rows split by ranges, columns as slices.
//!
//! ```sh
//! cargo run --release -p livebuf --example parallel
//! ```

use livebuf::{Encoder, Result, Table, Valid};
use rayon::prelude::*;

fn main() -> Result<()> {
    // An array of a million similar objects becomes a table by itself.
    let mut encoder = Encoder::new();
    encoder.begin_array()?;
    for number in 0..1_000_000 {
        encoder.begin_object()?;
        encoder.key("id")?;
        encoder.i64(number)?;
        encoder.key("price")?;
        encoder.f64(number as f64 / 7.0)?;
        encoder.end_object()?;
    }
    encoder.end_array()?;
    let document = encoder.finish()?;

    let view = document.valid().expect("just made");
    let table = view.root().as_array().and_then(|rows| rows.table()).expect("a table");

    // By column: a slice is split as any slice is.
    let prices = table.column("price").and_then(|prices| prices.as_slice::<f64>()).expect("f64");
    let total: f64 = prices.par_chunks(1 << 16).map(|chunk| chunk.iter().sum::<f64>()).sum();

    // By rows: each part is a table of its own. More parts than threads share the work better.
    let parts: Vec<Table<'_, Valid>> = table.split(4 * rayon::current_num_threads()).collect();
    let dear: usize = parts
        .par_iter()
        .map(|part| part.column("price").map_or(0, |prices| prices.filter_f64(1e5, 2e5).count()))
        .sum();

    println!("{} rows cost {total:.2}; {dear} of them between 100,000 and 200,000", table.rows());
    Ok(())
}
