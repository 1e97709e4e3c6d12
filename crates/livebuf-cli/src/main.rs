//! The program `livebuf`.

use std::process::ExitCode;

// Systems call the functions in these sections before `main`.
#[cfg(unix)]
#[used]
#[allow(unsafe_code)]
#[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
#[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
static LOOK: extern "C" fn() = livebuf_cli::look_at_streams;

fn main() -> ExitCode {
    livebuf_cli::run(std::env::args_os()).into()
}
