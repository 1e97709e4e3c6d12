//! Runs the oracle on what the fuzzer gives.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    livebuf_fuzz::queries(data);
});
