//! Any edits, on a document and on a plain model of it, compared after every step.
//!
//! After each: the values are equal, in order; validation passes and no two
//! regions overlap; a listener's replay gives the same bytes; handles denote
//! what they did, or say that they are stale; and an edit that failed for a
//! reason that the model knows (or for want of space) left every used byte as it was. So does a
//! transaction that is rolled back.

use crate::fresh::{Fresh, KEYS, colliding, key, text, token};
use crate::input::Input;
use crate::model::{Body, Counts, Id, Item, Model};
use crate::shadow::{Shadow, shadow};
use crate::tree::{Budget, Tree};
use crate::walk;
use livebuf::{
    Detached, DocBuf, Editor, EncodeOptions, Error, ErrorKind, Extended, Key, Limits, New, NodeId,
    Result, Storage, VecStorage,
};

/// Remembered keys live as long as the process, as users' statics do.
static REMEMBERED: [Key<'static>; KEYS.len()] = {
    let mut keys = [const { Key::new("") }; KEYS.len()];
    let mut at = 0;
    while at < keys.len() {
        keys[at] = Key::new(KEYS[at]);
        at += 1;
    }
    keys
};

/// What fills a fixed buffer before the document is made in it.
const DIRT: u8 = 0xA5;
/// Growing edits stop at this size.
const ENOUGH: usize = 1 << 17;
/// Steps of one input.
const STEPS: usize = 400;

/// Decodes edits from any bytes and carries them out.
///
/// # Panics
/// Where the document is not what it should be.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let mut limits = Limits::default();
    let setting = input.byte();
    if setting & 1 != 0 {
        limits.nesting = 2 + u16::from(setting >> 4);
    }
    if setting & 2 != 0 {
        limits.string = 8 + 4 * u32::from(setting);
    }
    if setting & 12 == 12 {
        let length = 32 + usize::from(input.word()) % 6000;
        let mut buffer = vec![DIRT; length];
        Machine::new(&mut buffer[..], limits, true).run(&mut input);
    } else {
        let limited = setting & 12 == 8;
        if limited {
            limits.document = 64 + u64::from(input.word()) % 6000;
        }
        Machine::new(VecStorage::default(), limits, limited).run(&mut input);
    }
}

/// How a child is named.
#[derive(Clone, Debug)]
enum At {
    Key(String, Option<usize>),
    Index(usize),
}

/// Binds a child's name as the editor takes it.
macro_rules! with_at {
    ($at:expr, |$name:ident| $call:expr) => {
        match $at {
            At::Key(key, None) => {
                let $name = &**key;
                $call
            }
            At::Key(_, Some(number)) => {
                let $name = &REMEMBERED[*number];
                $call
            }
            At::Index(index) => {
                let $name = *index;
                $call
            }
        }
    };
}

/// A handle or detached value, and of which generation.
struct Held<T> {
    what: T,
    item: Item,
    generation: u64,
}

/// A value to be stored.
enum Given {
    Fresh(Box<Fresh>),
    Detached(Box<Held<Detached>>),
}

struct Machine<S: Storage> {
    /// `None` only while it is opened again.
    doc: Option<Editor<S>>,
    model: Model,
    handles: Vec<Held<NodeId>>,
    detached: Vec<Held<Detached>>,
    /// How often the document was opened again or compacted: all handles are stale then.
    generation: u64,
    /// What the listener heard of squeezing so far.
    replaced: usize,
    limits: Limits,
    limited: bool,
    /// No byte was ever freed without being zeroed.
    wiped: bool,
    /// What was there when each open transaction was begun.
    before: Vec<(Vec<u8>, Model)>,
    steps: usize,
    failed: bool,
}

impl<S: Storage> Machine<S> {
    fn new(storage: S, limits: Limits, limited: bool) -> Self {
        let mut doc = Editor::create(storage).expect("room for a header");
        Shadow::listen(&mut doc);
        doc.set_limits(limits);
        Machine {
            doc: Some(doc),
            model: Model::default(),
            handles: Vec::new(),
            detached: Vec::new(),
            generation: 0,
            replaced: 0,
            limits,
            limited,
            wiped: true,
            before: Vec::new(),
            steps: 0,
            failed: false,
        }
    }

    fn note(&self, note: impl FnOnce() -> String) {
        crate::note(|| format!("{}: {}", self.steps, note()));
    }

    fn doc(&self) -> &Editor<S> {
        self.doc.as_ref().expect("open")
    }

    fn doc_mut(&mut self) -> &mut Editor<S> {
        self.follow_squeezing();
        self.doc.as_mut().expect("open")
    }

    fn shadow(&self) -> &Shadow {
        self.doc().listener().expect("a shadow listens")
    }

    /// An edit may have squeezed the document.
    fn follow_squeezing(&mut self) {
        let replaced = self.shadow().replaced;
        if replaced != self.replaced {
            self.replaced = replaced;
            self.model.squeeze();
        }
    }

    fn run(mut self, input: &mut Input<'_>) {
        while !input.is_empty() && self.steps < STEPS {
            self.steps += 1;
            let before = self.doc().as_bytes().to_vec();
            self.failed = false;
            shadow(self.doc_mut()).reported = 0;
            self.step(input);
            if self.log_is_full() {
                assert!(self.failed, "an edit did not fit into the log, and did not say so");
                let error = self.doc_mut().commit_transaction().expect_err("the log is full");
                assert_eq!(error.kind(), ErrorKind::NoSpace);
                self.roll_back();
            } else if self.failed {
                assert!(before == self.doc().as_bytes(), "a failed edit changed used bytes");
            }
            self.follow_squeezing();
            self.check();
        }
        self.finish();
    }

