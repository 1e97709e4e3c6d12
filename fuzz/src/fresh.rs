//! New keys and values, decoded from fuzz input.

use crate::input::Input;
use crate::tree::{Numbers, Tree};
use livebuf::{ColumnType, Date, DateTime, Decimal, DocBuf, Extended, New, Time, Timestamp, Uuid};

/// Keys that come again and again, so that edits meet each other.
pub const KEYS: [&str; 16] = [
    "",
    "a",
    "b",
    "c",
    "lap",
    "seven b",
    "eight by",
    "time_sec",
    "a longer key",
    "a longer kez",
    "a longer key of some 40 bytes, as it were",
    "a/b",
    "~t",
    "nul\0",
    "ключ",
    "-",
];

/// Keys of 16 bytes that all have one hash (FORMAT 7.4): more than a map's hash block has places for.
///
/// # Panics
/// Where too few are found.
pub fn colliding() -> &'static [String] {
    static COLLIDING: std::sync::OnceLock<Vec<String>> = std::sync::OnceLock::new();
    const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
    COLLIDING.get_or_init(|| {
        let numbers = 1..100_000u64;
        let texts = numbers.filter_map(|number| {
            let first = number.wrapping_mul(STEP) & 0x0F0F_0F0F_0F0F_0F0F | 0x3030_3030_3030_3030;
            let (x, y) = (16 ^ first as u32, 0x9E37_79B1 ^ (first >> 32) as u32);
            let a = (x ^ y >> 14).wrapping_mul(0x85EB_CA6B);
            let b = (y ^ x >> 18).wrapping_mul(0xC2B2_AE35);
            // The second word takes back what the first did.
            let second = (u64::from(a) | u64::from(b) << 32) ^ 0x1234_5678_9ABC_DEF0;
            let is_ascii = second & 0x8080_8080_8080_8080 == 0;
            let bytes = [first.to_le_bytes(), second.to_le_bytes()].concat();
            String::from_utf8(bytes).ok().filter(|_| is_ascii)
        });
        let mut keys: Vec<String> = texts.take(320).collect();
        keys.sort_unstable();
        keys.dedup();
        assert!(keys.len() > 300, "{}", keys.len());
        keys
    })
}

/// A key: mostly of the pool, some numbered, some long, some too long for records.
pub fn key(input: &mut Input<'_>) -> String {
    match input.byte() {
        choice @ 0..176 => KEYS[usize::from(choice) % KEYS.len()].to_owned(),
        176..216 => format!("k{}", input.byte()),
        216..232 => format!("common prefix of many keys {}", input.byte()),
        232..242 => text(input.byte(), 100 + input.below(156)),
        242..248 => text(input.byte(), 256 + input.below(40)),
        _ => String::from_utf8_lossy(input.take(9)).into_owned(),
    }
}

/// Text of that many bytes, made of few letters, some of two and three bytes.
pub fn text(seed: u8, length: usize) -> String {
    let mut text = String::with_capacity(length);
    let mut mix = usize::from(seed);
    while text.len() < length {
        mix = mix.wrapping_mul(31).wrapping_add(7) % 9973;
        let letter = match mix % 29 {
            26 => 'é',
            27 => '√',
            28 => '\u{1}',
            letter => char::from(b'a' + letter as u8),
        };
        if text.len() + letter.len_utf8() <= length {
            text.push(letter);
        }
    }
    text
}

fn length(input: &mut Input<'_>) -> usize {
    match input.byte() {
        short @ 0..232 => usize::from(short) % 41,
        232..250 => 41 + usize::from(input.byte()),
        _ => 300 + input.below(4701),
    }
}

