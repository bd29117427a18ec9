//! Changes the configuration file for its user. Comments, order and unchanged settings stay as they are, and a reader
//! sees the old file or the new one, never half of one.

use super::places::{self, Lookup};
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use thinkthrough_client::Secret;
use thinkthrough_core::settings::{Display, Key, Partial};
use toml_edit::{DocumentMut, InlineTable, Item, Table, TableLike, Value, value};

/// A change of the file.
#[derive(Clone, Debug)]
pub(crate) enum Edit {
    /// `[reasoning] display`, and under this entry of `[models]` where that says one of its own.
    Display(Display, Option<String>),
    /// `[profiles.NAME]`, as a whole.
    Profile { name: String, model: String, settings: Partial },
    /// No `[profiles.NAME]` any more.
    NoProfile { name: String },
    /// `[providers.NAME]` with the place of its key, and `default_model`.
    Provider { name: String, key: Option<KeyPlace>, model: String },
}

/// The place of a key.
#[derive(Clone, Debug)]
pub(crate) enum KeyPlace {
    /// An environment variable.
    Variable(String),
    /// A file beside the configuration.
    File(String),
    /// The configuration itself. This is for a text that no file gets.
    Here(Secret),
}

/// The file that holds the user's configuration, which need not exist.
pub(crate) fn file(read: Option<&Path>, lookup: Lookup<'_>) -> Option<PathBuf> {
    read.map(Path::to_owned).or_else(|| places::config_file(lookup))
}

/// Makes a change.
pub(crate) fn edit(path: &Path, edit: &Edit) -> Result<(), String> {
    let failed = |error: io::Error| format!("`{}` cannot be changed: {error}", path.display());
    replace(path, &edited(path, edit)?).map_err(failed)
}

/// The text of the file with a change.
pub(crate) fn edited(path: &Path, edit: &Edit) -> Result<String, String> {
    let failed = |error: io::Error| format!("`{}` cannot be changed: {error}", path.display());
    let old = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(failed(error)),
    };
    let mut document: DocumentMut = old.parse().map_err(|error: toml_edit::TomlError| {
        let message = error.message().lines().collect::<Vec<_>>().join(" ");
        format!("`{}` cannot be changed: {message}", path.display())
    })?;
    change(&mut document, edit).map_err(|key| {
        format!("`{}` cannot be changed: `{key}` in it is no table", path.display())
    })?;
    Ok(document.to_string())
}

/// Names the key that is in the way, if one is.
fn change(document: &mut DocumentMut, edit: &Edit) -> Result<(), &'static str> {
    match edit {
        Edit::Display(display, entry) => {
            show(document.as_table_mut(), explicit(), *display)?;
            let entry = entry.as_ref().and_then(|entry| document.get_mut("models")?.get_mut(entry));
            if let Some(entry) = entry.and_then(Item::as_table_like_mut)
                && shows(entry)
            {
                // An inline table has no room for a table in several lines.
                show(entry, Item::Value(InlineTable::new().into()), *display)?;
            }
        }
        Edit::Profile { name, model, settings } => {
            let mut profile = Table::new();
            profile.insert("model", value(model.as_str()));
            let profiles = table(document.as_table_mut(), "profiles", implicit())?;
            let earlier = profiles.get(name).and_then(Item::as_table_like);
            // The screen has no command for the instructions of a profile, so they stay.
            if let Some(system) = earlier.and_then(|earlier| earlier.get("system")) {
                profile.insert("system", system.clone());
            }
            let mut said = InlineTable::new();
            for key in Key::ALL {
                if let Some(word) = settings.get(key) {
                    said.insert(key.short(), spelled(&word));
                }
            }
            if !said.is_empty() {
                profile.insert("reasoning", Item::Value(Value::InlineTable(said)));
            }
            profiles.insert(name, Item::Table(profile));
        }
        Edit::Provider { name, key, model } => {
            provide(document.as_table_mut(), name, key.as_ref())?;
            let mut new = Value::from(model.as_str());
            match document.get_mut("default_model") {
                Some(Item::Value(old)) => {
                    *new.decor_mut() = old.decor().clone();
                    *old = new;
                }
                Some(_) | None => drop(document.insert("default_model", Item::Value(new))),
            }
        }
        Edit::NoProfile { name } => {
            table(document.as_table_mut(), "profiles", implicit())?.remove(name);
        }
    }
    Ok(())
}

