//! Names the shared library for the dynamic linker. Before 1.0 each minor version may
//! change the interface, so the name has both numbers.
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let version = std::env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let mut parts = version.split('.');
    let (major, minor) = (parts.next().unwrap_or("0"), parts.next().unwrap_or("0"));
    let abi = if major == "0" { format!("0.{minor}") } else { major.to_owned() };
    match std::env::var("CARGO_CFG_TARGET_OS").as_deref() {
        Ok("macos" | "ios") => {
            println!(
                "cargo::rustc-cdylib-link-arg=-Wl,-install_name,@rpath/liblivebuf.{abi}.dylib"
            );
        }
        Ok("windows" | "none") | Err(_) => {}
        Ok(_) => println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,liblivebuf.so.{abi}"),
    }
}