fn integer(input: &mut Input<'_>) -> i64 {
    let edge: i64 = match input.byte() % 20 {
        0..8 => return i64::from(input.byte() as i8),
        8 => 1 << 7,
        9 => 1 << 8,
        10 => 1 << 15,
        11 => 1 << 16,
        12 => 1 << 31,
        13 => 1 << 32,
        14 => i64::MAX,
        15 => return i64::MIN,
        16 => 1 << 53,
        17 => 1 << 24,
        _ => return input.long() as i64,
    };
    let edge = edge - i64::from(input.byte() % 3) + i64::from(edge < i64::MAX);
    if input.one_in(2) { -edge } else { edge }
}

fn double(input: &mut Input<'_>) -> f64 {
    match input.byte() % 16 {
        0 => 0.0,
        1 => -0.0,
        2 => f64::NAN,
        3 => f64::from_bits(f64::NAN.to_bits() | 1 << 63 | 0x1234),
        4 => f64::INFINITY,
        5 => f64::NEG_INFINITY,
        6 => 0.1,
        7 => f64::from(f32::MAX),
        8 => f64::from(f32::from_bits(1)),
        9 => f64::from_bits(1),
        10 => f64::from(input.byte()) / 8.0,
        11 => f64::from_bits(0x7FF0_0000_0000_0001),
        12 => -1.5,
        // Whole values, which columns of numbers must tell from integers.
        13 => f64::from(input.byte() as i8),
        14 => {
            let edge = if input.one_in(2) { 1u64 << 24 } else { 1 << 53 } as f64;
            edge + f64::from(input.byte() % 3) - 1.0
        }
        _ => f64::from_bits(input.long()),
    }
}

/// A value that JSON lacks.
pub fn extended(input: &mut Input<'_>) -> Extended {
    let kind = input.byte();
    extended_of(kind, input)
}

/// Any of a kind; all that are made of one byte by the same kind are of one kind.
fn extended_of(kind: u8, input: &mut Input<'_>) -> Extended {
    let days = -719_162 + (input.long() % 3_652_059) as i64;
    let time = (input.long() % 86_400_000_000) as i64;
    let date = Date::from_days(days as i32).expect("in bounds");
    let time = Time::from_microseconds(time).expect("in a day");
    match kind % 8 {
        0 => date.into(),
        1 => time.into(),
        2 => DateTime::new(date, time).into(),
        3 => Timestamp::from_microseconds(DateTime::new(date, time).microseconds())
            .expect("in bounds")
            .into(),
        4 => {
            Decimal::new((input.long() as i64 >> (8 + input.byte() % 56)).into(), input.byte() % 39)
                .expect("few digits")
                .into()
        }
        5 => {
            // At the bound of 56 bits.
            let edge = (1i128 << 55) - 2 + i128::from(input.byte() % 4);
            let edge = if input.one_in(2) { -edge } else { edge };
            Decimal::new(edge, input.byte() % 39).expect("few digits").into()
        }
        6 => {
            let large = i128::from(input.long()) << (input.byte() % 62);
            Decimal::new(large, input.byte() % 39).expect("at most 38 digits").into()
        }
        _ => {
            let seed = input.byte();
            Uuid::from_bytes(std::array::from_fn(|at| seed.wrapping_mul(at as u8 | 1))).into()
        }
    }
}

/// A number that tells the kind of such a value.
fn kind_of(value: &Extended) -> u8 {
    match value {
        Extended::Date(_) => 0,
        Extended::Time(_) => 1,
        Extended::DateTime(_) => 2,
        Extended::Timestamp(_) => 3,
        Extended::Decimal(_) => 4,
        _ => 7,
    }
}

/// A tensor of few numbers.
pub fn tensor(input: &mut Input<'_>) -> Tree {
    use ColumnType::*;
    const TYPES: [ColumnType; 12] = [Bool8, I8, I16, I32, I64, U8, U16, U32, U64, F16, F32, F64];
    let column = input.pick(&TYPES);
    let mut shape: Vec<u32> = (0..1 + input.below(3)).map(|_| 1 + input.below(4) as u32).collect();
    if input.one_in(8) {
        shape[0] = 0;
    }
    Tree::Tensor(Box::new(numbers(input, column, shape)))
}

