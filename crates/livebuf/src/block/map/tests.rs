//! Maps against `BTreeMap` and a list in insertion order.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use alloc::{format, vec};
use core::ops::Bound;

use super::*;
use crate::format::cell::{Needle, inline_span, owned_span, span_at};
use crate::store::space::{Listener, Space};
use crate::store::storage::VecStorage;

/// SplitMix64: a run is its seed.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub(super) fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    fn bytes(&mut self, length: usize, alphabet: &[u8]) -> Vec<u8> {
        (0..length).map(|_| alphabet[self.below(alphabet.len())]).collect()
    }
}

/// Rebuilds the document from what it is told; panics where that does not fit.
#[derive(Default)]
pub(super) struct Mirror {
    copy: Vec<u8>,
    /// What was told last. The storage has it by the next time.
    changing: core::ops::Range<usize>,
}

impl Mirror {
    fn settle(&mut self, bytes: &[u8]) {
        self.copy.resize(bytes.len(), 0);
        self.copy[self.changing.clone()].copy_from_slice(&bytes[self.changing.clone()]);
    }
}

impl Listener for Mirror {
    fn will_change(&mut self, bytes: &[u8], offset: u64, length: u64) {
        self.settle(bytes);
        self.changing = offset as usize..(offset + length) as usize;
        assert_eq!(self.copy[self.changing.clone()], bytes[self.changing.clone()], "at {offset}");
    }
}

fn find(bytes: &[u8], map: u64, key: &[u8]) -> Result<Option<u32>> {
    Map::load(bytes, map)?.find(bytes, &Needle::new(key))
}

/// A document that holds one map, edited as the editor will.
pub(super) struct Fixture {
    pub(super) space: Space<VecStorage>,
    pub(super) map: u64,
}

impl Fixture {
    pub(super) fn new() -> Self {
        let storage = VecStorage::with_capacity(256).unwrap();
        let limits = Limits::default();
        let mut space = Space::new(storage, HEADER_SIZE, true, limits);
        space.write_u32(u64::from(HEADER_USED), HEADER_SIZE);
        space.ensure(create_size(0), 0).unwrap();
        let mut extent = space.take(create_size(0));
        let map = create(&mut space, &mut extent, 0, 0).at;
        space.free_rest(extent);
        Fixture { space, map }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.space.bytes()
    }

    pub(super) fn header(&self) -> Map {
        Map::load(self.bytes(), self.map).unwrap()
    }

    pub(super) fn find(&self, key: &[u8]) -> Option<u32> {
        find(self.bytes(), self.map, key).unwrap()
    }

    /// Text of a key in its own space, and its cell.
    fn key_cell(&mut self, key: &[u8], extent: &mut crate::store::space::Extent) -> u64 {
        if key.len() <= MAX_INLINE {
            return inline_span(key);
        }
        let offset = extent.carve((key.len() as u64).next_multiple_of(8));
        self.space.write(u64::from(offset), key);
        span_at(offset, key.len() as u32, true)
    }

    fn text_size(key: &[u8]) -> u64 {
        if key.len() <= MAX_INLINE { 0 } else { (key.len() as u64).next_multiple_of(8) }
    }

    /// The number of the new entry; none where the key is there.
    pub(super) fn insert(&mut self, key: &[u8], value: u64) -> Option<u32> {
        let InsertPlace::New(plan) = plan_insert(self.bytes(), &self.header(), key).unwrap() else {
            return None;
        };
        let map = self.header();
        let fresh = plan.fresh() + Self::text_size(key);
        self.space.ensure(fresh, plan.tail()).unwrap();
        self.space.extend(plan.tail());
        plan.claim(&mut self.space, &map);
        let mut extent = self.space.take(fresh);
        let cell = self.key_cell(key, &mut extent);
        let number = insert(&mut self.space, &map, &plan, cell, (TAG_INT, value), &mut extent);
        self.space.free_rest(extent);
        Some(number)
    }

    /// Gives the map a tree.
    fn order(&mut self) {
        let map = self.header();
        if map.root == 0 {
            let size = tree_limit(map.used);
            self.space.ensure(size, 0).unwrap();
            let mut extent = self.space.take(size);
            make_tree(&mut self.space, &map, &mut extent);
            self.space.free_rest(extent);
        }
    }

