//! The columns of a document's tables, as `stats` lists them.

use crate::failure::{Outcome, counted, grouped};
use crate::inspect::column_name;
use crate::sink::Out;
use comfy_table::{CellAlignment, Table};
use livebuf::{Checked, Column, ColumnType, Kind, Stats, Value};
use serde_json::json;
use std::collections::HashMap;

/// Most columns that are listed.
const MOST: usize = 200;

/// Containers nested deeper than this are not searched for tables.
const DEEPEST: usize = 64;

/// A column of a table.
pub(crate) struct Listed<'a> {
    /// `*` stands for each element.
    path: String,
    column: Column<'a, Checked>,
    /// It says in which order rows have their members.
    is_orders: bool,
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

    /// Bytes of texts that lie outside the slots, each text of a plain column or of a dictionary
    /// once.
    fn text_bytes(&self) -> u64 {
        let column = self.column;
        let texts = match column.column_type() {
            ColumnType::String => column,
            ColumnType::DictionaryU8 | ColumnType::DictionaryU16 => match column.dictionary() {
                Ok(Some(dictionary)) => dictionary.texts(),
                _ => return 0,
            },
            ColumnType::TextU8
            | ColumnType::TextU16
            | ColumnType::TextU32
            | ColumnType::TextFixed => {
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
}

/// All columns of the tables at and below a value.
pub(crate) fn of(root: Value<'_, Checked>) -> Vec<Listed<'_>> {
    let mut columns = Columns { rows: Vec::new(), path: String::new() };
    columns.of_value(root, 0);
    columns.rows
}

/// Lists columns: where they are, their type, how many rows and bytes they have, and whether
/// some are null or missing.
pub(crate) fn list(out: &mut Out, columns: &[Listed<'_>], stats: &Stats) -> Outcome {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_header(vec!["column", "type", "rows", "bytes", "of text", ""]);
    table.add_rows(columns.iter().take(MOST).map(|column| {
        let gaps = if column.has_gaps() { "some null or missing" } else { "" };
        let Listed { path, column: values, .. } = column;
        let sizes = [values.len() as u64, values.slot_bytes(), column.text_bytes()];
        let [rows, bytes, text] = sizes.map(grouped);
        [path.clone(), column.kind().to_owned(), rows, bytes, text, gaps.to_owned()]
    }));
    for column in 2..5 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    out.line("")?;
    let (tables, count) = (counted(stats.table_count, "table"), counted(stats.columns, "column"));
    out.line(&format!("{tables} with {count}; * stands for each element:"))?;
    out.line(&table.trim_fmt())?;
    match columns.len().checked_sub(MOST + 1) {
        Some(more) => out.line(&format!("and {} more", grouped(more as u64 + 1))),
        None => Ok(()),
    }
}

/// The same as JSON.
pub(crate) fn to_json(columns: &[Listed<'_>]) -> serde_json::Value {
    let column = |column: &Listed<'_>| {
        json!({
            "path": column.path, "type": column.kind(), "rows": column.column.len(),
            "gaps": column.has_gaps(), "bytes": column.column.slot_bytes(),
            "text": column.text_bytes(),
        })
    };
    columns.iter().map(column).collect()
}

struct Columns<'a> {
    rows: Vec<Listed<'a>>,
    path: String,
}

impl<'a> Columns<'a> {
    /// The tables at and below a value. Damaged parts are skipped.
    fn of_value(&mut self, value: Value<'a, Checked>, depth: usize) {
        if depth > DEEPEST {
            return;
        }
        if let Ok(Some(object)) = value.as_object() {
            for (key, value) in object.iter().filter_map(Result::ok) {
                self.below(key, |columns| columns.of_value(value, depth + 1));
            }
        } else if let Ok(Some(array)) = value.as_array() {
            let column = array.as_column();
            if !matches!(
                column.column_type(),
                ColumnType::Objects | ColumnType::Arrays | ColumnType::Cells
            ) {
                return self.below("*", |columns| columns.of_column(column, depth));
            }
            for (index, value) in array.iter().filter_map(Result::ok).enumerate() {
                if matches!(value.kind(), Kind::Object | Kind::Array) {
                    self.below(&index.to_string(), |columns| columns.of_value(value, depth + 1));
                }
            }
        }
    }

    /// The columns below a struct or list.
    fn of_column(&mut self, column: Column<'a, Checked>, depth: usize) {
        if let Ok(Some(table)) = column.table() {
            for (key, column) in table.columns().filter_map(Result::ok) {
                self.below(key, |columns| {
                    columns.add(column);
                    columns.of_column(column, depth + 1);
                });
            }
            if let Ok(Some(column)) = table.orders() {
                self.rows.push(Listed { path: self.path.clone(), column, is_orders: true });
            }
        } else if let Ok(Some(elements)) = column.elements() {
            self.below("*", |columns| {
                if elements.column_type() != ColumnType::Struct {
                    columns.add(elements);
                }
                columns.of_column(elements, depth + 1);
            });
        } else {
            for value in column.iter().filter_map(|value| value.ok().flatten()).take(1) {
                self.of_value(value, depth + 1);
            }
        }
    }

    fn below(&mut self, token: &str, with: impl FnOnce(&mut Self)) {
        let length = self.path.len();
        self.path.push('/');
        self.path.push_str(&token.replace('~', "~0").replace('/', "~1"));
        with(self);
        self.path.truncate(length);
    }

    fn add(&mut self, column: Column<'a, Checked>) {
        self.rows.push(Listed { path: self.path.clone(), column, is_orders: false });
    }
}
