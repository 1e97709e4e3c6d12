//! Objects of 100 to 1,000,000 members, and arrays: C through LiveBuf, and through Lite³ where
//! `LITE3` names it. Both sides must give the same answers.

use std::collections::HashSet;
use std::ffi::{c_char, c_int};
use std::hint::black_box;
use std::iter;
use std::mem::MaybeUninit;

use anyhow::{Result, ensure};
use fastrand::Rng;
use livebuf_c::document::livebuf_doc;

use crate::rows::{row, theirs};
use crate::{quick, results};

unsafe extern "C" {
    fn c_map_build(
        doc: *mut livebuf_doc,
        buffer: *mut u8,
        capacity: usize,
        keys: *const c_char,
        count: usize,
    ) -> c_int;
    fn c_map_sum(doc: *const livebuf_doc, keys: *const c_char, count: usize) -> i64;
    fn c_map_set(doc: *mut livebuf_doc, keys: *const c_char, count: usize) -> c_int;
    fn c_array_build(
        doc: *mut livebuf_doc,
        buffer: *mut u8,
        capacity: usize,
        count: usize,
    ) -> c_int;
    fn c_array_sum(doc: *const livebuf_doc, order: *const u32, count: usize) -> i64;
}

#[cfg(lite3)]
mod lite3 {
    use std::ffi::{c_char, c_int};

    #[repr(C)]
    pub(super) struct Buffer(std::cell::UnsafeCell<[usize; 3]>);

    unsafe extern "C" {
        pub(super) fn lite3_memory(capacity: usize) -> *mut Buffer;
        pub(super) fn lite3_map_build(to: *mut Buffer, keys: *const c_char, count: usize) -> c_int;
        pub(super) fn lite3_map_sum(from: *const Buffer, keys: *const c_char, count: usize) -> i64;
        pub(super) fn lite3_map_set(to: *mut Buffer, keys: *const c_char, count: usize) -> c_int;
        pub(super) fn lite3_array_build(to: *mut Buffer, count: usize) -> c_int;
        pub(super) fn lite3_array_sum(from: *const Buffer, order: *const u32, count: usize) -> i64;
    }
}

const SIZES: [usize; 4] = [100, 1_000, 100_000, 1_000_000];
/// Bytes of memory for a member, enough for both.
const MEMBER: usize = 256;

/// A key of 16 characters and its NUL. The keys of an array lie one behind the other.
type Key = [u8; 17];

/// The hash by which Lite³ tells the members of an object apart. It refuses a second key of the
/// same hash.
fn djb2(key: &Key) -> u32 {
    key[..16]
        .iter()
        .fold(5381, |hash: u32, byte| hash.wrapping_mul(33).wrapping_add((*byte).into()))
}

/// Keys of small maps that are built in turns. A processor that builds the same small map thousands
/// of times learns how each comparison ends. No program that builds maps of new keys has that.
const IN_TURNS: usize = 64_000;

/// `count` keys that are in the object, and as many that are not. No two have the same hash.
fn keys(count: usize, seed: u64) -> (Vec<Key>, Vec<Key>) {
    let mut random = Rng::with_seed(count as u64 + (seed << 32));
    let mut hashes = HashSet::new();
    let mut keys = Vec::new();
    while keys.len() < 2 * count {
        let mut key = [0; 17];
        key[..16].copy_from_slice(format!("{:016x}", random.u64(..)).as_bytes());
        if hashes.insert(djb2(&key)) {
            keys.push(key);
        }
    }
    let absent = keys.split_off(count);
    (keys, absent)
}

/// Memory as an allocator gives it, and a document in it.
struct Ours {
    buffer: Vec<u8>,
    doc: Box<MaybeUninit<livebuf_doc>>,
}

impl Ours {
    fn new(capacity: usize) -> Ours {
        Ours { buffer: vec![0xA5; capacity], doc: Box::new(MaybeUninit::uninit()) }
    }

    fn build(&mut self, keys: &[Key]) -> c_int {
        let (doc, buffer) = (self.doc.as_mut_ptr(), self.buffer.as_mut_ptr());
        // SAFETY: room as said, and keys that end with NUL.
        unsafe { c_map_build(doc, buffer, self.buffer.len(), keys.as_ptr().cast(), keys.len()) }
    }

    /// `build` was called before.
    fn sum(&self, keys: &[Key]) -> i64 {
        // SAFETY: a document that was made, and keys that end with NUL.
        unsafe { c_map_sum(self.doc.as_ptr(), keys.as_ptr().cast(), keys.len()) }
    }

    /// `build` was called before.
    fn overwrite(&mut self, keys: &[Key]) -> c_int {
        // SAFETY: as above.
        unsafe { c_map_set(self.doc.as_mut_ptr(), keys.as_ptr().cast(), keys.len()) }
    }
}