    pub(super) fn remove(&mut self, number: u32) {
        let map = self.header();
        let key = map.keys.text(self.bytes(), number).unwrap();
        let plan = plan_remove(self.bytes(), &map, key).unwrap().unwrap();
        self.free_key(number);
        remove(&mut self.space, &map, &plan);
    }

    fn free_key(&mut self, number: u32) {
        let key = self.header().key_at(number).unwrap();
        let cell = crate::format::bytes::load_u64(self.bytes(), key).unwrap();
        self.free_cell(cell);
    }

    fn free_cell(&mut self, cell: u64) {
        if let Some((offset, length)) = owned_span(cell) {
            self.space.free_span(u64::from(offset), u64::from(length));
        }
    }

    fn rename(&mut self, number: u32, key: &[u8]) -> Option<()> {
        let plan = plan_rename(self.bytes(), &self.header(), number, key).unwrap()?;
        let fresh = plan.fresh() + Self::text_size(key);
        self.space.ensure(fresh, 0).unwrap();
        let mut extent = self.space.take(fresh);
        let at = self.header().key_at(number).unwrap();
        let old = crate::format::bytes::load_u64(self.bytes(), at).unwrap();
        let cell = self.key_cell(key, &mut extent);
        rename(&mut self.space, &plan, key, cell, &mut extent);
        self.free_cell(old);
        self.space.free_rest(extent);
        Some(())
    }

    fn key_and_value(&self, number: u32) -> (Vec<u8>, u64) {
        let (map, bytes) = (self.header(), self.bytes());
        let value = map.value(bytes, number).unwrap();
        assert_eq!(value.tag, TAG_INT);
        (map.keys.text(bytes, number).unwrap().to_vec(), value.cell)
    }

    /// Every block of the map and the free list, without overlap.
    fn check(&self) {
        let map = self.header();
        let mut blocks = vec![(0, HEADER_SIZE), (self.map as u32, MAP_SIZE)];
        blocks.push((map.keys.0, keys_size(map.capacity) as u32));
        let values = map.values(self.bytes()).unwrap();
        blocks.push((values.data, values.data_size() as u32));
        check_index(self.bytes(), self.map, &mut |offset, size| {
            blocks.push((offset, size));
            Ok(())
        })
        .unwrap();
        let mut number = 0;
        while let Some(found) = map.next_live(self.bytes(), number).unwrap() {
            let cell = crate::format::bytes::load_u64(self.bytes(), map.keys.at(found)).unwrap();
            if let Some((offset, length)) = owned_span(cell) {
                blocks.push((offset, length.next_multiple_of(8)));
            }
            number = found + 1;
        }
        if let Some(aux) = self.space.aux() {
            let word = |at: u64| crate::format::bytes::load_u32(self.bytes(), at).unwrap();
            blocks.push((aux.at as u32, aux_size(aux.classes)));
            for class in 0..aux.classes {
                let mut block = word(aux.at + u64::from(AUX_HEADS + 4 * class));
                while block != 0 {
                    blocks.push((block, word(u64::from(block + FREE_SIZE))));
                    block = word(u64::from(block));
                }
            }
        }
        blocks.retain(|&(_, size)| size > 0);
        blocks.sort_unstable();
        let mut end = 0;
        for &(offset, size) in &blocks {
            assert_eq!(end, offset, "a gap or an overlap before {offset}");
            end = offset + size;
        }
        assert_eq!(end, self.space.used());
        // Room beyond the used entries is zero. Holes are null.
        for number in 0..map.capacity {
            let key = map.keys.at(number) as usize;
            let is_hole = self.bytes()[key..key + 8].iter().all(|&byte| byte == 0);
            assert!(number < map.used || is_hole);
        }
        for number in 0..values.capacity {
            let value = values.element(self.bytes(), number).unwrap();
            let empty = if number < map.used { TAG_NULL } else { TAG_HOLE };
            let is_hole = number >= map.used || !map.keys.is_live(self.bytes(), number).unwrap();
            assert_eq!(is_hole, value.tag == empty && value.cell == 0);
        }
        assert_eq!(values.count, map.used);
        assert!(map.used == 0 || map.keys.is_live(self.bytes(), map.used - 1).unwrap());
    }

