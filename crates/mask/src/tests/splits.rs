//! The laws: the output is the same for all cuts of a text, output is never retracted, and masked text stays as it
//! is.

use super::samples::{Random, samples};
use super::{in_pieces, masker};
use crate::Masker;

/// A text with every sample, in which every place is near a secret.
fn all(seed: u64) -> String {
    samples(seed).iter().map(|sample| format!("{}\n", sample.text)).collect()
}

#[test]
fn every_sample_cut_at_every_byte_is_masked_as_the_whole() {
    let mut masker = masker();
    masker.register("registered s3cret/value");
    for sample in samples(1) {
        let text = format!("{} registered s3cret/value ", sample.text);
        let whole = masker.mask(text.as_bytes());
        for cut in 0..=text.len() {
            let (one, two) = text.as_bytes().split_at(cut);
            assert_eq!(in_pieces(&masker, [one, two]), whole, "{text:?} cut at {cut}");
        }
        assert_eq!(in_pieces(&masker, text.as_bytes().chunks(1)), whole, "{text:?} byte by byte");
    }
}

#[test]
fn all_samples_in_one_text_cut_at_random_are_masked_as_the_whole() {
    let masker = masker();
    let text = all(2);
    let whole = masker.mask(text.as_bytes());
    for seed in 0..40 {
        let mut random = Random(seed);
        let mut pieces = Vec::new();
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            let most = [2, 9, 80, 4096][random.below(4)];
            let (piece, after) = rest.split_at((1 + random.below(most)).min(rest.len()));
            pieces.push(piece);
            rest = after;
        }
        assert!(in_pieces(&masker, pieces) == whole, "seed {seed}");
    }
}

#[test]
fn what_came_out_is_a_beginning_of_the_masked_text_and_what_is_held_back_is_bounded() {
    let masker = masker();
    let text = all(3);
    let whole = masker.mask(text.as_bytes());
    let mut stream = masker.stream();
    let mut out = Vec::new();
    let mut most = 0;
    for byte in text.as_bytes() {
        stream.push(&[*byte], &mut out);
        most = most.max(stream.held());
        assert!(whole.starts_with(&out));
    }
    stream.end(&mut out);
    assert!(out == whole && stream.held() == 0);
    assert!(most < 8 * 1024, "{most} bytes were held back");
}

#[test]
fn a_secret_without_an_end_is_held_in_bounded_memory() {
    let masker = masker();
    let head = format!("-----BEGIN {} KEY-----\n", "PRIVATE");
    for (head, line) in [
        (head.as_str(), "MIIabcd0123456789ABCDEFGHIJ+/xyz\n"),
        ("sk-ant-", "a1B2c3D4e5F6"),
        ("password=\"a", "b1!Kq7"),
    ] {
        let mut stream = masker.stream();
        let mut out = Vec::new();
        stream.push(head.as_bytes(), &mut out);
        for _ in 0..20_000 {
            stream.push(line.as_bytes(), &mut out);
        }
        assert!(stream.held() < 16 * 1024, "{head}: {} bytes", stream.held());
        stream.end(&mut out);
        let out = String::from_utf8(out).unwrap();
        assert!(out.len() < 100 && out.contains("[masked:"), "{out}");
    }
}

#[test]
fn masked_text_stays_as_it_is() {
    let mut masker = masker();
    masker.register("registered s3cret/value");
    for seed in 0..4 {
        for sample in samples(seed) {
            for glue in ["", " ", "x", "\"", "registered s3cret/value"] {
                let text = format!("{glue}{}{glue}", sample.text);
                let once = masker.mask_text(&text);
                assert_eq!(masker.mask_text(&once), once, "{text:?}");
            }
        }
    }
}

#[test]
fn text_that_is_flushed_shows_no_secret() {
    let masker = masker();
    for sample in samples(5).iter().filter(|sample| sample.is_secret) {
        let mut stream = masker.stream();
        let mut out = Vec::new();
        for byte in sample.text.as_bytes() {
            stream.push(&[*byte], &mut out);
            stream.flush(&mut out);
        }
        stream.end(&mut out);
        let out = String::from_utf8(out).unwrap();
        assert_eq!(super::samples::leak(sample, &out), None, "{:?} became {out:?}", sample.text);
    }
    let masker = Masker::new(crate::Tiers::ALL, &[7; 32]);
    let shown = |text: &str| {
        let (mut stream, mut out) = (masker.stream(), Vec::new());
        stream.push(text.as_bytes(), &mut out);
        stream.flush(&mut out);
        String::from_utf8(out).unwrap()
    };
    assert_eq!(shown("a gh"), "a gh");
    assert_eq!(shown("a ghp_abc"), "a ");
}

