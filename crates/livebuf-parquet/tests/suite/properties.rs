//! Random documents come back as they were, or are refused for a reason.

use std::sync::Arc;

use livebuf::{Decimal, DocBuf, Extended};
use livebuf_fuzz::samples;
use livebuf_fuzz::tree::Tree;
use livebuf_parquet::{Error, ErrorKind, ImportOptions, WriteOptions, from_parquet, to_parquet};

const SEEDS: u64 = 160;

/// Values that samples have none of.
const ODD: [fn() -> Tree; 14] = [
    || Tree::Number("1.50".into()),
    || Tree::Number("1E3".into()),
    || Tree::Number("1e400".into()),
    || Tree::Number("-0".into()),
    || Tree::Number("18446744073709551616".into()),
    || Tree::Number("-9223372036854775809".into()),
    || Tree::Number("9".repeat(38)),
    || Tree::Number("1".repeat(39)),
    || Tree::Number("0.1000000000000000055511151231257827".into()),
    || Tree::Uint(u64::MAX),
    || Tree::Float(f64::NAN.to_bits()),
    || Tree::Extended(Extended::Decimal(Decimal::new(1 << 63, 0).unwrap())),
    || Tree::Extended(Extended::Decimal(Decimal::new(-1, 38).unwrap())),
    || Tree::Extended(Extended::Decimal(Decimal::new(10i128.pow(38) - 1, 2).unwrap())),
];

fn round(document: &Arc<DocBuf>, options: &WriteOptions) -> Result<Tree, Error> {
    let mut bytes = Vec::new();
    to_parquet(Arc::clone(document), &mut bytes, options)?;
    let copy = from_parquet(bytes, &ImportOptions::new())?;
    Ok(Tree::of_valid(copy.valid().unwrap().root()).without_tensors())
}

/// Whether Variant cannot keep some value.
fn is_lost(tree: &Tree) -> bool {
    match tree {
        Tree::Array(elements) => elements.iter().any(is_lost),
        Tree::Object(members, _) => members.iter().any(|(_, value)| is_lost(value)),
        Tree::Number(text) => {
            let value: Option<i128> = text.parse().ok();
            value.is_none_or(|value| {
                value.to_string() != *text || value.unsigned_abs() >= 10u128.pow(38)
            })
        }
        Tree::Extended(Extended::Decimal(value)) => {
            value.scale() == 0 && i64::try_from(value.coefficient()).is_err()
        }
        Tree::Reserved => true,
        _ => false,
    }
}

fn sorted(tree: &Tree) -> Tree {
    match tree {
        Tree::Array(elements) => Tree::Array(elements.iter().map(sorted).collect()),
        Tree::Object(members, map) => {
            let mut members: Vec<_> =
                members.iter().map(|(key, value)| (key.clone(), sorted(value))).collect();
            members.sort_by(|one, two| one.0.cmp(&two.0));
            Tree::Object(members, *map)
        }
        other => other.clone(),
    }
}

/// Whether a value came back as typed columns keep it: missing fields and null are one, integers
/// among floats are floats, decimals have as many digits as the longest among them.
fn is_kept(tree: &Tree, copy: &Tree) -> bool {
    match (tree, copy) {
        (Tree::Array(one), Tree::Array(two)) => {
            one.len() == two.len() && one.iter().zip(two).all(|(one, two)| is_kept(one, two))
        }
        (Tree::Object(one, _), Tree::Object(two, _)) => {
            let get = |of: &[(String, Tree)], key: &str| {
                let found = of.iter().find(|(name, _)| name == key);
                found.map_or(Tree::Null, |(_, value)| value.clone())
            };
            one.iter().chain(two).all(|(key, _)| is_kept(&get(one, key), &get(two, key)))
        }
        (Tree::Int(one), Tree::Float(two)) => {
            *one as f64 == f64::from_bits(*two) && one.abs() <= 1 << 53
        }
        (Tree::Extended(Extended::Decimal(one)), Tree::Extended(Extended::Decimal(two))) => {
            let more = two.scale().checked_sub(one.scale()).unwrap();
            one.coefficient() * 10i128.pow(more.into()) == two.coefficient()
        }
        _ => tree == copy,
    }
}

/// Where two values differ first.
fn difference(one: &Tree, two: &Tree) -> String {
    match (one, two) {
        (Tree::Array(a), Tree::Array(b)) if a.len() == b.len() => {
            let pairs = a.iter().zip(b).enumerate();
            let found = pairs.map(|(index, (a, b))| (index, a, b)).find(|(_, a, b)| !a.same(b));
            found.map_or_else(String::new, |(index, a, b)| format!("/{index}{}", difference(a, b)))
        }
        (Tree::Object(a, _), Tree::Object(b, _))
            if a.iter().map(|(key, _)| key).eq(b.iter().map(|(key, _)| key)) =>
        {
            let found = a.iter().zip(b).find(|(a, b)| !a.1.same(&b.1));
            found.map_or_else(String::new, |(a, b)| format!("/{}{}", a.0, difference(&a.1, &b.1)))
        }
        _ => format!(": {one:?} came back as {two:?}"),
    }
}

#[test]
fn random_documents() {
    let (mut kept, mut refused) = (0, 0);
    for seed in 0..SEEDS {
        let document = match seed % 2 {
            0 => samples::tree(seed).to_document(),
            _ => samples::grown(seed).1,
        };
        let mut tree = Tree::of_valid(document.valid().unwrap().root()).without_tensors();
        let document = match ODD.get(seed as usize / 2) {
            Some(odd) if seed % 2 == 0 => {
                tree = Tree::Object(vec![("odd".into(), odd()), ("rest".into(), tree)], false);
                tree.to_document()
            }
            _ => document,
        };
        let document = Arc::new(document);
        let unshredded = WriteOptions::new().variant(true).shred(false);
        match round(&document, &unshredded) {
            Ok(copy) => {
                assert!(!is_lost(&tree));
                // The order of keys, too.
                assert!(copy.same(&tree), "seed {seed} at {}", difference(&tree, &copy));
                kept += 1;
            }
            Err(error) => {
                assert!(is_lost(&tree), "seed {seed}: {error}");
                assert_eq!(error.kind(), ErrorKind::Unsupported);
                refused += 1;
            }
        }
        match round(&document, &WriteOptions::new().variant(true)) {
            Ok(copy) => {
                let is_same = sorted(&copy).same(&sorted(&tree));
                assert!(is_same, "seed {seed} at {}", difference(&tree, &copy));
            }
            Err(error) => assert!(is_lost(&tree), "seed {seed}: {error}"),
        }
        match round(&document, &WriteOptions::new()) {
            Ok(copy) => {
                assert!(is_kept(&tree, &copy), "seed {seed} at {}", difference(&tree, &copy));
            }
            Err(error) => assert!(is_lost(&tree), "seed {seed}: {error}"),
        }
        round(&document, &WriteOptions::new().lossy(true)).unwrap();
    }
    assert!(kept > SEEDS * 3 / 4 && refused > 5, "{kept} kept, {refused} refused");
}
