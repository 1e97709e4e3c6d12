//! A map's hash block: buckets of a cache line that name entries by their keys' hashes
//! (FORMAT 7.4).
//!
//! ```text
//!  bucket   [12 fingerprints][mark][0 0 0][12 entry numbers]
//! ```
//!
//! A key is in its home bucket or in one of the next ones: the home's mark says how many of them
//! its keys reach, at most 15. So a block that is three quarters full has all keys. Only where keys
//! collide on purpose, or in maps of many millions, one may be in none of these: the home's mark
//! says so, and the map has a tree, which finds it. So colliding keys cost a search in the tree.

use super::{Cells, Map, element};
use crate::block::record::Raw;
use crate::error::{Error, ErrorKind, Result};
use crate::format::bytes::{check, load_u8, load_u32, slice};
use crate::format::cell::pack;
use crate::format::layout::*;
use crate::store::space::Space;
use crate::store::storage::Storage;

const SIZE: usize = BUCKET_SIZE as usize;
const PLACES: usize = BUCKET_PLACES as usize;

type Bucket = [u8; SIZE];

/// Entries for each bucket, at most, when a block is made: two thirds of its places.
const FILL: u32 = 8;
const MOST_BUCKETS: u32 = 1 << 26;

/// A key's hash: two lanes of 32 bits (FORMAT 7.4).
#[cfg_attr(not(any(feature = "small", debug_assertions)), inline)]
fn hash(key: &[u8]) -> (u32, u32) {
    let (mut lanes, mut rest) = ((key.len() as u32, 0x9E37_79B1), key);
    let Some(last) = key.last_chunk::<8>() else {
        return if key.is_empty() { mix(lanes, 0) } else { mix(mix(lanes, pack(key)), 0) };
    };
    while let Some((word, behind)) = rest.split_first_chunk::<8>()
        && !behind.is_empty()
    {
        (lanes, rest) = (mix(lanes, u64::from_le_bytes(*word)), behind);
    }
    // The bytes of the rest, one to eight, are the highest of the last eight.
    mix(mix(lanes, u64::from_le_bytes(*last) >> (8 * (8 - rest.len()))), 0)
}

/// Takes up eight bytes of a key.
#[cfg_attr(not(any(feature = "small", debug_assertions)), inline)]
fn mix((a, b): (u32, u32), word: u64) -> (u32, u32) {
    let (x, y) = (a ^ word as u32, b ^ (word >> 32) as u32);
    ((x ^ y >> 14).wrapping_mul(0x85EB_CA6B), (y ^ x >> 18).wrapping_mul(0xC2B2_AE35))
}

/// Where a key belongs.
#[derive(Clone, Copy)]
pub(super) struct Hashed {
    home: u32,
    fingerprint: u8,
}

impl Hashed {
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline)]
    pub(super) fn of(key: &[u8], buckets: u32) -> Hashed {
        let lanes = hash(key);
        let home = (u64::from(lanes.0 ^ lanes.1) * u64::from(buckets)) >> 32;
        let fingerprint = (mix(lanes, 0).1 >> 24) as u8;
        Hashed { home: home as u32, fingerprint: fingerprint.max(1) }
    }
}

/// The bucket behind another one.
#[inline]
fn behind(bucket: u32, buckets: u32) -> u32 {
    if bucket + 1 >= buckets { 0 } else { bucket + 1 }
}

/// How far from home a key may be put.
fn farthest(buckets: u32) -> u32 {
    u32::from(MARK_REACH).min(buckets.saturating_sub(1))
}

/// A mark that also says that a key is so far from home.
fn reaching(mark: u8, distance: u32) -> u8 {
    mark & MARK_BEYOND | (mark & MARK_REACH).max(distance as u8)
}

/// Where a block's buckets begin.
const fn first_bucket(hash: u32) -> u64 {
    (hash as u64).next_multiple_of(BUCKET_SIZE as u64)
}

fn bucket_at(map: &Map, bucket: u32) -> u64 {
    first_bucket(map.hash) + u64::from(bucket) * u64::from(BUCKET_SIZE)
}

#[cfg_attr(not(any(feature = "small", debug_assertions)), inline)]
fn load<'a>(bytes: &'a [u8], map: &Map, bucket: u32) -> Result<&'a Bucket> {
    let at = bucket_at(map, bucket);
    let damaged = || Error::new(ErrorKind::OutOfBounds, at);
    slice(bytes, at, u64::from(BUCKET_SIZE))?.first_chunk().ok_or_else(damaged)
}

