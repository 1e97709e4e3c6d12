//! Table-valued functions: `lb_each`, `lb_tree` and `lb_query`.

use crate::error::{Fault, caught};
use crate::host::{self, is_interrupted};
use crate::value::{Sql, extracted, limit};
use livebuf::raw::{Alone, AloneMemory};
use livebuf::{ArrayIter, Checked, Doc, Error, ErrorKind, Fields, Value};
use livebuf_query::{Matches, Query, Step};
use livebuf_sql::{Path, json, type_name};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::vtab::{
    Context, Filters, IndexConstraintOp, IndexInfo, Module, VTab, VTabConfig, VTabConnection,
    VTabCursor, sqlite3_vtab, sqlite3_vtab_cursor,
};
use rusqlite::{Connection, Result as SqlResult, ffi};
use self_cell::self_cell;
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::ffi::{CStr, c_int};

pub(crate) fn register(db: &Connection) -> SqlResult<()> {
    const MODULE: Module<'static, Function> = Module::eponymous_only_module();
    [Kind::Each, Kind::Tree, Kind::Query]
        .into_iter()
        .try_for_each(|kind| db.create_module(kind.name(), &MODULE, Some(kind)))
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Each,
    Tree,
    Query,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Each => "lb_each",
            Kind::Tree => "lb_tree",
            Kind::Query => "lb_query",
        }
    }
}

/// Columns, in this order; the arguments are hidden ones.
const KEY: c_int = 0;
const VALUE: c_int = 1;
const TYPE: c_int = 2;
const ATOM: c_int = 3;
const ID: c_int = 4;
const PARENT: c_int = 5;
const FULLKEY: c_int = 6;
const PATH: c_int = 7;
const DOCUMENT: c_int = 8;
/// The path to begin at, or the query.
const SECOND: c_int = 9;
/// The budget of a query.
const BUDGET: c_int = 10;
/// The value as a document. It comes after all arguments, and is not one.
const ELEMENT: c_int = 11;

/// One of the functions, as SQLite sees it: a table.
#[repr(C)]
struct Function {
    /// SQLite's part, which must be the first.
    base: sqlite3_vtab,
    kind: Kind,
    /// The table's connection, which lives longer.
    db: *mut ffi::sqlite3,
}

// SAFETY: `repr(C)`, and SQLite's part is the first field.
#[allow(unsafe_code)]
unsafe impl<'vtab> VTab<'vtab> for Function {
    type Aux = Kind;
    type Cursor = Cursor;

    fn connect(
        db: &mut VTabConnection,
        kind: Option<&Kind>,
        _module: &[u8],
        _database: &[u8],
        _table: &[u8],
        _args: &[&[u8]],
    ) -> SqlResult<(Cow<'static, CStr>, Self)> {
        db.config(VTabConfig::Innocuous)?;
        let kind = *kind.unwrap_or(&Kind::Each);
        let columns = match kind {
            Kind::Each | Kind::Tree => {
                c"CREATE TABLE x(key,value,type,atom,id,parent,fullkey,path,json HIDDEN,root HIDDEN,budget HIDDEN,element HIDDEN)"
            }
            Kind::Query => {
                c"CREATE TABLE x(key,value,type,atom,id,parent,fullkey,path,json HIDDEN,query HIDDEN,budget HIDDEN,element HIDDEN)"
            }
        };
        // SAFETY: it is only asked whether it is interrupted.
        #[allow(unsafe_code)]
        let db = unsafe { db.handle() };
        Ok((Cow::Borrowed(columns), Function { base: sqlite3_vtab::default(), kind, db }))
    }

    /// The arguments are equalities of hidden columns. The number of the plan has a bit for each.
    fn best_index(&self, info: &mut IndexInfo) -> SqlResult<bool> {
        let mut places = [None; 3];
        let mut unusable = [false; 3];
        for (index, constraint) in info.constraints().enumerate() {
            let Ok(column) = usize::try_from(constraint.column() - DOCUMENT) else { continue };
            if column < places.len()
                && constraint.operator() == IndexConstraintOp::SQLITE_INDEX_CONSTRAINT_EQ
            {
                match constraint.is_usable() {
                    true => places[column] = Some(index),
                    false => unusable[column] = true,
                }
            }
        }
        if (0..places.len()).any(|column| unusable[column] && places[column].is_none()) {
            return Ok(false);
        }
        let (mut plan, mut count) = (0, 0);
        for (column, place) in places.iter().enumerate() {
            if let Some(index) = place {
                count += 1;
                plan |= 1 << column;
                let mut usage = info.constraint_usage(*index);
                usage.set_argv_index(count);
                usage.set_omit(true);
            }
        }
        info.set_idx_num(plan);
        info.set_estimated_cost(if plan & 1 == 0 { 1e99 } else { 100.0 });
        info.set_estimated_rows(25);
        Ok(true)
    }

