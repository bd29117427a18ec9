//! The built-in prices.

use super::{Day, Price, Rates, micro};

/// A section for each provider; the front of the file describes its lines.
const TABLE: &str = include_str!("prices.tsv");

/// A line that names the provider of the following lines.
#[derive(Clone, Copy, Debug)]
pub(super) struct Section {
    pub(super) provider: &'static str,
    pub(super) as_of: Option<Day>,
    pub(super) source: &'static str,
}

/// The price of a provider's model: of this very name, else of the name without the date at its end.
pub(super) fn find(provider: &str, model: &str) -> Option<Price> {
    let model = model.to_ascii_lowercase();
    let undated = without_date(&model);
    let of_provider = lines().filter(|(section, _)| section.provider == provider);
    let mut found = None;
    for (section, line) in of_provider {
        let Some((name, rest)) = line.split_once('\t') else { continue };
        if name == model {
            return price(rest, section);
        }
        if name == undated {
            found = price(rest, section);
        }
    }
    found
}

/// The lines that are models, each with its section.
pub(super) fn lines() -> impl Iterator<Item = (Section, &'static str)> {
    let mut now = Section { provider: "", as_of: None, source: "" };
    let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(move |line| {
        let Some(head) = line.strip_prefix("@\t") else { return Some((now, line)) };
        let mut parts = head.split('\t');
        let mut next = || parts.next().unwrap_or_default();
        (now.provider, now.as_of, now.source) = (next(), Day::parse(next()), next());
        None
    })
}

/// Parses the price behind a name; `None` if it is not a price.
pub(super) fn price(text: &str, section: Section) -> Option<Price> {
    let mut groups = text.split("\t>");
    let mut price =
        Price { rates: rates(groups.next()?)?, as_of: section.as_of, ..Price::default() };
    let mut places = price.above.iter_mut();
    for group in groups {
        let (tokens, text) = group.split_once('\t')?;
        *places.next()? = Some((tokens.parse().ok()?, rates(text)?));
    }
    Some(price)
}

fn rates(text: &str) -> Option<Rates> {
    let mut parts = text.split('\t');
    let (input, output) = (micro(parts.next()?)?, micro(parts.next()?)?);
    let mut next = || match parts.next()? {
        "-" => Some(None),
        amount => micro(amount).map(Some),
    };
    let (cache_read, cache_write, reasoning) = (next()?, next()?, next()?);
    parts.next().is_none().then_some(Rates { input, output, cache_read, cache_write, reasoning })
}

/// `gpt-5-2025-08-07`, `claude-opus-4-1-20250805` and `claude-opus-4-1@20250805` without the date.
fn without_date(model: &str) -> &str {
    let is_date = |text: &str, form: &[u8]| {
        text.len() == form.len()
            && text.bytes().zip(form).all(|(byte, kind)| match kind {
                b'0' => byte.is_ascii_digit(),
                other => byte == *other,
            })
    };
    for form in [&b"-0000-00-00"[..], b"-00000000", b"@00000000"] {
        let Some(at) = model.len().checked_sub(form.len()) else { continue };
        if let Some((name, end)) = model.split_at_checked(at)
            && is_date(end, form)
        {
            return name;
        }
    }
    model
}
