//! Which fields of a reader's document the demo looks at and edits.

use livebuf::{Kind, Valid, Value};

/// Pointers into the document. What it does not have is `None`.
#[derive(Debug, Default)]
pub(super) struct Picked {
    /// A text, as deep as texts go.
    pub(super) text: Option<String>,
    /// A number, else another scalar.
    pub(super) number: Option<String>,
    /// The middle of the longest array.
    pub(super) element: Option<String>,
    /// The longest array.
    pub(super) array: Option<String>,
    /// A member that holds none of the others.
    pub(super) member: Option<String>,
}

impl Picked {
    /// Fields to look at.
    pub(super) fn pointers(&self) -> impl Iterator<Item = &str> {
        [&self.text, &self.number, &self.element].into_iter().filter_map(|p| p.as_deref())
    }
}

/// What is searched for, in the order of the document.
#[derive(Clone, Copy, PartialEq)]
enum Sought {
    Text { depth: usize },
    Number,
    Scalar,
    Member,
}

/// Counts and longest ones of a first walk.
#[derive(Default)]
struct Census {
    deepest_text: usize,
    texts: usize,
    numbers: usize,
    scalars: usize,
    members: usize,
    longest: usize,
    array: Option<String>,
}

/// Text that fits well in a line.
fn is_good_text(value: Value<'_, Valid>) -> bool {
    value.as_str().is_some_and(|text| (4..=48).contains(&text.len()))
}

fn is_number(kind: Kind) -> bool {
    matches!(kind, Kind::Int | Kind::Float)
}

fn is_scalar(kind: Kind) -> bool {
    !matches!(kind, Kind::Object | Kind::Array)
}

/// Called with a value's pointer, its depth, the value, and whether it is a member. False ends
/// the walk.
type Look<'l> = dyn FnMut(&str, usize, Value<'_, Valid>, bool) -> bool + 'l;

/// Calls `with` for every value below the root, in the document's order.
fn walk(value: Value<'_, Valid>, pointer: &mut String, depth: usize, with: &mut Look<'_>) -> bool {
    let length = pointer.len();
    if let Some(object) = value.as_object() {
        for (key, value) in object.iter() {
            pointer.push('/');
            pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
            let go_on =
                with(pointer, depth + 1, value, true) && walk(value, pointer, depth + 1, with);
            pointer.truncate(length);
            if !go_on {
                return false;
            }
        }
    } else if let Some(array) = value.as_array() {
        for (index, value) in array.iter().enumerate() {
            pointer.push_str(&format!("/{index}"));
            let go_on =
                with(pointer, depth + 1, value, false) && walk(value, pointer, depth + 1, with);
            pointer.truncate(length);
            if !go_on {
                return false;
            }
        }
    }
    true
}

/// Number `place` of the values that are searched for.
fn nth(root: Value<'_, Valid>, sought: Sought, place: usize, not: &[&str]) -> Option<String> {
    let (mut seen, mut found) = (0, None);
    walk(root, &mut String::new(), 0, &mut |pointer, depth, value, is_member| {
        let fits = match sought {
            Sought::Text { depth: wanted } => depth == wanted && is_good_text(value),
            Sought::Number => is_number(value.kind()),
            Sought::Scalar => is_scalar(value.kind()),
            Sought::Member => {
                // It holds nothing that another step needs.
                is_member
                    && is_scalar(value.kind())
                    && !not.iter().any(|other| other.starts_with(pointer))
            }
        };
        if fits {
            found = Some(pointer.to_owned());
            seen += 1;
        }
        seen <= place
    });
    found
}

pub(super) fn pick(root: Value<'_, Valid>) -> Picked {
    let mut census = Census::default();
    let mut look = |pointer: &str, depth: usize, value: Value<'_, Valid>, is_member: bool| {
        if is_good_text(value) {
            if depth > census.deepest_text {
                (census.deepest_text, census.texts) = (depth, 0);
            }
            census.texts += usize::from(depth == census.deepest_text);
        }
        census.numbers += usize::from(is_number(value.kind()));
        census.scalars += usize::from(is_scalar(value.kind()));
        census.members += usize::from(is_member && is_scalar(value.kind()));
        let length = value.as_array().map_or(0, |array| array.len());
        if length > census.longest {
            census.longest = length;
            census.array = Some(pointer.to_owned());
        }
        true
    };
    look("", 0, root, false);
    walk(root, &mut String::new(), 0, &mut look);

    let sought = Sought::Text { depth: census.deepest_text };
    let text = (census.texts > 0).then(|| nth(root, sought, census.texts / 2, &[])).flatten();
    let number = match census.numbers {
        0 => nth(root, Sought::Scalar, 2 * census.scalars / 3, &[]),
        numbers => nth(root, Sought::Number, 2 * numbers / 3, &[]),
    };
    let element = census.array.as_ref().map(|array| format!("{array}/{}", census.longest / 2));
    let not: Vec<&str> =
        [&text, &number, &census.array].into_iter().flatten().map(|p| &**p).collect();
    let member = nth(root, Sought::Member, census.members / 3, &not);
    Picked { text, number, element, array: census.array, member }
}
