//! The columns of a document's tables and arrays, as `stats` lists them.

use crate::failure::{Outcome, counted, grouped};
use crate::inspect::column_name;
use crate::sink::Out;
use crate::told;
use comfy_table::{CellAlignment, Table};
use livebuf::{Checked, Column, ColumnType, Kind, Stats, Value};
use serde_json::json;
use std::cmp::Reverse;
use std::collections::HashMap;

/// Most columns that are listed as text: the largest.
const MOST: usize = 200;

/// Most columns outside of tables that are kept, and listed as JSON: the largest. A document can
/// have millions of arrays.
const MOST_KEPT: usize = 1000;

/// Containers nested deeper than this are not searched for tables.
const DEEPEST: usize = 64;

/// The columns of a document.
#[derive(Default)]
pub(crate) struct Columns<'a> {
    listed: Vec<Listed<'a>>,
    /// Arrays outside of tables and lists whose elements are of one type.
    arrays: u64,
    /// Small columns outside of tables that are not listed.
    left_out: u64,
}

/// A column of a table, or the elements of an array.
struct Listed<'a> {
    /// `*` stands for each element or member.
    path: String,
    column: Column<'a, Checked>,
    /// It says in which order rows have their members.
    is_orders: bool,
    /// Its number in the document's order.
    number: usize,
    /// Bytes of its slots.
    bytes: u64,
    /// Bytes of its texts outside the slots.
    text: u64,
}

impl Listed<'_> {
    fn kind(&self) -> &'static str {
        match self.is_orders {
            true => "orders of members",
            false => column_name(self.column.column_type() as u8),
        }
    }

    fn has_gaps(&self) -> bool {
        self.column.validity().is_some()
    }

    fn size(&self) -> u64 {
        self.bytes + self.text
    }
}

/// Bytes of a column's texts that lie outside the slots, each text of a plain column or of a
/// dictionary once.
fn text_bytes(column: Column<'_, Checked>) -> u64 {
    let texts = match column.column_type() {
        ColumnType::String => column,
        ColumnType::DictionaryU8 | ColumnType::DictionaryU16 => match column.dictionary() {
            Ok(Some(dictionary)) => dictionary.texts(),
            _ => return 0,
        },
        ColumnType::TextRun => {
            return match column.run() {
                Ok(Some(run)) => run.bytes().len() as u64,
                _ => column.strs().flatten().map(|text| text.len() as u64).sum(),
            };
        }
        _ => return 0,
    };
    let long = |text: &&str| text.len() > livebuf::layout::MAX_INLINE;
    let texts = texts.strs().flatten().filter(long);
    let places: HashMap<_, _> = texts.map(|text| (text.as_ptr(), text.len() as u64)).collect();
    places.values().sum()
}

/// Keeps the largest of these columns, in the document's order.
fn keep_largest<C>(columns: &mut Vec<C>, most: usize, of: impl Fn(&C) -> (u64, usize)) {
    if columns.len() > most {
        columns.sort_by_key(|column| {
            let (size, number) = of(column);
            (Reverse(size), number)
        });
        columns.truncate(most);
        columns.sort_by_key(|column| of(column).1);
    }
}

/// All columns of the tables at and below a value, and the largest of arrays.
pub(crate) fn of(root: Value<'_, Checked>) -> Columns<'_> {
    let mut search = Search {
        tables: Vec::new(),
        arrays: Vec::new(),
        found: Columns::default(),
        count: 0,
        place: ColumnParent::Outside,
        path: String::new(),
    };
    search.of_value(root, 0);
    search.drop_small();
    let Search { mut tables, arrays, mut found, .. } = search;
    tables.extend(arrays);
    tables.sort_by_key(|column| column.number);
    found.listed = tables;
    found
}

/// Lists columns: where they are, their type, how many rows and bytes they have, and whether
/// some are null or missing.
pub(crate) fn list(out: &mut Out, columns: &Columns<'_>, stats: &Stats) -> Outcome {
    let mut shown: Vec<_> = columns.listed.iter().collect();
    keep_largest(&mut shown, MOST, |column| (column.size(), column.number));
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_header(vec!["column", "type", "rows", "bytes", "of text", ""]);
    table.add_rows(shown.iter().map(|column| {
        let gaps = if column.has_gaps() { "some null or missing" } else { "" };
        let sizes = [column.column.len() as u64, column.bytes, column.text];
        let [rows, bytes, text] = sizes.map(grouped);
        [
            told::shown(&column.path).into_owned(),
            column.kind().to_owned(),
            rows,
            bytes,
            text,
            gaps.to_owned(),
        ]
    }));
    for column in 2..5 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let mut parts = Vec::new();
    if stats.table_count > 0 {
        let tables = counted(stats.table_count, "table");
        parts.push(format!("{tables} with {}", counted(stats.columns, "column")));
    }
    if columns.arrays > 0 {
        parts.push(format!("{} of one type", counted(columns.arrays, "array")));
    }
    if parts.is_empty() {
        return Ok(());
    }
    out.line("")?;
    out.line(&format!("{}; * stands for each element or member:", parts.join(", ")))?;
    out.line(&table.trim_fmt())?;
    match (columns.listed.len() - shown.len()) as u64 + columns.left_out {
        0 => Ok(()),
        more => out.line(&format!("and {} more", grouped(more))),
    }
}

/// The same as members of a JSON object.
pub(crate) fn to_json(columns: &Columns<'_>) -> [(&'static str, serde_json::Value); 3] {
    let column = |column: &Listed<'_>| {
        json!({
            "path": column.path, "type": column.kind(), "rows": column.column.len(),
            "gaps": column.has_gaps(), "bytes": column.bytes, "text": column.text,
        })
    };
    [
        ("typed_arrays", columns.arrays.into()),
        ("columns", columns.listed.iter().map(column).collect()),
        ("more_columns", columns.left_out.into()),
    ]
}