    /// Frees all of the map but its header, which is empty then.
    fn free_all(&mut self) {
        let map = self.header();
        let values = map.values(self.bytes()).unwrap();
        free_body(&mut self.space, &map);
        self.space.free(values.data.into(), values.data_size());
        self.space.zero(self.map + 4, u64::from(MAP_VALUES) - 4);
        self.space.zero(self.map + u64::from(MAP_VALUES) + 4, 12);
    }

    fn take_range(
        &self,
        mut range: KeyRange,
        random: &mut Random,
        mode: usize,
    ) -> Vec<(Vec<u8>, u64)> {
        let (mut front, mut back) = (Vec::new(), Vec::new());
        loop {
            let from_back = mode == 1 || (mode == 2 && random.below(2) == 0);
            let taken =
                if from_back { range.next_back(self.bytes()) } else { range.next(self.bytes()) };
            let Some(number) = taken else { break };
            let pair = self.key_and_value(number.unwrap());
            if from_back { back.push(pair) } else { front.push(pair) }
        }
        assert!(range.next(self.bytes()).is_none() && range.next_back(self.bytes()).is_none());
        front.extend(back.into_iter().rev());
        front
    }
}

/// What a map should hold.
#[derive(Default)]
struct Model {
    sorted: BTreeMap<Vec<u8>, u64>,
    order: Vec<Vec<u8>>,
}

fn compare(fixture: &Fixture, model: &Model) {
    let map = fixture.header();
    assert_eq!(map.live as usize, model.order.len());
    let (mut number, mut order) = (0, Vec::new());
    while let Some(found) = map.next_live(fixture.bytes(), number).unwrap() {
        order.push(fixture.key_and_value(found).0);
        number = found + 1;
    }
    assert!(order == model.order, "insertion order");
    if map.root == 0 {
        return;
    }
    let range = KeyRange::new(fixture.bytes(), &map, Bound::Unbounded, Bound::Unbounded).unwrap();
    let all = fixture.take_range(range, &mut Random(1), 0);
    assert!(all.iter().map(|(k, v)| (k, v)).eq(model.sorted.iter()), "key order");
}

fn some_key(random: &mut Random, kind: usize) -> Vec<u8> {
    match kind % 9 {
        0 => {
            let length = random.below(4);
            random.bytes(length, b"ab\0\xFF")
        }
        1 => {
            let length = random.below(13) + 8;
            random.bytes(length, b"0123456789abcdef")
        }
        2 => {
            // Prefixes of each other.
            vec![b'a'; random.below(40)]
        }
        3 => {
            let mut key = vec![b'p'; random.below(4) * 100];
            key.extend(random.bytes(5, b"xyz"));
            key
        }
        4 => format!("user:{:011}", random.below(5000)).into_bytes(),
        5 => {
            let mut key = b"same".to_vec();
            let length = random.below(6);
            key.extend(random.bytes(length, b"\0\x01"));
            key
        }
        6 => {
            let length = random.below(20);
            (0..length).map(|_| random.next() as u8).collect()
        }
        7 => {
            let mut key = vec![0; random.below(10)];
            key.push(random.next() as u8 & 3);
            key
        }
        _ => random.next().to_be_bytes()[..8].to_vec(),
    }
}

fn bound<'k>(random: &mut Random, key: &'k [u8]) -> Bound<&'k [u8]> {
    match random.below(5) {
        0 => Bound::Unbounded,
        1 | 2 => Bound::Included(key),
        _ => Bound::Excluded(key),
    }
}

