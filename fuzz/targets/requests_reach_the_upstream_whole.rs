#![no_main]

#[path = "../laws.rs"]
mod laws;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| laws::exchanges::requests_reach_the_upstream_whole(
    bytes
));
