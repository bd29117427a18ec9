//! Providers: one file for each with all its data, and the list of them.
//!
//! A provider's name is written only in its file and in the list below. A user's own provider fills the same
//! [`Provider`] from the configuration.

mod family;
mod reader;
mod rule;
mod target;

pub use reader::ProviderReader;
pub use rule::{BudgetForm, EffortForm, ModelRule, OtherForm, ThinkingForm, WhileThinking, glob};
pub use target::{Known, Target, UnknownTarget};

use crate::contract::Contract;
use crate::model_name;
use crate::wire::{Dialect, WireId};

/// How a credential travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Auth {
    /// `Authorization: Bearer ...`
    Bearer,
    /// A header of this name.
    Header(&'static str),
    /// No credential is needed; a credential that is given all the same is sent as a bearer token.
    None,
    /// A query parameter of this name.
    Query(&'static str),
}

/// One wire of a provider: its address, and its deviations from the wire.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// The wire.
    pub wire: WireId,
    /// The base URL as the API's official SDK takes it; empty if the user must name it.
    pub base_url: &'static str,
    /// How the credential travels.
    pub auth: Auth,
    /// Headers that every request carries.
    pub headers: &'static [(&'static str, &'static str)],
    /// The provider's deviations from the wire.
    pub dialect: Dialect,
    /// The rules of its models; the first rule whose pattern matches counts.
    pub models: &'static [ModelRule],
    /// Call ids are drawn at random with 64 bits or more, for every model: recorded answers or the provider's own
    /// documents show it. If this is false or unknown, callers get tickets in place of the ids.
    pub draws_ids: bool,
}

impl Endpoint {
    /// Chat Completions with a bearer token, without deviations and rules: the base of most providers.
    pub const CHAT: Endpoint = Endpoint {
        wire: WireId::ChatCompletions,
        base_url: "",
        auth: Auth::Bearer,
        headers: &[],
        dialect: Dialect::PLAIN,
        models: &[],
        draws_ids: false,
    };
}

/// The address of an API as its official SDK reads it from the environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SdkAddress {
    /// The environment variables, in the order in which the SDK looks at them.
    pub variables: &'static [&'static str],
    /// The SDK's address without them. Its path belongs to the value of a variable, too.
    pub default: &'static str,
}

impl SdkAddress {
    /// The base URL of an endpoint, given its built-in one and the value of a variable.
    ///
    /// A path that the value already ends with is not doubled.
    #[must_use]
    pub fn base_url(&self, built_in: &str, value: &str) -> String {
        let value = value.trim().trim_end_matches('/');
        let (own, sdk) = (path(built_in), path(self.default));
        match own.strip_prefix(sdk) {
            Some(rest) if value.ends_with(rest) => value.to_owned(),
            Some(rest) => format!("{value}{rest}"),
            None if value.ends_with(own) => value.to_owned(),
            None => format!("{}{own}", value.strip_suffix(sdk).unwrap_or(value)),
        }
    }
}

/// The path of an address, without a slash at its end.
fn path(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let path = rest.find('/').and_then(|at| rest.get(at..)).unwrap_or_default();
    path.trim_end_matches('/')
}

/// A named place to send requests to.
#[derive(Clone, Debug)]
pub struct Provider {
    /// The public id.
    pub id: &'static str,
    /// The environment variables that a key is looked for in, in this order.
    pub keys: &'static [&'static str],
    /// The environment variables in which the API's official SDK looks for its address.
    pub address: Option<SdkAddress>,
    /// The model if the user names none.
    pub default_model: Option<&'static str>,
    /// A loopback port that a local server of this kind usually listens on.
    pub local_port: Option<u16>,
    /// Its wires; the first is the default.
    pub endpoints: &'static [Endpoint],
}

/// A cloud whose accounts can be asked in the name of, besides keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Account {
    /// Amazon's keys, which sign each request.
    Aws,
    /// A client of Microsoft Entra, which gets tokens.
    Entra,
    /// A service account or a user of Google Cloud, which get tokens.
    Gcp,
}

impl Provider {
    /// The cloud whose accounts may ask here.
    #[must_use]
    pub fn account(&self) -> Option<Account> {
        let all = [
            (azure::PROVIDER.id, Account::Entra),
            (bedrock::PROVIDER.id, Account::Aws),
            (vertexai::PROVIDER.id, Account::Gcp),
        ];
        all.into_iter().find(|(id, _)| *id == self.id).map(|(_, account)| account)
    }

