//! Tests of the choice of a model, and of its price and address.

use super::*;
use std::path::Path;

/// Chooses without a name. Returns the model and the reason. A key with `!` is set to white space.
fn unnamed(config: &str, keys: &[&str]) -> (String, String) {
    let env = |name: &str| {
        let value = if keys.contains(&name) { "a key" } else { " " };
        keys.iter().any(|key| key.trim_start_matches('!') == name).then(|| value.to_owned())
    };
    let config = crate::config::of_text(config, &env, Path::new("/")).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    match runtime.block_on(choose(&config, None, &env)) {
        Ok(chosen) => (chosen.name, chosen.why),
        Err(failure) => ("nothing".to_owned(), failure.to_string()),
    }
}

/// The first two providers with a key and a default model.
fn two() -> [&'static Provider; 2] {
    let mut with_key = provider::ALL
        .iter()
        .filter(|provider| !provider.keys.is_empty() && provider.default_model.is_some());
    [with_key.next().unwrap(), with_key.next().unwrap()]
}

/// The expected choice for a provider's key.
fn by_key(provider: &Provider) -> (String, String) {
    let model = provider.default_model.unwrap();
    (format!("{}/{model}", provider.id), format!("`{}` is set", provider.keys[0]))
}

#[test]
fn t_1_a_wire_that_a_provider_does_not_speak_leads_to_no_other_provider() {
    let speaks = |it: &&&Provider| it.endpoints.iter().any(|it| it.wire == WireId::Converse);
    let provider = provider::ALL.iter().find(|it| !speaks(it)).unwrap();
    let of = |more: &str| {
        let id = provider.id;
        let text = format!("[providers.{id}]\nwire = \"converse\"\napi_key = \"k\"\n{more}");
        let config = crate::config::of_text(&text, &|_| None, Path::new("/")).unwrap();
        choose_named(&config, &format!("{id}/m"), &|_| None).map(|it| it.target.base_url)
    };
    let refused = of("").unwrap_err().to_string();
    assert!(refused.contains("set `base_url`"), "{refused}");
    assert_eq!(of("base_url = \"http://here/v1\"").ok().as_deref(), Some("http://here/v1"));
}

#[test]
fn without_a_name_the_configuration_counts_then_keys_then_what_is_here() {
    let own =
        "[providers.own]\nextends = \"openai-compatible\"\nbase_url = \"http://127.0.0.1:9\"\n";
    let only = "the default of the configuration's only provider";
    let unlisted = "`own` lists no model; name one with `-m own/MODEL`, or set `default_model` in the \
                    configuration";
    let any = "[models.\"*\"]\nprovider = \"own\"\n";
    let mine = "[models.mine]\nprovider = \"own\"\nmodel = \"m\"\n";
    let [one, two] = two();
    let (key, other) = (one.keys[0], two.keys[0]);
    let blank = format!("!{key}");
    let said = |name: &str, why: &str| (name.to_owned(), why.to_owned());
    let played = "no key is set and no local server answers, so a simulated model does";
    let unsaid = "the configuration names no model and no key is set, so a simulated model answers";
    let with_key = |provider: &Provider| format!("[providers.{}]\napi_key = \"k\"\n", provider.id);
    let cases: [(String, &[&str], (String, String)); 11] = [
        (
            format!("default_model = \"own/big\"\n{own}{mine}"),
            &[key],
            said("own/big", "the configuration's `default_model`"),
        ),
        (format!("{own}{any}{mine}"), &[key], said("mine", "the first model of the configuration")),
        // A pattern is not a model's name. A key in the environment does not add a provider to configured ones. The
        // only provider is asked for its models.
        (format!("{own}{any}"), &[key], said("nothing", unlisted)),
        (format!("[providers.{}]\n", one.id), &[], (by_key(one).0, only.to_owned())),
        (format!("{own}{}", own.replace("own", "other")), &[key], said("sim/default", unsaid)),
        (format!("{own}[providers.{}]\n", two.id), &[key, other], by_key(two)),
        (
            with_key(two) + own,
            &[key],
            (by_key(two).0, format!("`providers.{}.api_key` is set", two.id)),
        ),
        (String::new(), &[other], by_key(two)),
        (String::new(), &[other, key], by_key(one)),
        // A key of white space does not count.
        (String::new(), &[&blank, other], by_key(two)),
        (String::new(), &[&blank], said("sim/default", played)),
    ];
    for (config, keys, expected) in cases {
        assert_eq!(unnamed(&config, keys), expected, "{config}");
    }
}

#[test]
fn a_price_is_that_of_the_configuration_else_the_built_in_one_and_own_servers_are_free() {
    let text = "[providers.ollama]\n[providers.far]\nextends = \"ollama\"\nbase_url = \"http://10.1.2.3:11434\"\n\
        [prices.\"mistral/magistral-*\"]\ninput = 7\noutput = 9\n\
        [models.own]\nprovider = \"mistral\"\nmodel = \"magistral-x\"\n\
        price = { input = 1, output = 2 }\n";
    let config = crate::config::of_text(text, &|_| None, Path::new("/")).unwrap();
    let of = |name: &str| choose_named(&config, name, &|_| None).map(|it| it.target.price);
    let input = |name: &str| of(name).unwrap().map(|price| price.rates.input);
    assert_eq!(input("mistral/magistral-x"), Some(7_000_000));
    assert_eq!(input("own"), Some(1_000_000));
    assert_eq!(input("mistral/mistral-large-latest").unwrap() % 100_000, 0);
    assert_eq!(of("ollama/any").unwrap(), Some(Price::FREE));
    assert_eq!(of("sim/default").unwrap(), Some(Price::FREE));
    // A remote server is not free, and an unknown model has no price.
    assert_eq!(of("far/any").unwrap(), None);
    assert_eq!(of("mistral/unheard-of").unwrap(), None);
}

#[test]
fn a_wire_is_learned_from_a_provider_that_has_an_address() {
    for wire in WireId::ALL {
        let like = any_endpoint(*wire).unwrap();
        assert!(!like.base_url.is_empty(), "{wire}");
    }
}
