//! A document as the editor should keep it: containers with names of their own,
//! records with their holes, and the rules of order.
//!
//! In a record a removed field leaves a hole that the same key takes again; the
//! last field to go takes all holes with it. Adding when 255 places are used,
//! or with a key over 255 bytes, turns the object into a map: holes go, order
//! stays. In a map a removed key comes back last. Renaming keeps the place; to
//! a name whose hole is there, or over 255 bytes, it makes a map.

use crate::tree::{Budget, Tree};
use livebuf::{Checked, Kind, Value};

/// Most places of a record, and bytes of its keys.
pub const MOST: usize = 255;

/// A container's name; never used again.
pub type Id = usize;

/// A value in its place.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// A scalar.
    Scalar(Tree),
    /// A container.
    Node(Id),
}

/// A container.
#[derive(Clone, Debug)]
pub enum Body {
    /// Elements.
    Array(Vec<Item>),
    /// Places of an object; `None` is a hole. The flag: stored as a map.
    Object(Vec<(String, Option<Item>)>, bool),
}

/// All containers, and the root.
#[derive(Clone, Debug)]
pub struct Model {
    /// The root value.
    pub root: Item,
    nodes: Vec<Option<Body>>,
}

impl Default for Model {
    fn default() -> Self {
        Model { root: Item::Scalar(Tree::Null), nodes: Vec::new() }
    }
}

impl Model {
    /// Takes a tree in; its containers get names.
    pub fn adopt(&mut self, tree: Tree) -> Item {
        let body = match tree {
            Tree::Array(elements) => {
                Body::Array(elements.into_iter().map(|element| self.adopt(element)).collect())
            }
            Tree::Object(members, map) => Body::Object(
                members.into_iter().map(|(key, value)| (key, Some(self.adopt(value)))).collect(),
                map,
            ),
            scalar => return Item::Scalar(scalar),
        };
        self.nodes.push(Some(body));
        Item::Node(self.nodes.len() - 1)
    }

    /// A container that was not freed.
    pub fn body(&self, id: Id) -> &Body {
        self.nodes[id].as_ref().expect("not freed")
    }

    /// The same, to be changed.
    pub fn body_mut(&mut self, id: Id) -> &mut Body {
        self.nodes[id].as_mut().expect("not freed")
    }

    /// Whether a container was freed.
    pub fn is_freed(&self, id: Id) -> bool {
        self.nodes[id].is_none()
    }

    /// Goes back to how it was before. The names of containers made since are not given again.
    pub fn roll_back(&mut self, before: Model) {
        let names = self.nodes.len();
        *self = before;
        self.nodes.resize(names, None);
    }

    /// Frees a value and all below; whether a container was among it.
    pub fn free(&mut self, item: Item) -> bool {
        let Item::Node(id) = item else { return false };
        match self.nodes[id].take() {
            Some(Body::Array(elements)) => {
                for element in elements {
                    self.free(element);
                }
            }
            Some(Body::Object(places, _)) => {
                for item in places.into_iter().filter_map(|place| place.1) {
                    self.free(item);
                }
            }
            None => {}
        }
        true
    }

    /// Values directly below a container.
    pub fn children(&self, id: Id) -> Vec<&Item> {
        match self.body(id) {
            Body::Array(elements) => elements.iter().collect(),
            Body::Object(places, _) => places.iter().filter_map(|place| place.1.as_ref()).collect(),
        }
    }

    /// Whether a container lies in a value.
    pub fn contains(&self, item: &Item, wanted: Id) -> bool {
        let Item::Node(id) = *item else { return false };
        id == wanted || self.children(id).into_iter().any(|child| self.contains(child, wanted))
    }

    /// Containers from the root to this one, itself included; `None` where it hangs nowhere.
    pub fn depth(&self, wanted: Id) -> Option<usize> {
        fn find(model: &Model, item: &Item, wanted: Id, depth: usize) -> Option<usize> {
            let Item::Node(id) = *item else { return None };
            if id == wanted {
                return Some(depth);
            }
            model.children(id).into_iter().find_map(|child| find(model, child, wanted, depth + 1))
        }
        find(self, &self.root, wanted, 1)
    }

    /// How many containers nest in a value.
    pub fn height(&self, item: &Item) -> usize {
        let id = match item {
            Item::Scalar(tree) => return tree.height(),
            Item::Node(id) => *id,
        };
        let below = self.children(id).into_iter().map(|child| self.height(child)).max();
        1 + below.unwrap_or(0)
    }