#[cfg_attr(not(any(feature = "small", debug_assertions)), inline)]
fn number(bucket: &Bucket, place: usize) -> u32 {
    let (words, _) = bucket.as_chunks::<4>();
    words.get(BUCKET_NUMBERS as usize / 4 + place).map_or(0, |word| u32::from_le_bytes(*word))
}

/// A bit for each place with this fingerprint: the top bit of a byte. Bits above a right one may be
/// wrong.
#[cfg_attr(not(any(feature = "small", debug_assertions)), inline)]
fn matches(bucket: &Bucket, fingerprint: u8) -> [u64; 2] {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let (words, _) = bucket.as_chunks::<8>();
    let equal = |word: [u8; 8]| {
        let word = u64::from_le_bytes(word) ^ (ONES * u64::from(fingerprint));
        word.wrapping_sub(ONES) & !word & (ONES << 7)
    };
    // The mark and what is behind it are no fingerprints.
    [equal(words[0]), equal(words[1]) & 0x8080_8080]
}

/// A bit for each place with this fingerprint: of the first eight, and next to each that of the
/// place eight further.
#[cfg_attr(not(any(feature = "small", debug_assertions)), inline)]
fn candidates(bucket: &Bucket, fingerprint: u8) -> u64 {
    let [first, second] = matches(bucket, fingerprint);
    first >> 7 | second >> 6
}

/// The place of the lowest of these bits.
#[cfg_attr(not(any(feature = "small", debug_assertions)), inline)]
fn first_place(places: u64) -> usize {
    let at = places.trailing_zeros() as usize;
    at / 8 + 8 * (at & 1)
}

/// What a map's hash block says of a key. Two words, since those are returned in registers.
#[derive(Clone, Copy)]
pub(crate) struct ByHash {
    /// The entry's number, or [`NO_ENTRY`].
    entry: u32,
    /// Where the values' cells are; [`ELSEWHERE`] for none, and 0 if the block does not know.
    data: u32,
}

/// No map has so many entries: their count is of 32 bits, too.
const NO_ENTRY: u32 = u32::MAX;
/// The values are not in cells. No block is there.
const ELSEWHERE: u32 = 1;

impl ByHash {
    /// The block does not know: ask the tree, or look through the entries.
    pub(crate) const PERHAPS: ByHash = ByHash { entry: NO_ENTRY, data: 0 };

    #[inline]
    fn new(map: &Map, entry: u32) -> ByHash {
        ByHash { entry, data: map.cells.map_or(ELSEWHERE, |cells| cells.0.max(ELSEWHERE)) }
    }

    /// The number of the entry with the key, if there is one.
    #[inline]
    pub(crate) fn entry(self) -> Option<u32> {
        (self.entry != NO_ENTRY).then_some(self.entry)
    }

    /// There is none.
    #[inline]
    pub(crate) fn is_nothing(self) -> bool {
        self.entry == NO_ENTRY && self.data != 0
    }

    /// The map's values, where they are in cells.
    #[inline]
    pub(crate) fn cells(self) -> Option<Cells> {
        (self.data > ELSEWHERE).then_some(Cells(self.data))
    }

    /// The value of the entry `number` that was found in the map at `map`.
    #[cfg_attr(not(any(feature = "small", debug_assertions)), inline(always))]
    pub(crate) fn value(self, bytes: &[u8], map: u32, number: u32) -> Result<Raw> {
        match self.cells() {
            Some(cells) => cells.value(bytes, number),
            None => element(bytes, map, number),
        }
    }
}

/// Finds a key by its hash.
#[cfg_attr(not(any(feature = "small", debug_assertions)), inline)]
pub(super) fn find(
    bytes: &[u8],
    map: &Map,
    hashed: Hashed,
    is_at: impl Fn(u64) -> Result<bool>,
) -> Result<ByHash> {
    if let Some((entry, _)) = find_with_place(bytes, map, hashed, is_at)? {
        return Ok(ByHash::new(map, entry));
    }
    let mark = load(bytes, map, hashed.home)?[BUCKET_MARK as usize];
    Ok(if mark & MARK_BEYOND != 0 { ByHash::PERHAPS } else { ByHash::new(map, NO_ENTRY) })
}

/// The first candidate in a key's home, whose key is still to be compared. `None` where the home
/// does not decide: its mark says that keys are elsewhere, or it names no entry.
#[cfg_attr(not(any(feature = "small", debug_assertions)), inline)]
pub(super) fn first_candidate(bytes: &[u8], map: &Map, hashed: Hashed) -> Option<ByHash> {
    let bucket = load(bytes, map, hashed.home).ok()?;
    let places = candidates(bucket, hashed.fingerprint);
    if places == 0 {
        return (bucket[BUCKET_MARK as usize] == 0).then(|| ByHash::new(map, NO_ENTRY));
    }
    let entry = number(bucket, first_place(places));
    (entry < map.used).then_some(ByHash::new(map, entry))
}

