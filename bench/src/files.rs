//! Owns files: open a document, edit one number and commit, against an open, a write and
//! an fsync of one page of a file of the same length.
//!
//! Waiting for the disk counts here, so the clock is the wall's. Both take turns. The
//! fastest says little where a disk is shared and sometimes answers from a cache, so the
//! quartile counts, of many; the median is told. Closing is told by itself.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use livebuf::mapped::{self, FileEdit, MappedFile};
use livebuf::{DocBuf, New};

use crate::report::{Measured, Report, Target, duration};
use crate::timing::{Effort, Entry};

/// Times the write of a page.
const TARGET: f64 = 2.5;
/// Numbers in the document: 8 bytes each.
const SIZES: [u64; 3] = [100, 1_000_000, 64_000_000];

pub(crate) fn run(effort: Effort, report: &mut Report) -> Result<()> {
    let directory = std::env::temp_dir().join(format!("livebuf-bench-{}", std::process::id()));
    fs::create_dir_all(&directory)?;
    let full = effort.largest_map == Effort::FULL.largest_map;
    let sizes = if full { &SIZES[..] } else { &SIZES[..2] };
    let done = sizes.iter().try_for_each(|&size| run_size(&directory, size, effort, report));
    fs::remove_dir_all(&directory)?;
    done
}

fn run_size(directory: &Path, size: u64, effort: Effort, report: &mut Report) -> Result<()> {
    let (document, page) = (directory.join("document.lbuf"), directory.join("page"));
    {
        let mut doc = DocBuf::new()?;
        let list = doc.set_root(New::array(size as usize))?.expect("a container");
        for number in 0..size {
            doc.push(list, number << 32)?;
        }
        mapped::write(&document, doc.as_bytes())?;
        mapped::write(&page, doc.as_bytes())?;
    }
    let length = fs::metadata(&page)?.len();
    let middle = length / 2 / 4096 * 4096;
    let place = format!("/{}", size / 2);

    let (mut ours, mut closing, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
    let start = Instant::now();
    let rounds = (100 * effort.minimum_rounds as usize).max(1);
    let mut round = 0u64;
    while ours.len() < rounds || start.elapsed() < effort.budget {
        round += 1;
        let start = Instant::now();
        let file = File::options().read(true).write(true).open(&page)?;
        file.write_all_at(&[round as u8; 4096][..4096.min(length as usize)], middle)?;
        file.sync_all()?;
        theirs.push(start.elapsed());
        drop(file);

        let start = Instant::now();
        let mut edit = FileEdit::open(&document)?;
        edit.editor().set_pointer(&place, round)?;
        edit.commit()?;
        ours.push(start.elapsed());
        drop(edit);
        closing.push(start.elapsed() - ours[ours.len() - 1]);
    }
    let file = MappedFile::open(&document)?;
    let found = file.doc()?.pointer(&place)?.and_then(|value| value.as_u64());
    ensure!(found == Some(round), "the last commit is not in the file");

    let at = |times: &mut Vec<Duration>, part: usize| {
        times.sort_unstable();
        times[times.len() / part].as_nanos() as f64
    };
    let name = format!("files/open, edit a number, commit; file of {length} B");
    let entries =
        vec![Entry::times("livebuf", &ours), Entry::times("open, write a page, fsync", &theirs)];
    report.entries(&name, "s", entries);
    report.add(
        name,
        Measured::Ratio(at(&mut ours, 4) / at(&mut theirs, 4)),
        Target::AtMost(TARGET),
        format!(
            "an open, a write and an fsync of one page; quartiles {} to {}, medians {} to {}; \
             then closing, which cuts the file: median {}",
            duration(at(&mut ours, 4)),
            duration(at(&mut theirs, 4)),
            duration(at(&mut ours, 2)),
            duration(at(&mut theirs, 2)),
            duration(at(&mut closing, 2)),
        ),
    );
    Ok(())
}
