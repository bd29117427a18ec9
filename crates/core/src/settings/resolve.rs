//! Layers of settings, and their result.

use super::{Budget, Display, Effort, Format, Include, Key, SettingError, Strip};

/// The source of a value, the weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// The default.
    BuiltIn,
    /// The rule of the model.
    ModelRule,
    /// The user's configuration.
    UserConfig,
    /// The conversation that goes on.
    Conversation,
    /// The profile in use.
    Profile,
    /// Set in this session: `/set` or `--set`.
    Session,
    /// Set by this request.
    Request,
    /// Lowered by a budget.
    Budget,
}

impl Source {
    /// The public spelling.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Source::BuiltIn => "built-in",
            Source::ModelRule => "model rule",
            Source::UserConfig => "config",
            Source::Conversation => "conversation",
            Source::Profile => "profile",
            Source::Session => "session",
            Source::Request => "request",
            Source::Budget => "budget",
        }
    }
}

/// The values of one layer. `Some(None)` under a key that can be unset means unset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Partial {
    /// `reasoning.enabled`
    pub enabled: Option<bool>,
    /// `reasoning.includeInContext`
    pub include_in_context: Option<Include>,
    /// `reasoning.includeInResponse`
    pub include_in_response: Option<bool>,
    /// `reasoning.effort`
    pub effort: Option<Option<Effort>>,
    /// `reasoning.maxTokens`
    pub max_tokens: Option<Option<Budget>>,
    /// `reasoning.format`
    pub format: Option<Format>,
    /// `reasoning.stripFromContext`
    pub strip_from_context: Option<Strip>,
    /// `reasoning.display`
    pub display: Option<Display>,
}

impl Partial {
    /// Sets one key from text. Also takes the names of other systems: `thinking.context_mode` (`keep`, `strip`,
    /// `provider_default`), `show_thinking` (`true`, `false`), and `off`, `on`, `stream` for `reasoning.display`.
    ///
    /// # Errors
    /// If there is no such key, or if it does not take the value; `self` then stays unchanged.
    pub fn set(&mut self, name: &str, value: &str) -> Result<Key, SettingError> {
        let bad = |allowed: String| SettingError::BadValue {
            key: name.to_owned(),
            value: value.to_owned(),
            allowed,
        };
        let (key, word) = match name {
            "thinking.context_mode" => {
                let word = match value {
                    "keep" => "true",
                    "strip" => "false",
                    "provider_default" => "auto",
                    _ => return Err(bad("keep, strip, provider_default".to_owned())),
                };
                (Key::IncludeInContext, word)
            }
            "show_thinking" => match value {
                "true" => (Key::Display, "show"),
                "false" => (Key::Display, "stream_only"),
                _ => return Err(bad("true, false".to_owned())),
            },
            _ => {
                let unknown = || SettingError::UnknownKey { key: name.to_owned() };
                let key = Key::parse(name).ok_or_else(unknown)?;
                let word = match (key, value) {
                    (Key::Display, "on") => "show",
                    (Key::Display, "stream") => "stream_only",
                    _ => value,
                };
                (key, word)
            }
        };
        self.put(key, word).ok_or_else(|| bad(key.allowed()))?;
        Ok(key)
    }

    fn put(&mut self, key: Key, word: &str) -> Option<()> {
        let truth = || match word {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        };
        match key {
            Key::Enabled => self.enabled = Some(truth()?),
            Key::IncludeInContext => self.include_in_context = Some(Include::parse(word)?),
            Key::IncludeInResponse => self.include_in_response = Some(truth()?),
            Key::Effort if word == "unset" => self.effort = Some(None),
            Key::Effort => self.effort = Some(Some(Effort::parse(word)?)),
            Key::MaxTokens if word == "unset" => self.max_tokens = Some(None),
            Key::MaxTokens => self.max_tokens = Some(Some(Budget::parse(word)?)),
            Key::Format => self.format = Some(Format::parse(word)?),
            Key::StripFromContext => self.strip_from_context = Some(Strip::parse(word)?),
            Key::Display => self.display = Some(Display::parse(word)?),
        }
        Some(())
    }