/// The first place that is not in use.
#[inline]
fn free_place(bucket: &Bucket) -> Option<usize> {
    // The lowest bit is right.
    match matches(bucket, 0) {
        [0, 0] => None,
        [0, second] => Some(8 + second.trailing_zeros() as usize / 8),
        [first, _] => Some(first.trailing_zeros() as usize / 8),
    }
}

// --- making a block ---------------------------------------------------------

/// Buckets of a map of so many entries that is made at once; 0 for no hash block.
pub(crate) fn encoded_buckets(entries: u32) -> u32 {
    if entries <= FEW_ENTRIES { 0 } else { entries.div_ceil(FILL).min(MOST_BUCKETS) }
}

/// Fills buckets, which are zero, with `count` entries. Tells `twice` of each key that comes again:
/// the entry that has it, and the later one. Returns whether each key found a place; only then
/// `twice` was told of all.
#[cfg(feature = "alloc")]
pub(crate) fn fill<'k>(
    buckets: &mut [u8],
    count: u32,
    key: impl Fn(u32) -> &'k [u8],
    mut twice: impl FnMut(u32, u32),
) -> bool {
    let (buckets, _) = buckets.as_chunks_mut::<SIZE>();
    let (total, mut all) = (buckets.len() as u32, true);
    'entries: for entry in 0..count {
        let text = key(entry);
        let Hashed { home, fingerprint } = Hashed::of(text, total);
        let (mut at, mut found) = (home, None);
        for distance in 0..=farthest(total) {
            let bucket = &buckets[at as usize];
            let mut places = candidates(bucket, fingerprint);
            while places != 0 {
                let other = number(bucket, first_place(places));
                places &= places - 1;
                if other < entry && key(other) == text {
                    twice(other, entry);
                    continue 'entries;
                }
            }
            if let Some(place) = free_place(bucket) {
                found = Some((place, distance));
                break;
            }
            at = behind(at, total);
        }
        let mark = &mut buckets[home as usize][BUCKET_MARK as usize];
        let Some((place, distance)) = found else {
            (*mark, all) = (*mark | MARK_BEYOND, false);
            continue;
        };
        *mark = reaching(*mark, distance);
        let bucket = &mut buckets[at as usize];
        bucket[place] = fingerprint;
        let numbers = BUCKET_NUMBERS as usize + 4 * place;
        bucket[numbers..numbers + 4].copy_from_slice(&entry.to_le_bytes());
    }
    all
}

// --- editing ----------------------------------------------------------------

/// Checks that a map's hash block lies in the document.
pub(super) fn check_bounds(bytes: &[u8], map: &Map) -> Result<()> {
    check(bytes, u64::from(map.hash), hash_size(map.buckets))
}

/// Buckets of the block that a map gets with one entry more; 0 where it keeps what it has.
pub(super) fn plan_growth(map: &Map) -> u32 {
    let live = map.live.saturating_add(1);
    match map.hash {
        0 if map.used >= FEW_ENTRIES => first_buckets(live),
        0 => 0,
        _ if live.div_ceil(FILL) > map.buckets && map.buckets < MOST_BUCKETS / 2 => 2 * map.buckets,
        _ => 0,
    }
}

/// Buckets of a block that is to grow with its map.
pub(super) const fn first_buckets(live: u32) -> u32 {
    2 * live.div_ceil(FILL)
}

/// Whether all keys of a map that has no tree are sure to fit twice the buckets.
///
/// What has a home in one bucket then has it in one of two, next to each other. Where a key found
/// no place, its home would lie in a run of at least 16 full buckets, behind one that is not full.
/// All 12n keys of such a run of n, and this key, had homes in at most n / 2 + 1 buckets before. If
/// each key was at most six from home, all but the new one were in n / 2 + 7 buckets, which is too
/// few.
pub(super) fn fits_twice(bytes: &[u8], map: &Map) -> bool {
    (0..map.buckets).all(|bucket| {
        let mark = load_u8(bytes, bucket_at(map, bucket) + u64::from(BUCKET_MARK));
        mark.is_ok_and(|mark| mark < MARK_REACH / 2)
    })
}

/// Most buckets of a map that a record becomes: it has one member more, or another key.
const RECORD_BUCKETS: usize = first_buckets(MAX_FIELDS as u32 + 1) as usize;

