//! The static files of the page, from the directory `web/`.

use crate::rejection::rejection;
use crate::respond::flow::Flow;
use crate::respond::reply::{refusal, typed};
use http::header::{CACHE_CONTROL, ETAG, HeaderMap, HeaderValue, IF_NONE_MATCH};
use http::{Response, StatusCode};

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";

/// A file: path below `/ui`, media type, content.
type File = (&'static str, &'static str, &'static str);

macro_rules! files {
    ($($path:literal $media:ident $file:literal)*) => {
        &[$(($path, $media, include_str!(concat!("../../../../../web/", $file)))),*]
    };
}

const FILES: &[File] = files! {
    "/" HTML "viewer/index.html"
    "/message.js" SCRIPT "message.js"
    "/reasoning.js" SCRIPT "reasoning.js"
    "/reasoning.css" STYLE "reasoning.css"
    "/split.js" SCRIPT "split.js"
    "/viewer/app.js" SCRIPT "viewer/app.js"
    "/viewer/charts.js" SCRIPT "viewer/charts.js"
    "/viewer/elements.js" SCRIPT "viewer/elements.js"
    "/viewer/events.js" SCRIPT "viewer/events.js"
    "/viewer/house.js" SCRIPT "viewer/house.js"
    "/viewer/items.js" SCRIPT "viewer/items.js"
    "/viewer/live.js" SCRIPT "viewer/live.js"
    "/viewer/markdown.js" SCRIPT "viewer/markdown.js"
    "/viewer/paged.js" SCRIPT "viewer/paged.js"
    "/viewer/server.js" SCRIPT "viewer/server.js"
    "/viewer/traces.js" SCRIPT "viewer/traces.js"
    "/viewer/sessions.js" SCRIPT "viewer/sessions.js"
    "/viewer/why.js" SCRIPT "viewer/why.js"
    "/viewer/viewer.css" STYLE "viewer/viewer.css"
};

/// The file at this path.
pub(super) fn answer(path: &str, headers: &HeaderMap) -> Response<Flow> {
    let path = if path.is_empty() { "/" } else { path };
    let Some((_, media, text)) = FILES.iter().find(|(known, _, _)| *known == path) else {
        return refusal(None, &rejection(404, "not_found", "the viewer has no such page"));
    };
    let tag = format!("\"{}\"", blake3::hash(text.as_bytes()).to_hex());
    let is_known = headers.get(IF_NONE_MATCH).is_some_and(|it| it.as_bytes() == tag.as_bytes());
    let mut answer = typed(200, media, if is_known { "" } else { *text });
    if is_known {
        *answer.status_mut() = StatusCode::NOT_MODIFIED;
    }
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        answer.headers_mut().insert(ETAG, tag);
    }
    // A page of another version must not run against this version's API.
    answer.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The files that a file references: those that it needs at once, and those that it may load later.
    fn named(text: &str) -> [Vec<&str>; 2] {
        let name = |it: &str| it.ends_with(".js") || it.ends_with(".css");
        let mut all = [Vec::new(), Vec::new()];
        let mut parts = text.split(['\'', '"']).peekable();
        while let Some(before) = parts.next() {
            let Some(path) = parts.peek().filter(|path| name(path)) else { continue };
            let is_later = before.trim_end().ends_with("import(");
            all[usize::from(is_later)].push(path.rsplit('/').next().unwrap_or_default());
        }
        all
    }

    /// All files that load together with a file.
    fn loaded(name: &str, known: &mut Vec<&'static str>) -> usize {
        let find = |(path, _, _): &&File| path.ends_with(&format!("/{name}"));
        let Some((path, _, text)) = FILES.iter().find(find) else { return 0 };
        if known.contains(path) {
            return 0;
        }
        known.push(path);
        let [now, _] = named(text);
        text.len() + now.into_iter().map(|name| loaded(name, known)).sum::<usize>()
    }

    #[test]
    fn the_viewer_is_small() {
        let later: Vec<&str> =
            FILES.iter().flat_map(|(_, _, text)| named(text)[1].clone()).collect();
        assert!(later.len() > 3, "{later:?}");
        for page in later {
            let mut known = Vec::new();
            let index = FILES[0].2;
            let size = index.len()
                + named(index)[0].iter().map(|it| loaded(it, &mut known)).sum::<usize>();
            assert!(size > 50_000, "something is loaded: {known:?}");
            let size = size + loaded(page, &mut known);
            assert!(size < 100_000, "the page loads {size} bytes with {page}");
        }
    }

    #[test]
    fn what_the_page_names_is_served() {
        for (path, _, text) in FILES {
            for name in
                text.split(['\'', '"']).filter(|it| it.ends_with(".js") || it.ends_with(".css"))
            {
                let Some(name) = name.strip_prefix("./").or_else(|| name.strip_prefix("../"))
                else {
                    continue;
                };
                let is_served =
                    FILES.iter().any(|(known, _, _)| known.ends_with(&format!("/{name}")));
                assert!(is_served, "{path} names {name}");
            }
        }
    }
}
