//! User-defined properties of a model: its context window, its headers, its tag family, and the form of its thinking
//! settings.
//!
//! Rules are plain data with `'static` words, so that each of the few words of a configuration is stored once for the
//! life of the process.

use super::headers::{Headers, headers};
use super::secret::Sources;
use super::table::Section;
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use thinkthrough_core::provider::{BudgetForm, EffortForm, Target};
use thinkthrough_core::settings::Effort;
use thinkthrough_core::tags::{Options, Start, TagSpec};
use thinkthrough_json::Writer;
use toml::{Table, Value};

/// The keys of `[models.NAME]` that this module reads.
pub(super) const KEYS: [&str; 4] = ["context_window", "headers", "tags", "effort"];
/// The keys of `thinking = { ... }` that this module reads; the settings know others.
pub(super) const THINKING: [&str; 5] = ["on", "off", "show", "default_on", "budget"];

/// The form of a model in its entry; the model's rule supplies the missing parts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Forms {
    context_window: Option<u64>,
    /// Headers of every request to the model, over those of its provider.
    pub(crate) headers: Headers,
    tags: Option<(TagSpec, Options)>,
    effort: Option<EffortForm>,
    on: Option<&'static str>,
    off: Option<&'static str>,
    show: Option<&'static str>,
    default_on: Option<bool>,
    budget: Option<BudgetForm>,
}

impl Forms {
    /// Overwrites the known properties of a target.
    pub(crate) fn apply(&self, target: &mut Target) {
        self.headers.apply(target);
        let rule = &mut target.rule;
        rule.context = self.context_window.unwrap_or(rule.context);
        if self.tags.is_some() {
            target.tags.clone_from(&self.tags);
        }
        let thinking = &mut rule.thinking;
        if self.on.is_some() || self.off.is_some() {
            // A model with a way to switch thinking on is off by default; a model with only a way off is on by
            // default.
            (thinking.on, thinking.off) = (self.on, self.off);
            thinking.default_on = self.on.is_none();
        }
        thinking.default_on = self.default_on.unwrap_or(thinking.default_on);
        thinking.show = self.show.or(thinking.show);
        thinking.effort = self.effort.or(thinking.effort);
        thinking.budget = self.budget.or(thinking.budget);
    }
}

pub(super) fn forms(section: Section<'_>, sources: Sources<'_>) -> Result<Forms, String> {
    let mut forms = Forms {
        context_window: context_window(section)?,
        headers: headers(section, sources)?,
        tags: tags(section)?,
        effort: effort(section)?,
        ..Forms::default()
    };
    let Some(table) = section.table("thinking")? else { return Ok(forms) };
    let name = section.at("thinking");
    let inner = Section { name: &name, table };
    forms.on = object(inner, "on")?;
    forms.off = object(inner, "off")?;
    forms.show = object(inner, "show")?;
    forms.default_on = inner.boolean("default_on")?;
    forms.budget = budget(inner)?;
    Ok(forms)
}

fn context_window(section: Section<'_>) -> Result<Option<u64>, String> {
    whole(section, "context_window", "tokens")
}

/// A whole number above 0.
fn whole(section: Section<'_>, key: &str, of: &str) -> Result<Option<u64>, String> {
    let Some(value) = section.table.get(key) else { return Ok(None) };
    let number = value.as_integer().and_then(|it| u64::try_from(it).ok()).filter(|it| *it > 0);
    let wrong = || section.wrong(key, &format!("a whole number of {of} above 0"));
    number.map(Some).ok_or_else(wrong)
}

/// A tag family, or tags of one's own: `{ open = "<a>", close = "</a>" }`; `starts_open` where the prompt's template
/// has opened the thought.
fn tags(section: Section<'_>) -> Result<Option<(TagSpec, Options)>, String> {
    let at = section.at("tags");
    let family = |name: &str| {
        TagSpec::named(name).ok_or_else(|| {
            let known = TagSpec::names().collect::<Vec<_>>().join(", ");
            format!("`{at}`: `{name}` is no tag family; known are {known}")
        })
    };
    let table = match section.table.get("tags") {
        None => return Ok(None),
        Some(Value::String(name)) => return Ok(Some((family(name)?, Options::default()))),
        Some(Value::Table(table)) => table,
        Some(_) => {
            return Err(format!("`{at}` must be a tag family, or {{ open = ..., close = ... }}"));
        }
    };
    let inner = Section { name: &at, table }.only(&["family", "open", "close", "starts_open"])?;
    let spec = match (inner.string("family")?, inner.string("open")?, inner.string("close")?) {
        (Some(name), None, None) => family(&name)?,
        (None, Some(open), Some(close)) => {
            TagSpec::custom(&open, &close).map_err(|error| format!("`{at}`: {error}"))?
        }
        _ => return Err(format!("`{at}` needs `open` and `close`, or `family` alone")),
    };
    let start = match inner.boolean("starts_open")? {
        Some(true) => Start::Thought,
        Some(false) => Start::Text,
        None => Start::Family,
    };
    Ok(Some((spec, Options { start, ..Options::default() })))
}

