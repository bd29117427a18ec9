//! The layers of settings of a session, and their changes.

use thinkthrough_core::settings::{Key, Layer, Partial, Resolved, SettingError, Source, resolve};

/// A profile of the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// The name.
    pub name: String,
    /// The model, if the profile names one.
    pub model: Option<String>,
    /// The settings.
    pub settings: Partial,
    /// The user's instructions for the model, if the profile has some.
    pub system: Option<String>,
}

/// The settings of each layer. The built-in values are the lowest layer.
#[derive(Clone, Debug, Default)]
pub struct Layers {
    /// Values from the rule of the model.
    pub rule: Partial,
    /// The user's configuration.
    pub user: Partial,
    /// The configuration's values for this model.
    pub model: Partial,
    /// The settings that the conversation was held with.
    pub conversation: Partial,
    /// The profile in use, with its name.
    pub profile: Option<(String, Partial)>,
    /// Settings of this session.
    pub session: Partial,
}

/// A setting was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The setting.
    pub key: Key,
    /// The value before.
    pub old: String,
    /// The current value.
    pub new: String,
    /// The layer that supplies the current value.
    pub source: Source,
}

impl Layers {
    /// Merges the layers into the effective settings.
    #[must_use]
    pub fn resolve(&self) -> Resolved {
        let layer = |source, values: &Partial| Layer { source, values: values.clone() };
        let mut layers = vec![
            layer(Source::ModelRule, &self.rule),
            layer(Source::UserConfig, &self.user),
            layer(Source::UserConfig, &self.model),
            layer(Source::Conversation, &self.conversation),
        ];
        if let Some((_, values)) = &self.profile {
            layers.push(layer(Source::Profile, values));
        }
        layers.push(layer(Source::Session, &self.session));
        resolve(&layers)
    }

    /// Sets a value for this session.
    ///
    /// # Errors
    /// When there is no such setting, or it does not accept the value. In this case nothing changes.
    pub fn set(&mut self, name: &str, value: &str) -> Result<Change, SettingError> {
        let before = self.resolve();
        let key = self.session.set(name, value)?;
        Ok(self.change(key, &before))
    }

    /// Removes a setting from the session and the conversation, so that the lower layers apply again.
    ///
    /// # Errors
    /// When there is no such setting.
    pub fn unset(&mut self, name: &str) -> Result<Change, SettingError> {
        let before = self.resolve();
        let key = known(name)?;
        self.session = without(&self.session, key);
        self.conversation = without(&self.conversation, key);
        Ok(self.change(key, &before))
    }

    /// All settings that are not built in, as a profile stores them.
    #[must_use]
    pub fn said(&self) -> Partial {
        let resolved = self.resolve();
        let mut said = Partial::default();
        for key in Key::ALL {
            let (value, source) = resolved.get(key);
            if source > Source::ModelRule {
                let _ = said.set(key.as_str(), &value);
            }
        }
        said
    }

    fn change(&self, key: Key, before: &Resolved) -> Change {
        let (new, source) = self.resolve().get(key);
        Change { key, old: before.get(key).0, new, source }
    }
}

/// The same values without one key.
fn without(said: &Partial, key: Key) -> Partial {
    let mut rest = Partial::default();
    for other in Key::ALL.into_iter().filter(|other| *other != key) {
        if let Some(value) = said.get(other) {
            // The value was accepted before.
            let _ = rest.set(other.as_str(), &value);
        }
    }
    rest
}

/// The setting of a name. Names of other systems are accepted too.
fn known(name: &str) -> Result<Key, SettingError> {
    match name {
        "thinking.context_mode" => Ok(Key::IncludeInContext),
        "show_thinking" => Ok(Key::Display),
        _ => Key::parse(name).ok_or_else(|| SettingError::UnknownKey { key: name.to_owned() }),
    }
}

impl std::fmt::Display for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Change { key, old, new, source } = self;
        write!(f, "{}: {old} -> {new} ({})", key.as_str(), source.as_str())
    }
}
