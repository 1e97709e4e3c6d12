//! A document's value as an ordinary tree: what documents are compared with.

use livebuf::{
    Checked, ColumnType, DocBuf, EncodeOptions, Encoder, Error, Extended, Kind, Mode, Result,
    Tensor, TensorRef, Valid, Value,
};

/// A value. Floats are their bits; an unsigned integer is above the signed range.
#[derive(Clone, Debug, PartialEq)]
pub enum Tree {
    /// Null.
    Null,
    /// A boolean.
    Bool(bool),
    /// An integer in `i64`'s range.
    Int(i64),
    /// An integer above it.
    Uint(u64),
    /// A double's bits.
    Float(u64),
    /// A number's text.
    Number(String),
    /// Text.
    String(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// A date, time, decimal or UUID.
    Extended(Extended),
    /// A tensor. It is a value without parts here: no edit changes its shape.
    Tensor(Box<Numbers>),
    /// An array.
    Array(Vec<Tree>),
    /// An object: members in order, and whether it is stored as a map.
    Object(Vec<(String, Tree)>, bool),
    /// A value of a class this version knows but a kind it does not.
    Reserved,
}

/// A tensor's numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Numbers {
    /// Their type.
    pub column: ColumnType,
    /// The length of each dimension.
    pub shape: Vec<u32>,
    /// Their bytes.
    pub bytes: Vec<u8>,
}

impl Numbers {
    fn of(tensor: &Tensor<'_>) -> Numbers {
        let (shape, bytes) = (tensor.shape().to_vec(), tensor.as_bytes().to_vec());
        Numbers { column: tensor.column_type(), shape, bytes }
    }

    /// The tensor.
    ///
    /// # Panics
    /// Where there is none of this shape.
    pub fn tensor(&self) -> TensorRef<'_> {
        TensorRef::from_bytes(self.column, &self.shape, &self.bytes).expect("a tensor")
    }

    /// How many arrays it is, itself included.
    pub fn arrays(&self) -> usize {
        let inner = self.shape.len() - 1;
        let arrays = (0..inner).map(|at| self.shape[..=at].iter().product::<u32>());
        1 + arrays.sum::<u32>() as usize
    }

    /// How many numbers there are.
    pub fn count(&self) -> usize {
        self.shape.iter().product::<u32>() as usize
    }

    /// The same as arrays of numbers.
    pub fn plain(&self) -> Tree {
        fn arrays(shape: &[u32], numbers: &mut dyn Iterator<Item = Tree>) -> Tree {
            match shape {
                [] => numbers.next().expect("a number"),
                [length, below @ ..] => {
                    Tree::Array((0..*length).map(|_| arrays(below, numbers)).collect())
                }
            }
        }
        let width = self.bytes.len() / self.count().max(1);
        arrays(&self.shape, &mut self.bytes.chunks(width.max(1)).map(|bytes| self.number(bytes)))
    }

    fn number(&self, bytes: &[u8]) -> Tree {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        let word = u64::from_le_bytes(word);
        let signed = |bits: u32| Tree::Int((word << (64 - bits)) as i64 >> (64 - bits));
        match self.column {
            ColumnType::Bool8 => Tree::Bool(word == 1),
            ColumnType::I8 => signed(8),
            ColumnType::I16 => signed(16),
            ColumnType::I32 => signed(32),
            ColumnType::U64 if word > i64::MAX as u64 => Tree::Uint(word),
            ColumnType::F16 => {
                let half = half::f16::from_bits(word as u16);
                // The bits of a NaN stay, which the crate makes a quiet one.
                let quiet = half.is_nan() && word & 0x200 == 0;
                Tree::Float(half.to_f64().to_bits() & !((quiet as u64) << 51))
            }
            ColumnType::F32 => Tree::Float(f64::from(f32::from_bits(word as u32)).to_bits()),
            ColumnType::F64 => Tree::Float(word),
            _ => Tree::Int(word as i64),
        }
    }
}