fn check_ranges(fixture: &Fixture, model: &Model, random: &mut Random, kind: usize) {
    let map = fixture.header();
    if map.root == 0 {
        return;
    }
    for mode in 0..3 {
        let a = some_key(random, kind);
        let b = match random.below(3) {
            0 => a.clone(),
            1 if !model.order.is_empty() => model.order[random.below(model.order.len())].clone(),
            _ => some_key(random, kind),
        };
        let (lower, upper) = (bound(random, &a), bound(random, &b));
        let range = KeyRange::new(fixture.bytes(), &map, lower, upper).unwrap();
        let ours = fixture.take_range(range, random, mode);
        let theirs: Vec<_> = model
            .sorted
            .iter()
            .filter(|(key, _)| {
                use core::ops::RangeBounds;
                <(Bound<&[u8]>, Bound<&[u8]>) as RangeBounds<[u8]>>::contains(
                    &(lower, upper),
                    key.as_slice(),
                )
            })
            .map(|(key, value)| (key.clone(), *value))
            .collect();
        assert!(ours == theirs, "range {lower:?} {upper:?}: {ours:?} not {theirs:?}");

        let mut prefix = b;
        prefix.truncate(random.below(prefix.len() + 1));
        let range = KeyRange::prefix(fixture.bytes(), &map, &prefix).unwrap();
        let ours = fixture.take_range(range, random, mode);
        let theirs = model.sorted.iter().filter(|(key, _)| key.starts_with(&prefix));
        assert!(ours.iter().map(|(k, v)| (k, v)).eq(theirs), "prefix {prefix:?}");
    }
}

fn run(seed: u64, steps: usize, is_heard: bool) -> Fixture {
    let mut random = Random(seed);
    let mut fixture = Fixture::new();
    if is_heard {
        let settled = Mirror { copy: fixture.bytes().to_vec(), ..Mirror::default() };
        fixture.space.listeners_mut().push(Box::new(settled));
        fixture.space.watch();
    }
    let mut model = Model::default();
    // One kind of key, or all mixed; growing and shrinking by turns.
    let one_kind = (random.below(3) > 0).then(|| random.below(9));
    let every = [1, 7, 50][random.below(3)];
    let tree_from = [0, steps / 2, steps][random.below(3)];
    let mut inserting = 6;
    for step in 0..steps {
        if step % 400 == 0 {
            inserting = [8, 2, 5, 9][random.below(4)];
        }
        let kind = one_kind.unwrap_or_else(|| random.below(9));
        let key = some_key(&mut random, kind);
        let action = random.below(10);
        if step >= tree_from {
            fixture.order();
        }
        if action < inserting || model.order.is_empty() {
            let value = random.next();
            match fixture.insert(&key, value) {
                Some(_) => {
                    assert!(model.sorted.insert(key.clone(), value).is_none());
                    model.order.push(key.clone());
                }
                None => assert!(model.sorted.contains_key(&key)),
            }
        } else {
            let index = random.below(model.order.len());
            let old = model.order[index].clone();
            let number = fixture.find(&old).unwrap();
            if action == 9 {
                match fixture.rename(number, &key) {
                    Some(()) => {
                        let value = model.sorted.remove(&old).unwrap();
                        assert!(model.sorted.insert(key.clone(), value).is_none());
                        model.order[index] = key.clone();
                    }
                    None => assert!(model.sorted.contains_key(&key)),
                }
            } else {
                fixture.remove(number);
                model.sorted.remove(&old);
                model.order.remove(index);
            }
        }
        for _ in 0..3 {
            let key = some_key(&mut random, kind);
            let found = fixture.find(&key).map(|number| fixture.key_and_value(number));
            assert_eq!(found, model.sorted.get_key_value(&key).map(|(k, v)| (k.clone(), *v)));
        }
        if step % every == 0 {
            fixture.check();
            check_ranges(&fixture, &model, &mut random, kind);
        }
        if step % 97 == 0 {
            compare(&fixture, &model);
            for (key, value) in &model.sorted {
                let number = fixture.find(key).expect("a key that is there");
                assert_eq!(fixture.key_and_value(number), (key.clone(), *value));
            }
        }
    }
    compare(&fixture, &model);
    fixture.check();
    fixture
}

/// Runs `test` and tells the seed of a run that fails.
fn seeded(seeds: core::ops::Range<u64>, test: impl Fn(u64)) {
    struct Tell(u64);
    impl Drop for Tell {
        fn drop(&mut self) {
            if std::thread::panicking() {
                std::eprintln!("seed {}", self.0);
            }
        }
    }
    for seed in seeds {
        let _tell = Tell(seed);
        test(seed);
    }
}

#[test]
fn random_edits_match_a_model() {
    seeded(0..40, |seed| drop(run(seed, 2500, false)));
}

