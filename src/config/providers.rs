//! `[providers.NAME]`

use super::ProviderEntry;
use super::headers::headers;
use super::limits::limits;
use super::models::contract;
use super::secret::{Sources, api_key, source};
use super::table::Section;
use crate::nearest::nearest;
use thinkthrough_core::provider;
use thinkthrough_core::wire::WireId;
use thinkthrough_gateway::{OnDisconnect, may_forward};

const KEYS: [&str; 10] = [
    "extends",
    "wire",
    "base_url",
    "api_key",
    "api_keys",
    "headers",
    "limits",
    "contract",
    "on_disconnect",
    "forward_headers",
];

pub(super) fn entry(section: Section<'_>, sources: Sources<'_>) -> Result<ProviderEntry, String> {
    section.only(&KEYS)?;
    let name = section.own_name();
    let extends = section.string("extends")?;
    if let Some(id) = extends.as_deref().filter(|id| provider::find(id).is_none()) {
        let known: Vec<&str> = provider::ALL.iter().map(|provider| provider.id).collect();
        let instead = match nearest(id, &known) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("known are {}", provider::Known),
        };
        return Err(format!("`{}`: `{id}` is no provider; {instead}", section.at("extends")));
    }
    let extends = extends.or_else(|| provider::find(&name).map(|provider| provider.id.to_owned()));
    let wire = wire(section)?;
    let base_url = section.string("base_url")?;
    if extends.is_none() && (wire.is_none() || base_url.is_none()) {
        return Err(format!(
            "`{}` is a provider of your own: it needs `wire` and `base_url`, or `extends`",
            section.name
        ));
    }
    let (key, more_keys) = api_key(section, sources)?;
    Ok(ProviderEntry {
        key,
        key_from: source(section),
        more_keys,
        contract: contract(section)?,
        headers: headers(section, sources)?,
        limits: limits(section)?,
        on_disconnect: on_disconnect(section)?,
        forward_headers: forward_headers(section)?,
        name,
        extends,
        wire,
        base_url,
    })
}

fn wire(section: Section<'_>) -> Result<Option<WireId>, String> {
    let Some(text) = section.string("wire")? else { return Ok(None) };
    let known: Vec<_> = WireId::ALL.iter().map(|id| id.as_str()).collect();
    let wire = WireId::parse(&text).map_err(|unknown| match nearest(&text, &known) {
        Some(near) => {
            format!("`{}`: `{text}` is no wire; did you mean `{near}`?", section.at("wire"))
        }
        None => format!("`{}`: {unknown}", section.at("wire")),
    })?;
    Ok(Some(wire))
}

/// Names of headers, or prefixes of names with `*` at the end.
fn forward_headers(section: Section<'_>) -> Result<Vec<String>, String> {
    let list = section.strings("forward_headers")?.unwrap_or_default();
    let list: Vec<String> = list.iter().map(|name| name.trim().to_ascii_lowercase()).collect();
    if let Some(name) = list.iter().find(|name| !may_forward(name)) {
        return Err(format!(
            "`{}` cannot have `{name}`; name headers like `x-custom` or `x-custom-*`, and none that \
             carries a credential or belongs to a connection",
            section.at("forward_headers")
        ));
    }
    Ok(list)
}

fn on_disconnect(section: Section<'_>) -> Result<OnDisconnect, String> {
    let Some(word) = section.string("on_disconnect")? else { return Ok(OnDisconnect::default()) };
    OnDisconnect::parse(&word).ok_or_else(|| {
        let allowed = OnDisconnect::ALL.map(|(word, _)| word).join(", ");
        format!("`{}` cannot be `{word}`; allowed: {allowed}", section.at("on_disconnect"))
    })
}
