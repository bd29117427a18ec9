//! `[models.NAME]`, `[profiles.NAME]`, and contracts of the user's own.

use super::forms::{self, forms, kept};
use super::limits::limit;
use super::prices;
use super::reasoning::{KEYS, reasoning, reasoning_and};
use super::secret::Sources;
use super::table::Section;
use super::{ModelEntry, Profile};
use thinkthrough_core::contract::{Contract, Level, Older, Return, Told};
use thinkthrough_core::exchange::{Handling, Restore, Thoughts, View};
use thinkthrough_limits::Limit;

pub(super) fn entry(section: Section<'_>, sources: Sources<'_>) -> Result<ModelEntry, String> {
    let own = [
        "provider",
        "model",
        "contract",
        "price",
        "view",
        "restore",
        "dry_run",
        "fallback",
        "thoughts",
        "max_restore_tokens",
    ];
    section.only(&[&own[..], &KEYS, &forms::KEYS].concat())?;
    Ok(ModelEntry {
        name: section.own_name(),
        provider: section
            .string("provider")?
            .ok_or_else(|| format!("`{}` needs `provider`", section.name))?,
        model: section.string("model")?,
        contract: contract(section)?,
        forms: forms(section, sources)?,
        reasoning: reasoning_and(section, &forms::THINKING)?,
        price: prices::of_model(section)?,
        handling: handling(section)?,
        fallback: section.strings("fallback")?.unwrap_or_default(),
    })
}

/// How a gateway treats requests to the model.
fn handling(section: Section<'_>) -> Result<Handling, String> {
    let mut handling = Handling::default();
    if let Some(text) = section.string("restore")? {
        handling.restore = Restore::parse(&text).ok_or_else(|| {
            let at = section.at("restore");
            format!("`{at}` cannot be `{text}`; allowed: required, recommended, never")
        })?;
    }
    if let Some(text) = section.string("view")? {
        let view = View::parse(&text).ok_or_else(|| {
            let all: Vec<&str> = View::ALL.iter().map(|(name, _)| *name).collect();
            format!("`{}` cannot be `{text}`; allowed: {}", section.at("view"), all.join(", "))
        })?;
        handling.view = Some(view);
    }
    if let Some(text) = section.string("thoughts")? {
        handling.thoughts = Thoughts::parse(&text).ok_or_else(|| {
            format!("`{}` cannot be `{text}`; allowed: as-asked, show", section.at("thoughts"))
        })?;
    }
    handling.max_restore_tokens = match limit(section, "max_restore_tokens")? {
        Some(Limit::AtMost(tokens)) => Some(tokens.get()),
        Some(Limit::Unlimited) | None => None,
    };
    handling.dry_run = section.boolean("dry_run")?.unwrap_or(false);
    Ok(handling)
}

pub(super) fn profile(section: Section<'_>) -> Result<Profile, String> {
    section.only(&[&["model", "system"][..], &KEYS].concat())?;
    Ok(Profile {
        name: section.own_name(),
        model: section.string("model")?,
        reasoning: reasoning(section)?,
        system: section.string("system")?,
    })
}

pub(super) fn contract(section: Section<'_>) -> Result<Option<Contract>, String> {
    let name = section.at("contract");
    // No family rule and no learned facts apply: thoughts go back only if a setting says so.
    if let Some(text) = section.table.get("contract").and_then(toml::Value::as_str) {
        return match text {
            "none" => Ok(Some(Contract::NONE)),
            _ => Err(format!("`{name}` cannot be `{text}`; it is a table, or `none`")),
        };
    }
    let Some(table) = section.table("contract")? else { return Ok(None) };
    let inner = Section { name: &name, table };
    inner.only(&["return", "required", "field", "empty", "level", "older", "told"])?;
    let word = |key: &str| inner.string(key);
    let returns = match word("return")? {
        None => {
            return Err(format!("`{name}` needs `return`: never, current-turn, tool-calls or all"));
        }
        Some(text) => Return::parse(&text).ok_or_else(|| {
            format!(
                "`{name}.return` cannot be `{text}`; allowed: never, current-turn, tool-calls, all"
            )
        })?,
    };
    let level = match word("level")? {
        None => Level::default(),
        Some(text) => Level::parse(&text).ok_or_else(|| {
            format!("`{name}.level` cannot be `{text}`; allowed: ticket, chain, tail, calls")
        })?,
    };
    let older = match word("older")? {
        None => Older::default(),
        Some(text) => Older::parse(&text).ok_or_else(|| {
            format!("`{name}.older` cannot be `{text}`; allowed: allowed, forbidden")
        })?,
    };
    let told = match word("told")? {
        None => Told::default(),
        Some(text) => Told::parse(&text).ok_or_else(|| {
            format!("`{name}.told` cannot be `{text}`; allowed: in-answer, in-user-message, never")
        })?,
    };
    Ok(Some(Contract {
        returns,
        older,
        told,
        required: inner.boolean("required")?.unwrap_or(false),
        field: word("field")?.map(|text| kept(&text)),
        empty: word("empty")?.map(|text| kept(&text)),
        level,
        ..Contract::NONE
    }))
}
