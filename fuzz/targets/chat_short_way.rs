#![no_main]

#[path = "../laws.rs"]
mod laws;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| laws::chat::the_short_way_says_what_the_long_way_says(
    bytes
));
