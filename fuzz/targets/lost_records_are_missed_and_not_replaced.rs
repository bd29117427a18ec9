#![no_main]

#[path = "../laws.rs"]
mod laws;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    laws::exchanges::lost_records_are_missed_and_not_replaced(bytes)
});