impl Tree {
    /// Whether two values are the same, however they are stored.
    pub fn same(&self, other: &Tree) -> bool {
        match (self, other) {
            (Tree::Array(a), Tree::Array(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same(b))
            }
            (Tree::Object(a, _), Tree::Object(b, _)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.0 == b.0 && a.1.same(&b.1))
            }
            _ => self == other,
        }
    }

    /// Whether objects begin with the members of the other's, and all else is the same.
    pub fn begins_with(&self, other: &Tree) -> bool {
        match (self, other) {
            (Tree::Array(a), Tree::Array(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.begins_with(b))
            }
            (Tree::Object(a, _), Tree::Object(b, _)) => {
                let begins = a.iter().zip(b).all(|(a, b)| a.0 == b.0 && a.1.begins_with(&b.1));
                a.len() >= b.len() && begins
            }
            _ => self == other,
        }
    }

    /// Whether it is an array or object.
    pub fn is_container(&self) -> bool {
        matches!(self, Tree::Array(_) | Tree::Object(..))
    }

    /// How many containers nest.
    pub fn height(&self) -> usize {
        match self {
            Tree::Array(elements) => 1 + elements.iter().map(Tree::height).max().unwrap_or(0),
            Tree::Object(members, _) => {
                1 + members.iter().map(|member| member.1.height()).max().unwrap_or(0)
            }
            Tree::Tensor(numbers) if numbers.shape[0] == 0 => 1,
            Tree::Tensor(numbers) => numbers.shape.len(),
            _ => 0,
        }
    }

    /// Count of values, itself included.
    pub fn count(&self) -> usize {
        match self {
            Tree::Array(elements) => 1 + elements.iter().map(Tree::count).sum::<usize>(),
            Tree::Object(members, _) => {
                1 + members.iter().map(|member| member.1.count()).sum::<usize>()
            }
            Tree::Tensor(numbers) => numbers.arrays() + numbers.count(),
            _ => 1,
        }
    }

    /// The same with arrays in the place of tensors.
    pub fn without_tensors(&self) -> Tree {
        match self {
            Tree::Tensor(numbers) => numbers.plain(),
            Tree::Array(elements) => {
                Tree::Array(elements.iter().map(Tree::without_tensors).collect())
            }
            Tree::Object(members, map) => {
                let plain = |(key, value): &(String, Tree)| (key.clone(), value.without_tensors());
                Tree::Object(members.iter().map(plain).collect(), *map)
            }
            other => other.clone(),
        }
    }

    /// Whether any value is of a kind this version does not know.
    pub fn has_reserved(&self) -> bool {
        match self {
            Tree::Array(elements) => elements.iter().any(Tree::has_reserved),
            Tree::Object(members, _) => members.iter().any(|member| member.1.has_reserved()),
            other => *other == Tree::Reserved,
        }
    }

    /// Whether an object holds a key twice, as only damaged ones do.
    pub fn repeats_keys(&self) -> bool {
        match self {
            Tree::Array(elements) => elements.iter().any(Tree::repeats_keys),
            Tree::Object(members, _) => {
                let mut keys: Vec<_> = members.iter().map(|member| &member.0).collect();
                keys.sort_unstable();
                keys.windows(2).any(|pair| pair[0] == pair[1])
                    || members.iter().any(|member| member.1.repeats_keys())
            }
            _ => false,
        }
    }

    /// Gives the tree to an encoder.
    ///
    /// # Errors
    /// What the encoder says.
    pub fn encode(&self, encoder: &mut Encoder) -> Result<()> {
        match self {
            Tree::Null | Tree::Reserved => encoder.null(),
            Tree::Bool(value) => encoder.bool(*value),
            Tree::Int(value) => encoder.i64(*value),
            Tree::Uint(value) => encoder.u64(*value),
            Tree::Float(bits) => encoder.f64(f64::from_bits(*bits)),
            Tree::Number(text) => encoder.number_text(text),
            Tree::String(text) => encoder.str(text),
            Tree::Bytes(bytes) => encoder.bytes(bytes),
            Tree::Extended(value) => encoder.extended(*value),
            Tree::Tensor(numbers) => encoder.tensor(numbers.tensor()),
            Tree::Array(elements) => {
                encoder.begin_array()?;
                for element in elements {
                    element.encode(encoder)?;
                }
                encoder.end_array()
            }
            Tree::Object(members, _) => {
                encoder.begin_object()?;
                for (key, value) in members {
                    encoder.key(key)?;
                    value.encode(encoder)?;
                }
                encoder.end_object()
            }
        }
    }

    /// The encoded document.
    ///
    /// # Panics
    /// Where the encoder refuses it.
    pub fn to_document(&self) -> DocBuf {
        self.encoded_with(EncodeOptions::default())
    }

    /// The document of records and plain arrays, whose order after edits is another than
    /// that of tables.
    ///
    /// # Panics
    /// Where the encoder refuses it.
    pub fn to_records(&self) -> DocBuf {
        self.encoded_with(EncodeOptions { tables: false, ..EncodeOptions::default() })
    }

    fn encoded_with(&self, options: EncodeOptions) -> DocBuf {
        let mut encoder = Encoder::with_options(options);
        self.encode(&mut encoder).expect("a sound tree is encoded");
        encoder.finish().expect("a sound tree is encoded")
    }
}