#[test]
fn registered_values_are_found_in_every_encoding_and_every_split() {
    let value = "T0p/s3cret+\"word\" é";
    let mut masker = Masker::new(crate::Tiers::REGISTERED, &[9; 32]);
    assert!(masker.register(value) && !masker.register("short"));
    let mut json = String::new();
    thinkthrough_json::write_escaped(value, &mut json);
    let hex: String = value.bytes().map(|byte| format!("{byte:02X}")).collect();
    let percent: String = value
        .bytes()
        .map(|byte| {
            if byte.is_ascii_alphanumeric() {
                char::from(byte).to_string()
            } else {
                format!("%{byte:02x}")
            }
        })
        .collect();
    // Computed by hand: the letters of `base64` for the value with zero, one and two letters before it.
    let encoded =
        ["VDBwL3MzY3JldCsid29yZCIgw6", "QwcC9zM2NyZXQrIndvcmQiIMOp", "UMHAvczNjcmV0KyJ3b3JkIiDDq"];
    let mut forms = vec![value.to_owned(), json, hex, percent];
    forms.extend(encoded.map(str::to_owned));
    for form in forms {
        let text = format!("before {form} behind");
        let whole = masker.mask_text(&text);
        assert!(whole.contains("[masked:registered:"), "{form}: {whole}");
        for part in (0..form.len()).filter_map(|at| form.get(at..at + 8)) {
            assert!(!whole.contains(part), "{form}: {whole}");
        }
        for cut in 0..=text.len() {
            let (one, two) = text.as_bytes().split_at(cut);
            assert_eq!(in_pieces(&masker, [one, two]), whole.as_bytes(), "{form} cut at {cut}");
        }
    }
}

proptest::proptest! {
    /// Any text made of the pieces that rules look for, cut anywhere.
    #[test]
    fn any_text_is_masked_as_the_whole_and_stays(pieces in proptest::collection::vec(0_usize..WORDS.len(), 0..40), step in 1_usize..30) {
        let mut masker = masker();
        masker.register("registered s3cret/value");
        masker.register("$ign3d$value$");
        let text: String = pieces.iter().map(|at| WORDS[*at]).collect();
        let whole = masker.mask(text.as_bytes());
        assert!(in_pieces(&masker, text.as_bytes().chunks(step)) == whole, "{text:?} in pieces of {step}");
        assert!(in_pieces(&masker, text.as_bytes().chunks(1)) == whole, "{text:?} byte by byte");
        let again = masker.mask(&whole);
        assert_eq!(String::from_utf8_lossy(&again), String::from_utf8_lossy(&whole), "{text:?}");
    }
}

const WORDS: [&str; 68] = [
    "ghp_",
    "sk-",
    "sk-ant-",
    "AKIA",
    "eyJhbGciOiJIUzI1NiJ9",
    ".",
    "eyJzdWIiOiIxMjM0NSJ9",
    "password",
    "secret",
    "token",
    "api_key",
    "=",
    ":",
    " is ",
    "\"",
    "'",
    "`",
    " ",
    "\n",
    "\\n",
    "\\\"",
    "://",
    "user",
    ":p4ss0w",
    "@",
    "host",
    "a1B2c3D4e5F6g7H8",
    "0123456789abcdef",
    "ABCDEFGHIJKLMNOPQRST",
    "registered s3cret/value",
    "$ign3d$value$",
    "[masked:",
    "password:abcdef]",
    "]",
    "[",
    "-----BEGIN ",
    "PRIVATE KEY",
    "-----",
    "-----END ",
    "MIIEvQIBADANBgkqhkiG9w0B\n",
    "Authorization",
    "Bearer ",
    "Cookie: ",
    ";",
    ",",
    "é",
    "x",
    "Z9",
    "datadog",
    "twilio",
    "Version: 1\n",
    "{",
    "kind: Secret\n",
    "data:\n  a: ",
    " pass",
    "log in ",
    "use ",
    " as ",
    "stone47river",
    "/",
    "csrf",
    "xoxe-1-",
    "7aB9xQ2zK5mW8rT3vY6n",
    "3f9a12bc3f9a12bd",
    "-us12",
    "tt-12345-",
    "123456789012345|",
    "_mmk",
];
