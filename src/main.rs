//! `think`: arguments, configuration and wiring; the logic lives in the crates.

fn main() {}
