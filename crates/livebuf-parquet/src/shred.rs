//! Which parts of Variants are worth columns of their own: what most values have in common.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, TimeUnit};
use livebuf::{Kind, Valid, Value};

/// Columns of one Variant, at most.
const MAX_COLUMNS: usize = 300;
/// Arrays and objects that are looked into, within each other.
const MAX_DEPTH: usize = 16;

const KINDS: usize = Kind::Reserved as usize + 1;

/// What values at one place are.
#[derive(Default)]
pub(crate) struct Shape {
    counts: [u64; KINDS],
    members: Vec<(String, Shape)>,
    places: HashMap<String, usize>,
    element: Option<Box<Shape>>,
}

impl Shape {
    pub(crate) fn see(&mut self, value: &Value<'_, Valid>) {
        self.look(value, 0);
    }

    fn look(&mut self, value: &Value<'_, Valid>, depth: usize) {
        self.counts[value.kind() as usize] += 1;
        if depth == MAX_DEPTH {
            return;
        }
        if let Some(object) = value.as_object() {
            for (key, value) in object.iter() {
                let place = match self.places.get(key) {
                    Some(&place) => place,
                    None if self.members.len() == MAX_COLUMNS => continue,
                    None => {
                        self.members.push((key.to_owned(), Shape::default()));
                        self.places.insert(key.to_owned(), self.members.len() - 1);
                        self.members.len() - 1
                    }
                };
                self.members[place].1.look(&value, depth + 1);
            }
        }
        if let Some(array) = value.as_array() {
            let element = self.element.get_or_insert_default();
            array.iter().for_each(|value| element.look(&value, depth + 1));
        }
    }

    /// The type to shred by, if there is one: that of more than half of the values.
    pub(crate) fn data_type(&self) -> Option<DataType> {
        self.chosen(&mut { MAX_COLUMNS })
    }

    fn count(&self, kind: Kind) -> u64 {
        self.counts[kind as usize]
    }

    fn chosen(&self, left: &mut usize) -> Option<DataType> {
        let all = self.counts.iter().sum::<u64>() - self.count(Kind::Null);
        let most = |kind: Kind| self.count(kind) > all / 2;
        let micro = |zone: Option<Arc<str>>| DataType::Timestamp(TimeUnit::Microsecond, zone);
        if most(Kind::Object) {
            // A field that few objects have costs more than it saves.
            let objects = self.count(Kind::Object);
            let often = |member: &Shape| member.counts.iter().sum::<u64>() * 10 >= objects;
            let members = self.members.iter();
            let members = members.filter(|(key, member)| !key.is_empty() && often(member));
            let fields: Vec<_> = members
                .filter_map(|(key, member)| Some(Field::new(key, member.chosen(left)?, true)))
                .collect();
            return (!fields.is_empty()).then(|| DataType::Struct(fields.into()));
        }
        if most(Kind::Array) {
            let element = self.element.as_ref()?.chosen(left)?;
            return Some(DataType::List(Arc::new(Field::new("element", element, true))));
        }
        // Decimals are of many types, by their digits, and one of them fits few. A column of
        // integers would take decimals without fractions for integers. Spark reads no file with a
        // column of times or UUIDs.
        let found = if most(Kind::Int) && self.count(Kind::Decimal) == 0 {
            DataType::Int64
        } else if most(Kind::Float) {
            DataType::Float64
        } else if most(Kind::String) {
            DataType::Utf8
        } else if most(Kind::Bool) {
            DataType::Boolean
        } else if most(Kind::Bytes) {
            DataType::Binary
        } else if most(Kind::Date) {
            DataType::Date32
        } else if most(Kind::DateTime) {
            micro(None)
        } else if most(Kind::Timestamp) {
            micro(Some("UTC".into()))
        } else {
            return None;
        };
        *left = left.checked_sub(1)?;
        Some(found)
    }
}