/// Any numbers of this type and shape, but no NaN of 16 bits, which others may make quiet.
pub fn numbers(input: &mut Input<'_>, column: ColumnType, shape: Vec<u32>) -> Numbers {
    let width = match column {
        ColumnType::Bool8 | ColumnType::I8 | ColumnType::U8 => 1,
        ColumnType::I16 | ColumnType::U16 | ColumnType::F16 => 2,
        ColumnType::I32 | ColumnType::U32 | ColumnType::F32 => 4,
        _ => 8,
    };
    let seed = input.long();
    let bytes = (0..shape.iter().product::<u32>().into()).flat_map(|at: u64| {
        let word = seed.rotate_left(at as u32 * 7) ^ at;
        let word = match column {
            ColumnType::Bool8 => word & 1,
            ColumnType::F16 => word & 0x7BFF,
            ColumnType::F32 => (word as i32 as f32).to_bits().into(),
            _ => word,
        };
        word.to_le_bytes()[..width].to_vec()
    });
    Numbers { column, bytes: bytes.collect(), shape }
}

/// A value that nests nothing but tensors.
pub fn scalar(input: &mut Input<'_>) -> Tree {
    match input.byte() % 16 {
        0 => Tree::Null,
        1 => Tree::Bool(false),
        2 => Tree::Bool(true),
        3..7 => Tree::Int(integer(input)),
        7 => Tree::Uint((1 << 63) | input.long() >> (input.byte() % 64)),
        8 | 9 => Tree::Float(double(input).to_bits()),
        10..14 => {
            let seed = input.byte() % 16;
            Tree::String(text(seed, length(input)))
        }
        14 => {
            let length = length(input);
            Tree::Bytes((0..length).map(|at| (at % 160) as u8).collect())
        }
        _ if input.one_in(2) => Tree::Extended(extended(input)),
        _ if input.one_in(2) => tensor(input),
        _ => Tree::Number(match input.byte() % 4 {
            0 => "1e400".into(),
            1 => "-0".into(),
            2 => format!("123456789012345678901234567890{}", input.byte()),
            _ => format!("0.{}1", "0".repeat(input.byte().into())),
        }),
    }
}

/// A tree of some values.
pub fn tree(input: &mut Input<'_>, depth: usize) -> Tree {
    let count = |input: &mut Input<'_>| match input.byte() {
        few @ 0..240 => usize::from(few) % 6,
        240..250 => 6 + usize::from(input.byte()) % 30,
        _ => 40,
    };
    match input.byte() % 8 {
        0..2 if depth > 0 => {
            let (same, numbers) = (input.one_in(2), input.one_in(4));
            let count = count(input);
            let first = tree(input, depth - 1);
            let mut elements = Vec::new();
            for _ in 0..count {
                let again = same && !input.one_in(4);
                elements.push(match (&first, again) {
                    (Tree::Int(_) | Tree::Float(_), true) if numbers => match input.one_in(2) {
                        true => Tree::Int(integer(input)),
                        false => Tree::Float(double(input).to_bits()),
                    },
                    (Tree::Int(_), true) => Tree::Int(integer(input)),
                    (Tree::Float(_), true) => Tree::Float(double(input).to_bits()),
                    (Tree::Extended(first), true) => {
                        Tree::Extended(extended_of(kind_of(first), input))
                    }
                    (Tree::Bool(_), true) => Tree::Bool(input.one_in(2)),
                    (first, true) => first.clone(),
                    _ => tree(input, depth - 1),
                });
            }
            Tree::Array(elements)
        }
        2..5 if depth > 0 => {
            let mut members: Vec<(String, Tree)> = Vec::new();
            for _ in 0..count(input) {
                let key = key(input);
                if !members.iter().any(|member| member.0 == key) {
                    members.push((key, tree(input, depth - 1)));
                }
            }
            if input.one_in(48) {
                for number in 0..20 + 2 * input.below(150) {
                    members.push((format!("m{number}"), Tree::Int(number as i64)));
                }
            }
            let map = members.len() > 255 || members.iter().any(|member| member.0.len() > 255);
            Tree::Object(members, map)
        }
        _ => scalar(input),
    }
}