    /// A value as a tree.
    pub fn tree(&self, item: &Item) -> Tree {
        match item {
            Item::Scalar(tree) => tree.clone(),
            Item::Node(id) => match self.body(*id) {
                Body::Array(elements) => {
                    Tree::Array(elements.iter().map(|item| self.tree(item)).collect())
                }
                Body::Object(places, map) => {
                    let members = places.iter().filter_map(|(key, item)| {
                        item.as_ref().map(|item| (key.clone(), self.tree(item)))
                    });
                    Tree::Object(members.collect(), *map)
                }
            },
        }
    }

    // --- objects ------------------------------------------------------------

    /// The value of a key.
    pub fn member(&self, id: Id, key: &str) -> Option<&Item> {
        match self.body(id) {
            Body::Object(places, _) => {
                places.iter().find(|place| place.0 == key).and_then(|place| place.1.as_ref())
            }
            Body::Array(_) => None,
        }
    }

    /// Sets a member; what was there before.
    pub fn set_member(&mut self, id: Id, key: &str, item: Item) -> Option<Item> {
        let Body::Object(places, map) = self.body_mut(id) else { return None };
        if let Some(place) = places.iter_mut().find(|place| place.0 == key) {
            return place.1.replace(item);
        }
        if !*map && (places.len() == MOST || key.len() > MOST) {
            *map = true;
            places.retain(|place| place.1.is_some());
        }
        places.push((key.to_owned(), Some(item)));
        None
    }

    /// Takes a member out.
    pub fn take_member(&mut self, id: Id, key: &str) -> Option<Item> {
        let Body::Object(places, map) = self.body_mut(id) else { return None };
        let at = places.iter().position(|place| place.0 == key)?;
        if *map {
            return places.remove(at).1;
        }
        let taken = places[at].1.take();
        if places.iter().all(|place| place.1.is_none()) {
            places.clear();
        }
        taken
    }

    /// Gives a member another key, which no member has.
    pub fn rename(&mut self, id: Id, from: &str, to: &str) {
        let Body::Object(places, map) = self.body_mut(id) else { return };
        let hole = places.iter().any(|place| place.0 == to);
        if from != to && !*map && (hole || to.len() > MOST) {
            *map = true;
            places.retain(|place| place.1.is_some());
        }
        if let Some(place) = places.iter_mut().find(|place| place.0 == from) {
            to.clone_into(&mut place.0);
        }
    }

    /// Empties a container; whether any container was freed.
    pub fn clear(&mut self, id: Id) -> bool {
        let items: Vec<Item> = match self.body_mut(id) {
            Body::Array(elements) => std::mem::take(elements),
            Body::Object(places, _) => {
                std::mem::take(places).into_iter().filter_map(|place| place.1).collect()
            }
        };
        // No short cut: every one is freed.
        items.into_iter().fold(false, |freed, item| self.free(item) | freed)
    }

    /// What compaction makes of the document: new containers, small objects are records.
    pub fn compact(&mut self) {
        fn records(tree: &mut Tree) {
            match tree {
                Tree::Array(elements) => elements.iter_mut().for_each(records),
                Tree::Object(members, map) => {
                    *map = members.len() > MOST || members.iter().any(|m| m.0.len() > MOST);
                    members.iter_mut().for_each(|member| records(&mut member.1));
                }
                _ => {}
            }
        }
        let mut tree = self.tree(&self.root.clone());
        records(&mut tree);
        for node in &mut self.nodes {
            *node = None;
        }
        self.root = self.adopt(tree);
    }

    /// What squeezing makes of the document: small objects are records, without holes.
    pub fn squeeze(&mut self) {
        for body in self.nodes.iter_mut().flatten() {
            if let Body::Object(places, map) = body {
                places.retain(|place| place.1.is_some());
                *map = places.len() > MOST || places.iter().any(|place| place.0.len() > MOST);
            }
        }
    }

    // --- against a document -------------------------------------------------