    /// The value under a key as text, if this layer has one.
    #[must_use]
    pub fn get(&self, key: Key) -> Option<String> {
        let unset = || "unset".to_owned();
        match key {
            Key::Enabled => self.enabled.map(|value| value.to_string()),
            Key::IncludeInContext => self.include_in_context.map(|it| it.as_str().to_owned()),
            Key::IncludeInResponse => self.include_in_response.map(|value| value.to_string()),
            Key::Effort => {
                self.effort.map(|it| it.map_or_else(unset, |effort| effort.as_str().to_owned()))
            }
            Key::MaxTokens => {
                self.max_tokens.map(|it| it.map_or_else(unset, |budget| budget.to_string()))
            }
            Key::Format => self.format.map(|it| it.as_str().to_owned()),
            Key::StripFromContext => self.strip_from_context.map(|it| it.as_str().to_owned()),
            Key::Display => self.display.map(|it| it.as_str().to_owned()),
        }
    }
}

/// One layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// Which one.
    pub source: Source,
    /// The values of the layer.
    pub values: Partial,
}

/// A value and its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting<T> {
    /// The value.
    pub value: T,
    /// The source of the value.
    pub source: Source,
}

impl<T> Setting<T> {
    /// Whether a person or a caller set the value, so that it is no default.
    #[must_use]
    pub fn is_explicit(&self) -> bool {
        self.source > Source::ModelRule
    }
}

/// The settings that hold for one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// `reasoning.enabled`
    pub enabled: Setting<bool>,
    /// `reasoning.includeInContext`
    pub include_in_context: Setting<Include>,
    /// `reasoning.includeInResponse`
    pub include_in_response: Setting<bool>,
    /// `reasoning.effort`
    pub effort: Setting<Option<Effort>>,
    /// `reasoning.maxTokens`
    pub max_tokens: Setting<Option<Budget>>,
    /// `reasoning.format`
    pub format: Setting<Format>,
    /// `reasoning.stripFromContext`
    pub strip_from_context: Setting<Strip>,
    /// `reasoning.display`
    pub display: Setting<Display>,
}

impl Default for Resolved {
    fn default() -> Self {
        fn built_in<T>(value: T) -> Setting<T> {
            Setting { value, source: Source::BuiltIn }
        }
        Resolved {
            enabled: built_in(true),
            include_in_context: built_in(Include::Auto),
            include_in_response: built_in(true),
            effort: built_in(None),
            max_tokens: built_in(None),
            format: built_in(Format::Field),
            strip_from_context: built_in(Strip::None),
            display: built_in(Display::Show),
        }
    }
}

impl Resolved {
    /// The value under a key as text, and its source.
    #[must_use]
    pub fn get(&self, key: Key) -> (String, Source) {
        let said = Partial {
            enabled: Some(self.enabled.value),
            include_in_context: Some(self.include_in_context.value),
            include_in_response: Some(self.include_in_response.value),
            effort: Some(self.effort.value),
            max_tokens: Some(self.max_tokens.value),
            format: Some(self.format.value),
            strip_from_context: Some(self.strip_from_context.value),
            display: Some(self.display.value),
        };
        let source = match key {
            Key::Enabled => self.enabled.source,
            Key::IncludeInContext => self.include_in_context.source,
            Key::IncludeInResponse => self.include_in_response.source,
            Key::Effort => self.effort.source,
            Key::MaxTokens => self.max_tokens.source,
            Key::Format => self.format.source,
            Key::StripFromContext => self.strip_from_context.source,
            Key::Display => self.display.source,
        };
        (said.get(key).unwrap_or_default(), source)
    }
}

/// Puts layers on top of the defaults: a stronger source wins, in any order; of equal ones the later.
#[must_use]
pub fn resolve(layers: &[Layer]) -> Resolved {
    let mut resolved = Resolved::default();
    for Layer { source, values } in layers {
        lay(&mut resolved.enabled, values.enabled, *source);
        lay(&mut resolved.include_in_context, values.include_in_context, *source);
        lay(&mut resolved.include_in_response, values.include_in_response, *source);
        lay(&mut resolved.effort, values.effort, *source);
        lay(&mut resolved.max_tokens, values.max_tokens, *source);
        lay(&mut resolved.format, values.format, *source);
        lay(&mut resolved.strip_from_context, values.strip_from_context, *source);
        lay(&mut resolved.display, values.display, *source);
    }
    resolved
}

fn lay<T>(setting: &mut Setting<T>, value: Option<T>, source: Source) {
    if let Some(value) = value.filter(|_| source >= setting.source) {
        *setting = Setting { value, source };
    }
}
