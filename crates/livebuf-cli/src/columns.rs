//! The columns of a document's tables, as `stats` lists them.

use crate::failure::{Outcome, counted, grouped};
use crate::inspect::column_name;
use crate::sink::Out;
use comfy_table::Table;
use livebuf::{Checked, Column, ColumnType, Kind, Stats, Value};

/// Most columns that are listed.
const MOST: usize = 200;

/// Containers nested deeper than this are not searched for tables.
const DEEPEST: usize = 64;

/// Lists all columns of tables: where they are (`*` for each element), their type, how many
/// rows they have, and whether some are null or missing.
pub(crate) fn list(out: &mut Out, root: Value<'_, Checked>, stats: &Stats) -> Outcome {
    let mut columns = Columns { rows: Vec::new(), count: 0, path: String::new() };
    columns.of_value(root, 0);
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_header(vec!["column", "type", "rows", ""]);
    table.add_rows(columns.rows);
    out.line("")?;
    let (tables, count) = (counted(stats.table_count, "table"), counted(stats.columns, "column"));
    out.line(&format!("{tables} with {count}; * stands for each element:"))?;
    out.line(&table.trim_fmt())?;
    match columns.count.checked_sub(MOST + 1) {
        Some(more) => out.line(&format!("and {} more", grouped(more as u64 + 1))),
        None => Ok(()),
    }
}

struct Columns {
    rows: Vec<[String; 4]>,
    count: usize,
    path: String,
}

impl Columns {
    /// The tables at and below a value. Damaged parts are skipped.
    fn of_value(&mut self, value: Value<'_, Checked>, depth: usize) {
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
    fn of_column(&mut self, column: Column<'_, Checked>, depth: usize) {
        if let Ok(Some(table)) = column.table() {
            for (key, column) in table.columns().filter_map(Result::ok) {
                self.below(key, |columns| {
                    columns.add(&column);
                    columns.of_column(column, depth + 1);
                });
            }
        } else if let Ok(Some(elements)) = column.elements() {
            self.below("*", |columns| {
                if elements.column_type() != ColumnType::Struct {
                    columns.add(&elements);
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

    fn add(&mut self, column: &Column<'_, Checked>) {
        self.count += 1;
        if self.count <= MOST {
            let kind = column_name(column.column_type() as u8).to_owned();
            let gaps = if column.validity().is_some() { "some null or missing" } else { "" };
            let rows = grouped(column.len() as u64);
            self.rows.push([self.path.clone(), kind, rows, gaps.to_owned()]);
        }
    }
}