#[test]
fn a_listener_hears_of_every_change() {
    seeded(100..110, |seed| {
        let mut fixture = run(seed, 1500, true);
        let bytes = fixture.bytes().to_vec();
        let listener = fixture.space.listeners_mut().pop().unwrap() as Box<dyn core::any::Any>;
        let mut mirror = listener.downcast::<Mirror>().unwrap();
        // Bytes that became used and stayed zero were never written.
        mirror.copy.truncate(bytes.len());
        mirror.settle(&bytes);
        assert!(mirror.copy == bytes);
    });
}

#[test]
fn a_hundred_thousand_come_and_go() {
    for order in 0..3 {
        let mut fixture = Fixture::new();
        let mut random = Random(order);
        let count = 100_000;
        let mut keys: Vec<Vec<u8>> =
            (0..count).map(|number| format!("key/{number:08}").into_bytes()).collect();
        match order {
            0 => {}
            1 => keys.reverse(),
            _ => {
                for i in (1..count).rev() {
                    keys.swap(i, random.below(i + 1));
                }
            }
        }
        let mut most = 0;
        for round in 0..3 {
            for (number, key) in keys.iter().enumerate() {
                assert_eq!(fixture.insert(key, number as u64), Some(number as u32));
            }
            fixture.check();
            let used = fixture.space.used();
            // Entry 17, key text 16, index 8 to 12 and slack.
            assert!(used < 100 * count as u32, "{used} bytes");
            if round == 0 {
                most = used;
            }
            // In later rounds the growing entry table leaves holes behind it.
            assert!(used <= most + most / 2, "round {round}: {used} bytes, first {most}");
            for key in &keys {
                let number = fixture.find(key).unwrap();
                fixture.remove(number);
            }
            fixture.check();
            let map = fixture.header();
            assert_eq!((map.live, map.used, map.root), (0, 0, 0));
            assert!(map.capacity < 64);
            fixture.free_all();
        }
    }
}

#[test]
fn freeing_the_body_frees_every_node() {
    let mut fixture = Fixture::new();
    for number in 0..20_000u64 {
        fixture.insert(&number.to_be_bytes()[1..], number).unwrap();
    }
    fixture.free_all();
    fixture.check();
}

#[test]
fn reserved_room_is_used() {
    let mut fixture = Fixture::new();
    for additional in [1, 100, 1000, 10] {
        let map = fixture.header();
        let growth = plan_reserve(fixture.bytes(), &map, additional).unwrap();
        fixture.space.ensure(growth.fresh, growth.tail).unwrap();
        fixture.space.extend(growth.tail);
        let mut extent = fixture.space.take(growth.fresh);
        reserve(&mut fixture.space, &map, &growth, &mut extent);
        fixture.space.free_rest(extent);
        fixture.check();
        let map = fixture.header();
        assert!(map.capacity >= map.used + additional);
        for _ in 0..additional {
            let value = u64::from(fixture.header().used);
            fixture.insert(format!("{value}").as_bytes(), value).unwrap();
        }
        assert_eq!(fixture.header().capacity, map.capacity);
    }
}