    fn open(&'vtab mut self) -> SqlResult<Cursor> {
        let base = sqlite3_vtab_cursor::default();
        Ok(Cursor { base, kind: self.kind, db: self.db, walk: None, row: None, rowid: 0 })
    }
}

/// What a walk reads.
struct Source {
    document: Vec<u8>,
    query: Option<Query>,
    /// The second argument's text.
    second: Option<String>,
}

self_cell!(
    struct Walking {
        owner: Source,
        #[not_covariant]
        dependent: RowWalk,
    }
);

/// One call of a function.
#[repr(C)]
struct Cursor {
    /// SQLite's part, which must be the first.
    base: sqlite3_vtab_cursor,
    kind: Kind,
    db: *mut ffi::sqlite3,
    walk: Option<Walking>,
    /// The row that is shown. `None` after the last one.
    row: Option<Row>,
    rowid: i64,
}

/// The numbers of a row.
struct Row {
    id: i64,
    parent: Option<i64>,
}

impl Cursor {
    fn began(&mut self, plan: c_int, args: &Filters<'_>) -> Result<(), Fault> {
        let mut last = self.walk.take();
        let memory = last
            .as_mut()
            .map(|walk| walk.with_dependent_mut(|_, walk| walk.alone.get_mut().take_memory()));
        (self.row, self.rowid) = (None, 0);
        let mut args = args.iter();
        let mut argument =
            |column: c_int| (plan & 1 << (column - DOCUMENT) != 0).then(|| args.next()).flatten();
        let document = match argument(DOCUMENT) {
            Some(ValueRef::Blob(bytes)) => bytes.to_vec(),
            None | Some(ValueRef::Null) => return Ok(()),
            _ => {
                return Err(Fault::Argument(1, "a LiveBuf document: lb(json) makes one from JSON"));
            }
        };
        let second = match argument(SECOND) {
            Some(ValueRef::Text(text)) => match str::from_utf8(text) {
                Ok(text) => Some(text.to_owned()),
                Err(_) => return Err(Fault::Argument(2, "text in UTF-8")),
            },
            Some(ValueRef::Null) => return Ok(()),
            None if self.kind == Kind::Query => return Err(Fault::Argument(2, "a query")),
            None => None,
            _ => return Err(Fault::Argument(2, "text")),
        };
        let budget = match argument(BUDGET) {
            Some(_) if self.kind != Kind::Query => {
                return Err(Fault::Argument(3, "left out: there are two at most"));
            }
            Some(ValueRef::Integer(steps)) if steps >= 0 => Some(steps as u64),
            None => None,
            _ => return Err(Fault::Argument(3, "a count of steps")),
        };
        let query = match (self.kind, &second) {
            (Kind::Query, Some(text)) => {
                let query = Query::parse(text)?.with_interrupt(is_interrupted);
                Some(match budget {
                    Some(steps) => query.with_budget(steps),
                    None => query,
                })
            }
            _ => None,
        };
        let deep = self.kind == Kind::Tree;
        let source = Source { document, query, second };
        self.walk = Some(Walking::try_new(source, |source| {
            RowWalk::begun(source, deep, memory.unwrap_or_default())
        })?);
        self.advance()
    }

    fn advance(&mut self) -> Result<(), Fault> {
        self.row = match &mut self.walk {
            Some(walk) => host::run(self.db, || {
                let row = walk.with_dependent_mut(|_, walk| walk.advance());
                row.map_err(|fault| if is_interrupted() { Fault::Interrupted } else { fault })
            })?,
            None => None,
        };
        self.rowid += 1;
        Ok(())
    }

    #[allow(unsafe_code)]
    fn shown(&self, context: &mut Context, column: c_int) -> Result<(), Fault> {
        let (Some(row), Some(walk)) = (&self.row, &self.walk) else { return Ok(()) };
        walk.with_dependent(|source, walk| {
            let Some(value) = walk.current else { return Ok(()) };
            let container = value.is_object() || value.is_array();
            let most = || {
                // SAFETY: the connection is used while SQLite asks for the column, and not kept.
                limit(&*unsafe { context.get_connection() }?)
            };
            let answer = || {
                Ok(match column {
                    KEY => walk.key(),
                    VALUE if container => Sql::Text(json(value, most()?)?),
                    ATOM if container => Sql::Null,
                    VALUE | ATOM => extracted(value, most)?,
                    // It is lent, since it may be asked for again.
                    ELEMENT => {
                        walk.make_element(&value)?;
                        Sql::Null
                    }
                    TYPE => Sql::Text(type_name(&value)?.to_owned()),
                    ID => Sql::Integer(row.id),
                    PARENT => row.parent.map_or(Sql::Null, Sql::Integer),
                    FULLKEY => Sql::Text(walk.fullkey().0),
                    PATH => {
                        let (mut path, length) = walk.fullkey();
                        path.truncate(length);
                        Sql::Text(path)
                    }
                    DOCUMENT => Sql::Blob(source.document.clone()),
                    SECOND => match &source.second {
                        Some(text) => Sql::Text(text.clone()),
                        None => Sql::Text("$".to_owned()),
                    },
                    _ => Sql::Null,
                })
            };
            let answer = answer().map_err(|fault: Fault| fault.at(&walk.fullkey().0))?;
            let alone = walk.alone.borrow();
            let answer = match column {
                ELEMENT => ToSqlOutput::Borrowed(ValueRef::Blob(alone.last())),
                _ => answer.output(),
            };
            Ok(context.set_result(answer)?)
        })
    }

