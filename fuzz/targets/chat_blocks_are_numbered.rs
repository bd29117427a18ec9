#![no_main]

#[path = "../laws.rs"]
mod laws;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| laws::chat::blocks_are_numbered_as_they_appear(bytes));
