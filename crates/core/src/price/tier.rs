//! Tiers and speeds that have prices of their own: asked for in requests, reported in answers.

use crate::answer::Answer;
use crate::json::{Raw, Val, at_path};

/// The members that name a tier or a speed, as paths joined by dots: those of requests, answers and usage objects.
const MEMBERS: [&str; 6] = [
    "service_tier",
    "serviceTier",
    "serviceTier.type",
    "speed",
    "performanceConfig.latency",
    "generationConfig.serviceTier",
];
/// The words for the usual price, or a lower one.
const USUAL: [&str; 10] = [
    "auto",
    "batch",
    "default",
    "flex",
    "normal",
    "null",
    "on_demand",
    "standard",
    "standard_only",
    "unspecified",
];

/// The tier or the speed that a body or a usage object names, if its price is not the model's usual one.
#[must_use]
pub fn unusual(value: Val<'_>) -> Option<String> {
    MEMBERS.iter().find_map(|path| {
        let named = value.dotted(path).filter(|named| !named.is_object())?;
        let word =
            named.as_str().map_or_else(|| named.raw().to_owned(), std::borrow::Cow::into_owned);
        let is_usual = USUAL.contains(&&*word.to_ascii_lowercase());
        (!is_usual).then_some(word)
    })
}

/// Whether an answer reports such a tier beside its usage.
#[must_use]
pub fn is_reported(answer: &Answer) -> bool {
    answer.extra.fields.iter().any(|field| is_member(&field.0, &field.1))
}

/// Whether this member of an answer reports such a tier.
#[must_use]
pub fn is_member(key: &str, value: &Raw) -> bool {
    let is_about = MEMBERS.iter().any(|path| path.split('.').next() == Some(key));
    is_about && unusual(at_path(key, value).doc().root()).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Doc;

    #[test]
    fn a_price_is_the_usual_one_only_if_every_member_says_so() {
        for (body, expected) in [
            ("{}", None),
            (r#"{"service_tier":"auto","speed":"standard"}"#, None),
            (r#"{"service_tier":null,"speed":null}"#, None),
            (r#"{"service_tier":"auto","speed":"fast"}"#, Some("fast")),
            (r#"{"service_tier":"priority","speed":"standard"}"#, Some("priority")),
            (r#"{"speed":"FAST"}"#, Some("FAST")),
            (r#"{"serviceTier":{"type":"priority"}}"#, Some("priority")),
            (r#"{"serviceTier":{"type":"default"}}"#, None),
            (r#"{"performanceConfig":{"latency":"optimized"}}"#, Some("optimized")),
            (r#"{"service_tier":["priority"]}"#, Some(r#"["priority"]"#)),
        ] {
            let unusual = unusual(Doc::parse_str(body).unwrap().root());
            assert_eq!(unusual.as_deref(), expected, "{body}");
        }
    }
}
