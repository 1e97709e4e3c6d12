//! A message built, read, edited and grown in a fixed buffer, without an allocator.

use livebuf::{Doc, Editor, ErrorKind, Key, New};

fn main() -> livebuf::Result<()> {
    let mut buffer = [0u8; 256];
    let mut message = Editor::create(&mut buffer[..])?;

    // Build it whole, or field by field.
    message.set_root(New::Fields(&[
        ("event", New::Str("lap_complete")),
        ("lap", New::Int(55)),
        ("time_sec", New::Float(88.427)),
    ]))?;
    println!("built:   {} bytes, {:?}", message.as_bytes().len(), message.doc());

    // Read it: opening looks at 32 bytes, nothing is parsed.
    static LAP: Key<'_> = Key::new("lap");
    let received = Doc::open(message.as_bytes())?;
    println!("lap:     {:?}", received.root().get(&LAP)?.and_then(|lap| lap.as_i64()));

    // Edit it where it lies.
    let root = message.root_id().expect("an object");
    message.set(root, &LAP, 56)?;
    message.set(root, "event", "pit")?;
    message.set(root, "driver", "Ada")?;
    message.remove(root, "time_sec")?;
    println!(
        "edited:  {} bytes, {:?}",
        message.as_bytes().len(),
        message.doc().root().as_object()?
    );

    // A full buffer says what is missing, and nothing has changed.
    let error = message.set(root, "note", "x".repeat(200).as_str()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoSpace);
    println!("too big: {error}");
    Ok(())
}
