//! Enumerations, which an answer spells as names or as numbers.
//!
//! Clients that speak the API by its protocol buffers ask for numbers (`$alt=json;enum-encoding=int`), and some
//! servers send them unasked. The numbers are from `google.ai.generativelanguage.v1beta`; Vertex AI uses other
//! numbers for some of them, so only the numbers with the same meaning on both become names.

use crate::json::{Doc, Raw, Val};
use std::ops::Range;

/// An enumeration: the name of each number, and the numbers that mean the same everywhere.
struct Enumeration {
    names: &'static [&'static str],
    shared: Range<usize>,
}

const FINISH: Enumeration = Enumeration {
    names: &[
        "FINISH_REASON_UNSPECIFIED",
        "STOP",
        "MAX_TOKENS",
        "SAFETY",
        "RECITATION",
        "OTHER",
        "LANGUAGE",
        "BLOCKLIST",
        "PROHIBITED_CONTENT",
        "SPII",
        "MALFORMED_FUNCTION_CALL",
        "IMAGE_SAFETY",
        "UNEXPECTED_TOOL_CALL",
    ],
    shared: 1..6,
};

const BLOCK: Enumeration = Enumeration {
    names: &[
        "BLOCK_REASON_UNSPECIFIED",
        "SAFETY",
        "OTHER",
        "BLOCKLIST",
        "PROHIBITED_CONTENT",
        "IMAGE_SAFETY",
    ],
    shared: 1..5,
};

const PROBABILITY: Enumeration = Enumeration {
    names: &["HARM_PROBABILITY_UNSPECIFIED", "NEGLIGIBLE", "LOW", "MEDIUM", "HIGH"],
    shared: 0..5,
};

const CATEGORY: Enumeration = Enumeration {
    names: &[
        "HARM_CATEGORY_UNSPECIFIED",
        "HARM_CATEGORY_DEROGATORY",
        "HARM_CATEGORY_TOXICITY",
        "HARM_CATEGORY_VIOLENCE",
        "HARM_CATEGORY_SEXUAL",
        "HARM_CATEGORY_MEDICAL",
        "HARM_CATEGORY_DANGEROUS",
        "HARM_CATEGORY_HARASSMENT",
        "HARM_CATEGORY_HATE_SPEECH",
        "HARM_CATEGORY_SEXUALLY_EXPLICIT",
        "HARM_CATEGORY_DANGEROUS_CONTENT",
        "HARM_CATEGORY_CIVIC_INTEGRITY",
    ],
    shared: 7..12,
};

const MODALITY: Enumeration = Enumeration {
    names: &["MODALITY_UNSPECIFIED", "TEXT", "IMAGE", "VIDEO", "AUDIO", "DOCUMENT"],
    shared: 0..6,
};

/// Whether this is one of the API's own words for why a candidate ended.
pub(super) fn is_finish_reason(word: &str) -> bool {
    FINISH.names.contains(&word)
}

/// Reads why a candidate ended: the provider's name, or its number if that means different things on the two APIs. An
/// empty name and the number 0 give `None`.
pub(super) fn finish_reason(candidate: Val<'_>) -> Option<String> {
    let value = candidate.some("finishReason")?;
    match value.as_u64() {
        Some(0) => None,
        Some(number) => {
            Some(name(&FINISH, value).map_or_else(|| number.to_string(), str::to_owned))
        }
        None => value.as_str().filter(|word| !word.is_empty()).map(std::borrow::Cow::into_owned),
    }
}

/// Lists the spans of numbers in an answer or a chunk, with the names that replace them.
pub(super) fn named(message: Val<'_>) -> Vec<(Range<usize>, String)> {
    let mut all = Vec::new();
    each(message, &mut |enumeration, value| {
        if let Some(name) = name(enumeration, value) {
            all.push((value.span(), Raw::string(name).as_str().to_owned()));
        }
    });
    all
}

/// An answer, or a chunk of it, with numbers in place of names.
pub(super) fn numbered(message: &str) -> String {
    let Ok(doc) = Doc::parse_str(message) else { return message.to_owned() };
    let (mut out, mut at) = (String::with_capacity(message.len()), 0);
    let mut all = Vec::new();
    each(doc.root(), &mut |enumeration, value| {
        if let Some(number) = number(enumeration, value) {
            all.push((value.span(), number));
        }
    });
    all.sort_by_key(|(span, _)| span.start);
    for (span, number) in all {
        out.push_str(message.get(at..span.start).unwrap_or_default());
        out.push_str(&number);
        at = span.end;
    }
    out.push_str(message.get(at..).unwrap_or_default());
    out
}