    /// Does some work, and tells SQLite of faults and panics. After one there are no more rows.
    fn guarded(&mut self, work: impl FnOnce(&mut Self) -> Result<(), Fault>) -> SqlResult<()> {
        caught(|| work(self)).map_err(|fault| {
            self.row = None;
            fault.of(self.kind.name())
        })
    }
}

// SAFETY: `repr(C)`, and SQLite's part is the first field.
#[allow(unsafe_code)]
unsafe impl VTabCursor for Cursor {
    fn filter(&mut self, plan: c_int, _text: Option<&str>, args: &Filters<'_>) -> SqlResult<()> {
        self.guarded(|cursor| cursor.began(plan, args))
    }

    fn next(&mut self) -> SqlResult<()> {
        self.guarded(Cursor::advance)
    }

    fn eof(&self) -> bool {
        self.row.is_none()
    }

    fn column(&self, context: &mut Context, column: c_int) -> SqlResult<()> {
        caught(|| self.shown(context, column)).map_err(|fault| fault.of(self.kind.name()))
    }

    fn rowid(&self) -> SqlResult<i64> {
        Ok(self.rowid)
    }
}

/// The way through a document, row by row.
struct RowWalk<'a> {
    kind: Walked<'a>,
    /// The value of the row.
    current: Option<Value<'a>>,
    /// The step that leads to it from its container. None in the row to begin with.
    step: Option<Step<'a>>,
    /// Makes the rows' values documents. A query often asks for the same one more than once.
    alone: RefCell<Alone<'a>>,
    /// Whether it has made the row's.
    is_made: Cell<bool>,
    next_id: i64,
}

enum Walked<'a> {
    /// What a query finds.
    Matches(Matches<'a, 'a, Checked>),
    /// The values in a container; with `deep` all below it.
    Values {
        /// The row to begin with.
        root: Option<Value<'a>>,
        /// The last row's value: what is in it comes next.
        entered: Option<(Value<'a>, i64)>,
        deep: bool,
        stack: Vec<Frame<'a>>,
        /// The path of the row's container, or of the row to begin with.
        path: String,
        /// The key of the row to begin with, and the length of its container's path.
        first: (Sql, usize),
        /// Steps that are left: one for each value, and for each 64 bytes of its key.
        budget: Budget,
    },
}

/// A container whose values are walked through.
struct Frame<'a> {
    items: Items<'a>,
    id: Option<i64>,
    /// Length of its path.
    path: usize,
}