// All unsafe calls of the rows are Lite³'s.
#[cfg_attr(not(lite3), allow(unused_unsafe))]
fn map(count: usize) -> Result<()> {
    let title = thousands(count);
    let tasks = ["build", "hit", "miss", "overwrite"].map(|task| format!("map of {title}: {task}"));
    if !tasks.iter().any(|task| results::wanted(&format!("c/{task}"))) {
        return Ok(());
    }
    let capacity = 4096 + count * MEMBER;
    let (present, absent) = keys(count, 0);
    // Asked for in another order than they were stored, and overwritten in this one.
    let mut order = present.clone();
    Rng::with_seed(7).shuffle(&mut order);
    let every = count as i64 * (count as i64 + 1) / 2;
    let mut ours = Ours::new(capacity);
    ensure!(ours.build(&present) == 0);
    ensure!(ours.sum(&order) == every && ours.sum(&absent) == 0);
    // The order of the values changes, their sum does not: the first of each is looked at, too.
    let first = ours.sum(&order[..1]);
    ensure!(ours.overwrite(&order) == 0);
    ensure!(ours.sum(&order) == every && ours.sum(&order[..1]) == 1 && first != 1);
    #[cfg(lite3)]
    // SAFETY (all calls below): memory as said, and keys that end with NUL.
    let other = unsafe {
        let other = lite3::lite3_memory(capacity);
        ensure!(lite3::lite3_map_build(other, present.as_ptr().cast(), count) == 0);
        ensure!(lite3::lite3_map_sum(other, order.as_ptr().cast(), count) == every);
        ensure!(lite3::lite3_map_sum(other, order.as_ptr().cast(), 1) == first);
        ensure!(lite3::lite3_map_sum(other, absent.as_ptr().cast(), count) == 0);
        ensure!(lite3::lite3_map_set(other, order.as_ptr().cast(), count) == 0);
        // A full node is split on the way to a key. If that very key moves up, Lite³ no longer
        // sees it, and stores it once more.
        let new = |(at, key): (usize, &Key)| {
            lite3::lite3_map_sum(other, key.as_ptr().cast(), 1) == at as i64 + 1
        };
        let old = count - order.iter().enumerate().filter(|each| new(*each)).count();
        if old > 0 {
            let task = format!("c/{}", tasks[3]);
            results::differ(&task, format!("Lite³ keeps {old} old values of {count}"));
        }
        other
    };
    let [build, hit, miss, overwrite] = tasks;
    let turns = (IN_TURNS / count).max(1);
    let others: Vec<_> = (1..turns as u64).map(|seed| keys(count, seed).0).collect();
    let sets = iter::once(&present).chain(&others).cycle();
    let mut turn = sets.clone();
    let mut next = || turn.next().unwrap_or(&present);
    #[cfg(lite3)]
    let mut their_turn = sets.clone();
    #[cfg(lite3)]
    let mut next_of_theirs = || their_turn.next().unwrap_or(&present).as_ptr().cast();
    // SAFETY: as above.
    unsafe {
        row(
            &build,
            count,
            || {
                black_box(ours.build(next()));
            },
            theirs!(lite3::lite3_map_build(other, next_of_theirs(), count)),
        );
        ensure!(ours.build(&present) == 0);
        #[cfg(lite3)]
        ensure!(lite3::lite3_map_build(other, present.as_ptr().cast(), count) == 0);
        row(
            &hit,
            count,
            || {
                black_box(ours.sum(&order));
            },
            theirs!(lite3::lite3_map_sum(other, order.as_ptr().cast(), count)),
        );
        row(
            &miss,
            count,
            || {
                black_box(ours.sum(&absent));
            },
            theirs!(lite3::lite3_map_sum(other, absent.as_ptr().cast(), count)),
        );
        row(
            &overwrite,
            count,
            || {
                black_box(ours.overwrite(&order));
            },
            theirs!(lite3::lite3_map_set(other, order.as_ptr().cast(), count)),
        );
    }
    Ok(())
}

fn array(count: usize) -> Result<()> {
    let title = thousands(count);
    let tasks = ["push", "random get"].map(|task| format!("array of {title}: {task}"));
    if !tasks.iter().any(|task| results::wanted(&format!("c/{task}"))) {
        return Ok(());
    }
    let capacity = 4096 + count * MEMBER / 2;
    let mut order: Vec<u32> = (0..count as u32).collect();
    Rng::with_seed(7).shuffle(&mut order);
    let every = 7 * count as i64 * (count as i64 - 1) / 2;
    let mut ours = Ours::new(capacity);
    let (doc, buffer) = (ours.doc.as_mut_ptr(), ours.buffer.as_mut_ptr());
    // SAFETY: room as said, and an array of so many elements.
    unsafe {
        ensure!(c_array_build(doc, buffer, capacity, count) == 0);
        ensure!(c_array_sum(doc, order.as_ptr(), count) == every);
        ensure!(c_array_sum(doc, order.as_ptr(), 1) == 7 * i64::from(order[0]));
        #[cfg(lite3)]
        let other = lite3::lite3_memory(capacity);
        #[cfg(lite3)]
        {
            ensure!(lite3::lite3_array_build(other, count) == 0);
            ensure!(lite3::lite3_array_sum(other, order.as_ptr(), count) == every);
            ensure!(lite3::lite3_array_sum(other, order.as_ptr(), 1) == 7 * i64::from(order[0]));
        }
        let [push, get] = tasks;
        row(
            &push,
            count,
            || {
                black_box(c_array_build(doc, buffer, capacity, count));
            },
            theirs!(lite3::lite3_array_build(other, count)),
        );
        row(
            &get,
            count,
            || {
                black_box(c_array_sum(doc, order.as_ptr(), count));
            },
            theirs!(lite3::lite3_array_sum(other, order.as_ptr(), count)),
        );
    }
    Ok(())
}

/// 1000000 as 1,000,000.
fn thousands(number: usize) -> String {
    match number {
        0..1000 => number.to_string(),
        _ => format!("{},{:03}", thousands(number / 1000), number % 1000),
    }
}

pub(crate) fn run() -> Result<()> {
    println!("\n| by keys that the compiler does not know | LiveBuf, ns | Lite³, ns | ratio |");
    println!("|---|---|---|---|");
    let largest = if quick() { 100_000 } else { 1_000_000 };
    for count in SIZES.into_iter().filter(|count| *count <= largest) {
        map(count)?;
        array(count)?;
    }
    Ok(())
}