    // --- transactions -------------------------------------------------------

    /// Whether an edit did not fit into the log of overwritten bytes: none may follow.
    fn log_is_full(&mut self) -> bool {
        let open = self.doc().transactions();
        if !S::FIXED || open == 0 {
            return false;
        }
        let foreign = DocBuf::new().expect("memory").set_root(New::array(0)).expect("room");
        let node = foreign.expect("an array");
        let refused = self.doc().check_set(node, 0, ()).expect_err("of another document");
        refused.kind() == ErrorKind::NoSpace
    }

    fn begin(&mut self) {
        if self.before.len() == 8 {
            return;
        }
        let before = (self.doc().as_bytes().to_vec(), self.model.clone());
        let result = self.doc_mut().begin_transaction();
        if self.judge(result, &[], &[]).is_some() {
            self.before.push(before);
        }
        assert_eq!(self.doc().transactions(), self.before.len() as u32);
    }

    fn commit(&mut self) {
        let result = self.doc_mut().commit_transaction();
        match self.before.pop() {
            None => {
                let error = result.expect_err("none is open").kind();
                assert_eq!(error, ErrorKind::BadSequence);
            }
            Some(_) => result.expect("open"),
        }
        self.forget_log();
    }

    fn roll_back(&mut self) {
        let result = self.doc_mut().rollback_transaction();
        let Some((bytes, model)) = self.before.pop() else {
            let error = result.expect_err("none is open").kind();
            assert_eq!(error, ErrorKind::BadSequence);
            return;
        };
        result.expect("open");
        assert!(bytes == self.doc().as_bytes(), "other bytes after rolling back");
        self.replaced = self.shadow().replaced;
        self.model.roll_back(model);
        self.generation += 1;
        self.forget_log();
    }

    /// The log may have been behind the document, where the listener heard nothing of it.
    fn forget_log(&mut self) {
        if !S::FIXED || !self.before.is_empty() {
            return;
        }
        let doc = self.doc.as_mut().expect("open");
        let (used, bytes) = (doc.as_bytes().len(), doc.storage().bytes().to_vec());
        shadow(doc).forget(used, &bytes);
    }

    // --- checks -------------------------------------------------------------

    fn check(&self) {
        let doc = self.doc();
        let bytes = doc.as_bytes();
        let copy = self.shadow().copy(doc.storage().bytes());
        assert!(copy[..bytes.len()] == *bytes, "the replayed changes differ");

        let stats = doc.doc().stats().expect("valid");
        let parts = [
            stats.overhead,
            stats.shapes,
            stats.records,
            stats.maps,
            stats.index,
            stats.arrays,
            stats.tables,
            stats.text,
            stats.free,
            stats.garbage,
        ];
        assert_eq!(parts.iter().sum::<u64>(), stats.used, "stats sum up");
        assert_eq!(stats.used, bytes.len() as u64);
        assert!(stats.used <= self.limits.document, "past the document limit");
        assert!(stats.depth <= u64::from(self.limits.nesting), "past the nesting limit");
        let mut counts = Counts::default();
        self.model.check(&self.model.root, doc.doc().root(), &mut counts);
        assert_eq!(
            (counts.values, counts.objects, counts.arrays),
            (stats.values, stats.objects, stats.array_count),
            "counts of values"
        );
        if bytes.len() < 1 << 15 || self.steps.is_multiple_of(16) {
            walk::regions(doc.doc(), self.wiped);
        }
        let behind = &doc.storage().bytes()[bytes.len()..];
        let log = S::FIXED && doc.transactions() > 0;
        assert!(
            log || behind.iter().all(|&byte| byte == 0 || (!S::ZEROED && byte == DIRT)),
            "something is left behind the document"
        );
        self.check_handles();
    }

    fn check_handles(&self) {
        let doc = self.doc();
        assert_eq!(
            doc.root_id().is_some(),
            matches!(self.model.root, Item::Node(_) | Item::Scalar(Tree::Tensor(_))),
            "root handle"
        );
        for handle in &self.handles {
            let current = doc.is_current(handle.what);
            let Item::Node(id) = handle.item else { continue };
            if self.generation > handle.generation || self.model.is_freed(id) {
                assert!(!current, "a container was freed, its handle is not stale");
                let answer = doc.value(handle.what).map(|_| ()).expect_err("stale");
                assert_eq!(answer.kind(), ErrorKind::StaleHandle);
                continue;
            }
            // In a fixed buffer little is remembered.
            assert!(current || S::FIXED, "a container is there, its handle is stale");
            if !current {
                continue;
            }
            let value = doc.value(handle.what).expect("sound");
            if self.steps.is_multiple_of(8) {
                self.model.check(&handle.item, value, &mut Counts::default());
            } else {
                let length = self.model.children(id).len();
                assert_eq!(value.len(), Ok(Some(length)), "a handle's container");
            }
        }
    }

    fn finish(self) {
        let mut doc = self.doc.expect("open");
        doc.doc().validate().map(|doc| walk::valid(doc)).expect("valid");
        let expected = self.model.tree(&self.model.root);
        if !doc.is_trusted() {
            doc.validate().expect("valid");
        }
        let compacted = doc.doc().compacted().expect("compacted");
        let found = Tree::of_valid(compacted.valid().expect("ours").root());
        assert!(found.same(&expected), "compaction changed the value");
    }

    // --- expectations -------------------------------------------------------

