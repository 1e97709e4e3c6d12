//! Tells the code for which version of Python it is compiled, by names such as `Py_3_14`.

fn main() {
    pyo3_build_config::use_pyo3_cfgs();
}
