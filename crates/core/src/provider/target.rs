//! The target of a request: a provider's endpoint, a model, and its rule.

use super::family::gemini;

use super::{ALL, Auth, Endpoint, ModelRule, Provider, by_name, find, rule_of};
use crate::content::{Block, Content, Origin, Speaker, Thinking};
use crate::contract::{Contract, WeakIds};
use crate::model_name;
use crate::price::Price;
use crate::read::{Form, Reader};
use crate::settings::Format;
use crate::tags::{self, Options, Start, TagSpec};
use crate::wire::{Dialect, UnknownWire, Wire, WireId};
use std::borrow::Cow;
use std::fmt;

/// The target of a request, with every override applied.
#[derive(Clone, Debug)]
pub struct Target {
    /// The provider's name: a built-in id, or the one in the user's configuration.
    pub provider: String,
    /// The wire that is spoken.
    pub wire: &'static dyn Wire,
    /// The base URL without a slash at its end.
    pub base_url: String,
    /// How the credential travels.
    pub auth: Auth,
    /// Headers that every request carries.
    pub headers: Vec<(String, String)>,
    /// The model's own name.
    pub model: String,
    /// The provider's deviations from the wire.
    pub dialect: Dialect,
    /// The rule of the model.
    pub rule: ModelRule,
    /// The tags of a model of the user's own, in place of the rule's.
    pub tags: Option<(TagSpec, Options)>,
    /// The source of the rule, for people: `deepseek deepseek-v4*`, `deepseek *, assumed`, `config`, `none`.
    pub rule_source: String,
    /// It is known how the provider makes ids of calls, so that those drawn at random name their answers.
    pub lists_ids: bool,
    /// All of them are.
    pub draws_ids: bool,
    /// The model's price, if it is known.
    pub price: Option<Price>,
    /// The members of our requests that it refused, by their paths.
    pub refuses: Vec<&'static str>,
}

/// The source of a rule if no rule was found.
const UNKNOWN: &str = "none";

/// The requested provider or wire is not built in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnknownTarget {
    /// No built-in provider has this id.
    Provider(String),
    /// The provider does not speak this wire.
    Unspoken(&'static str, WireId),
    /// No wire has this name.
    Wire(UnknownWire),
}

impl fmt::Display for UnknownTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UnknownTarget::Provider(id) => write!(f, "`{id}` is no provider; known are {Known}"),
            UnknownTarget::Unspoken(id, wire) => write!(f, "`{id}` does not speak `{wire}`"),
            UnknownTarget::Wire(unknown) => unknown.fmt(f),
        }
    }
}

impl std::error::Error for UnknownTarget {}

/// Prints the ids of all built-in providers.
#[derive(Clone, Copy, Debug)]
pub struct Known;

impl fmt::Display for Known {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ids: Vec<_> = ALL.iter().map(|provider| provider.id).collect();
        f.write_str(&ids.join(", "))
    }
}

impl Target {
    /// A built-in provider's endpoint and one of its models.
    ///
    /// # Errors
    /// When there is no such provider or wire, or the provider does not speak `wire`.
    pub fn built_in(id: &str, wire: Option<&str>, model: &str) -> Result<Self, UnknownTarget> {
        let provider = find(id).ok_or_else(|| UnknownTarget::Provider(id.to_owned()))?;
        let wire = wire.map(WireId::parse).transpose().map_err(UnknownTarget::Wire)?;
        let endpoint = provider.endpoint(wire);
        // A provider without endpoints speaks no wire.
        let unspoken = || UnknownTarget::Unspoken(provider.id, wire.unwrap_or(WireId::FIRST));
        Ok(Self::of(provider, endpoint.ok_or_else(unspoken)?, model))
    }

    /// An endpoint of a provider and one of its models.
    #[must_use]
    pub fn of(provider: &Provider, endpoint: &Endpoint, model: &str) -> Self {
        let own = rule_of(endpoint.models, model).map(|rule| (provider.id, *rule));
        // If the host has no rules for its models, the rules of the model's family apply.
        let family = || by_name(endpoint.wire, model).map(|(house, rule)| (house.id, rule));
        let rule = if endpoint.models.is_empty() { family() } else { own };
        let rule_source = match &rule {
            None => UNKNOWN.to_owned(),
            Some((id, rule)) if rule.assumed => format!("{id} {}, assumed", rule.pattern),
            Some((id, rule)) => format!("{id} {}", rule.pattern),
        };
        let mut rule = rule.map_or(ModelRule::UNKNOWN, |(_, rule)| rule);
        let (lists_ids, draws_ids) = (!endpoint.models.is_empty(), endpoint.draws_ids);
        rule.contract = with_tickets(rule.contract, draws_ids);
        Target {
            provider: provider.id.to_owned(),
            wire: endpoint.wire.wire(),
            base_url: endpoint.base_url.trim_end_matches('/').to_owned(),
            auth: endpoint.auth,
            headers: endpoint
                .headers
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            model: model.to_owned(),
            dialect: Dialect {
                media_behind_results: gemini::has_plain_results(model),
                reads_bookkeeping: endpoint.dialect.reads_bookkeeping
                    || endpoint.wire == WireId::Messages
                        && model_name::plain(model).starts_with("claude"),
                ..dialect_for(&endpoint.dialect, &rule.contract)
            },
            rule,
            tags: None,
            rule_source,
            lists_ids,
            draws_ids,
            price: Price::built_in(provider.id, model),
            refuses: Vec::new(),
        }
    }

