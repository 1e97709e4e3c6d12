//! Reading and in-place edits allocate nothing: counted by the global allocator.
//!
//! Each thread counts its own: the test harness allocates beside the test.

use livebuf::{Editor, Key, New, json};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    /// Needs no destructor, so an allocator may read it at any time.
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

#[allow(unsafe_code)]
// SAFETY: forwards to the system allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: everything is passed on as it came, and the system's allocator asks the same
        // of it.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: everything is passed on as it came, and the system's allocator asks the same
        // of it.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn reading_and_editing_allocate_nothing() {
    let source = json!({
        "name": "a text that lies elsewhere", "rows": [{"x": 1}, {"x": 2}], "deep": {"a": [1, [2]]}
    });
    let graft = json!({"grafted": ["more", {"x": 3}]});
    let mut buffer = vec![0xA5; 65_536];
    let mut scratch = vec![0; 65_536];
    let mut target = vec![0; 65_536];
    let keys: Vec<String> = (0..400).map(|index| format!("key number {index}")).collect();
    let before = ALLOCATIONS.get();

    let doc = source.doc().validate_in(&mut scratch).unwrap();
    assert_eq!(doc.pointer("/deep/a/1/0").unwrap().as_i64(), Some(2));
    let key = Key::new("x");
    let rows = doc.root().get("rows").unwrap().as_array().unwrap();
    assert_eq!(rows.iter().filter_map(|row| row.get(&key)?.as_i64()).sum::<i64>(), 3);
    for (key, value) in doc.root().as_object().unwrap().iter() {
        assert!(doc.root().get(key).unwrap().deep_eq(value, &mut 100).unwrap());
    }

    let mut edit = Editor::create(&mut buffer[..]).unwrap();
    let root = edit.set_root(New::object(2)).unwrap().unwrap();
    for key in &keys {
        edit.set(root, key.as_str(), key.as_str()).unwrap();
    }
    let list = edit.set(root, "list", New::array(0)).unwrap().unwrap();
    for index in 0..1000 {
        edit.push(list, index).unwrap();
    }
    edit.push(list, "now any values").unwrap();
    edit.push(list, graft.doc().root()).unwrap();
    edit.insert(list, 3, 0.5).unwrap();
    edit.rename(root, "list", "renamed").unwrap();
    edit.remove(root, keys[7].as_str()).unwrap();
    assert_eq!(edit.as_bytes().len(), edit.doc().as_bytes().len());
    edit.validate_in(&mut scratch).unwrap();
    assert!(edit.doc().root().as_object().unwrap().unwrap().prefix("key").next().is_some());
    assert!(edit.doc().compact_into(&mut target).unwrap() > 0);
    edit.set_pointer("/renamed/0", "text").unwrap();
    edit.clear(root).unwrap();
    let mut edit = Editor::create(&mut target[..]).unwrap();
    edit.set_root(New::object(2)).unwrap();
    edit.transaction(|edit| edit.set_pointer("/lap", 1)).unwrap();
    edit.begin_transaction().unwrap();
    edit.set_pointer("/lap", "a text that lies elsewhere").unwrap();
    edit.rollback_transaction().unwrap();
    assert_eq!(edit.pointer("/lap").unwrap().unwrap(), 1);

    let after = ALLOCATIONS.get();
    assert_eq!(after - before, 0, "allocations");
}
