//! The providers to choose from.

use crate::account;
use crate::environment::{Lookup, usable};
use crate::local;
use crate::reach::key_variable;
use thinkthrough_core::provider::{self, Provider};

/// A provider to choose.
pub(super) struct Offer {
    pub(super) provider: &'static Provider,
    /// Its key is set, or its server answers.
    pub(super) is_ready: bool,
    /// The state of its key or server, in a few words.
    pub(super) detail: String,
    /// The models that its server lists.
    pub(super) models: Vec<String>,
}

/// All providers with an address: those with a key, then local servers that answer, then those without a key.
pub(super) async fn offers(env: Lookup<'_>) -> Vec<Offer> {
    let mut served = local::all_models().await;
    let mut offers: Vec<(u8, Offer)> = Vec::new();
    for provider in provider::ALL.iter().copied() {
        let models = served.extract_if(.., |(id, _)| *id == provider.id).map(|it| it.1).collect();
        offers.extend(offer(provider, models, env));
    }
    offers.sort_by_key(|(rank, _)| *rank);
    offers.into_iter().map(|(_, offer)| offer).collect()
}

/// A provider with its rank in the list. `None` if it needs an address, or is a server that does not answer.
fn offer(provider: &'static Provider, models: Vec<String>, env: Lookup<'_>) -> Option<(u8, Offer)> {
    let variable = provider.account().map(account::variable);
    let variable = variable.filter(|name| usable(env(name)).is_some());
    let ready = |rank, detail: String, models| {
        Some((rank, Offer { provider, is_ready: true, detail, models }))
    };
    if let Some(key) = key_variable(provider, env).or(variable) {
        return ready(0, format!("`{key}` is set"), models);
    }
    if let Some(port) = provider.local_port {
        let count = models.len();
        let plural = if count == 1 { "" } else { "s" };
        let detail = format!("on port {port} of this machine, {count} model{plural}");
        return if count > 0 { ready(1, detail, models) } else { None };
    }
    let has_address = provider.endpoints.first().is_some_and(|it| !it.base_url.is_empty());
    let key = provider.keys.first().filter(|_| has_address)?;
    let detail = format!("needs `{key}`");
    Some((2, Offer { provider, is_ready: false, detail, models }))
}

#[cfg(test)]
mod tests {
    use super::offer;
    use thinkthrough_core::provider::find;

    #[test]
    fn a_provider_is_ranked_by_its_key_or_its_server() {
        let lookup = |name: &str| (name == "OPENAI_API_KEY").then(|| "k".to_owned());
        for (id, models, expected) in [
            ("openai", &[][..], Some((0, "`OPENAI_API_KEY` is set"))),
            ("ollama", &["a", "b"], Some((1, "on port 11434 of this machine, 2 models"))),
            ("ollama", &[], None),
            ("anthropic", &[], Some((2, "needs `ANTHROPIC_API_KEY`"))),
            ("openai-compatible", &[], None),
        ] {
            let models = models.iter().map(|it| (*it).to_owned()).collect();
            let offer = offer(find(id).unwrap(), models, &lookup);
            let got = offer.map(|(rank, offer)| (rank, offer.detail));
            assert_eq!(got, expected.map(|(rank, text)| (rank, text.to_owned())), "{id}");
        }
    }
}
