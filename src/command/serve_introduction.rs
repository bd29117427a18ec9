//! The lines that `think serve` says when it starts.

use crate::command::asking::env;
use crate::failure::say;
use crate::reach::keyed;
use crate::routes::Routes;
use std::io::IsTerminal as _;

/// Names the models that were found, and the address for each kind of client. While the door `is_closed`, no caller
/// gets in. A gateway that `is_elsewhere` has another address than the user's configuration says.
pub(crate) fn introduce(base: &str, routes: &Routes, is_closed: bool, is_elsewhere: bool) {
    let keys: Vec<_> = keyed(&env).map(|provider| provider.id).collect();
    if routes.are_configured() {
        say(format_args!("models: those of the configuration, and `provider/model`"));
    } else if !keys.is_empty() {
        say(format_args!("keys were found for {}; ask for `provider/model`", keys.join(", ")));
    } else if is_closed {
        say(format_args!(
            "no configuration and no key of a provider was found; nobody is let in until the gateway's own keys can be read"
        ));
    } else if routes.served().is_empty() {
        say(format_args!(
            "no configuration and no key was found; the simulated models answer, such as `sim/kimi-k2`"
        ));
    }
    if let Some((provider, model)) = routes.served().first() {
        say(format_args!("a local server answers; ask for `{provider}/{model}`"));
    }
    tell_addresses(routes);
    for (client, path) in [
        ("OpenAI clients", "/v1"),
        ("Anthropic clients", ""),
        ("Gemini clients", ""),
        ("Ollama clients", ""),
    ] {
        say(format_args!("{client:<17} {base}{path}"));
    }
    if std::io::stderr().is_terminal() {
        let gateway = if is_elsewhere { format!(" --gateway {base}") } else { String::new() };
        say(format_args!("Claude Code       `think connect claude-code{gateway}` sets it up"));
    }
}

/// Says which providers are asked where variables say so.
pub(crate) fn tell_addresses(routes: &Routes) {
    for (provider, given) in routes.given_addresses() {
        match given {
            Ok(given) if given.is_circle => say(format_args!(
                "`{}` is the address of this gateway, so `{provider}` is asked at its own",
                given.variable
            )),
            Ok(given) => say(format_args!("`{provider}` is asked at {given}")),
            Err(message) => say(format_args!("warning: `{provider}` cannot be asked: {message}")),
        }
    }
}
