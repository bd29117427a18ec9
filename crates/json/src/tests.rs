use super::*;

#[test]
fn reads_members_items_and_spans() {
    let text = r#" {"a":[1,{"b":"x\ny"},null],"a2":true,"a":2.0,"s":"\ud83d\ude00\ud800z"} "#;
    let doc = Doc::parse(text.as_bytes()).unwrap();
    let root = doc.root();
    assert_eq!(root.u64("a"), Some(2), "of duplicate keys the last counts");
    let (_, first) = root.entries().next().unwrap();
    assert_eq!(first.items().count(), 3);
    assert_eq!(first.items().nth(1).unwrap().text("b").unwrap(), "x\ny");
    assert_eq!(first.raw(), r#"[1,{"b":"x\ny"},null]"#);
    assert_eq!(text.get(first.span()), Some(first.raw()));
    assert_eq!(root.bool("a2"), Some(true));
    assert_eq!(root.text("s").unwrap(), "😀\u{fffd}z");
}

#[test]
fn keeps_numbers_that_no_float_holds() {
    let raw = Raw::parse("[1e400,12345678901234567890123,-0,1.0]").unwrap();
    assert_eq!(raw.as_str(), "[1e400,12345678901234567890123,-0,1.0]");
}

#[test]
fn refuses_what_is_not_json() {
    for bad in [
        "",
        " ",
        "{",
        "[1,]",
        "{\"a\":1,}",
        "01",
        "1.",
        "+1",
        "nul",
        "\"\t\"",
        "\"\\x\"",
        "\"\\u12g4\"",
        "[1 2]",
        "{1:2}",
        "NaN",
        "[",
        "]",
        "{]",
        "[}",
        "1 2",
        "'a'",
        "{\"a\" 1}",
        "-",
        "1e",
        "\"",
    ] {
        assert!(Doc::parse(bad.as_bytes()).is_err(), "{bad:?}");
    }
    assert_eq!(Doc::parse(b"\"\xff\"").unwrap_err().kind, JsonErrorKind::NotUtf8);
    let deep = "[".repeat(129) + &"]".repeat(129);
    assert_eq!(Doc::parse(deep.as_bytes()).unwrap_err().kind, JsonErrorKind::TooDeep);
    let seven = br#"{"a":[1,2],"b":0}"#;
    assert_eq!(Doc::parse_within(seven, 7).unwrap().values(), 7);
    assert_eq!(Doc::parse_within(seven, 6).unwrap_err().kind, JsonErrorKind::TooMany(6));
    let doc = Doc::parse(br#"{"a":[[],{"x":[1,2,3],"y":{}}],"b":0,"c":[{"x":0}]}"#).unwrap();
    assert_eq!((doc.longest(Kind::Array), doc.longest(Kind::Object)), (3, 3));
    let allowed = "[".repeat(128) + &"]".repeat(128);
    assert!(Doc::parse(allowed.as_bytes()).is_ok());
}

#[test]
fn writes_and_reads_back() {
    let text = "quote \" backslash \\ newline \n bell \u{7} e\u{301} 😀";
    let raw = Raw::build(|w| w.object(|w| w.field_str("k\"", text)));
    assert_eq!(raw.doc().root().text("k\"").unwrap(), text);
    assert!(serde_json::from_str::<serde_json::Value>(raw.as_str()).is_ok());
}

proptest::proptest! {
    #[test]
    fn the_end_of_a_run_is_found_in_any_bytes(
        plain in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..40),
        filler in "[a-zé😀]{0,20}",
    ) {
        let bytes = [filler.as_bytes(), &plain].concat();
        let slow = bytes.iter().position(|&b| b == b'"' || b == b'\\' || b < 0x20);
        proptest::prop_assert_eq!(parse::string_end(&bytes), slow);
    }

    #[test]
    fn agrees_with_serde_json(text in "[\\[\\]{}:,\"\\\\a0-9.eE+ \\-tfn]{0,24}") {
        let ours = Doc::parse(text.as_bytes());
        let theirs: Result<&serde_json::value::RawValue, _> = serde_json::from_str(&text);
        proptest::prop_assert_eq!(ours.is_ok(), theirs.is_ok(), "{}", text);
    }

    #[test]
    fn strings_survive(text in "\\PC*") {
        let raw = Raw::string(&text);
        let doc = raw.doc();
        let back = doc.root().as_str().unwrap().into_owned();
        proptest::prop_assert_eq!(back, text);
    }
}
