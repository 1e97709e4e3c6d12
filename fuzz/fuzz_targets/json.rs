#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    livebuf_fuzz::json(data);
});