#[test]
fn bulk_building_gives_the_same_map() {
    seeded(200..240, |seed| {
        let mut random = Random(seed);
        let kind = random.below(9);
        let count = [0, 1, 62, 63, 64, 65, 126, 127, 500, 3969, 3970, 9000][random.below(12)];
        let mut model = Model::default();
        while model.order.len() < count {
            let tries = model.sorted.len();
            let key = some_key(&mut random, kind);
            if model.sorted.insert(key.clone(), tries as u64).is_none() {
                model.order.push(key);
            } else if random.below(50) == 0 {
                break;
            }
        }
        for (number, key) in model.order.iter().enumerate() {
            model.sorted.insert(key.clone(), number as u64);
        }
        let count = model.order.len();
        let keys = (HEADER_SIZE + MAP_SIZE) as usize;
        let data = keys + keys_size(count as u32) as usize;
        let mut bytes = vec![0; data + tagged_size(count as u64) as usize];
        for (number, key) in model.order.iter().enumerate() {
            let cell = if key.len() <= MAX_INLINE {
                inline_span(key)
            } else {
                let offset = bytes.len();
                bytes.extend_from_slice(key);
                bytes.resize(bytes.len().next_multiple_of(8), 0);
                span_at(offset as u32, key.len() as u32, true)
            };
            let (number, at) = (number as u32, keys + keys_size(number as u32) as usize);
            bytes[at..at + 8].copy_from_slice(&cell.to_le_bytes());
            let at = data + cell_at(number) as usize;
            bytes[at..at + 8].copy_from_slice(&u64::from(number).to_le_bytes());
            bytes[data + tag_at(number) as usize] = TAG_INT;
        }
        let mut numbers: Vec<u32> = (0..count as u32).collect();
        numbers.sort_by_key(|&number| &model.order[number as usize]);
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        let mut root = 0;
        if count > 0 {
            let mut nodes = vec![0; tree_size(count)];
            build(&numbers, bytes.len() as u32, &mut nodes);
            bytes.extend_from_slice(&nodes);
            root = bytes.len() as u32 - NODE_SIZE;
        }
        let map = HEADER_SIZE as usize;
        let (n, at) = (count as u32, |at: usize| if count == 0 { 0 } else { at as u32 });
        let kinds = [u32::from(KIND_MAP), u32::from(KIND_ARRAY)];
        let words = [kinds[0], n, 0, 0, n, at(keys), root, 0, kinds[1], n, n, at(data)];
        for (index, word) in words.iter().enumerate() {
            bytes[map + 4 * index..][..4].copy_from_slice(&word.to_le_bytes());
        }
        let used = bytes.len() as u32;
        bytes[HEADER_USED as usize..][..4].copy_from_slice(&used.to_le_bytes());
        let storage = VecStorage::from_slice(&bytes).unwrap();
        let space = Space::new(storage, used, true, Limits::default());
        let mut fixture = Fixture { space, map: map as u64 };
        fixture.check();
        compare(&fixture, &model);
        for key in model.order.clone() {
            assert!(fixture.find(&key).is_some());
        }
        // And it is edited as any other.
        for _ in 0..300 {
            let key = some_key(&mut random, kind);
            match fixture.insert(&key, 5) {
                Some(_) => {
                    model.sorted.insert(key.clone(), 5);
                    model.order.push(key);
                }
                None => {
                    let number = fixture.find(&key).unwrap();
                    fixture.remove(number);
                    model.sorted.remove(&key);
                    model.order.retain(|other| *other != key);
                }
            }
            check_ranges(&fixture, &model, &mut random, kind);
        }
        fixture.check();
        compare(&fixture, &model);
    });
}

