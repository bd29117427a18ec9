//! The surroundings in which secrets are found, and bodies of which only strings are masked.

use super::masker;
use crate::{BROKEN, Opaque, mask_json};

#[test]
fn secrets_are_found_in_every_surrounding() {
    let masker = masker();
    let secret = format!("gh{}_{}", "p", "a1B2c3D4e5F6".repeat(3));
    for (before, behind) in [
        ("Now I see that the key is ", ", so I use it."),
        ("let key = \"", "\";"),
        ("{\"key\":\"", "\"}"),
        ("{\\\"key\\\":\\\"", "\\\"}"),
        ("key: ", "\nnext: 1"),
        ("https://host/path?key=", "&next=1"),
        ("https%3A%2F%2Fhost%2F%3Fkey%3D", "%26next"),
        ("export KEY='", "'"),
        ("| key | ", " |"),
        ("**", "**"),
        ("_", "_"),
        ("`", "`"),
        ("\\n", "\\nnext"),
        ("\\u0022", "\\u0022"),
        ("<b>", "</b>"),
        ("", ""),
        ("é", "é"),
    ] {
        let masked = masker.mask_text(&format!("{before}{secret}{behind}"));
        let covered = masked.strip_prefix(before).and_then(|rest| rest.strip_suffix(behind));
        assert!(
            covered.is_some_and(|it| it.starts_with("[masked:github-token:") && it.ends_with(']')),
            "{masked}"
        );
    }
}

#[test]
fn bodies_keep_what_is_opaque_and_every_other_byte() {
    let masker = masker();
    let secret = format!("gh{}_{}", "p", "a1B2c3D4e5F6".repeat(3));
    let body = format!(
        "{{ \"text\" : \"see {secret}\\u0020A\", \"n\":1.50,\n \"signature\":\"{secret}\",\"id\":\"{secret}\",\
         \"source\":{{\"media_type\":\"image/png\",\"data\":\"{secret}\"}},\"password\":\"hunter2x\",\"list\":[\"é\\/\"]}}"
    );
    let masked = mask_json(&masker, body.as_bytes(), Opaque::Kept).unwrap().unwrap();
    let masked = String::from_utf8(masked).unwrap();
    let tag = |text: &str| masker.mask_text(text);
    let expected =
        body.replacen(&format!("see {secret}\\u0020A"), &format!("see {} A", tag(&secret)), 1);
    let (before, _) = expected.split_once("\"hunter2x\"").unwrap();
    assert!(masked.starts_with(before), "{masked}");
    assert!(
        masked.contains("\"password\":\"[masked:password:")
            && masked.ends_with("\"list\":[\"é\\/\"]}"),
        "{masked}"
    );
    let all = mask_json(&masker, body.as_bytes(), Opaque::Masked).unwrap().unwrap();
    assert!(!String::from_utf8(all).unwrap().contains(&secret));
    assert_eq!(mask_json(&masker, b"{\"a\":[1,\"b\"]}", Opaque::Kept).unwrap(), None);
    assert!(mask_json(&masker, b"{", Opaque::Kept).is_err());
}

#[test]
fn a_member_by_which_something_is_found_is_no_secret() {
    let masker = masker();
    let drawn = "q8w2n5x7".repeat(3) + "k4j6h1";
    for (name, is_secret) in [("acme_key", true), ("cache_key", false), ("s3_key", false)] {
        let body = format!("{{\"{name}\":\"{drawn}\"}}");
        let masked = mask_json(&masker, body.as_bytes(), Opaque::Kept).unwrap();
        assert_eq!(masked.is_some(), is_secret, "{name}");
        assert_eq!(masker.mask_text(&body) != body, is_secret, "{name}");
    }
}

#[test]
fn a_secret_has_one_tag_under_one_key_and_another_under_another() {
    let mut one = masker();
    let mut two = crate::Masker::new(crate::Tiers::ALL, &[8; 32]);
    one.register("correct horse battery");
    two.register("correct horse battery");
    let plain = one.mask_text("correct horse battery");
    assert_eq!(one.mask_text("correct%20horse%20battery"), plain);
    assert_ne!(two.mask_text("correct horse battery"), plain);
    assert!(!format!("{one:?}").contains("correct"));
}

#[test]
fn a_masker_that_breaks_shows_nothing_of_its_text_and_works_on_with_the_next() {
    let breaking = masker().breaking_at("boom");
    assert_eq!(breaking.mask_text("before boom behind"), BROKEN);
    assert_eq!(breaking.mask_text("before and behind"), "before and behind");
    let (mut stream, mut out) = (breaking.stream(), Vec::new());
    for piece in ["shown, ", "and bo", "om and ", "more"] {
        stream.push(piece.as_bytes(), &mut out);
    }
    stream.end(&mut out);
    stream.push(b"; next", &mut out);
    stream.end(&mut out);
    assert_eq!(String::from_utf8(out).unwrap(), format!("shown, and {BROKEN}; next"));
}