    /// Compares an outcome with what the model expects: an error of these kinds,
    /// perhaps of those, or none.
    fn judge<T>(&mut self, result: Result<T>, due: &[ErrorKind], maybe: &[ErrorKind]) -> Option<T> {
        match result {
            Ok(value) => {
                assert!(due.is_empty(), "{due:?} was due");
                Some(value)
            }
            Err(error) => {
                self.note(|| format!("  {error:?}"));
                self.failed = true;
                let kind = error.kind();
                // A full buffer has no room to validate the document in either.
                let space = matches!(
                    kind,
                    ErrorKind::NoSpace | ErrorKind::DocumentLimit | ErrorKind::NotValidated
                );
                assert!(
                    due.contains(&kind) || maybe.contains(&kind) || (space && self.limited),
                    "{error:?} where {due:?} was due"
                );
                None
            }
        }
    }

    fn hold(&mut self, node: NodeId, id: Id) {
        if self.handles.len() >= 12 {
            self.handles.remove(self.steps % 12);
        }
        let generation = self.generation;
        self.handles.push(Held { what: node, item: Item::Node(id), generation });
    }

    /// Errors that storing a tree under a container gives.
    fn due_for(&self, given: &Given, parent: Option<Id>) -> (Vec<ErrorKind>, Vec<ErrorKind>) {
        let (mut due, mut maybe) = (Vec::new(), Vec::new());
        let height = match given {
            Given::Fresh(fresh) => {
                if matches!(**fresh, Fresh::BadNumber) {
                    due.push(ErrorKind::BadNumber);
                }
                if matches!(**fresh, Fresh::Whole(_, true)) {
                    due.push(ErrorKind::DuplicateKey);
                }
                let tree = fresh.as_tree();
                if longest(&tree) > self.limits.string as usize {
                    due.push(ErrorKind::StringLimit);
                }
                tree.height()
            }
            Given::Detached(held) => {
                if self.generation > held.generation {
                    due.push(ErrorKind::StaleHandle);
                    0
                } else {
                    self.model.height(&held.item)
                }
            }
        };
        let depth = match parent {
            None => Some(0),
            Some(parent) => self.model.depth(parent),
        };
        let limit = usize::from(self.limits.nesting);
        match depth {
            Some(depth) if height > 0 && depth + height > limit => {
                due.push(ErrorKind::NestingLimit);
            }
            // A container that hangs nowhere counts from where it hung before.
            None if height > 0 => maybe.push(ErrorKind::NestingLimit),
            _ => {}
        }
        (due, maybe)
    }

    /// What was stored, in the model.
    fn adopt(&mut self, given: GivenItem) -> Item {
        match given {
            GivenItem::Tree(tree) => self.model.adopt(tree),
            GivenItem::Item(item) => item,
        }
    }

    fn free(&mut self, item: Item) {
        self.model.free(item);
    }

    /// The handle that an edit answered for what it stored.
    fn answered(&mut self, node: Option<NodeId>, item: &Item) {
        match (node, item) {
            (Some(node), Item::Node(id)) => self.hold(node, *id),
            (None, Item::Scalar(_)) | (Some(_), Item::Scalar(Tree::Tensor(_))) => {}
            _ => panic!("{node:?} for {item:?}"),
        }
    }

    // --- choices ------------------------------------------------------------

    /// A handle, fresh or kept, and the container it denotes (or denoted).
    fn target(&mut self, input: &mut Input<'_>) -> Option<(NodeId, Id)> {
        if !self.handles.is_empty() && input.one_in(3) {
            let held = &self.handles[input.below(self.handles.len())];
            let Item::Node(id) = held.item else { return None };
            return Some((held.what, id));
        }
        let Item::Node(mut id) = self.model.root else { return None };
        let mut node = self.doc().root_id().expect("a container");
        let mut pointer = String::new();
        while !input.one_in(3) {
            let (at, child) = self.child(input, id)?;
            let Some(Item::Node(child)) = child else { break };
            id = child;
            match &at {
                At::Key(key, _) => pointer.push_str(&token(key)),
                At::Index(index) => pointer.push_str(&format!("/{index}")),
            }
            let found = with_at!(&at, |at| self.doc().child(node, at)).expect("sound");
            node = found.expect("a container");
        }
        if input.one_in(4) {
            // Long escaped tokens are refused by a documented limit.
            match self.doc().find(&pointer) {
                Ok(found) => assert_eq!(found, Some(node), "found by pointer and step by step"),
                Err(error) => assert_eq!(error.kind(), ErrorKind::BadPointer),
            }
        }
        self.hold(node, id);
        Some((node, id))
    }

    /// A child that is there.
    fn child(&self, input: &mut Input<'_>, id: Id) -> Option<(At, Option<Item>)> {
        match self.model.body(id) {
            Body::Array(elements) => {
                let index = input.below(elements.len());
                Some((At::Index(index), elements.get(index).cloned()))
            }
            Body::Object(places, _) => {
                let (key, item) = places.get(input.below(places.len()))?;
                Some((named(key, input), item.clone()))
            }
        }
    }

    /// The name of a child that may be there.
    fn at(&self, input: &mut Input<'_>, id: Id) -> At {
        if self.model.is_freed(id) {
            return At::Key("a".into(), None);
        }
        let wrong = input.one_in(64);
        match self.model.body(id) {
            Body::Array(elements) if !wrong => At::Index(input.below(elements.len() + 2)),
            Body::Object(places, _) if !wrong => {
                if !places.is_empty() && input.one_in(2) {
                    named(&places[input.below(places.len())].0, input)
                } else {
                    named(&key(input), input)
                }
            }
            Body::Array(_) => At::Key("a".into(), None),
            Body::Object(..) => At::Index(0),
        }
    }

