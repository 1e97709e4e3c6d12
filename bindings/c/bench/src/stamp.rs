//! The three-field message from a template, in C and Rust, and from nothing in Rust, against three
//! sets through Lite³.

use std::ffi::c_int;
use std::hint::black_box;

use anyhow::{Result, ensure};
use livebuf::{Doc, Editor, New, Template};

use crate::{contest, results};

type Stamp = unsafe extern "C" fn(*mut u8, usize, *mut usize) -> c_int;

unsafe extern "C" {
    fn c_stamp_prepare() -> c_int;
    fn c_stamp(buffer: *mut u8, capacity: usize, length: *mut usize) -> c_int;
    fn c_stamp_doc(buffer: *mut u8, capacity: usize, length: *mut usize) -> c_int;
    #[cfg(lite3)]
    fn lite3_message_is_right(bytes: *const u8, length: usize) -> bool;
    #[cfg(lite3)]
    fn lite3_build(buffer: *mut u8, capacity: usize, length: *mut usize) -> c_int;
}

#[repr(align(64))]
#[derive(Clone, Copy)]
struct Buffer([u8; 256]);

/// One line: all buffers in turn, each dirty from the time before.
fn row(name: &str, ours: &mut dyn FnMut(&mut [u8; 256])) {
    let task = format!("c/message of three fields, {name}");
    if !results::wanted(&task) {
        return;
    }
    let mut buffers = vec![Buffer([0xA5; 256]); 32];
    let mut others = buffers.clone();
    let theirs = |buffer: &mut [u8; 256]| {
        #[cfg(lite3)]
        {
            let mut length = 0;
            // SAFETY: the buffer has at least as many bytes as the call is told.
            let status = unsafe { lite3_build(buffer.as_mut_ptr(), 256, &mut length) };
            black_box((status, length));
        }
        black_box(buffer);
    };
    let [ours, theirs] = contest(
        32,
        || buffers.iter_mut().for_each(|buffer| ours(&mut buffer.0)),
        || others.iter_mut().for_each(|buffer| theirs(&mut buffer.0)),
    );
    match cfg!(lite3) {
        true => {
            println!("| {name} | {:.1} | {:.1} | {:.2} |", ours[0], theirs[0], ours[0] / theirs[0]);
            results::add(&task, &[("livebuf", &ours), ("Lite³, three sets", &theirs)]);
        }
        false => {
            println!("| {name} | {:.1} | – | – |", ours[0]);
            results::add(&task, &[("livebuf", &ours)]);
        }
    }
}

pub(crate) fn run() -> Result<()> {
    println!(
        "\n| a message of three fields | LiveBuf, ns | Lite³, ns | ratio |\n|---|---|---|---|"
    );
    // SAFETY: the function takes nothing from its caller.
    ensure!(unsafe { c_stamp_prepare() } == 0);
    for (name, stamp) in [("C: stamp", c_stamp as Stamp), ("C: stamp and open", c_stamp_doc)] {
        let by_c = |buffer: &mut [u8; 256]| {
            let mut length = 0;
            // SAFETY: the buffer has at least as many bytes as the call is told.
            let status = unsafe { stamp(buffer.as_mut_ptr(), 256, &mut length) };
            black_box((status, length))
        };
        let mut buffer = [0xA5; 256];
        ensure!(by_c(&mut buffer).0 == 0);
        check(&buffer)?;
        row(name, &mut |buffer| {
            by_c(buffer);
        });
    }

    let fields = [("event", New::Str("")), ("lap", New::Int(0)), ("time_sec", New::Float(0.0))];
    let places = ["/event", "/lap", "/time_sec"];
    let mut memory = [0; 1024];
    let fixed = Template::new_in(New::Fields(&fields), &places, &mut memory)?;
    let template = Template::new(New::Fields(&fields), &places)?;
    let at_once = |buffer: &mut [u8; 256]| {
        let values = ["lap_complete".into(), 55.into(), 88.427.into()];
        black_box(template.stamp_into(buffer, black_box(&values)).is_ok())
    };
    let one_by_one = |buffer: &mut [u8; 256]| {
        let made = fixed.begin(&mut buffer[..]).and_then(|mut stamp| {
            stamp.set(0, black_box("lap_complete"))?;
            stamp.set(1, black_box(55))?;
            stamp.set(2, black_box(88.427))?;
            Ok(black_box(stamp.as_bytes().len()))
        });
        made.is_ok()
    };
    let mut vector = Vec::new();
    let mut to_vec = |buffer: &mut [u8; 256]| {
        let values = ["lap_complete".into(), 55.into(), 88.427.into()];
        let made = template.stamp_vec(&mut vector, black_box(&values));
        made.map(|doc| buffer[..doc.as_bytes().len()].copy_from_slice(doc.as_bytes())).is_ok()
    };
    try_out("Rust: object and three sets", |buffer| by_sets(buffer).is_ok())?;
    try_out("Rust: Fields", |buffer| by_fields(buffer).is_ok())?;
    try_out("Rust: stamp_into", at_once)?;
    try_out("Rust: begin and three sets", one_by_one)?;
    try_out("Rust: stamp_vec, and a copy of it", &mut to_vec)
}

/// The message by sets, as the pages show it.
fn by_sets(buffer: &mut [u8; 256]) -> livebuf::Result<usize> {
    let mut doc = Editor::create(&mut buffer[..])?;
    if let Some(root) = doc.set_root(New::object(3))? {
        doc.set(root, "event", black_box("lap_complete"))?;
        doc.set(root, "lap", black_box(55))?;
        doc.set(root, "time_sec", black_box(88.427))?;
    }
    Ok(black_box(doc.as_bytes().len()))
}

/// The message at once.
fn by_fields(buffer: &mut [u8; 256]) -> livebuf::Result<usize> {
    let fields = [
        ("event", New::Str(black_box("lap_complete"))),
        ("lap", New::Int(black_box(55))),
        ("time_sec", New::Float(black_box(88.427))),
    ];
    let mut doc = Editor::create(&mut buffer[..])?;
    doc.set_root(New::Fields(&fields))?;
    Ok(black_box(doc.as_bytes().len()))
}

/// Checks a way, and prints its line.
fn try_out(name: &str, mut way: impl FnMut(&mut [u8; 256]) -> bool) -> Result<()> {
    let mut buffer = [0xA5; 256];
    ensure!(way(&mut buffer));
    check(&buffer)?;
    row(name, &mut |buffer| {
        way(buffer);
    });
    Ok(())
}

/// Checks the message, and the peer's.
pub(crate) fn check(bytes: &[u8]) -> Result<()> {
    #[cfg(lite3)]
    {
        let (mut theirs, mut length) = ([0xA5_u64; 128], 0);
        let start = theirs.as_mut_ptr().cast::<u8>();
        // SAFETY: the buffer has at least as many bytes as the call is told.
        ensure!(unsafe { lite3_build(start, 1024, &mut length) } == 0);
        // SAFETY: as many bytes were written.
        ensure!(unsafe { lite3_message_is_right(start, length) });
    }
    let root = Doc::open(bytes)?.validate()?.root();
    let event = root.get("event").and_then(|event| event.as_str());
    ensure!(event == Some("lap_complete"), "{event:?}");
    ensure!(root.get("lap").is_some_and(|lap| lap == 55));
    ensure!(root.get("time_sec").is_some_and(|time| time == 88.427));
    Ok(())
}
