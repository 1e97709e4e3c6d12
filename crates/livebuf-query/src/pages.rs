//! The Rust code of the pages, compiled and run. It is here since this crate's tests know the crates
//! that the pages show.

#[doc = include_str!("../../../README.md")]
struct Readme;

#[doc = include_str!("../../../docs/start.md")]
struct Start;

#[doc = include_str!("../../../docs/rust.md")]
struct Guide;

#[doc = include_str!("../../../docs/migrate.md")]
struct Migrate;

#[doc = include_str!("../../../docs/howto/change-a-field.md")]
struct ChangeAField;

#[doc = include_str!("../../../docs/howto/untrusted.md")]
struct Untrusted;
