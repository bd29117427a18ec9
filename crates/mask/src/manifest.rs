//! The data of a Kubernetes `Secret`: values in base64 below `data:`, in a document with `kind: Secret` before or
//! behind them.

use super::judge;
use super::pattern::{CERTAIN, Fit};
use super::set::{ALNUM, BLANK, Set};
use super::text::{More, Text};

/// The most bytes between kind and data, and the most bytes of data that are read.
const DOCUMENT: usize = 1024;
/// The most values of one document that are covered.
const VALUES: usize = 64;
/// Shorter values are not judged.
const LEAST: usize = 10;
/// The beginnings of certificates and public keys in base64: `-----BEGIN CERT`, `-----BEGIN PUBL`.
const PUBLIC: [&[u8]; 2] = [b"LS0tLS1CRUdJTiBDRVJU", b"LS0tLS1CRUdJTiBQVUJM"];
const BASE64: Set = ALNUM.or(Set::of("+/="));
const NAME: Set = ALNUM.or(Set::of("_.-"));
const QUOTES: Set = Set::of("\"'");
const LINE_END: Set = Set::of("\r\n");

/// The values of a document of which `kind:` or `data:` ends at `at`.
pub(super) fn fits(text: Text<'_>, at: usize, is_kind: bool) -> Result<Vec<Fit>, More> {
    // How far the line is indented that the text before `at` begins.
    let indent = (0..16)
        .take_while(|back| {
            text.before(at - b"data:".len(), back + 1).is_some_and(|it| BLANK.has(it))
        })
        .count();
    if is_kind {
        let Some(mut here) = kind(text, at)? else { return Ok(Vec::new()) };
        let end = here + DOCUMENT;
        while let Some(line) = next_line(text, here)?.filter(|line| *line < end) {
            let begin = line + text.run(line, BLANK, 64)?;
            if text.continues(begin, b"data:", false)? {
                return Ok(values(text, begin + b"data:".len(), begin - line)?.0);
            }
            // Another document may begin here, which is looked at for itself.
            if text.continues(begin, b"kind:", false)? {
                break;
            }
            here = begin;
        }
        return Ok(Vec::new());
    }
    let (found, mut here) = values(text, at, indent)?;
    let end = at + DOCUMENT;
    while !found.is_empty() && here < end {
        let begin = here + text.run(here, BLANK, 64)?;
        if text.continues(begin, b"kind:", false)? && kind(text, begin + b"kind:".len())?.is_some()
        {
            return Ok(found);
        }
        if text.continues(begin, b"data:", false)? {
            break;
        }
        let Some(line) = next_line(text, begin)? else { break };
        here = line;
    }
    Ok(Vec::new())
}

/// Returns the position after `Secret` and its closing characters.
fn kind(text: Text<'_>, at: usize) -> Result<Option<usize>, More> {
    let mut here = at + text.run(at, BLANK, 8)?;
    here += text.run(here, QUOTES, 1)?;
    if !text.continues(here, b"secret", true)? {
        return Ok(None);
    }
    here += b"secret".len();
    here += text.run(here, QUOTES, 1)?;
    here += text.run(here, BLANK, 64)?;
    Ok(text.byte(here)?.is_none_or(|byte| LINE_END.has(byte)).then_some(here))
}

/// Returns the start of the next line of the document.
fn next_line(text: Text<'_>, at: usize) -> Result<Option<usize>, More> {
    let mut here = at;
    while here - at < DOCUMENT {
        match text.byte(here)? {
            None => return Ok(None),
            Some(b'\n') if text.continues(here + 1, b"---", false)? => return Ok(None),
            Some(b'\n') => return Ok(Some(here + 1)),
            Some(_) => here += 1,
        }
    }
    Ok(None)
}