/// Whether all of these keys, at most 256, fit so many buckets.
pub(super) fn fit<'k>(buckets: u32, mut keys: impl Iterator<Item = &'k [u8]>) -> bool {
    let mut counts = [0u8; RECORD_BUCKETS];
    let Some(counts) = counts.get_mut(..buckets as usize).filter(|counts| !counts.is_empty())
    else {
        return true;
    };
    keys.all(|key| {
        let mut bucket = Hashed::of(key, buckets).home;
        for _ in 0..=farthest(buckets) {
            match counts.get_mut(bucket as usize) {
                Some(count) if *count < BUCKET_PLACES as u8 => {
                    *count += 1;
                    return true;
                }
                _ => bucket = behind(bucket, buckets),
            }
        }
        false
    })
}

/// Where a key of this hash is put: the bucket, the place in it, and how far that is from home.
#[inline]
fn spot(bytes: &[u8], map: &Map, hashed: Hashed) -> Option<(u32, usize, u32)> {
    let mut at = hashed.home;
    for distance in 0..=farthest(map.buckets) {
        if let Some(place) = free_place(load(bytes, map, at).ok()?) {
            return Some((at, place, distance));
        }
        at = behind(at, map.buckets);
    }
    None
}

/// Whether there is a place for a key of this hash.
#[inline]
pub(super) fn has_place(bytes: &[u8], map: &Map, hashed: Hashed) -> bool {
    spot(bytes, map, hashed).is_some()
}

/// Adds an entry, whose key is written. False where there is no place for it.
pub(super) fn add<S: Storage>(space: &mut Space<S>, map: &Map, entry: u32) -> bool {
    let Ok(key) = map.keys.text(space.bytes(), entry) else { return true };
    let hashed = Hashed::of(key, map.buckets);
    add_at(space, map, hashed, entry)
}

/// Adds an entry whose key has this hash. False where there is no place for it.
#[inline]
pub(super) fn add_at<S: Storage>(
    space: &mut Space<S>,
    map: &Map,
    hashed: Hashed,
    entry: u32,
) -> bool {
    let spot = spot(space.bytes(), map, hashed);
    if let Some((bucket, place, distance)) = spot {
        put(space, bucket_at(map, bucket), place, hashed.fingerprint, entry);
        if distance == 0 {
            return true;
        }
    }
    let mark_at = bucket_at(map, hashed.home) + u64::from(BUCKET_MARK);
    if let Ok(mark) = load_u8(space.bytes(), mark_at) {
        let new = spot.map_or(mark | MARK_BEYOND, |(.., distance)| reaching(mark, distance));
        if new != mark {
            space.write_u8(mark_at, new);
        }
    }
    spot.is_some()
}

fn put<S: Storage>(space: &mut Space<S>, bucket: u64, place: usize, fingerprint: u8, entry: u32) {
    space.write_u8(bucket + place as u64, fingerprint);
    space.write_u32(bucket + u64::from(BUCKET_NUMBERS) + 4 * place as u64, entry);
}

/// An entry's place, and its bucket. `None` where a map has no hash block, or no place for it.
pub(super) fn locate(bytes: &[u8], map: &Map, entry: u32, key: &[u8]) -> Option<(u64, usize)> {
    if map.hash == 0 {
        return None;
    }
    let hashed = Hashed::of(key, map.buckets);
    let found = find_place(bytes, map, hashed, |_, bucket, place| {
        Ok(bucket[place] == hashed.fingerprint && number(bucket, place) == entry)
    });
    found.ok().flatten().map(|(at, place, _)| (at, place))
}

/// The first place in the buckets of a key of this hash that `is_it` agrees to: where its bucket
/// is, the place in it, and the entry. It is asked of places that only seem to fit, too.
#[cfg_attr(not(any(feature = "small", debug_assertions)), inline)]
fn find_place(
    bytes: &[u8],
    map: &Map,
    Hashed { home, fingerprint }: Hashed,
    is_it: impl Fn(u64, &Bucket, usize) -> Result<bool>,
) -> Result<Option<(u64, usize, u32)>> {
    let mut bucket = load(bytes, map, home)?;
    let (mut left, mut at) = (bucket[BUCKET_MARK as usize] & MARK_REACH, home);
    loop {
        let mut places = candidates(bucket, fingerprint);
        while places != 0 {
            let place = first_place(places);
            places &= places - 1;
            if is_it(bucket_at(map, at), bucket, place)? {
                return Ok(Some((bucket_at(map, at), place, number(bucket, place))));
            }
        }
        if left == 0 {
            return Ok(None);
        }
        left -= 1;
        at = behind(at, map.buckets);
        bucket = load(bytes, map, at)?;
    }
}

