//! `livebuf.Decoder`: documents as objects of a type.
//!
//! | module | job |
//! |---|---|
//! | `failure` | what is wrong with a value, and where it is |
//! | `plan` | a type, compiled once |
//! | `decode` | values by a plan |
//! | `decoder` | the class; where documents come from |

mod decode;
pub(crate) mod decoder;
mod failure;
mod plan;