/// Returns the values of the lines below `data:` that are indented further, and the start of the first other line.
fn values(text: Text<'_>, at: usize, indent: usize) -> Result<(Vec<Fit>, usize), More> {
    let mut found = Vec::new();
    let mut here = at + text.run(at, BLANK, 64)?;
    if !text.byte(here)?.is_some_and(|byte| LINE_END.has(byte)) {
        return Ok((found, here));
    }
    while found.len() < VALUES && here - at < DOCUMENT {
        let Some(line) = next_line(text, here)? else { break };
        let begin = line + text.run(line, BLANK, 64)?;
        let is_inside = begin - line > indent;
        if is_inside && text.byte(begin)? == Some(b'#') {
            here = begin;
            continue;
        }
        let name = text.run(begin, NAME, 128)?;
        if !is_inside || name == 0 || text.byte(begin + name)? != Some(b':') {
            return Ok((found, line));
        }
        let value = value(text, begin + name + 1)?;
        here = value.1;
        found.extend(value.0);
    }
    Ok((found, here))
}

/// Returns the value behind a name and its colon, on the same line or as a block below, and the end of the read part.
fn value(text: Text<'_>, at: usize) -> Result<(Option<Fit>, usize), More> {
    let mut from = at + text.run(at, BLANK, 8)?;
    if matches!(text.byte(from)?, Some(b'|' | b'>')) {
        from += 1 + text.run(from + 1, Set::of("+-0123456789"), 2)?;
        from += text.run(from, BLANK.or(LINE_END), 64)?;
    }
    from += text.run(from, QUOTES, 1)?;
    let length = text.run(from, BASE64, CERTAIN)?;
    let to = from + length;
    if length == CERTAIN && !PUBLIC.iter().any(|begin| text.part(from, to).starts_with(begin)) {
        return Ok((Some(Fit { from, to, open: Some(BASE64) }), to));
    }
    let is_whole = text.byte(to)?.is_none_or(|byte| QUOTES.or(LINE_END).or(BLANK).has(byte));
    let fit = Fit { from, to, open: None };
    let there = text.part(from, to);
    let is_public = PUBLIC.iter().any(|begin| there.starts_with(begin));
    let is_secret = is_whole && length >= LEAST && !is_public && !judge::is_sample(there);
    Ok((is_secret.then_some(fit), to))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found<'t>(text: &'t str, anchor: &str) -> Vec<&'t str> {
        let at = text.find(anchor).unwrap() + anchor.len();
        let fits = fits(Text::whole(text.as_bytes()), at, anchor == "kind:").unwrap();
        fits.iter().filter_map(|fit| text.get(fit.from..fit.to)).collect()
    }

    #[test]
    fn values_are_found_before_and_behind_the_kind() {
        let data = "data:\n  # two of them\n  user: YWRtaW46cGFzc3dv\n  short: YWI=\n  key: 'cGFzc3dvcmQxMg=='\n  file: |\n    ZXlKaGJHY2lPaUpG\n";
        let all = vec!["YWRtaW46cGFzc3dv", "cGFzc3dvcmQxMg==", "ZXlKaGJHY2lPaUpG"];
        assert_eq!(found(&format!("kind: Secret\nmetadata:\n  name: x\n{data}"), "kind:"), all);
        assert_eq!(found(&format!("{data}metadata:\n  name: x\nkind: \"secret\"\n"), "data:"), all);
        let deeper = " data:\n  key: YWRtaW46cGFzc3dv\n kind: secret\n metadata:\n  name: x\n";
        assert_eq!(found(deeper, "data:"), ["YWRtaW46cGFzc3dv"]);
        for kind in ["kind: ConfigMap", "kind: SecretStore", "kind: ExternalSecret"] {
            assert!(found(&format!("{kind}\n{data}"), "kind:").is_empty(), "{kind}");
            assert!(found(&format!("{data}{kind}\n"), "data:").is_empty(), "{kind}");
        }
        assert!(found(&format!("kind: Secret\n---\n{data}"), "kind:").is_empty());
        assert!(found("kind: Secret\ndata:\n  key: {{ value }}\n", "kind:").is_empty());
        assert!(found("data: YWRtaW46cGFzc3dv\nkind: Secret", "data:").is_empty());
    }
}