/// The entry with a key of this hash, its place, and its bucket.
#[cfg_attr(not(any(feature = "small", debug_assertions)), inline)]
pub(super) fn find_with_place(
    bytes: &[u8],
    map: &Map,
    hashed: Hashed,
    is_at: impl Fn(u64) -> Result<bool>,
) -> Result<Option<(u32, (u64, usize))>> {
    let found = find_place(bytes, map, hashed, |_, bucket, place| {
        let entry = number(bucket, place);
        Ok(entry < map.used && is_at(map.keys.at(entry))?)
    })?;
    Ok(found.map(|(at, place, entry)| (entry, (at, place))))
}

/// Takes an entry out.
pub(super) fn remove<S: Storage>(space: &mut Space<S>, place: Option<(u64, usize)>) {
    if let Some((bucket, place)) = place {
        put(space, bucket, place, 0, 0);
    }
}

/// Writes where a map's hash block is.
pub(super) fn set_block<S: Storage>(space: &mut Space<S>, map: u64, hash: u32, buckets: u32) {
    space.write_u64(map + u64::from(MAP_HASH), u64::from(hash) | u64::from(buckets) << 32);
}

/// Adds all live entries to a block that is zero. Returns whether each found a place.
pub(super) fn add_all<S: Storage>(space: &mut Space<S>, map: &Map) -> bool {
    let mut all = true;
    for entry in 0..map.used {
        if map.keys.is_live(space.bytes(), entry) == Ok(true) {
            all &= add(space, map, entry);
        }
    }
    all
}

/// Takes a map's hash block away.
pub(super) fn drop_block<S: Storage>(space: &mut Space<S>, map: &Map) {
    if map.hash != 0 {
        set_block(space, map.at, 0, 0);
        space.free(u64::from(map.hash), hash_size(map.buckets));
    }
}

/// Calls `each` with the positions of all entry numbers in a map's block.
pub(super) fn each_number<S: Storage>(
    space: &mut Space<S>,
    map: &Map,
    mut each: impl FnMut(&mut Space<S>, u64),
) {
    for bucket in 0..map.buckets {
        let Ok(&found) = load(space.bytes(), map, bucket) else { return };
        for place in (0..PLACES).filter(|&place| found[place] != 0) {
            each(space, bucket_at(map, bucket) + u64::from(BUCKET_NUMBERS) + 4 * place as u64);
        }
    }
}

/// Gives a map's block the buckets that its entries need: at most twice so many, none for few. It
/// keeps its place, and the rest is freed. If the map has a tree, the block is filled again, since
/// the entries have other numbers.
pub(super) fn renew<S: Storage>(space: &mut Space<S>, map: u64) {
    let Ok(map) = Map::load(space.bytes(), map) else { return };
    let needed = if map.used <= FEW_ENTRIES { 0 } else { first_buckets(map.live) };
    if map.hash == 0 || needed == 0 {
        return drop_block(space, &map);
    }
    let buckets = map.buckets.min(needed);
    if map.root == 0 && (buckets == map.buckets || !fits(space, &map, buckets)) {
        return;
    }
    let (old, new) = (hash_size(map.buckets), hash_size(buckets));
    space.zero(u64::from(map.hash), new);
    set_block(space, map.at, map.hash, buckets);
    if new < old {
        space.free(u64::from(map.hash) + new, old - new);
    }
    add_all(space, &Map { buckets, ..map });
}

/// Whether all keys of a map fit so many of its buckets. A reserved byte of each counts its keys
/// meanwhile, so this takes no memory.
fn fits<S: Storage>(space: &mut Space<S>, map: &Map, buckets: u32) -> bool {
    let count_at = |bucket| bucket_at(map, bucket) + u64::from(BUCKET_MARK) + 1;
    let mut entries = 0..map.used;
    let all = entries.all(|entry| {
        let bytes = space.bytes();
        if map.keys.is_live(bytes, entry) != Ok(true) {
            return true;
        }
        let Ok(key) = map.keys.text(bytes, entry) else { return true };
        let mut bucket = Hashed::of(key, buckets).home;
        for _ in 0..=farthest(buckets) {
            match load_u8(space.bytes(), count_at(bucket)) {
                Ok(count) if count < BUCKET_PLACES as u8 => {
                    space.write_u8(count_at(bucket), count + 1);
                    return true;
                }
                _ => bucket = behind(bucket, buckets),
            }
        }
        false
    });
    if !all {
        (0..buckets).for_each(|bucket| space.write_u8(count_at(bucket), 0));
    }
    all
}

// --- checking ---------------------------------------------------------------

