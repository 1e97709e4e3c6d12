//! The `livebuf` command, for `python -m livebuf` and the script that the wheel installs.

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs the command with these arguments, the first of which is its name. Returns its exit status.
#[pyfunction]
pub(crate) fn _command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    #[cfg(unix)]
    livebuf_cli::replace_closed_streams();
    py.detach(|| livebuf_cli::run(arguments))
}