    /// Compares a value with what it should be; counts what it meets.
    ///
    /// # Panics
    /// Where they differ.
    pub fn check(&self, item: &Item, value: Value<'_, Checked>, counts: &mut Counts) {
        counts.values += 1;
        let id = match item {
            Item::Scalar(tree) => {
                check_scalar(tree, value);
                if let Tree::Tensor(numbers) = tree {
                    counts.values += tree.count() as u64 - 1;
                    counts.arrays += numbers.arrays() as u64;
                }
                return;
            }
            Item::Node(id) => *id,
        };
        match self.body(id) {
            Body::Array(elements) => {
                counts.arrays += 1;
                let array = value.as_array().expect("sound").expect("an array");
                assert_eq!(array.len(), elements.len(), "an array's length");
                assert_eq!(value.len(), Ok(Some(elements.len())), "an array's length");
                for (index, (item, element)) in elements.iter().zip(array).enumerate() {
                    let element = element.expect("sound");
                    self.check(item, element, counts);
                    if index % 16 == 0 {
                        let again = array.get(index).expect("sound").expect("there");
                        check_alike(again, element);
                    }
                }
                assert!(array.get(elements.len()).expect("sound").is_none(), "past the end");
            }
            Body::Object(places, map) => {
                counts.objects += 1;
                let object = value.as_object().expect("sound").expect("an object");
                let live: Vec<_> =
                    places.iter().filter_map(|(key, item)| Some((key, item.as_ref()?))).collect();
                let keys: Vec<&str> = object.keys().map(|key| key.expect("sound")).collect();
                let expected: Vec<&str> = live.iter().map(|&(key, _)| &**key).collect();
                assert_eq!(keys, expected, "an object's keys in order");
                assert_eq!(object.len(), live.len(), "an object's length");
                assert_eq!(object.is_map(), *map, "stored as a map");
                for (index, (&(key, item), value)) in live.iter().zip(object.values()).enumerate() {
                    let value = value.expect("sound");
                    self.check(item, value, counts);
                    // All of a small object, some of a large one.
                    if index < 32 || index % 16 == 0 {
                        let found = object.get(&**key).expect("sound").expect("there");
                        check_alike(found, value);
                    }
                }
                for (key, _) in places.iter().filter(|place| place.1.is_none()) {
                    assert!(object.get(&**key).expect("sound").is_none(), "a hole answers");
                }
                assert!(object.get("no such key here").expect("sound").is_none(), "an absent key");
            }
        }
    }
}

/// What [`Model::check`] met.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Values, containers included.
    pub values: u64,
    /// Objects.
    pub objects: u64,
    /// Arrays.
    pub arrays: u64,
}

fn check_alike(one: Value<'_, Checked>, other: Value<'_, Checked>) {
    assert_eq!(one.kind(), other.kind(), "found and iterated");
    let same = match one.kind() {
        Kind::Bool => one.as_bool() == other.as_bool(),
        Kind::Int => one.as_i64() == other.as_i64(),
        Kind::Uint => one.as_u64() == other.as_u64(),
        Kind::Float => one.as_f64().map(f64::to_bits) == other.as_f64().map(f64::to_bits),
        Kind::String => one.as_str() == other.as_str(),
        Kind::Bytes => one.as_bytes() == other.as_bytes(),
        kind if kind.is_extended() => one.as_extended() == other.as_extended(),
        Kind::NumberText => one.as_number_text() == other.as_number_text(),
        _ => one.len() == other.len(),
    };
    assert!(same, "found {one:?}, iterated {other:?}");
}

fn check_scalar(tree: &Tree, value: Value<'_, Checked>) {
    let sound = "sound";
    match tree {
        Tree::Null => assert!(value.is_null(), "null expected, {value:?} found"),
        Tree::Bool(expected) => assert_eq!(value.as_bool(), Some(*expected)),
        Tree::Int(expected) => {
            assert_eq!(value.kind(), Kind::Int);
            assert_eq!(value.as_i64(), Some(*expected));
            assert_eq!(value.as_u64(), u64::try_from(*expected).ok());
            assert_eq!(value.as_f64(), Some(*expected as f64));
        }
        Tree::Uint(expected) => {
            assert_eq!(value.kind(), Kind::Uint);
            assert_eq!(value.as_u64(), Some(*expected));
            assert_eq!(value.as_i64(), None);
        }
        Tree::Float(bits) => {
            assert_eq!(value.kind(), Kind::Float);
            assert_eq!(value.as_f64().map(f64::to_bits), Some(*bits), "a double's bits");
            assert_eq!(value.as_i64(), None);
        }
        Tree::Number(text) => {
            assert_eq!(value.as_number_text().expect(sound), Some(&**text));
        }
        Tree::String(text) => {
            assert_eq!(value.as_str().expect(sound), Some(&**text));
            assert_eq!(value.len(), Ok(Some(text.len())));
        }
        Tree::Bytes(bytes) => assert_eq!(value.as_bytes().expect(sound), Some(&**bytes)),
        Tree::Extended(expected) => {
            assert_eq!(value.as_extended().expect(sound), Some(*expected));
            assert_eq!((value.as_i64(), value.as_f64()), (None, None));
        }
        Tree::Tensor(_) => {
            let found = Tree::read(value, &mut Budget::AMPLE.clone()).expect("readable");
            assert_eq!(found, *tree);
        }
        Tree::Reserved => assert_eq!(value.kind(), Kind::Reserved),
        Tree::Array(_) | Tree::Object(..) => unreachable!("a scalar"),
    }
}