    fn given(&mut self, input: &mut Input<'_>) -> Given {
        if !self.detached.is_empty() && input.one_in(4) {
            let at = input.below(self.detached.len());
            return Given::Detached(Box::new(self.detached.swap_remove(at)));
        }
        let used = self.doc().as_bytes().len();
        if used < 4096 && input.one_in(100) {
            let copy = DocBuf::from_bytes_unvalidated(self.doc().as_bytes()).expect("sound");
            let tree = Tree::read(copy.doc().root(), &mut Budget::AMPLE.clone()).expect("sound");
            return Given::Fresh(Box::new(Fresh::copy_of(copy, tree)));
        }
        Given::Fresh(Box::new(Fresh::decode(input)))
    }

    /// Whether a handle is good; its kinds of failure where not.
    fn stale(&self, node: NodeId) -> Vec<ErrorKind> {
        if self.doc().is_current(node) { Vec::new() } else { vec![ErrorKind::StaleHandle] }
    }

    fn is_array(&self, id: Id) -> bool {
        !self.model.is_freed(id) && matches!(self.model.body(id), Body::Array(_))
    }

    fn length(&self, id: Id) -> usize {
        if self.model.is_freed(id) { 0 } else { self.model.children(id).len() }
    }

    // --- steps --------------------------------------------------------------

    fn step(&mut self, input: &mut Input<'_>) {
        if self.doc().as_bytes().len() > ENOUGH {
            return self.clear(input);
        }
        let choice = input.byte();
        self.note(|| format!("edit {choice}"));
        match choice {
            0..70 => self.set(input),
            70..90 => self.set_pointer(input),
            90..122 => self.remove(input),
            122..128 => self.remove_pointer(input),
            128..150 => self.push(input),
            150..156 => self.pop(input),
            156..168 => self.insert(input),
            168..174 => self.swap(input),
            174..180 => self.truncate(input),
            180..184 => self.clear(input),
            184..190 => self.reserve(input),
            190..204 => self.rename(input),
            204..214 => self.detach(input),
            214..218 => self.discard(input),
            218..226 => self.set_root(input),
            226..229 => self.compact(),
            229..231 => self.set_wipe(input),
            231..235 => self.reopen(input),
            235..240 => self.burst_of_keys(input),
            240..244 => self.burst_of_removals(input),
            244..248 => self.burst_of_elements(input),
            248..250 => self.foreign_handle(input),
            250 => self.order(input),
            252..254 => self.begin(),
            254 => self.commit(),
            255 => self.roll_back(),
            _ => self.grow_text(input),
        }
    }

    fn set(&mut self, input: &mut Input<'_>) {
        let Some((node, id)) = self.target(input) else { return self.set_root(input) };
        let at = self.at(input, id);
        let given = self.given(input);
        let cursor = input.one_in(4);
        self.set_at(node, id, &at, given, cursor);
    }

    fn set_at(&mut self, node: NodeId, id: Id, at: &At, given: Given, cursor: bool) {
        let (mut due, maybe) = (self.stale(node), Vec::new());
        if due.is_empty() {
            match at {
                At::Key(..) if self.is_array(id) => due.push(ErrorKind::WrongType),
                At::Index(_) if !self.is_array(id) => due.push(ErrorKind::WrongType),
                At::Index(index) if *index >= self.length(id) => {
                    due.push(ErrorKind::IndexOutOfRange);
                }
                At::Key(key, _)
                    if self.model.member(id, key).is_none()
                        && key.len() > self.limits.string as usize =>
                {
                    due.push(ErrorKind::StringLimit);
                }
                _ => {}
            }
        }
        self.note(|| format!("  container {id}: set {at:?}"));
        let inside = self.goes_into_itself(&given, id);
        let old = match at {
            At::Key(key, _) if !self.model.is_freed(id) => self.model.member(id, key),
            At::Index(_) | At::Key(..) => None,
        };
        let small = |tree: &Tree| match tree {
            Tree::String(_) | Tree::Bytes(_) | Tree::Number(_) | Tree::Tensor(_) => false,
            // These may have spans.
            Tree::Extended(value) => !matches!(value, Extended::Decimal(_) | Extended::Uuid(_)),
            _ => true,
        };
        let in_place = matches!(old, Some(Item::Scalar(tree)) if small(tree))
            && matches!(&given, Given::Fresh(fresh)
                if matches!(&**fresh, Fresh::Scalar(tree) if small(tree)));
        let (due, maybe) = self.merge_due(due, maybe, &given, Some(id));
        let (result, item) = self.store(given, |doc, new| {
            if cursor {
                let mut cursor = doc.node_mut(node)?;
                let child = with_at!(at, |at| cursor.set(at, new))?.map(|child| child.id());
                Ok((child, cursor.id()))
            } else {
                with_at!(at, |at| doc.set(node, at, new)).map(|child| (child, node))
            }
        });
        if inside {
            assert!(result.is_err(), "a container was hung below itself");
            self.failed = true;
            return;
        }
        let Some((child, cursor_id)) = self.judge(result, &due, &maybe) else { return };
        if in_place {
            let reported = self.shadow().reported;
            assert!(reported < 32, "setting a scalar reported {reported} bytes");
        }
        let item = self.adopt(item);
        let old = match at {
            At::Key(key, _) => self.model.set_member(id, key, item.clone()),
            At::Index(index) => match self.model.body_mut(id) {
                Body::Array(elements) => {
                    Some(std::mem::replace(&mut elements[*index], item.clone()))
                }
                Body::Object(..) => None,
            },
        };
        if let Some(old) = old {
            self.free(old);
        }
        self.answered(child, &item);
        if cursor {
            self.hold(cursor_id, id);
        }
    }