/// Checks that each live entry is where the marks say, or in no bucket if they say so and the map
/// has a tree, and that there is nothing else. Without a tree, also that no key comes twice.
pub(super) fn check_block(bytes: &[u8], map: &Map) -> Result<()> {
    check_bounds(bytes, map)?;
    let damaged = |bucket| Error::new(ErrorKind::BadIndex, bucket_at(map, bucket));
    let (start, first) = (u64::from(map.hash), first_bucket(map.hash));
    let end = start + hash_size(map.buckets);
    let last = bucket_at(map, map.buckets);
    for (from, to) in [(start, first), (last, end)] {
        if slice(bytes, from, to - from)?.iter().any(|&byte| byte != 0) {
            return Err(Error::new(ErrorKind::NotZero, from));
        }
    }
    let mut filled = 0u64;
    for bucket in 0..map.buckets {
        let at = bucket_at(map, bucket);
        let found = load(bytes, map, bucket)?;
        let mark = load_u32(bytes, at + u64::from(BUCKET_MARK))?;
        if mark > u32::from(MARK_REACH | MARK_BEYOND) {
            return Err(Error::new(ErrorKind::NotZero, at + u64::from(BUCKET_MARK)));
        }
        let mark = mark as u8;
        let lost = mark & MARK_BEYOND != 0 && map.root == 0;
        if lost || u32::from(mark & MARK_REACH) > farthest(map.buckets) {
            return Err(damaged(bucket));
        }
        for place in 0..PLACES {
            match found[place] {
                0 if number(found, place) != 0 => return Err(Error::new(ErrorKind::NotZero, at)),
                0 => {}
                // Below, each live entry takes one away. Keys are not read here: many places
                // could name one long key.
                _ => filled += 1,
            }
        }
    }
    for entry in 0..map.used {
        if !map.keys.is_live(bytes, entry)? {
            continue;
        }
        let key = map.keys.text(bytes, entry)?;
        let hashed = Hashed::of(key, map.buckets);
        match is_placed(bytes, map, hashed, entry, key)? {
            Some(true) => filled = filled.checked_sub(1).ok_or_else(|| damaged(hashed.home))?,
            Some(false) => {}
            None => return Err(damaged(hashed.home)),
        }
    }
    // Else a place is that of no live entry, or an entry has two.
    if filled == 0 { Ok(()) } else { Err(Error::new(ErrorKind::BadIndex, start)) }
}

/// Whether an entry is where its home's mark says. `None` if it must be there and is not.
fn is_placed(
    bytes: &[u8],
    map: &Map,
    hashed: Hashed,
    entry: u32,
    key: &[u8],
) -> Result<Option<bool>> {
    let found = find_place(bytes, map, hashed, |at, bucket, place| {
        let other = number(bucket, place);
        // Candidates above a right one may be wrong, so the fingerprint is compared.
        if other == entry && bucket[place] == hashed.fingerprint {
            return Ok(true);
        }
        // Of two entries with one key, one meets the other here.
        let is_before = map.root == 0 && other < map.used && other != entry;
        match is_before && map.keys.text(bytes, other)? == key {
            true => Err(Error::new(ErrorKind::DuplicateKey, at)),
            false => Ok(false),
        }
    })?;
    let mark = load(bytes, map, hashed.home)?[BUCKET_MARK as usize];
    Ok(if found.is_some() { Some(true) } else { (mark & MARK_BEYOND != 0).then_some(false) })
}

#[cfg(all(test, feature = "alloc"))]
mod tests {
    use super::super::tests::Random;
    use super::*;
    use crate::{Doc, DocBuf, Encoder, New};
    use alloc::format;
    use alloc::string::String;
    use alloc::vec::Vec;

    #[test]
    fn hashes_are_those_of_the_format() {
        let hashes = ["", "a", "a key", "12345678", "a longer key, of 26 bytes."].map(|key| {
            let (a, b) = hash(key.as_bytes());
            (a ^ b, Hashed::of(key.as_bytes(), 1).fingerprint)
        });
        assert_eq!(
            hashes,
            [
                (0x8D01_99FA, 0xAD),
                (0x60F6_33F4, 0x5D),
                (0xEEB2_9D08, 0xF7),
                (0x95B7_53BE, 0x70),
                (0x8948_8114, 0xE4),
            ]
        );
        // Words of the rest do not depend on how they are loaded.
        let text = b"0123456789abcdefghij";
        for length in 0..text.len() {
            let mut expected = (length as u32, 0x9E37_79B1);
            for block in text[..length].chunks(8) {
                let mut word = [0; 8];
                word[..block.len()].copy_from_slice(block);
                expected = mix(expected, u64::from_le_bytes(word));
            }
            assert_eq!(hash(&text[..length]), mix(expected, 0));
        }
    }