/// Reads the field of the effort in the body, and its words: `"reasoning_effort"`, or `{ field = "reasoning.effort",
/// words = { low = "short", high = "long" } }`.
fn effort(section: Section<'_>) -> Result<Option<EffortForm>, String> {
    const USUAL: &[(Effort, &str)] =
        &[(Effort::Low, "low"), (Effort::Medium, "medium"), (Effort::High, "high")];
    let at = section.at("effort");
    let table = match section.table.get("effort") {
        None => return Ok(None),
        Some(Value::String(path)) => {
            return Ok(Some(EffortForm { path: field(&at, path)?, words: USUAL, only: None }));
        }
        Some(Value::Table(table)) => table,
        Some(_) => {
            return Err(format!(
                "`{at}` must be the name of a field, or {{ field = ..., words = {{ low = ... }} }}"
            ));
        }
    };
    let inner = Section { name: &at, table }.only(&["field", "words"])?;
    let path = inner.string("field")?.ok_or_else(|| format!("`{at}` needs `field`"))?;
    let path = field(&at, &path)?;
    let Some(said) = inner.table("words")? else {
        return Ok(Some(EffortForm { path, words: USUAL, only: None }));
    };
    let name = inner.at("words");
    let known = Effort::ALL.map(Effort::as_str);
    let said = Section { name: &name, table: said }.only(&known)?;
    let mut words = Vec::new();
    for effort in Effort::ALL {
        if let Some(word) = said.string(effort.as_str())? {
            words.push((effort, kept(&word)));
        }
    }
    if words.is_empty() {
        return Err(format!("`{name}` is empty; name a word for one of {}", known.join(", ")));
    }
    Ok(Some(EffortForm { path, words: kept_words(words), only: None }))
}

/// A cap on thinking tokens: `{ field = "thinking.budget_tokens", min = 1024, max = 32000 }`.
fn budget(section: Section<'_>) -> Result<Option<BudgetForm>, String> {
    let Some(table) = section.table("budget")? else { return Ok(None) };
    let name = section.at("budget");
    let inner = Section { name: &name, table };
    inner.only(&["field", "with", "min", "max", "below_max_tokens"])?;
    let path = inner.string("field")?.ok_or_else(|| format!("`{name}` needs `field`"))?;
    let min = whole(inner, "min", "tokens")?.unwrap_or(1);
    let max = whole(inner, "max", "tokens")?.unwrap_or(u64::MAX);
    if min > max {
        return Err(format!("`{name}.min` is more than `{name}.max`; change one of them"));
    }
    Ok(Some(BudgetForm {
        path: field(&name, &path)?,
        with: object(inner, "with")?,
        min,
        max,
        is_exact: false,
        below_max_tokens: inner.boolean("below_max_tokens")?.unwrap_or(false),
    }))
}

/// The place of a member in a body: names joined by dots.
fn field(at: &str, path: &str) -> Result<&'static str, String> {
    if path.is_empty() || path.split('.').any(str::is_empty) {
        return Err(format!("`{at}`: `{path}` is no field; write names joined by dots"));
    }
    Ok(kept(path))
}

/// A table that is merged into the body, as JSON.
fn object(section: Section<'_>, key: &str) -> Result<Option<&'static str>, String> {
    let Some(table) = section.table(key)? else { return Ok(None) };
    let mut w = Writer::new();
    members(&mut w, table).map_err(|what| {
        format!("`{}` holds {what}, which JSON has no form for; take it out", section.at(key))
    })?;
    Ok(Some(kept(&w.finish())))
}

fn members(w: &mut Writer, table: &Table) -> Result<(), &'static str> {
    let mut done = Ok(());
    w.object(|w| {
        for (key, value) in table {
            if done.is_ok() {
                done = write(w.key(key), value);
            }
        }
    });
    done
}

fn write(w: &mut Writer, value: &Value) -> Result<(), &'static str> {
    match value {
        Value::Array(items) => {
            let mut done = Ok(());
            w.array(|w| {
                for item in items {
                    if done.is_ok() {
                        done = write(w, item);
                    }
                }
            });
            return done;
        }
        Value::Boolean(flag) => w.bool(*flag),
        Value::Datetime(_) => return Err("a date"),
        Value::Float(number) if !number.is_finite() => return Err("a number without end"),
        Value::Float(number) => w.raw_str(&number.to_string()),
        Value::Integer(number) => w.raw_str(&number.to_string()),
        Value::String(text) => w.str(text),
        Value::Table(table) => return members(w, table),
    }
    Ok(())
}

/// Keeps a configured word for the life of the process, once.
pub(super) fn kept(word: &str) -> &'static str {
    static KEPT: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = kept.get(word) {
        return known;
    }
    let word: &'static str = Box::leak(word.to_owned().into_boxed_str());
    kept.insert(word);
    word
}

/// Likewise the words for efforts.
fn kept_words(words: Vec<(Effort, &'static str)>) -> &'static [(Effort, &'static str)] {
    static KEPT: Mutex<BTreeSet<&'static [(Effort, &'static str)]>> = Mutex::new(BTreeSet::new());
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = kept.get(words.as_slice()) {
        return known;
    }
    let words: &'static [_] = Box::leak(words.into_boxed_slice());
    kept.insert(words);
    words
}