    /// Whether a detached value would be hung below itself.
    fn goes_into_itself(&self, given: &Given, id: Id) -> bool {
        match given {
            Given::Detached(held) => {
                self.generation == held.generation && self.model.contains(&held.item, id)
            }
            Given::Fresh(_) => false,
        }
    }

    fn merge_due(
        &self,
        mut due: Vec<ErrorKind>,
        mut maybe: Vec<ErrorKind>,
        given: &Given,
        parent: Option<Id>,
    ) -> (Vec<ErrorKind>, Vec<ErrorKind>) {
        let parent = parent.filter(|&parent| !self.model.is_freed(parent));
        if due.contains(&ErrorKind::StaleHandle) && parent.is_none() {
            return (due, maybe);
        }
        let (more, perhaps) = self.due_for(given, parent);
        due.extend(more);
        maybe.extend(perhaps);
        (due, maybe)
    }

    /// Hands a value to an edit; what it is in the model.
    fn store<T>(
        &mut self,
        given: Given,
        edit: impl FnOnce(&mut Editor<S>, New<'_>) -> Result<T>,
    ) -> (Result<T>, GivenItem) {
        self.note(|| match &given {
            Given::Fresh(fresh) => format!("  {:.200}", format!("{fresh:?}")),
            Given::Detached(held) => format!("  detached {:?}", held.item),
        });
        match given {
            Given::Fresh(fresh) => {
                let result = fresh.with_new(|new| edit(self.doc_mut(), new));
                (result, GivenItem::Tree(fresh.as_tree()))
            }
            Given::Detached(held) => {
                let result = edit(self.doc_mut(), New::Detached(&held.what));
                let item = GivenItem::Item(held.item.clone());
                if result.is_err() {
                    self.detached.push(*held);
                } else {
                    // It hangs now, and does so once.
                    let again = self.doc_mut().set_root(&held.what);
                    assert_eq!(
                        again.map(drop).map_err(|error| error.kind()),
                        Err(ErrorKind::StaleHandle)
                    );
                }
                (result, item)
            }
        }
    }

    fn set_root(&mut self, input: &mut Input<'_>) {
        let given = if input.one_in(2) {
            let fresh = match input.byte() % 4 {
                0 => Fresh::Array(2),
                1 => Fresh::Map(0),
                _ => Fresh::Object(3),
            };
            Given::Fresh(Box::new(fresh))
        } else {
            self.given(input)
        };
        self.set_root_to(given);
    }

    fn set_root_to(&mut self, given: Given) {
        let (due, maybe) = self.due_for(&given, None);
        let (result, item) = self.store(given, |doc, new| doc.set_root(new));
        let Some(node) = self.judge(result, &due, &maybe) else { return };
        let item = self.adopt(item);
        let old = std::mem::replace(&mut self.model.root, item.clone());
        self.free(old);
        self.answered(node, &item);
    }

    /// A pointer to a container, the container, and a last token.
    fn pointer(&mut self, input: &mut Input<'_>) -> Option<(String, Id, At)> {
        let Item::Node(mut id) = self.model.root else { return None };
        let mut pointer = String::new();
        while !input.one_in(3) {
            let Some((at, Some(Item::Node(child)))) = self.child(input, id) else { break };
            match at {
                At::Key(key, _) => pointer.push_str(&token(&key)),
                At::Index(index) => pointer.push_str(&format!("/{index}")),
            }
            id = child;
        }
        let at = match self.model.body(id) {
            Body::Array(elements) => At::Index(input.below(elements.len() + 2)),
            Body::Object(places, _) if !places.is_empty() && input.one_in(2) => {
                At::Key(places[input.below(places.len())].0.clone(), None)
            }
            Body::Object(..) => At::Key(key(input), None),
        };
        Some((pointer, id, at))
    }

    fn set_pointer(&mut self, input: &mut Input<'_>) {
        let Some((mut pointer, id, at)) = self.pointer(input) else {
            let given = self.given(input);
            let (due, maybe) = self.due_for(&given, None);
            let (result, item) = self.store(given, |doc, new| doc.set_pointer("", new));
            let Some(node) = self.judge(result, &due, &maybe) else { return };
            let item = self.adopt(item);
            let old = std::mem::replace(&mut self.model.root, item.clone());
            self.free(old);
            return self.answered(node, &item);
        };
        let end = matches!(at, At::Index(_)) && input.one_in(3);
        match &at {
            At::Key(key, _) => pointer.push_str(&token(key)),
            At::Index(_) if end => pointer.push_str("/-"),
            At::Index(index) => pointer.push_str(&format!("/{index}")),
        }
        let given = self.given(input);
        let mut due = Vec::new();
        match &at {
            At::Index(index) if !end && *index >= self.length(id) => {
                due.push(ErrorKind::IndexOutOfRange);
            }
            At::Key(key, _)
                if self.model.member(id, key).is_none()
                    && key.len() > self.limits.string as usize =>
            {
                due.push(ErrorKind::StringLimit);
            }
            _ => {}
        }
        let (due, maybe) = self.merge_due(due, Vec::new(), &given, Some(id));
        let (result, item) = self.store(given, |doc, new| doc.set_pointer(&pointer, new));
        let Some(node) = self.judge(result, &due, &maybe) else { return };
        let item = self.adopt(item);
        let old = match at {
            At::Key(key, _) => self.model.set_member(id, &key, item.clone()),
            At::Index(index) => match self.model.body_mut(id) {
                Body::Array(elements) if end => {
                    elements.push(item.clone());
                    None
                }
                Body::Array(elements) => {
                    Some(std::mem::replace(&mut elements[index], item.clone()))
                }
                Body::Object(..) => None,
            },
        };
        if let Some(old) = old {
            self.free(old);
        }
        self.answered(node, &item);
    }

    /// Takes a child out of the model.
    fn take(&mut self, id: Id, at: &At) -> Option<Item> {
        match at {
            At::Key(key, _) => self.model.take_member(id, key),
            At::Index(index) => match self.model.body_mut(id) {
                Body::Array(elements) if *index < elements.len() => Some(elements.remove(*index)),
                _ => None,
            },
        }
    }

    fn remove(&mut self, input: &mut Input<'_>) {
        let Some((node, id)) = self.target(input) else { return };
        let at = self.at(input, id);
        let cursor = input.one_in(4);
        let mut due = self.stale(node);
        if due.is_empty() && self.is_array(id) != matches!(at, At::Index(_)) {
            due.push(ErrorKind::WrongType);
        }
        self.note(|| format!("  container {id}: remove {at:?}"));
        let doc = self.doc_mut();
        let result = if cursor {
            doc.node_mut(node).and_then(|mut cursor| {
                with_at!(&at, |at| cursor.remove(at)).map(|done| (done, cursor.id()))
            })
        } else {
            with_at!(&at, |at| doc.remove(node, at)).map(|done| (done, node))
        };
        let Some((done, cursor_id)) = self.judge(result, &due, &[]) else { return };
        let old = self.take(id, &at);
        assert_eq!(done, old.is_some(), "whether something was removed");
        if let Some(old) = old {
            self.free(old);
        }
        if cursor {
            self.hold(cursor_id, id);
        }
    }

    fn remove_pointer(&mut self, input: &mut Input<'_>) {
        let Some((mut pointer, id, at)) = self.pointer(input) else {
            let result = self.doc_mut().remove_pointer("");
            self.judge(result, &[ErrorKind::Unsupported], &[]);
            return;
        };
        match &at {
            At::Key(key, _) => pointer.push_str(&token(key)),
            At::Index(index) => pointer.push_str(&format!("/{index}")),
        }
        let result = self.doc_mut().remove_pointer(&pointer);
        let Some(done) = self.judge(result, &[], &[]) else { return };
        let old = self.take(id, &at);
        assert_eq!(done, old.is_some(), "whether something was removed");
        if let Some(old) = old {
            self.free(old);
        }
    }

    fn due_on_array(&self, node: NodeId, id: Id) -> Vec<ErrorKind> {
        let mut due = self.stale(node);
        if due.is_empty() && !self.is_array(id) {
            due.push(ErrorKind::WrongType);
        }
        due
    }

    fn push(&mut self, input: &mut Input<'_>) {
        let Some((node, id)) = self.target(input) else { return };
        let given = self.given(input);
        let length = if self.is_array(id) { self.length(id) } else { 0 };
        self.insert_at(node, id, length, given, input.one_in(4), true);
    }

    fn insert(&mut self, input: &mut Input<'_>) {
        let Some((node, id)) = self.target(input) else { return };
        let index = input.below(self.length(id) + 2);
        let given = self.given(input);
        self.insert_at(node, id, index, given, input.one_in(4), false);
    }

    fn insert_at(
        &mut self,
        node: NodeId,
        id: Id,
        index: usize,
        given: Given,
        cursor: bool,
        push: bool,
    ) {
        let mut due = self.due_on_array(node, id);
        if due.is_empty() && index > self.length(id) {
            due.push(ErrorKind::IndexOutOfRange);
        }
        self.note(|| format!("  container {id}: insert {index}"));
        let inside = self.goes_into_itself(&given, id);
        let (due, maybe) = self.merge_due(due, Vec::new(), &given, Some(id));
        let (result, item) = self.store(given, |doc, new| match (cursor, push) {
            (true, true) => {
                let mut cursor = doc.node_mut(node)?;
                let child = cursor.push(new)?.map(|child| child.id());
                Ok((child, cursor.id()))
            }
            (true, false) => {
                let mut cursor = doc.node_mut(node)?;
                let child = cursor.insert(index, new)?.map(|child| child.id());
                Ok((child, cursor.id()))
            }
            (false, true) => doc.push(node, new).map(|child| (child, node)),
            (false, false) => doc.insert(node, index, new).map(|child| (child, node)),
        });
        if inside {
            assert!(result.is_err(), "a container was hung below itself");
            self.failed = true;
            return;
        }
        let Some((child, cursor_id)) = self.judge(result, &due, &maybe) else { return };
        let item = self.adopt(item);
        if let Body::Array(elements) = self.model.body_mut(id) {
            elements.insert(index, item.clone());
        }
        self.answered(child, &item);
        if cursor {
            self.hold(cursor_id, id);
        }
    }

    fn pop(&mut self, input: &mut Input<'_>) {
        let Some((node, id)) = self.target(input) else { return };
        let due = self.due_on_array(node, id);
        let result = self.doc_mut().pop(node);
        let Some(done) = self.judge(result, &due, &[]) else { return };
        let old = match self.model.body_mut(id) {
            Body::Array(elements) => elements.pop(),
            Body::Object(..) => None,
        };
        assert_eq!(done, old.is_some(), "whether something was popped");
        if let Some(old) = old {
            self.free(old);
        }
    }

    fn swap(&mut self, input: &mut Input<'_>) {
        let Some((node, id)) = self.target(input) else { return };
        let length = self.length(id);
        let (a, b) = (input.below(length + 1), input.below(length + 1));
        let mut due = self.due_on_array(node, id);
        if due.is_empty() && a.max(b) >= length {
            due.push(ErrorKind::IndexOutOfRange);
        }
        let result = self.doc_mut().swap(node, a, b);
        if self.judge(result, &due, &[]).is_some()
            && let Body::Array(elements) = self.model.body_mut(id)
        {
            elements.swap(a, b);
        }
    }

    fn truncate(&mut self, input: &mut Input<'_>) {
        let Some((node, id)) = self.target(input) else { return };
        let length = input.below(self.length(id) + 2);
        let due = self.due_on_array(node, id);
        let result = self.doc_mut().truncate(node, length);
        if self.judge(result, &due, &[]).is_none() {
            return;
        }
        let Body::Array(elements) = self.model.body_mut(id) else { return };
        let gone = elements.split_off(length.min(elements.len()));
        for item in gone {
            self.free(item);
        }
    }

    fn clear(&mut self, input: &mut Input<'_>) {
        let Some((node, id)) = self.target(input) else { return };
        let due = self.stale(node);
        let result = self.doc_mut().clear(node);
        if self.judge(result, &due, &[]).is_some() {
            self.model.clear(id);
        }
    }

    fn order(&mut self, input: &mut Input<'_>) {
        let Some((node, id)) = self.target(input) else { return };
        let mut due = self.stale(node);
        if self.is_array(id) {
            due.push(ErrorKind::WrongType);
        }
        let result = self.doc_mut().order(node);
        self.judge(result, &due, &[]);
    }

    fn reserve(&mut self, input: &mut Input<'_>) {
        let Some((node, id)) = self.target(input) else { return };
        let additional = input.below(64);
        let due = self.stale(node);
        let result = self.doc_mut().reserve(node, additional);
        if self.judge(result, &due, &[]).is_some() && self.is_array(id) {
            // What was promised: as many pushes without a byte more.
            let used = self.doc().as_bytes().len();
            // The log of a transaction may have no room.
            let log = S::FIXED && !self.before.is_empty();
            if self.length(id) == 0 && input.one_in(4) && !log {
                for number in 0..additional {
                    self.doc_mut().push(node, number as i64).expect("reserved");
                    if let Body::Array(elements) = self.model.body_mut(id) {
                        elements.push(Item::Scalar(Tree::Int(number as i64)));
                    }
                }
                assert_eq!(self.doc().as_bytes().len(), used, "reserved room was not enough");
            }
        }
    }

    fn rename(&mut self, input: &mut Input<'_>) {
        let Some((node, id)) = self.target(input) else { return };
        let (At::Key(from, _), At::Key(to, _)) = (self.at(input, id), self.at(input, id)) else {
            return;
        };
        let to = if input.one_in(2) { key(input) } else { to };
        let mut due = self.stale(node);
        if to.len() > self.limits.string as usize {
            due.push(ErrorKind::StringLimit);
        }
        if self.is_array(id) {
            due.push(ErrorKind::WrongType);
        } else if !self.model.is_freed(id) {
            if self.model.member(id, &from).is_none() {
                due.push(ErrorKind::NotFound);
            }
            if from != to && self.model.member(id, &to).is_some() {
                due.push(ErrorKind::KeyExists);
            }
        }
        self.note(|| format!("  container {id}: rename {from:?} to {to:?}"));
        let result = self.doc_mut().rename(node, &from, &to);
        if self.judge(result, &due, &[]).is_some() {
            self.model.rename(id, &from, &to);
        }
    }

    fn detach(&mut self, input: &mut Input<'_>) {
        let Some((node, id)) = self.target(input) else { return };
        let at = self.at(input, id);
        let mut due = self.stale(node);
        if due.is_empty() && self.is_array(id) != matches!(at, At::Index(_)) {
            due.push(ErrorKind::WrongType);
        }
        self.note(|| format!("  container {id}: detach {at:?}"));
        let doc = self.doc_mut();
        let result = if input.one_in(4) {
            doc.node_mut(node).and_then(|mut cursor| with_at!(&at, |at| cursor.detach(at)))
        } else {
            with_at!(&at, |at| doc.detach(node, at))
        };
        let Some(detached) = self.judge(result, &due, &[]) else { return };
        let item = self.take(id, &at);
        assert_eq!(detached.is_some(), item.is_some(), "whether something was detached");
        let (Some(what), Some(item)) = (detached, item) else { return };
        let generation = self.generation;
        self.detached.push(Held { what, item, generation });
    }

    fn discard(&mut self, input: &mut Input<'_>) {
        if self.detached.is_empty() {
            return;
        }
        let held = self.detached.swap_remove(input.below(self.detached.len()));
        let (mut due, mut maybe) = (Vec::new(), Vec::new());
        if self.generation > held.generation {
            due.push(ErrorKind::StaleHandle);
        } else {
            if self.model.height(&held.item) > usize::from(self.limits.nesting) {
                maybe.push(ErrorKind::NestingLimit);
            }
        }
        let result = self.doc_mut().discard(held.what);
        if self.judge(result, &due, &maybe).is_some() {
            self.free(held.item);
        }
    }

    fn compact(&mut self) {
        // Edits of tables have a test of their own, with their own rules of order.
        let plain = EncodeOptions { tables: false, ..EncodeOptions::default() };
        let result = self.doc_mut().compact_with(plain);
        // A detached container may have grown beyond the limit, a compact form may too.
        if self.judge(result, &[], &[]).is_some() {
            self.generation += 1;
            self.model.compact();
            assert!(self.doc().is_trusted());
        }
    }

    fn set_wipe(&mut self, input: &mut Input<'_>) {
        let wipe = input.one_in(2);
        self.wiped &= wipe;
        self.doc_mut().set_wipe(wipe);
    }

    fn reopen(&mut self, input: &mut Input<'_>) {
        if !self.before.is_empty() {
            return self.roll_back();
        }
        let Some(doc) = self.doc.take() else { return };
        let mut doc = Editor::open_unvalidated(doc.into_storage()).expect("sound");
        Shadow::listen(&mut doc);
        self.replaced = 0;
        assert!(!doc.is_trusted());
        doc.set_limits(self.limits);
        if input.one_in(4) {
            // Freed space is lost until the document is trusted, and not wiped.
            self.wiped = false;
        } else {
            doc.validate().expect("valid");
            assert!(doc.is_trusted());
        }
        self.doc = Some(doc);
        self.generation += 1;
    }

    fn burst_of_keys(&mut self, input: &mut Input<'_>) {
        let Some((node, id)) = self.target(input) else { return };
        if !self.stale(node).is_empty() || self.is_array(id) {
            return;
        }
        let (count, first, step) =
            (10 + input.below(300), input.below(600), 1 + 2 * input.below(50));
        let collide = input.one_in(4);
        for number in 0..count {
            let number = (first + number * step) % 640;
            let key = if collide && number % 16 != 0 {
                colliding()[number % colliding().len()].clone()
            } else if number.is_multiple_of(5) {
                format!("a common prefix {number}")
            } else {
                format!("m{number}")
            };
            let old = self.model.member(id, &key).cloned();
            if key.len() > self.limits.string as usize || matches!(old, Some(Item::Node(_))) {
                continue;
            }
            let result = self.doc_mut().set(node, &*key, number as i64);
            if self.judge(result, &[], &[]).is_none() {
                // The failing step changed nothing, but those before did.
                self.failed = self.log_is_full();
                return;
            }
            self.model.set_member(id, &key, Item::Scalar(Tree::Int(number as i64)));
        }
    }

    fn burst_of_removals(&mut self, input: &mut Input<'_>) {
        let Some((node, id)) = self.target(input) else { return };
        if !self.stale(node).is_empty() || self.is_array(id) {
            return;
        }
        let Body::Object(places, _) = self.model.body(id) else { return };
        let keys: Vec<String> = places
            .iter()
            .filter(|place| matches!(place.1, Some(Item::Scalar(_))))
            .map(|place| place.0.clone())
            .collect();
        let (step, start) = (1 + input.below(4), input.below(4));
        for key in keys.iter().skip(start).step_by(step) {
            let done = self.doc_mut().remove(node, &**key);
            if let Some(done) = self.judge(done, &[], &[]) {
                assert!(done);
                self.model.take_member(id, key);
            }
        }
    }

    fn burst_of_elements(&mut self, input: &mut Input<'_>) {
        let Some((node, id)) = self.target(input) else { return };
        if !self.stale(node).is_empty() || !self.is_array(id) {
            return;
        }
        let kind = input.byte() % 4;
        for number in 0..input.below(200) {
            let tree = match kind {
                0 => Tree::Int(number as i64),
                1 => Tree::Bool(number.is_multiple_of(3)),
                2 => Tree::Float(0.5f64.to_bits()),
                _ => Tree::String(text(number as u8, number % 10)),
            };
            if longest(&tree) > self.limits.string as usize {
                return;
            }
            let fresh = Fresh::Scalar(tree.clone());
            let result = fresh.with_new(|new| self.doc_mut().push(node, new));
            if self.judge(result, &[], &[]).is_none() {
                self.failed = self.log_is_full();
                return;
            }
            if let Body::Array(elements) = self.model.body_mut(id) {
                elements.push(Item::Scalar(tree));
            }
        }
    }

    fn foreign_handle(&mut self, input: &mut Input<'_>) {
        let mut other = DocBuf::new().expect("memory");
        let node = other.set_root(New::object(1)).expect("room").expect("a container");
        let doc = self.doc_mut();
        let stale = |error: Error| assert_eq!(error.kind(), ErrorKind::StaleHandle);
        match input.byte() % 4 {
            0 => stale(doc.set(node, "a", 1).expect_err("stale")),
            1 => stale(doc.remove(node, "a").expect_err("stale")),
            2 => stale(doc.clear(node).expect_err("stale")),
            _ => stale(doc.child(node, "a").expect_err("stale")),
        }
        self.failed = true;
    }

    /// A text that grows byte by byte in its place.
    fn grow_text(&mut self, input: &mut Input<'_>) {
        let Some((node, id)) = self.target(input) else { return };
        if !self.stale(node).is_empty() {
            return;
        }
        let at = self.at(input, id);
        let first = input.below(60);
        let down = input.one_in(3);
        for length in first..first + 12 {
            let length = if down { 2 * first + 12 - length } else { length };
            if length > self.limits.string as usize || !self.doc().is_current(node) {
                return;
            }
            let tree = Tree::String(text(length as u8, length));
            self.set_at(node, id, &at, Given::Fresh(Box::new(Fresh::Scalar(tree))), false);
            if self.failed {
                self.failed = self.log_is_full();
                return;
            }
        }
    }
}

/// What an edit stores, for the model.
enum GivenItem {
    Tree(Tree),
    Item(Item),
}

/// A key by its text, or as a remembered one.
fn named(key: &str, input: &mut Input<'_>) -> At {
    let number = KEYS.iter().position(|&known| known == key);
    At::Key(key.to_owned(), number.filter(|_| input.one_in(2)))
}

/// Bytes of the longest text in a tree, keys included.
fn longest(tree: &Tree) -> usize {
    match tree {
        Tree::String(text) | Tree::Number(text) => text.len(),
        Tree::Bytes(bytes) => bytes.len(),
        Tree::Array(elements) => elements.iter().map(longest).max().unwrap_or(0),
        Tree::Object(members, _) => {
            members.iter().map(|member| member.0.len().max(longest(&member.1))).max().unwrap_or(0)
        }
        _ => 0,
    }
}