enum Items<'a> {
    Members(Fields<'a, Checked>),
    Elements(ArrayIter<'a, Checked>, usize),
}

struct Budget {
    left: u64,
    total: u64,
}

impl<'a> RowWalk<'a> {
    /// `memory` comes from an earlier walk.
    fn begun(source: &'a Source, deep: bool, memory: AloneMemory) -> Result<RowWalk<'a>, Fault> {
        let doc = Doc::open(&source.document)?;
        let alone = RefCell::new(Alone::new(doc, memory));
        if let Some(query) = &source.query {
            let kind = Walked::Matches(query.find(doc.root()));
            return Ok(RowWalk::new(kind, alone));
        }
        let mut path = String::from("$");
        let mut first = (Sql::Null, path.len());
        let mut root = Some(doc.root());
        if let Some(text) = source.second.as_deref() {
            let mut way = Path::new(text)?;
            while let Some(step) = way.step()? {
                let Some(value) = root else { continue };
                let step = step.resolved(&value)?;
                let found = match &step {
                    Some(livebuf_sql::Step::Key(key)) => (value.get(&**key)?, Step::Key(key)),
                    Some(livebuf_sql::Step::Index(index)) => {
                        (value.get(*index)?, Step::Index(*index))
                    }
                    _ => (None, Step::Index(0)),
                };
                root = found.0;
                if deep {
                    first = (key_of(&found.1), path.len());
                }
                livebuf_sql::push(&mut path, found.1);
                if !deep {
                    first.1 = path.len();
                }
            }
        }
        // As many values as a valid document can have (`docs/bounds.md`).
        let total = (doc.as_bytes().len() as u64).saturating_mul(136);
        let budget = Budget { left: total, total };
        let stack = Vec::new();
        let mut walked = Walked::Values { root, entered: None, deep, stack, path, first, budget };
        // `lb_each` begins with what is in the root, if it is a container.
        if let Walked::Values { root, entered, .. } = &mut walked
            && !deep
            && let Some(value) = root.take_if(|value| value.is_object() || value.is_array())
        {
            *entered = Some((value, -1));
        }
        Ok(RowWalk::new(walked, alone))
    }

    fn new(kind: Walked<'a>, alone: RefCell<Alone<'a>>) -> RowWalk<'a> {
        let is_made = Cell::new(false);
        RowWalk { kind, current: None, step: None, alone, is_made, next_id: 0 }
    }

    /// Goes to the next row.
    fn advance(&mut self) -> Result<Option<Row>, Fault> {
        self.current = None;
        self.is_made.set(false);
        let id = self.next_id;
        self.next_id += 1;
        match &mut self.kind {
            Walked::Matches(matches) => {
                let Some(found) = matches.next_value() else { return Ok(None) };
                self.current = Some(found?);
                Ok(Some(Row { id, parent: None }))
            }
            Walked::Values { root, entered, deep, stack, path, budget, .. } => {
                if let Some(value) = root.take() {
                    self.current = Some(value);
                    *entered = deep.then_some((value, id));
                    return Ok(Some(Row { id, parent: None }));
                }
                if let Some((value, id)) = entered.take() {
                    let items = match value.as_object()? {
                        Some(object) => Some(Items::Members(object.iter())),
                        None => value.as_array()?.map(|array| Items::Elements(array.iter(), 0)),
                    };
                    if let Some(items) = items {
                        if let Some(step) = self.step {
                            livebuf_sql::push(path, step);
                        }
                        let id = (id >= 0).then_some(id);
                        stack.push(Frame { items, id, path: path.len() });
                    }
                }
                while let Some(frame) = stack.last_mut() {
                    let Some((step, value)) = frame.items.advance()? else {
                        stack.pop();
                        continue;
                    };
                    if let Step::Key(key) = step {
                        budget.take(key.len() as u64 / 64)?;
                    }
                    budget.take(1)?;
                    path.truncate(frame.path);
                    (self.current, self.step) = (Some(value), Some(step));
                    *entered = deep.then_some((value, id));
                    return Ok(Some(Row { id, parent: frame.id }));
                }
                Ok(None)
            }
        }
    }

    /// Makes the row's value a document, if it is not one yet.
    fn make_element(&self, value: &Value<'a>) -> Result<(), Error> {
        if !self.is_made.get() {
            self.alone.borrow_mut().document(value)?;
            self.is_made.set(true);
        }
        Ok(())
    }

    /// The key of the row.
    fn key(&self) -> Sql {
        match (&self.kind, &self.step) {
            (Walked::Matches(matches), _) => matches.steps().last().map_or(Sql::Null, key_of),
            (_, Some(step)) => key_of(step),
            (Walked::Values { first, .. }, None) => first.0.clone(),
        }
    }

    /// The path of the row, and how many of its bytes are that of the container.
    fn fullkey(&self) -> (String, usize) {
        let (mut fullkey, mut length, steps) = match &self.kind {
            Walked::Matches(matches) => (String::from("$"), 1, matches.steps()),
            Walked::Values { path, first, .. } => (path.clone(), first.1, self.step.as_slice()),
        };
        for &step in steps {
            length = fullkey.len();
            livebuf_sql::push(&mut fullkey, step);
        }
        (fullkey, length)
    }
}

fn key_of(step: &Step<'_>) -> Sql {
    match *step {
        Step::Key(key) => Sql::Text(key.to_owned()),
        Step::Index(index) => Sql::Integer(index as i64),
    }
}

impl<'a> Items<'a> {
    fn advance(&mut self) -> Result<Option<(Step<'a>, Value<'a>)>, Error> {
        match self {
            Items::Members(fields) => {
                Ok(fields.next().transpose()?.map(|(key, value)| (Step::Key(key), value)))
            }
            Items::Elements(elements, next) => {
                let Some(value) = elements.next().transpose()? else { return Ok(None) };
                *next += 1;
                Ok(Some((Step::Index(*next - 1), value)))
            }
        }
    }
}

impl Budget {
    fn take(&mut self, steps: u64) -> Result<(), Error> {
        match self.left.checked_sub(steps) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(Error::with_detail(ErrorKind::BudgetExceeded, 0, self.total)),
        }
    }
}