/// A value to be stored by an edit.
#[derive(Debug)]
pub enum Fresh {
    /// A scalar.
    Scalar(Tree),
    /// Text that is no number, given as one.
    BadNumber,
    /// An empty record with room.
    Object(u8),
    /// An empty map with room.
    Map(u32),
    /// An empty array with room.
    Array(u32),
    /// Members and elements given as slices; a key twice where the flag says so.
    Whole(Tree, bool),
    /// A value of another document: the document, the way to the value, the value.
    Copy(Box<DocBuf>, String, Tree),
}

impl Fresh {
    /// Decodes a value; the copies of other documents are small.
    pub fn decode(input: &mut Input<'_>) -> Fresh {
        match input.byte() {
            0..150 => Fresh::Scalar(scalar(input)),
            150..180 => Fresh::Object(input.byte() % 9),
            180..184 => Fresh::Object(input.byte()),
            184..200 => Fresh::Map(u32::from(input.byte()) % 20),
            200..228 => Fresh::Array(u32::from(input.byte()) % 12),
            228 => Fresh::BadNumber,
            229 if input.one_in(4) => {
                // More kinds of objects than are looked through for a shape that fits.
                let (first, count) = (input.below(80), 60 + input.below(12));
                let mut rows: Vec<_> = (0..count)
                    .map(|row| Tree::Object(vec![(format!("s{}", first + row), Tree::Null)], false))
                    .collect();
                rows.push(Tree::Object(vec![(key(input), Tree::Bool(true))], false));
                if let Tree::Object(members, map) = &mut rows[count] {
                    *map = members[0].0.len() > 255;
                }
                Fresh::Whole(Tree::Array(rows), false)
            }
            229..242 => {
                let tree = tree(input, 2);
                // Slices of slices are made by recursion.
                if tree.count() > 400 {
                    return Fresh::Array(0);
                }
                let doubled = matches!(&tree, Tree::Object(members, _) if !members.is_empty());
                Fresh::Whole(tree, doubled && input.one_in(16))
            }
            _ => Fresh::copy(input),
        }
    }

    fn copy(input: &mut Input<'_>) -> Fresh {
        let mut tree = tree(input, 3);
        let mut document = tree.to_records();
        // Some sources were edited: holes, forwards, widened columns, maps.
        if input.one_in(2)
            && let Some(root) = document.root_id()
        {
            match &mut tree {
                Tree::Object(members, false) if members.len() < 255 => {
                    if let Some((key, _)) = members.first() {
                        document.remove(root, &**key).expect("removed");
                        members.remove(0);
                    }
                    if !members.is_empty() {
                        let root = document.root_id().expect("an object");
                        document.set(root, "added to the source", 1).expect("added");
                        members.push(("added to the source".into(), Tree::Int(1)));
                    }
                }
                Tree::Array(elements) => {
                    document.push(root, New::Map { capacity: 1 }).expect("pushed");
                    elements.push(Tree::Object(Vec::new(), true));
                }
                _ => {}
            }
        }
        let (mut pointer, mut chosen) = (String::new(), tree);
        while chosen.is_container() && input.one_in(3) {
            chosen = match chosen {
                Tree::Array(mut elements) if !elements.is_empty() => {
                    let index = input.below(elements.len());
                    pointer.push_str(&format!("/{index}"));
                    elements.swap_remove(index)
                }
                Tree::Object(mut members, _) if !members.is_empty() => {
                    let (key, value) = members.swap_remove(input.below(members.len()));
                    pointer.push_str(&token(&key));
                    value
                }
                other => {
                    chosen = other;
                    break;
                }
            };
        }
        Fresh::Copy(Box::new(document), pointer, chosen)
    }