/// Adds a provider, and the place of its key in place of an earlier one.
fn provide(root: &mut Table, name: &str, key: Option<&KeyPlace>) -> Result<(), &'static str> {
    let providers = table(root, "providers", implicit())?;
    let provider = providers.entry(name).or_insert(explicit()).as_table_like_mut();
    let provider = provider.ok_or("providers")?;
    let Some(key) = key else { return Ok(()) };
    let place = |word: &str, name: &str| {
        Value::InlineTable(InlineTable::from_iter([(word, Value::from(name))]))
    };
    let key = match key {
        KeyPlace::Variable(name) => place("env", name),
        KeyPlace::File(name) => place("file", name),
        KeyPlace::Here(secret) => secret.expose().into(),
    };
    // Several keys take turns, which one key cannot.
    provider.remove("api_keys");
    provider.insert("api_key", Item::Value(key));
    Ok(())
}

/// The section says how thoughts are shown.
fn shows(section: &dyn TableLike) -> bool {
    let reasoning = section.get("reasoning").and_then(Item::as_table_like);
    section.contains_key("show_thinking")
        || reasoning.is_some_and(|it| it.contains_key(Key::Display.short()))
}

/// Sets the display of thoughts in the section; `new` becomes its `reasoning` if it has none.
fn show(section: &mut dyn TableLike, new: Item, display: Display) -> Result<(), &'static str> {
    // The other name of the same setting would contradict it.
    section.remove("show_thinking");
    let reasoning = table(section, "reasoning", new)?;
    let old = reasoning.get(Key::Display.short()).and_then(Item::as_value);
    let decor = old.map(|old| old.decor().clone());
    let mut new = Value::from(display.as_str());
    if let Some(decor) = decor {
        *new.decor_mut() = decor;
    }
    reasoning.insert(Key::Display.short(), Item::Value(new));
    Ok(())
}

fn table<'d>(
    section: &'d mut dyn TableLike,
    key: &'static str,
    new: Item,
) -> Result<&'d mut dyn TableLike, &'static str> {
    section.entry(key).or_insert(new).as_table_like_mut().ok_or(key)
}

fn explicit() -> Item {
    Item::Table(Table::new())
}

/// A table that is only there for those in it.
fn implicit() -> Item {
    let mut table = Table::new();
    table.set_implicit(true);
    Item::Table(table)
}

/// A word as the file spells it: truths and numbers without quotes.
fn spelled(word: &str) -> Value {
    match (word.parse::<bool>(), word.parse::<i64>()) {
        (Ok(truth), _) => truth.into(),
        (_, Ok(number)) => number.into(),
        _ => word.into(),
    }
}

/// Puts a new file in the place of the old one, with its permissions; a new file is for its user alone.
pub(crate) fn replace(path: &Path, text: &str) -> io::Result<()> {
    put(path, text, true)
}

/// Puts a secret in the place of a file, for its user alone.
pub(crate) fn replace_secret(path: &Path, text: &str) -> io::Result<()> {
    put(path, text, false)
}