fn name(enumeration: &Enumeration, value: Val<'_>) -> Option<&'static str> {
    let number = usize::try_from(value.as_u64()?).ok()?;
    let is_shared = enumeration.shared.contains(&number);
    enumeration.names.get(number).copied().filter(|_| is_shared)
}

/// The number of a name; digits stay unchanged, because they mean a number without a name.
fn number(enumeration: &Enumeration, value: Val<'_>) -> Option<String> {
    let name = value.as_str()?;
    let known = enumeration.names.iter().position(|known| *known == name);
    let is_number = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
    known.map(|at| at.to_string()).or_else(|| is_number.then(|| name.into_owned()))
}

/// Shows each enumeration of a message and its value.
fn each<'d>(message: Val<'d>, show: &mut dyn FnMut(&'static Enumeration, Val<'d>)) {
    for candidate in message.get("candidates").into_iter().flat_map(Val::items) {
        candidate.get("finishReason").into_iter().for_each(|value| show(&FINISH, value));
        rated(candidate, show);
    }
    if let Some(feedback) = message.get("promptFeedback") {
        feedback.get("blockReason").into_iter().for_each(|value| show(&BLOCK, value));
        rated(feedback, show);
    }
    let usage = message.get("usageMetadata").into_iter().flat_map(Val::entries);
    for detail in usage.flat_map(|(_, details)| details.items()) {
        detail.get("modality").into_iter().for_each(|value| show(&MODALITY, value));
    }
}

/// Shows those of the safety ratings.
fn rated<'d>(holder: Val<'d>, show: &mut dyn FnMut(&'static Enumeration, Val<'d>)) {
    for rating in holder.get("safetyRatings").into_iter().flat_map(Val::items) {
        rating.get("category").into_iter().for_each(|value| show(&CATEGORY, value));
        rating.get("probability").into_iter().for_each(|value| show(&PROBABILITY, value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b_2_names_and_numbers_stand_for_each_other() {
        let names = r#"{"candidates":[{"content":{"parts":[{"text":"STOP","finishReason":1}]},"finishReason":"MAX_TOKENS","safetyRatings":[{"category":"HARM_CATEGORY_HARASSMENT","probability":"LOW"}]}],"promptFeedback":{"blockReason":"OTHER"},"usageMetadata":{"promptTokenCount":1,"promptTokensDetails":[{"modality":"TEXT","tokenCount":1}]}}"#;
        let numbers = r#"{"candidates":[{"content":{"parts":[{"text":"STOP","finishReason":1}]},"finishReason":2,"safetyRatings":[{"category":7,"probability":2}]}],"promptFeedback":{"blockReason":2},"usageMetadata":{"promptTokenCount":1,"promptTokensDetails":[{"modality":1,"tokenCount":1}]}}"#;
        assert_eq!(numbered(names), numbers);
        let doc = Doc::parse_str(numbers).unwrap();
        let mut back = numbers.to_owned();
        let mut all = named(doc.root());
        all.sort_by_key(|(span, _)| span.start);
        for (span, name) in all.into_iter().rev() {
            back.replace_range(span, &name);
        }
        assert_eq!(back, names);
    }

    #[test]
    fn b_2_a_number_that_means_two_things_stays_a_number() {
        for (candidate, expected) in [
            (r#"{"finishReason":1}"#, Some("STOP")),
            (r#"{"finishReason":5}"#, Some("OTHER")),
            // BLOCKLIST or PROHIBITED_CONTENT.
            (r#"{"finishReason":7}"#, Some("7")),
            (r#"{"finishReason":0}"#, None),
            (r#"{"finishReason":""}"#, None),
            (r#"{"finishReason":"SPII"}"#, Some("SPII")),
        ] {
            let doc = Doc::parse_str(candidate).unwrap();
            assert_eq!(finish_reason(doc.root()).as_deref(), expected, "{candidate}");
        }
        let seven = r#"{"candidates":[{"finishReason":"7"}]}"#;
        assert_eq!(numbered(seven), r#"{"candidates":[{"finishReason":7}]}"#);
    }
}
