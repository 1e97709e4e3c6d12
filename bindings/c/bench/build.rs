//! Compiles the C side of the benchmark, as a user's program would be; with `LITE3` that of
//! Lite³, too.
use std::path::PathBuf;

fn main() {
    println!("cargo::rerun-if-changed=src");
    println!("cargo::rerun-if-changed=../include/livebuf.h");
    println!("cargo::rerun-if-env-changed=LITE3");
    println!("cargo::rustc-check-cfg=cfg(lite3)");
    let build = |extensions: &str| {
        let mut build = cc::Build::new();
        build.include("../include").std("gnu11").opt_level(2).flag_if_supported("-Wextra");
        build.flag_if_supported(extensions);
        build
    };
    build("-Wextra").file("src/tasks.c").compile("livebuf_c_tasks");
    // As Lite³ is.
    build("-march=native")
        .files(["src/maps.c", "src/rows.c", "src/stamp.c"])
        .compile("livebuf_c_rows");
    if let Some(lite3) = std::env::var_os("LITE3").map(PathBuf::from) {
        println!("cargo::rustc-cfg=lite3");
        build("-march=native")
            .files([lite3.join("src/lite3.c"), "src/lite3.c".into()])
            .include(lite3.join("include"))
            .warnings(false)
            .compile("livebuf_c_lite3");
    }
}
