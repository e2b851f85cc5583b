//! Has the page embedded again when it was built again; `rust-embed` sees only the files that
//! were there before.

fn main() {
    println!("cargo::rerun-if-changed=../../web/dist");
}
