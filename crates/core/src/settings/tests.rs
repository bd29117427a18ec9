use super::*;

#[test]
fn req_think_006_1_to_006_5_defaults() {
    let resolved = resolve(&[]);
    let shown: Vec<_> = Key::ALL.iter().map(|key| resolved.get(*key).0).collect();
    let expected = ["true", "auto", "true", "unset", "unset", "field", "none", "show"];
    assert_eq!(shown, expected);
    assert!(Key::ALL.iter().all(|key| resolved.get(*key).1 == Source::BuiltIn));
}

#[test]
fn req_think_006_6_every_value_is_said_and_read_back() {
    for key in Key::ALL {
        for word in key.allowed().split(", ") {
            let word = if word == "a positive integer" { "1024" } else { word };
            let mut partial = Partial::default();
            assert_eq!(partial.set(key.as_str(), word), Ok(key));
            assert_eq!(partial.get(key).as_deref(), Some(word));
            assert_eq!(partial.set(key.short(), word), Ok(key));
        }
    }
}

#[test]
fn err_001_a_bad_value_changes_nothing_and_names_key_value_and_what_is_allowed() {
    let mut partial = Partial { format: Some(Format::Native), ..Partial::default() };
    let error = partial.set("reasoning.format", "xml").unwrap_err();
    assert_eq!(error.to_string(), "`reasoning.format` cannot be `xml`; allowed: field, native");
    assert_eq!(partial.format, Some(Format::Native));
    for (key, value) in [
        ("reasoning.maxTokens", "0"),
        ("reasoning.maxTokens", "-1"),
        ("reasoning.maxTokens", "many"),
        ("reasoning.enabled", "yes"),
        ("reasoning.effort", "huge"),
        ("reasoning.nothing", "1"),
        ("thinking.context_mode", "true"),
    ] {
        assert!(partial.set(key, value).is_err(), "{key}={value}");
    }
}

#[test]
fn names_of_other_systems_are_understood() {
    let mut partial = Partial::default();
    for (value, include) in
        [("keep", Include::True), ("strip", Include::False), ("provider_default", Include::Auto)]
    {
        partial.set("thinking.context_mode", value).unwrap();
        assert_eq!(partial.include_in_context, Some(include));
    }
    for (key, value, display) in [
        ("show_thinking", "true", Display::Show),
        ("show_thinking", "false", Display::StreamOnly),
        ("reasoning.display", "on", Display::Show),
        ("reasoning.display", "stream", Display::StreamOnly),
        ("reasoning.display", "off", Display::Off),
    ] {
        partial.set(key, value).unwrap();
        assert_eq!(partial.display, Some(display));
    }
}

#[test]
fn a_stronger_layer_wins_and_is_named() {
    let layer = |source, value: &str| {
        let mut values = Partial::default();
        values.set("reasoning.effort", value).unwrap();
        Layer { source, values }
    };
    let layers = [
        layer(Source::Session, "high"),
        layer(Source::UserConfig, "low"),
        layer(Source::Profile, "max"),
    ];
    assert_eq!(resolve(&layers).get(Key::Effort), ("high".to_owned(), Source::Session));
    let layers = [layer(Source::UserConfig, "low"), layer(Source::Session, "unset")];
    assert_eq!(resolve(&layers).effort.value, None, "unset is a value too");
}