    /// The provider's name in OpenTelemetry's conventions, if they have a name of their own for it.
    #[must_use]
    pub fn telemetry_name(&self) -> &'static str {
        // The values of `gen_ai.provider.name` that differ from our ids.
        let all = [
            (azure::PROVIDER.id, "azure.ai.openai"),
            (bedrock::PROVIDER.id, "aws.bedrock"),
            (google::PROVIDER.id, "gcp.gemini"),
            (mistral::PROVIDER.id, "mistral_ai"),
            (vertexai::PROVIDER.id, "gcp.vertex_ai"),
            (xai::PROVIDER.id, "x_ai"),
        ];
        all.into_iter().find(|(id, _)| *id == self.id).map_or(self.id, |(_, name)| name)
    }

    /// The endpoint of this wire, or the default one.
    #[must_use]
    pub fn endpoint(&self, wire: Option<WireId>) -> Option<&Endpoint> {
        match wire {
            Some(wire) => self.endpoints.iter().find(|endpoint| endpoint.wire == wire),
            None => self.endpoints.first(),
        }
    }
}

/// Declares the providers and lists them in the order in which one is chosen: one line each.
macro_rules! providers {
    ($($module:ident,)*) => {
        $(mod $module;)*

        /// Every built-in provider.
        pub static ALL: &[&Provider] = &[$(&$module::PROVIDER),*];
    };
}

providers! {
    openai,
    azure,
    anthropic,
    google,
    vertexai,
    bedrock,
    deepseek,
    moonshotai,
    minimax,
    zai,
    alibaba,
    xai,
    mistral,
    groq,
    cerebras,
    together,
    fireworks,
    openrouter,
    perplexity,
    cohere,
    huggingface,
    venice,
    ollama,
    vllm,
    sglang,
    llamacpp,
    lmstudio,
    openai_compatible,
    anthropic_compatible,
}

/// The houses of the families, whose rules hold for their models wherever they are served; the last serves open weights.
static HOUSES: &[&Provider] = &[
    &openai::PROVIDER,
    &anthropic::PROVIDER,
    &google::PROVIDER,
    &deepseek::PROVIDER,
    &moonshotai::PROVIDER,
    &minimax::PROVIDER,
    &zai::PROVIDER,
    &alibaba::PROVIDER,
    &xai::PROVIDER,
    &mistral::PROVIDER,
    &bedrock::PROVIDER,
    &cohere::PROVIDER,
    &ollama::PROVIDER,
    &vllm::PROVIDER,
];

/// The rule of a model's family and its maker, found by the name alone: for unknown endpoints.
fn by_name(wire: WireId, model: &str) -> Option<(&'static Provider, ModelRule)> {
    let plain = model_name::plain(model);
    let spoken = || HOUSES.iter().filter_map(|house| Some((*house, house.endpoint(Some(wire))?)));
    let find = |is_wanted: fn(&ModelRule) -> bool| {
        spoken().find_map(|(house, endpoint)| {
            let mut rules = endpoint.models.iter();
            let rule = rules.find(|rule| is_wanted(rule) && rule.matches(&plain))?;
            Some((house, *rule))
        })
    };
    let found = find(ModelRule::is_about_some)
        .or_else(|| mistral_by_name(wire, &plain))
        .or_else(|| find(|rule| rule.assumed && !rule.is_any()));
    // `include` belongs to the wire; other flags belong to the maker's own service.
    let keeps_flags = wire == WireId::Responses;
    found.map(|(house, rule)| (house, if keeps_flags { rule } else { rule.elsewhere() }))
}

/// The rule of a Mistral model on Chat Completions. Effort has the same form there as on Mistral's own wire. Thoughts
/// have a different place, so no thought goes back.
fn mistral_by_name(wire: WireId, plain: &str) -> Option<(&'static Provider, ModelRule)> {
    let endpoint = mistral::PROVIDER.endpoint(Some(WireId::MistralChat))?;
    let mut own = endpoint.models.iter().filter(|rule| rule.is_about_some());
    let rule = own.find(|rule| wire == WireId::ChatCompletions && rule.matches(plain))?;
    Some((&mistral::PROVIDER, ModelRule { contract: Contract::NONE, ..*rule }))
}

/// The rule of an endpoint for a model: by its name, else by its name without the additions of hosts.
fn rule_of<'r>(models: &'r [ModelRule], model: &str) -> Option<&'r ModelRule> {
    let first = models.iter().find(|rule| rule.matches(model));
    if first.is_some_and(ModelRule::is_about_some) {
        return first;
    }
    let plain = model_name::plain(model);
    models.iter().find(|rule| rule.is_about_some() && rule.matches(&plain)).or(first)
}

/// The provider of this id.
#[must_use]
pub fn find(id: &str) -> Option<&'static Provider> {
    ALL.iter().copied().find(|provider| provider.id == id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conventions_name_some_providers_otherwise() {
        let name = |id| find(id).map(Provider::telemetry_name);
        assert_eq!(name("bedrock"), Some("aws.bedrock"));
        assert_eq!(name("google"), Some("gcp.gemini"));
        assert_eq!(name("openai"), Some("openai"));
    }
}
