# What one does here every day; `just` alone lists it. Everything also works without `just`.

_default:
    @just --list --unsorted

# Format, lints and the tests of the repository itself.
check:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets -- -D warnings
    cargo test --test tidy

# All tests; a filter picks some.
test *FILTER:
    cargo test --workspace {{FILTER}}

# Drives each law with random bytes for SECONDS, without any extra tool.
laws SECONDS="30":
    THINKTHROUGH_LAW_SECONDS={{SECONDS}} cargo test -p thinkthrough-core --test laws -- --nocapture

# Fuzzes one target, or all of them, with coverage guidance; needs a nightly toolchain and cargo-fuzz.
fuzz TARGET="" SECONDS="600":
    fuzz/run {{SECONDS}} {{TARGET}}

# Benchmarks, with their raw figures.
bench *ARGS:
    cargo bench --workspace {{ARGS}}

# Kills a gateway under load so often, on a file and on a server, and says what was lost: nothing may be.
kills COUNT="1000":
    THINKTHROUGH_KILLS={{COUNT}} cargo test --workspace --test cli serve_kills::k_1_whenever -- --nocapture

# The same with a program and tests that were built before (`target/debug/deps/cli-*`), beside other work.
kills-of THINK TESTS COUNT="1000":
    THINKTHROUGH_THINK={{THINK}} THINKTHROUGH_KILLS={{COUNT}} nice -n 19 {{TESTS}} serve_kills::k_1_whenever --nocapture

# The documentation of all crates, with warnings denied.
docs:
    RUSTDOCFLAGS="-D warnings -A rustdoc::private_intra_doc_links" cargo doc --workspace --no-deps

# Licences, sources and the walls around heavy crates; needs cargo-deny.
deny:
    cargo deny --workspace check

# Builds what is shipped, or only some STEPS of it, into target/packages.
package *STEPS:
    packaging/build {{STEPS}}

# Exactly what runs before a change is accepted.
ci *STEPS:
    .ci/run {{STEPS}}
