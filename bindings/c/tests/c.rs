//! Runs the C and C++ tests (`run.sh`) on the libraries that cargo just made for this one.

use std::path::Path;
use std::process::{Command, exit};

fn main() {
    if !cfg!(target_os = "linux") {
        println!("skipped: the C tests know the libraries of Linux only");
        return;
    }
    let test = std::env::current_exe().expect("the path of this test");
    let built = test.parent().expect("a directory");
    let work = built.join("livebuf-c-tests");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/run.sh");
    match Command::new("sh").arg(script).arg(built).arg(work).status() {
        Ok(status) if status.success() => {}
        Ok(status) => exit(status.code().unwrap_or(1)),
        Err(error) => println!("skipped: all C tests, for want of a shell ({error})"),
    }
}