    /// The same target with another contract.
    #[must_use]
    pub fn with_contract(mut self, contract: Contract, source: &str) -> Self {
        let contract = with_tickets(contract, self.draws_ids);
        self.dialect = dialect_for(&self.dialect, &contract);
        self.rule.contract = contract;
        self.rule.other = None;
        self.rule.assumed = false;
        self.rule_source = source.to_owned();
        self
    }

    /// A warning about the rule, if the model was unknown when the rule was written.
    #[must_use]
    pub fn doubt(&self) -> Option<&'static str> {
        if self.rule.assumed {
            return Some("no rule knows this model, so it is taken for the provider's newest");
        }
        let is_unknown = self.rule_source == UNKNOWN;
        is_unknown.then_some("no rule knows this model, so its thoughts do not go back")
    }

    /// The same target with thoughts in this form, if its endpoint has two forms.
    #[must_use]
    pub fn in_format(&self, format: Format) -> Cow<'_, Target> {
        let Some(other) = self.rule.other.filter(|other| other.format == format) else {
            return Cow::Borrowed(self);
        };
        let mut target = self.clone();
        let contract = &mut target.rule.contract;
        contract.field = Some(other.field);
        contract.flags = other.flags;
        target.dialect = dialect_for(&self.dialect, contract);
        target.rule.tags = other.tags;
        Cow::Owned(target)
    }

    /// The address of the API for this model. A version at the end of the base URL replaces the version in the path.
    #[must_use]
    pub fn url(&self, stream: bool) -> String {
        if let Some(hosted) = self.dialect.hosted {
            let method = if stream { hosted.stream } else { hosted.whole };
            return format!("{}/models/{}:{method}", self.base_url, self.model);
        }
        let path = self.wire.path(&self.model, stream);
        let base = self.base_url.as_str();
        if let Some((version, rest)) = path.trim_start_matches('/').split_once('/')
            && is_version(version)
            && (self.dialect.is_versioned || base.rsplit('/').next().is_some_and(is_version))
        {
            return format!("{base}/{rest}");
        }
        format!("{base}{path}")
    }

    /// Whether the address has the model's name in it, and not only the request.
    #[must_use]
    pub fn names_model_in_path(&self) -> bool {
        self.dialect.hosted.is_some() || self.wire.path("a", false) != self.wire.path("b", false)
    }

    /// A reader for one answer; `stream` if it is known to be a stream. The model's rule decides whether thoughts are
    /// searched for between tags.
    #[must_use]
    pub fn reader(&self, stream: bool) -> Reader {
        let form = if stream { Form::Stream } else { Form::Auto };
        let reader = Reader::new(self.wire, &self.dialect, form);
        let tags = self.tags.clone().or_else(|| tags_of(&self.model, self.rule.tags));
        match tags {
            Some((spec, options)) => reader.with_tags(&spec, options),
            None => reader,
        }
    }

    /// The tag family that the text of an answer looks like, if neither the configuration nor the model's rule names the
    /// model's tags, and no thought of the answer came from tags.
    #[must_use]
    pub fn unread_tags(&self, answer: &Content) -> Option<&'static str> {
        let is_named = self.tags.is_some() || self.rule.tags.is_some();
        let is_read = |thinking: &Thinking| thinking.source_field == tags::SOURCE_FIELD;
        if is_named || answer.speaker != Speaker::Ai || answer.thoughts().any(is_read) {
            return None;
        }
        let texts = answer.blocks.iter().filter_map(|block| match block {
            Block::Text(text) => Some(text.text.as_str()),
            _ => None,
        });
        texts.into_iter().find_map(tags::recognised)
    }

    /// The origin that answers of this target get.
    #[must_use]
    pub fn origin(&self, account: Option<String>) -> Origin {
        Origin {
            provider: self.provider.clone(),
            endpoint: self.base_url.to_ascii_lowercase(),
            model: self.model.clone(),
            account,
        }
    }
}

/// The tags of a model: those of its rule, else those of its family, which count at the beginning of an answer only.
pub(super) fn tags_of(model: &str, of_rule: Option<&str>) -> Option<(TagSpec, Options)> {
    match of_rule {
        Some(name) => Some((TagSpec::named(name)?, Options::default())),
        None => {
            let spec = TagSpec::named(model_name::tags(model)?)?;
            Some((spec, Options { start: Start::Leading, ..Options::default() }))
        }
    }
}

/// Whether a part of a path is a version, like `v1` or `v1beta`.
fn is_version(part: &str) -> bool {
    part.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// Ids that are not drawn at random may repeat, so that they do not identify calls: callers get tickets instead.
fn with_tickets(contract: Contract, draws_ids: bool) -> Contract {
    let weak = (!draws_ids).then_some(WeakIds::Any);
    Contract { tickets: contract.tickets.or(weak), ..contract }
}

/// The endpoint's dialect, with the field that the model's contract names.
fn dialect_for(dialect: &Dialect, contract: &Contract) -> Dialect {
    Dialect {
        field: contract.field.map(Cow::Borrowed).or_else(|| dialect.field.clone()),
        empty: contract.empty.map(Cow::Borrowed),
        ..dialect.clone()
    }
}