    /// What of a hash is used: the number that gives the home, but for bits that no count of
    /// buckets reaches, and the fingerprint.
    fn used_bits(key: &[u8]) -> u64 {
        let (a, b) = hash(key);
        u64::from((a ^ b) >> 6) << 8 | u64::from(mix((a, b), 0).1 >> 24)
    }

    #[test]
    fn each_bit_of_a_key_changes_each_bit_of_its_hash_in_half_of_all_cases() {
        const TRIALS: u32 = 1024;
        let mut random = Random(1);
        for length in 1..=40 {
            for bit in 0..8 * length {
                let mut changes = [0u32; 34];
                for _ in 0..TRIALS {
                    let mut key: Vec<u8> = (0..length).map(|_| random.next() as u8).collect();
                    let before = used_bits(&key);
                    key[bit / 8] ^= 1 << (bit % 8);
                    let changed = before ^ used_bits(&key);
                    for (at, count) in changes.iter_mut().enumerate() {
                        *count += (changed >> at & 1) as u32;
                    }
                }
                // There are but 256 keys of one byte.
                let share = changes.map(|count| f64::from(count) / f64::from(TRIALS));
                let is_even = share.iter().all(|share| (0.3..0.7).contains(share));
                assert!(is_even, "bit {bit} of {length} bytes: {share:?}");
            }
        }
    }

    /// Sets of keys that are alike, as programs have them: all fit, and spread as random numbers
    /// do.
    #[test]
    fn keys_that_are_alike_spread_evenly() {
        type Key = fn(u64) -> String;
        // `make test` takes a part of the keys.
        let count = if std::env::var_os("LIVEBUF_ALL").is_some() { 1_000_000 } else { 100_000 };
        let sets: [(&str, Key); 9] = [
            ("numbers", |n| format!("{n}")),
            ("sequence", |n| format!("key {n}")),
            ("padded", |n| format!("user:{n:011}")),
            ("two numbers", |n| format!("{}-{}", n / 1000, n % 1000)),
            ("hexadecimal", |n| format!("{:016x}", n << 20)),
            ("times", |n| {
                let (day, hour, minute) = (n / 86400 + 1, n / 3600 % 24, n / 60 % 60);
                format!("2026-01-{day:02}T{hour:02}:{minute:02}:{:02}", n % 60)
            }),
            ("paths", |n| format!("/usr/lib/package-{:03}/source/module_{n:06}.rs", n % 500)),
            ("UUIDs", |n| {
                let mut random = Random(n);
                let (a, b) = (random.next(), random.next());
                let (c, d) = (a >> 16 & 0xFFFF, a & 0xFFF);
                format!("{:08x}-{c:04x}-4{d:03x}-{:04x}-{:012x}", a >> 32, b >> 48, b << 16 >> 16)
            }),
            ("letters far apart", |n| {
                let mut key = *b"AAAAAAAAAAAAAAAAAAAA";
                for (digit, at) in [1, 5, 9, 13].into_iter().enumerate() {
                    key[at] += (n >> (5 * digit) & 31) as u8;
                }
                String::from_utf8(key.to_vec()).unwrap()
            }),
        ];
        for (name, key) in sets {
            let keys: Vec<String> = (0..count).map(key).collect();
            spread(name, &keys);
        }
        // One byte of a text is another one.
        let mut keys = Vec::new();
        for length in 1..200 {
            for at in 0..length {
                for byte in [b'a', b'b', b'z', b'0', b'9'] {
                    let mut key = alloc::vec![b'x'; length];
                    key[at] = byte;
                    keys.push(String::from_utf8(key).unwrap());
                }
            }
        }
        spread("one byte", &keys);
    }

    fn spread(name: &str, keys: &[String]) {
        let count = keys.len() as u32;
        let total = encoded_buckets(count);
        let mut buckets = alloc::vec![0; total as usize * SIZE];
        let all = fill(&mut buckets, count, |number| keys[number as usize].as_bytes(), |_, _| ());
        assert!(all, "{name}: a key is further away than 15 buckets");
        let (mut homes, mut prints) = (alloc::vec![0u32; total as usize], [0u32; 256]);
        for key in keys {
            let Hashed { home, fingerprint } = Hashed::of(key.as_bytes(), total);
            homes[home as usize] += 1;
            prints[fingerprint as usize] += 1;
        }
        // Chi-squared, in standard deviations. Fingerprint 1 has the keys of 0, too.
        for (what, found, values) in [("homes", &homes[..], total), ("prints", &prints[2..], 256)] {
            let expected = f64::from(count) / f64::from(values);
            let squares = found.iter().map(|&found| (f64::from(found) - expected).powi(2));
            let freedom = found.len() as f64;
            let off = (squares.sum::<f64>() / expected - freedom) / (2.0 * freedom).sqrt();
            assert!(off.abs() < 5.0, "{name}: {what} are {off} deviations from random");
        }
    }

