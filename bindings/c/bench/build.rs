//! Compiles the C side of the benchmark, as a user's program would be.
fn main() {
    println!("cargo::rerun-if-changed=src/tasks.c");
    println!("cargo::rerun-if-changed=../include/livebuf.h");
    cc::Build::new()
        .file("src/tasks.c")
        .include("../include")
        .std("c11")
        .opt_level(2)
        .flag_if_supported("-Wextra")
        .compile("livebuf_c_tasks");
}
