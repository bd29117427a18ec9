//! Two kinds of schema: JSON schema, and the API's own kind with types in upper case.

use crate::json::{Kind, Raw, Val, Writer};

/// The members of the API's own schema language.
const OWN: [&str; 25] = [
    "anyOf",
    "default",
    "description",
    "enum",
    "example",
    "format",
    "items",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "nullable",
    "pattern",
    "properties",
    "propertyOrdering",
    "property_ordering",
    "required",
    "title",
    "type",
    "any_of",
    "max_items",
];

/// Whether the API's own kind of schema can express all of this schema.
pub(super) fn is_own(schema: Val<'_>) -> bool {
    schema.is_object()
        && schema.entries().all(|(key, value)| match key.as_ref() {
            "type" => value.as_str().is_some(),
            "enum" => value.items().all(|word| word.as_str().is_some()),
            "items" => is_own(value),
            "anyOf" | "any_of" => value.items().all(is_own),
            "properties" => value.entries().all(|(_, value)| is_own(value)),
            key => OWN.contains(&key),
        })
}

/// The schema as JSON schema: types in lower case.
pub(super) fn plain(schema: Val<'_>) -> Raw {
    if has_upper_case(schema) { Raw::build(|w| write(w, schema)) } else { Raw::from(schema) }
}

/// Whether some type is spelled in upper case.
fn has_upper_case(schema: Val<'_>) -> bool {
    schema.entries().any(|(key, value)| match key.as_ref() {
        "type" => value.as_str().is_some_and(|word| is_upper_case(&word)),
        "items" => has_upper_case(value),
        "anyOf" | "any_of" => value.items().any(has_upper_case),
        "properties" => value.entries().any(|(_, value)| has_upper_case(value)),
        _ => false,
    })
}

fn is_upper_case(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_uppercase())
}

fn write(w: &mut Writer, schema: Val<'_>) {
    if schema.kind() != Kind::Object {
        return w.raw_str(schema.raw());
    }
    let is_nullable = schema.bool("nullable") == Some(true);
    w.object(|w| {
        for (key, value) in schema.entries() {
            match key.as_ref() {
                "nullable" if value.as_bool().is_some() => {}
                "type" => write_type(w.key("type"), value, is_nullable),
                "items" => write(w.key("items"), value),
                "anyOf" | "any_of" => {
                    w.key("anyOf").array(|w| value.items().for_each(|value| write(w, value)));
                }
                "properties" => w.key("properties").object(|w| {
                    value.entries().for_each(|(key, value)| write(w.key(&key), value));
                }),
                // The API's counts are strings if they are 64 bits wide.
                "maxItems" | "maxLength" | "maxProperties" | "minItems" | "minLength"
                | "minProperties" => {
                    let count = value.as_str().and_then(|count| count.parse().ok());
                    match count {
                        Some(count) => w.field_u64(&key, count),
                        None => w.key(&key).raw_str(value.raw()),
                    }
                }
                _ => w.key(&key).raw_str(value.raw()),
            }
        }
    });
}

fn write_type(w: &mut Writer, value: Val<'_>, is_nullable: bool) {
    match value.as_str() {
        Some(word) if is_nullable => w.array(|w| {
            w.str(&word.to_ascii_lowercase());
            w.str("null");
        }),
        Some(word) => w.str(&word.to_ascii_lowercase()),
        None => w.raw_str(value.raw()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain_of(text: &str) -> String {
        plain(Raw::parse(text).unwrap().doc().root()).as_str().to_owned()
    }

    #[test]
    fn types_in_upper_case_become_json_schema() {
        let own = r#"{"type":"OBJECT","properties":{"type":{"type":"STRING","nullable":true},"l":{"type":"ARRAY","items":{"type":"INTEGER"},"maxItems":"3"}}}"#;
        let plain = r#"{"type":"object","properties":{"type":{"type":["string","null"]},"l":{"type":"array","items":{"type":"integer"},"maxItems":3}}}"#;
        assert_eq!(plain_of(own), plain);
        assert_eq!(plain_of(plain), plain);
    }

    #[test]
    fn what_the_own_kind_cannot_say_is_seen() {
        let is_own = |text: &str| is_own(Raw::parse(text).unwrap().doc().root());
        assert!(is_own(r#"{"type":"object","properties":{"$ref":{"type":"string"}}}"#));
        assert!(!is_own(r#"{"type":"object","additionalProperties":false}"#));
        assert!(!is_own(r#"{"type":"object","properties":{"a":{"type":["string","null"]}}}"#));
        assert!(!is_own(r#"{"enum":[1]}"#));
    }
}