/// What a column that is found is part of.
#[derive(Clone, Copy)]
enum ColumnParent {
    Outside,
    Table,
    /// One value of a column of objects, arrays or any values. Its tables stand for those of all
    /// rows. Its arrays are not listed, since other rows have others.
    Sample,
}

struct Search<'a> {
    /// Columns of tables.
    tables: Vec<Listed<'a>>,
    /// Columns outside of tables.
    arrays: Vec<Listed<'a>>,
    found: Columns<'a>,
    /// Columns that were met.
    count: usize,
    place: ColumnParent,
    path: String,
}

impl<'a> Search<'a> {
    /// The columns at and below a value. Damaged parts are skipped.
    fn of_value(&mut self, value: Value<'a, Checked>, depth: usize) {
        if depth > DEEPEST {
            return;
        }
        if let Ok(Some(object)) = value.as_object() {
            match object.as_column() {
                Ok(Some(column)) if is_typed(column) => self.of_array(column, depth),
                _ => {
                    for (key, value) in object.iter().filter_map(Result::ok) {
                        self.of_child(key, value, depth);
                    }
                }
            }
        } else if let Ok(Some(array)) = value.as_array() {
            let column = array.as_column();
            if is_typed(column) {
                return self.of_array(column, depth);
            }
            for (index, value) in array.iter().filter_map(Result::ok).enumerate() {
                if is_container(&value) {
                    self.of_child(&index.to_string(), value, depth);
                }
            }
        }
    }

    fn of_child(&mut self, token: &str, value: Value<'a, Checked>, depth: usize) {
        if is_container(&value) {
            self.below(token, |search| search.of_value(value, depth + 1));
        }
    }

    /// The elements of an array, or the members of a map, that are stored as a column.
    fn of_array(&mut self, column: Column<'a, Checked>, depth: usize) {
        self.below("*", |search| {
            if column.column_type() != ColumnType::Struct && !column.is_empty() {
                search.found.arrays += matches!(search.place, ColumnParent::Outside) as u64;
                search.add(column);
            }
            search.of_column(column, depth);
        });
    }

    /// The columns below a struct or list.
    fn of_column(&mut self, column: Column<'a, Checked>, depth: usize) {
        let outer = self.place;
        if let Ok(Some(table)) = column.table() {
            self.place = ColumnParent::Table;
            for (key, column) in table.columns().filter_map(Result::ok) {
                self.below(key, |search| {
                    search.add(column);
                    search.of_column(column, depth + 1);
                });
            }
            if let Ok(Some(column)) = table.orders() {
                self.put(column, true);
            }
        } else if let Ok(Some(elements)) = column.elements() {
            self.below("*", |search| {
                if elements.column_type() != ColumnType::Struct {
                    search.add(elements);
                }
                search.of_column(elements, depth + 1);
            });
        } else {
            self.place = ColumnParent::Sample;
            for value in column.iter().filter_map(|value| value.ok().flatten()).take(1) {
                self.of_value(value, depth + 1);
            }
        }
        self.place = outer;
    }

    fn below(&mut self, token: &str, with: impl FnOnce(&mut Self)) {
        let length = self.path.len();
        self.path.push('/');
        self.path.push_str(&token.replace('~', "~0").replace('/', "~1"));
        with(self);
        self.path.truncate(length);
    }

    fn add(&mut self, column: Column<'a, Checked>) {
        self.put(column, false);
    }

    fn put(&mut self, column: Column<'a, Checked>, is_orders: bool) {
        let place = self.place;
        let columns = match place {
            ColumnParent::Table => &mut self.tables,
            ColumnParent::Outside => &mut self.arrays,
            ColumnParent::Sample => return,
        };
        let (path, number) = (self.path.clone(), self.count);
        let (bytes, text) = (column.slot_bytes(), text_bytes(column));
        columns.push(Listed { path, column, is_orders, number, bytes, text });
        self.count += 1;
        // Half of them are dropped at once, so that this is no work for each.
        if self.arrays.len() > 2 * MOST_KEPT {
            self.drop_small();
        }
    }

    /// Drops small columns outside of tables where there are too many.
    fn drop_small(&mut self) {
        let before = self.arrays.len();
        keep_largest(&mut self.arrays, MOST_KEPT, |column| (column.size(), column.number));
        self.found.left_out += (before - self.arrays.len()) as u64;
    }
}

/// Whether its type says what the values are.
fn is_typed(column: Column<'_, Checked>) -> bool {
    use ColumnType::{Arrays, Cells, Objects};
    !matches!(column.column_type(), Objects | Arrays | Cells)
}

fn is_container(value: &Value<'_, Checked>) -> bool {
    matches!(value.kind(), Kind::Object | Kind::Array)
}