    /// Texts of 16 bytes that all have one hash.
    fn colliding(count: usize) -> Vec<String> {
        let (mut keys, mut number) = (Vec::with_capacity(count), 0u64);
        while keys.len() < count {
            number += 1;
            let first = number << 4 & 0x0707_0707_0707_0707 | 0x3030_3030_3030_3030;
            let first = first ^ number.wrapping_mul(0x9E37_79B9_7F4A_7C15) & 0x0F0F_0F0F_0F0F_0F0F;
            let (a, b) = mix((16, 0x9E37_79B1), first);
            let second = (u64::from(a) | u64::from(b) << 32) ^ 0x1234_5678_9ABC_DEF0;
            if (first | second) & 0x8080_8080_8080_8080 != 0 {
                continue;
            }
            let bytes = [first.to_le_bytes(), second.to_le_bytes()].concat();
            keys.push(String::from_utf8(bytes).unwrap());
        }
        keys.sort_unstable();
        keys.dedup();
        assert!(keys.iter().all(|key| hash(key.as_bytes()) == hash(keys[0].as_bytes())));
        keys
    }

    #[test]
    fn a_million_keys_of_one_hash() {
        let keys = colliding(1 << 20);
        assert!(keys.len() > 1_000_000);
        let (there, others) = keys.split_at(1_000_000);
        let mut encoder = Encoder::new();
        encoder.begin_object().unwrap();
        for (number, key) in (0..).zip(there) {
            encoder.key(key).unwrap();
            encoder.i64(number).unwrap();
        }
        encoder.end_object().unwrap();
        let doc = encoder.finish().unwrap();
        let valid = doc.doc().validate().unwrap();
        let object = valid.root().as_object().unwrap();
        for (number, key) in (0..).zip(there).step_by(97) {
            assert_eq!(object.get(key.as_str()).unwrap(), number);
        }
        assert!(others.iter().all(|key| object.get(key.as_str()).is_none()));
    }

    /// Validation read the key of every place: of a million places that name a long key, each.
    #[test]
    fn places_that_all_name_one_long_key_are_refused() {
        let long = "k".repeat(1 << 20);
        let mut encoder = Encoder::new();
        encoder.begin_object().unwrap();
        encoder.key(&long).unwrap();
        encoder.null().unwrap();
        for number in 0..100_000 {
            encoder.key(&format!("{number}")).unwrap();
            encoder.null().unwrap();
        }
        encoder.end_object().unwrap();
        let mut bytes = encoder.finish().unwrap().to_vec();
        let map =
            Map::load(&bytes, load_u32(&bytes, HEADER_ROOT_CELL.into()).unwrap().into()).unwrap();
        let fingerprint = Hashed::of(long.as_bytes(), map.buckets).fingerprint;
        for bucket in 0..map.buckets {
            let at = bucket_at(&map, bucket) as usize;
            bytes[at..at + PLACES].fill(fingerprint);
            bytes[at + BUCKET_NUMBERS as usize..at + SIZE].fill(0);
        }
        let error = Doc::open(&bytes).unwrap().validate().err().unwrap();
        assert_eq!(error.kind(), ErrorKind::BadIndex);
    }

    #[test]
    fn edits_of_keys_of_one_hash() {
        let keys = colliding(3000);
        let mut doc = DocBuf::new().unwrap();
        let root = doc.set_root(New::Map { capacity: 0 }).unwrap().unwrap();
        for (number, key) in (0..2000).zip(&keys) {
            doc.set(root, key.as_str(), number).unwrap();
            doc.set(root, &*format!("other {number}"), number).unwrap();
        }
        doc.doc().validate().unwrap();
        for key in keys.iter().take(1500) {
            assert!(doc.remove(root, key.as_str()).unwrap());
        }
        doc.rename(root, keys[1999].as_str(), keys[2500].as_str()).unwrap();
        let valid = Doc::open(doc.as_bytes()).unwrap().validate().unwrap();
        let object = valid.root().as_object().unwrap();
        let found = |key: &String| object.get(key.as_str()).map(|value| value.as_i64().unwrap());
        for (number, key) in (0..).zip(&keys) {
            let expected = match number {
                1500..1999 => Some(number),
                2500 => Some(1999),
                _ => None,
            };
            assert_eq!(found(key), expected, "{number}");
        }
    }
}