/// Damaged bytes give errors or wrong answers, and nothing else.
#[test]
fn damage_is_survived() {
    seeded(300..420, |seed| {
        let mut random = Random(seed);
        let mut fixture = Fixture::new();
        let kind = random.below(9);
        if seed % 2 == 0 {
            fixture.insert(b"first", 1).unwrap();
            fixture.order();
        }
        for _ in 0..[5, 100, 400][random.below(3)] {
            let _ = fixture.insert(&some_key(&mut random, kind), 1);
        }
        let mut bytes = fixture.bytes().to_vec();
        let map = fixture.map;
        for _ in 0..40 {
            for _ in 0..random.below(6) + 1 {
                let at = random.below(bytes.len() - 32) + 32;
                match random.below(3) {
                    0 => bytes[at] = random.next() as u8,
                    1 => {
                        // A plausible offset or number.
                        let at = at & !3;
                        let word = (random.below(bytes.len()) as u32) & !7;
                        bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
                    }
                    _ => {
                        let at = at & !3;
                        let from = random.below(bytes.len()) & !3;
                        bytes.copy_within(from..from + 4, at);
                    }
                }
                bytes[map as usize] = KIND_MAP;
            }
            // A document that is not trusted.
            let storage = VecStorage::from_slice(&bytes).unwrap();
            let used = bytes.len() as u32;
            let mut space = Space::new(storage, used, false, Limits::default());
            let mut visits = 0;
            let _ = check_index(space.bytes(), map, &mut |_, _| {
                visits += 1;
                Ok(())
            });
            assert!(visits < 20_000);
            for _ in 0..20 {
                let key = some_key(&mut random, kind);
                let _ = find(space.bytes(), map, &key);
                if let Ok(header) = Map::load(space.bytes(), map) {
                    let other = some_key(&mut random, kind);
                    let _ = KeyRange::prefix(space.bytes(), &header, &key).map(|mut range| {
                        for _ in 0..100 {
                            let _ = range.next(space.bytes());
                            let _ = range.next_back(space.bytes());
                        }
                    });
                    let _ = KeyRange::new(
                        space.bytes(),
                        &header,
                        bound(&mut random, &key),
                        bound(&mut random, &other),
                    );
                }
                let Ok(header) = Map::load(space.bytes(), map) else { break };
                match random.below(3) {
                    0 => {
                        if let Ok(InsertPlace::New(plan)) =
                            plan_insert(space.bytes(), &header, &key)
                        {
                            let fresh = plan.fresh();
                            if space.ensure(fresh, plan.tail()).is_ok() {
                                space.extend(plan.tail());
                                plan.claim(&mut space, &header);
                                let mut extent = space.take(fresh);
                                let cell = inline_span(&key[..key.len().min(7)]);
                                insert(&mut space, &header, &plan, cell, (TAG_INT, 1), &mut extent);
                                space.free_rest(extent);
                            }
                        }
                    }
                    1 => {
                        let number = random.below(100) as u32;
                        let key = header.keys.text(space.bytes(), number);
                        let plan = key.and_then(|key| plan_remove(space.bytes(), &header, key));
                        if let Ok(Some(plan)) = plan {
                            remove(&mut space, &header, &plan);
                        }
                    }
                    _ => {
                        let number = random.below(100) as u32;
                        let plan = plan_rename(space.bytes(), &header, number, &key);
                        if let Ok(Some(plan)) = plan
                            && space.ensure(plan.fresh(), 0).is_ok()
                        {
                            let mut extent = space.take(plan.fresh());
                            let cell = inline_span(&key[..key.len().min(7)]);
                            rename(&mut space, &plan, &key, cell, &mut extent);
                            space.free_rest(extent);
                        }
                    }
                }
            }
        }
    });
}

/// Every single-byte damage of a map's structure is an error or changes no answer.
#[test]
fn the_check_notices_damage() {
    notices_damage(|_| ());
    notices_damage(Fixture::order);
}

fn notices_damage(prepare: impl Fn(&mut Fixture)) {
    let mut fixture = Fixture::new();
    for number in 0..300u64 {
        fixture.insert(format!("prefix/{number}").as_bytes(), number).unwrap();
    }
    prepare(&mut fixture);
    let mut bytes = fixture.bytes().to_vec();
    let keys: Vec<Vec<u8>> = (0..300).map(|n| format!("prefix/{n}").into_bytes()).collect();
    for at in HEADER_SIZE as usize..bytes.len() {
        let old = bytes[at];
        bytes[at] ^= 1 << (at % 8);
        let fine = check_index(&bytes, fixture.map, &mut |_, _| Ok(())).is_ok();
        if fine {
            let header = Map::load(&bytes, fixture.map).unwrap();
            for key in &keys {
                let number = find(&bytes, fixture.map, key).unwrap();
                // A key's own text may have changed; then it is another key.
                if let Some(number) = number {
                    assert_eq!(header.keys.text(&bytes, number).unwrap(), key);
                }
            }
            let mut number = 0;
            let mut count = 0;
            while let Some(found) = header.next_live(&bytes, number).unwrap() {
                let key = header.keys.text(&bytes, found).unwrap();
                assert_eq!(find(&bytes, fixture.map, key), Ok(Some(found)));
                number = found + 1;
                count += 1;
            }
            assert_eq!(count, 300);
            if header.root != 0 {
                let all = KeyRange::prefix(&bytes, &header, b"").unwrap();
                let walk = core::iter::successors(Some((all, None)), |(range, _)| {
                    let mut range = range.clone();
                    let number = range.next(&bytes)?.unwrap();
                    Some((range, Some(header.keys.text(&bytes, number).unwrap())))
                });
                let keys: Vec<_> = walk.filter_map(|(_, key)| key).collect();
                assert!(keys.len() == 300 && keys.is_sorted());
            }
        }
        bytes[at] = old;
    }
}