/// Bounds of reading damaged documents into trees.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// Values that may still be read.
    pub values: usize,
    /// Containers that may still nest.
    pub depth: usize,
}

impl Budget {
    /// More than any valid document of these tests needs.
    pub const AMPLE: Budget = Budget { values: usize::MAX, depth: 1_001 };

    fn spend(&mut self) -> Option<()> {
        self.values = self.values.checked_sub(1)?;
        Some(())
    }
}

/// What reading a value came to.
#[derive(Debug)]
pub enum Unread {
    /// The document is damaged.
    Damaged(Error),
    /// The budget is spent.
    Spent,
}

impl From<Error> for Unread {
    fn from(error: Error) -> Self {
        Unread::Damaged(error)
    }
}

/// The kinds of scalars, the same in both modes.
fn scalar<M: Mode>(value: &Value<'_, M>) -> Option<Tree> {
    Some(match value.kind() {
        Kind::Null => Tree::Null,
        Kind::Bool => Tree::Bool(value.as_bool().expect("a boolean")),
        Kind::Int => Tree::Int(value.as_i64().expect("an integer")),
        // A damaged one may lie in the signed range.
        Kind::Uint => Tree::Uint(value.as_u64().expect("an unsigned integer")),
        Kind::Float => Tree::Float(value.as_f64().expect("a double").to_bits()),
        Kind::Reserved => Tree::Reserved,
        _ => return None,
    })
}

impl Tree {
    /// Reads a value whose answers may be errors.
    ///
    /// # Errors
    /// What is damaged, or that the budget is spent.
    pub fn read(value: Value<'_, Checked>, budget: &mut Budget) -> Result<Tree, Unread> {
        budget.spend().ok_or(Unread::Spent)?;
        if let Some(tree) = scalar(&value) {
            return Ok(tree);
        }
        Ok(match value.kind() {
            Kind::String => Tree::String(value.as_str()?.expect("text").into()),
            Kind::NumberText => Tree::Number(value.as_number_text()?.expect("a number").into()),
            Kind::Bytes => Tree::Bytes(value.as_bytes()?.expect("bytes").into()),
            kind if kind.is_extended() => {
                Tree::Extended(value.as_extended()?.expect("an extended value"))
            }
            kind => {
                budget.depth = budget.depth.checked_sub(1).ok_or(Unread::Spent)?;
                let tree = if kind == Kind::Array {
                    let array = value.as_array()?.expect("an array");
                    if let Some(tensor) = array.tensor()? {
                        let left = budget.values.checked_sub(tensor.as_bytes().len());
                        budget.values = left.ok_or(Unread::Spent)?;
                        budget.depth += 1;
                        return Ok(Tree::Tensor(Box::new(Numbers::of(&tensor))));
                    }
                    let elements = array.iter().map(|value| Tree::read(value?, budget));
                    Tree::Array(elements.collect::<Result<_, _>>()?)
                } else {
                    let object = value.as_object()?.expect("an object");
                    let members = object.iter().map(|member| {
                        let (key, value) = member?;
                        Ok((key.to_owned(), Tree::read(value, budget)?))
                    });
                    Tree::Object(members.collect::<Result<_, Unread>>()?, object.is_map())
                };
                budget.depth += 1;
                tree
            }
        })
    }

    /// Reads a value of a validated document.
    ///
    /// # Panics
    /// Where an answer is missing.
    pub fn of_valid(value: Value<'_, Valid>) -> Tree {
        if let Some(tree) = scalar(&value) {
            return tree;
        }
        match value.kind() {
            Kind::String => Tree::String(value.as_str().expect("text").into()),
            Kind::NumberText => Tree::Number(value.as_number_text().expect("a number").into()),
            Kind::Bytes => Tree::Bytes(value.as_bytes().expect("bytes").into()),
            kind if kind.is_extended() => {
                Tree::Extended(value.as_extended().expect("an extended value"))
            }
            Kind::Array => {
                let array = value.as_array().expect("an array");
                if let Some(tensor) = array.tensor() {
                    return Tree::Tensor(Box::new(Numbers::of(&tensor)));
                }
                let elements: Vec<_> = array.iter().map(Tree::of_valid).collect();
                assert_eq!(elements.len(), array.len(), "an array's length");
                Tree::Array(elements)
            }
            _ => {
                let object = value.as_object().expect("an object");
                let members: Vec<_> = object
                    .iter()
                    .map(|(key, value)| (key.to_owned(), Tree::of_valid(value)))
                    .collect();
                assert_eq!(members.len(), object.len(), "an object's length");
                Tree::Object(members, object.is_map())
            }
        }
    }
}
