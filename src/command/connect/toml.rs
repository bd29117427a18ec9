//! Edits of TOML text that leave every other byte as it is: values of the root, and whole tables.

use std::ops::Range;
use toml_edit::{Document, Item, Table};

/// The value of a root key, or a table with its header.
pub(super) fn raw(text: &str, path: &[String]) -> Result<Option<String>, String> {
    let document = document(text)?;
    let Some((_, item)) = find(&document, path) else { return Ok(None) };
    let range = item.as_table().and_then(|table| table_range(text, table)).or_else(|| item.span());
    Ok(range.and_then(|range| text.get(range)).map(str::to_owned))
}

/// The value without white space and comments.
pub(super) fn value(text: &str, path: &[String]) -> Result<Option<String>, String> {
    // The sentence about a broken file is the same everywhere.
    document(text)?;
    let table: toml::Table = toml::from_str(text).map_err(|error| error.message().to_owned())?;
    let root = toml::Value::Table(table);
    let found = path.iter().try_fold(&root, |value, key| value.get(key));
    Ok(found.map(ToString::to_string))
}

/// Gives a root key this value, or adds this table at the end. The text must stay TOML.
pub(super) fn put(text: &str, path: &[String], raw: &str) -> Result<String, String> {
    let document = document(text)?;
    let is_table = raw.starts_with('[') && path.len() > 1;
    let after = match find(&document, path) {
        Some(_) if is_table => appended(&remove(text, path)?, raw),
        None if is_table => appended(text, raw),
        Some((_, item)) => {
            let range = item.span().ok_or("its parts cannot be told apart")?;
            format!(
                "{}{raw}{}",
                text.get(..range.start).unwrap_or_default(),
                text.get(range.end..).unwrap_or_default()
            )
        }
        None => format!("{} = {raw}{}{text}", path.join("."), line_end(text)),
    };
    match value(&after, path) {
        Ok(Some(_)) => Ok(after),
        _ => Err(format!(
            "`{}` is written in a way that has no room for more; write it as tables",
            path.first().map(String::as_str).unwrap_or_default()
        )),
    }
}

/// Takes a root key or a table out, with its line ends.
pub(super) fn remove(text: &str, path: &[String]) -> Result<String, String> {
    let document = document(text)?;
    let Some((key, item)) = find(&document, path) else { return Ok(text.to_owned()) };
    let value = || Some(key.span()?.start..item.span()?.end);
    let range = item.as_table().and_then(|table| table_range(text, table)).or_else(value);
    let range = range.ok_or("its parts cannot be told apart")?;
    let is_table = item.is_table();
    let (before, rest) = text.split_at(range.start);
    let (_, after) = rest.split_at(range.end - range.start);
    let line = after.trim_start_matches([' ', '\t']);
    let line = line.strip_prefix("\r\n").or_else(|| line.strip_prefix('\n'));
    let after = line.filter(|_| !is_table).unwrap_or(after);
    // The empty line above a table belongs to it.
    let above = before.strip_suffix("\r\n").or_else(|| before.strip_suffix('\n'));
    let before = above.filter(|above| is_table && above.ends_with('\n')).unwrap_or(before);
    let removed = format!("{before}{after}");
    self::value(&removed, path)?.map_or(Ok(removed), |_| {
        let name = path.join(".");
        Err(format!("`{name}` has more parts than one table; take it out by hand"))
    })
}

fn document(text: &str) -> Result<Document<&str>, String> {
    Document::parse(text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start);
        let line = text.get(..start).unwrap_or(text).matches('\n').count() + 1;
        format!("line {line} of it is no TOML; mend it, or move the file away")
    })
}

fn find<'d>(document: &'d Table, path: &[String]) -> Option<(&'d toml_edit::Key, &'d Item)> {
    let (last, around) = path.split_last()?;
    let table = around.iter().try_fold(document, |table, key| table.get(key)?.as_table())?;
    table.get_key_value(last)
}

/// A table from its header to the end of its last line, if it has a header of its own.
fn table_range(text: &str, table: &Table) -> Option<Range<usize>> {
    let header = table.span().filter(|_| !table.is_implicit() && !table.is_dotted())?;
    let values = table.iter().filter_map(|(_, item)| item.span());
    let end = values.map(|span| span.end).max().unwrap_or(0).max(header.end);
    let line = text.get(end..)?.find('\n').map_or(text.len(), |at| end + at + 1);
    Some(header.start..line)
}

fn appended(text: &str, table: &str) -> String {
    let end = line_end(text);
    let table = table.replace("\r\n", "\n").replace('\n', end);
    match text {
        "" => table,
        _ if text.ends_with('\n') => format!("{text}{end}{table}"),
        _ => format!("{text}{end}{end}{table}"),
    }
}

fn line_end(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

#[cfg(test)]
mod tests {
    use super::{put, raw, remove, value};

    fn path(text: &str) -> Vec<String> {
        text.split('.').map(str::to_owned).collect()
    }

    const TABLE: &str = "[p.own]\nname = \"n\"\nurl = \"u\"\n";

    #[test]
    fn a_key_and_a_table_come_and_go_without_a_trace() {
        for before in [
            "",
            "# mine\nmodel = \"m\" # best\n\n[p.other]\n# odd\nname  =  'x'\n",
            "# mine\r\n[p.other]\r\nname = 'x'\r\n\r\n[mcp]\r\na = 1\r\n",
            "[[list]]\na = 1\n",
        ] {
            let after = put(before, &path("which"), "\"own\"").unwrap();
            let after = put(&after, &path("p.own"), TABLE).unwrap();
            assert_eq!(value(&after, &path("which")).unwrap().as_deref(), Some("\"own\""));
            assert!(value(&after, &path("p.own.url")).unwrap().is_some(), "{after}");
            assert!(after.contains(before), "{after}");
            let gone = remove(&after, &path("p.own")).unwrap();
            assert_eq!(remove(&gone, &path("which")).unwrap(), before);
        }
    }

    #[test]
    fn a_value_that_is_there_is_replaced_in_its_place() {
        let before = "a = 1\nwhich = 'x' # why\n[p.own]\nname = \"old\"\n# end\n[q]\nb = 2\n";
        let after = put(before, &path("which"), "\"own\"").unwrap();
        assert_eq!(after, before.replace("'x'", "\"own\""));
        let after = put(before, &path("p.own"), TABLE).unwrap();
        assert_eq!(value(&after, &path("p.own.name")).unwrap().as_deref(), Some("\"n\""));
        assert!(after.contains("# end\n[q]\nb = 2\n"), "{after}");
        assert_eq!(raw(before, &path("p.own")).unwrap().unwrap(), "[p.own]\nname = \"old\"\n");
    }

    #[test]
    fn a_table_stays_where_what_is_around_it_changed() {
        let after = put("a = 1\n", &path("p.own"), TABLE).unwrap();
        let changed = format!("# new\n{after}\n# my table\n[more]\nb = 2\n");
        let gone = remove(&changed, &path("p.own")).unwrap();
        assert_eq!(gone, "# new\na = 1\n\n# my table\n[more]\nb = 2\n");
    }

    #[test]
    fn what_has_no_room_or_is_broken_is_refused() {
        for (text, why) in [
            ("p = { other = { name = \"x\" } }\n", "no room for more"),
            ("p = 1\n", "no room for more"),
            ("a = 1\nb = \n", "line 2 of it is no TOML"),
        ] {
            let error = put(text, &path("p.own"), TABLE).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }
}