    /// A copy of a whole document.
    pub fn copy_of(document: DocBuf, tree: Tree) -> Fresh {
        Fresh::Copy(Box::new(document), String::new(), tree)
    }

    /// Hands over what the editor takes.
    pub fn with_new<R>(&self, take: impl FnOnce(New<'_>) -> R) -> R {
        match self {
            Fresh::Whole(tree, doubled) => {
                let mut tree = tree.clone();
                if let (Tree::Object(members, _), true) = (&mut tree, doubled) {
                    members.push((members[0].0.clone(), Tree::Null));
                }
                let (mut take, mut taken) = (Some(take), None);
                with_tree(&tree, &mut |new| taken = take.take().map(|take| take(new)));
                taken.expect("handed over once")
            }
            Fresh::Scalar(tree) => take(scalar_new(tree)),
            Fresh::BadNumber => take(New::NumberText("1 ")),
            Fresh::Object(capacity) => take(New::Object { capacity: *capacity }),
            Fresh::Map(capacity) => take(New::Map { capacity: *capacity }),
            Fresh::Array(capacity) => take(New::Array { capacity: *capacity }),
            Fresh::Copy(document, pointer, _) => {
                let value = document.doc().pointer(pointer).expect("sound").expect("there");
                take(value.into())
            }
        }
    }

    /// The same as a tree.
    pub fn as_tree(&self) -> Tree {
        match self {
            Fresh::Scalar(tree) | Fresh::Whole(tree, _) | Fresh::Copy(_, _, tree) => tree.clone(),
            Fresh::BadNumber => Tree::Null,
            Fresh::Object(_) => Tree::Object(Vec::new(), false),
            Fresh::Map(_) => Tree::Object(Vec::new(), true),
            Fresh::Array(_) => Tree::Array(Vec::new()),
        }
    }
}

/// A value that nests nothing, as an editor takes it.
pub(crate) fn scalar_new(tree: &Tree) -> New<'_> {
    match tree {
        Tree::Null => New::Null,
        Tree::Bool(value) => New::Bool(*value),
        // Both ways to say the same.
        Tree::Int(value) if *value > 1000 => New::Uint(*value as u64),
        Tree::Int(value) => New::Int(*value),
        Tree::Uint(value) => New::Uint(*value),
        Tree::Float(bits) => New::Float(f64::from_bits(*bits)),
        Tree::Number(text) => New::NumberText(text),
        Tree::String(text) => New::Str(text),
        Tree::Bytes(bytes) => New::Bytes(bytes),
        Tree::Extended(value) => New::Extended(*value),
        Tree::Tensor(numbers) => New::Tensor(numbers.tensor()),
        _ => unreachable!("a scalar"),
    }
}

/// Makes slices of slices on the stack, as literals are.
fn with_tree(tree: &Tree, take: &mut dyn FnMut(New<'_>)) {
    match tree {
        Tree::Array(elements) => {
            with_all(&elements.iter().collect::<Vec<_>>(), Vec::new(), &mut |items| {
                take(New::Items(&items));
            });
        }
        Tree::Object(members, _) => {
            let values: Vec<_> = members.iter().map(|member| &member.1).collect();
            with_all(&values, Vec::new(), &mut |values| {
                let keys = members.iter().map(|member| &*member.0);
                take(New::Fields(&keys.zip(values).collect::<Vec<_>>()));
            });
        }
        scalar => take(scalar_new(scalar)),
    }
}

fn with_all(rest: &[&Tree], done: Vec<New<'_>>, take: &mut dyn FnMut(Vec<New<'_>>)) {
    let Some((first, rest)) = rest.split_first() else { return take(done) };
    let mut done = Some(done);
    with_tree(first, &mut |new| {
        let mut done = done.take().expect("called once");
        done.push(new);
        with_all(rest, done, take);
    });
}

/// A key as a JSON pointer's token, its slash included.
pub fn token(key: &str) -> String {
    format!("/{}", key.replace('~', "~0").replace('/', "~1"))
}