fn put(path: &Path, text: &str, keeps_mode: bool) -> io::Result<()> {
    // A link stays a link.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    make_folder(folder)?;
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let beside = folder.join(name);
    let written = write(&beside, text).and_then(|()| {
        if let Ok(old) = fs::metadata(&path)
            && keeps_mode
        {
            fs::set_permissions(&beside, old.permissions())?;
        }
        fs::rename(&beside, &path)
    });
    if written.is_err() {
        drop(fs::remove_file(&beside));
    }
    written
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

#[cfg(test)]
mod tests {
    use super::{Edit, change};
    use thinkthrough_core::settings::{Display, Partial};
    use toml_edit::DocumentMut;

    fn changed(text: &str, edit: &Edit) -> String {
        let mut document: DocumentMut = text.parse().unwrap();
        change(&mut document, edit).unwrap();
        document.to_string()
    }

    #[test]
    fn comments_and_order_stay() {
        let before = "# mine\nshow_thinking = true\ndefault_model = \"a\" # best\n\n[reasoning] # here\n\
                      effort = \"high\"\ndisplay = \"show\" # for now\n\n[models.a]\nprovider = \"sim\"\n";
        let after = "# mine\ndefault_model = \"a\" # best\n\n[reasoning] # here\n\
                     effort = \"high\"\ndisplay = \"off\" # for now\n\n[models.a]\nprovider = \"sim\"\n";
        let got = changed(before, &Edit::Display(Display::Off, None));
        assert_eq!(got.replace("# mine\n", ""), after.replace("# mine\n", ""));
        assert_eq!(
            changed("", &Edit::Display(Display::Show, None)),
            "[reasoning]\ndisplay = \"show\"\n"
        );
        let inline = "reasoning = { effort = \"low\" }\n";
        let got = changed(inline, &Edit::Display(Display::Off, None));
        assert!(got.contains("effort = \"low\"") && got.contains("display = \"off\""), "{got}");
    }

    #[test]
    fn a_model_that_says_its_own_is_changed_and_others_stay() {
        let before = "[models]\ne = { provider = \"sim\", show_thinking = true }\n\
                      [models.a]\nprovider = \"sim\"\nreasoning = { display = \"show\", effort = \"low\" }\n\
                      [models.b]\nprovider = \"sim\"\nshow_thinking = true # b\n\
                      [models.c]\nprovider = \"sim\"\n[models.c.reasoning]\ndisplay = \"show\" # c\n\
                      [models.d]\nprovider = \"sim\"\nreasoning = { effort = \"low\" }\n";
        let now = |entry: &str, key: &str| {
            let after = changed(before, &Edit::Display(Display::Off, Some(entry.to_owned())));
            let document: DocumentMut = after.parse().unwrap();
            assert_eq!(document["reasoning"]["display"].as_str(), Some("off"), "{after}");
            let said = document["models"][key].get("reasoning");
            let said = said.and_then(|it| it.get("display")?.as_str()).map(str::to_owned);
            (said, after)
        };
        for entry in ["a", "b", "c", "e"] {
            assert_eq!(now(entry, entry).0.as_deref(), Some("off"), "{}", now(entry, entry).1);
        }
        assert!(now("c", "c").1.contains("display = \"off\" # c"), "{}", now("c", "c").1);
        assert!(!now("b", "b").1.contains("# b"), "{}", now("b", "b").1);
        assert_eq!(now("c", "a").0.as_deref(), Some("show"));
        // A model without a `display`, or without an entry, gets no new setting.
        assert_eq!((now("d", "d").0, now("f", "a").0.as_deref()), (None, Some("show")));
    }

    #[test]
    fn profiles_come_and_go() {
        let mut settings = Partial::default();
        settings.set("reasoning.effort", "high").unwrap();
        settings.set("reasoning.maxTokens", "1024").unwrap();
        settings.set("reasoning.includeInContext", "true").unwrap();
        let save = Edit::Profile { name: "careful".into(), model: "sim/default".into(), settings };
        let before = "[profiles.other]\nmodel = \"b\"\n";
        let after = changed(before, &save);
        assert_eq!(
            after,
            "[profiles.other]\nmodel = \"b\"\n\n[profiles.careful]\nmodel = \"sim/default\"\n\
             reasoning = { includeInContext = true, effort = \"high\", maxTokens = 1024 }\n"
        );
        let gone = changed(&after, &Edit::NoProfile { name: "careful".into() });
        assert_eq!(gone, before);
    }
}
