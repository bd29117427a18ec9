//! The frame of an exported page: its style and the script that folds thoughts.

/// The content policy of a page: it may load and run its own style and script and embedded pictures only. The hash is
/// the hash of [`SCRIPT`]; a test compares them.
pub(super) const POLICY: &str = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; \
     script-src 'sha256-HASH'; base-uri 'none'; form-action 'none'; \
     require-trusted-types-for 'script'; trusted-types 'none'";

/// SHA-256 of [`SCRIPT`], in base64.
pub(super) const SCRIPT_HASH: &str = "NxWMU5xokAQy3yh7TCPYAsSKp2NyaCMyr6msUO6iuhU=";

/// The script of the element that folds and unfolds thoughts and sends events about it. The viewer uses the same one.
pub(super) const SCRIPT: &str = include_str!("../../../../web/reasoning.js");

/// The style of that element.
pub(super) const ELEMENT_STYLE: &str = include_str!("../../../../web/reasoning.css");

/// The style of the page, for light and dark.
pub(super) const STYLE: &str = "
:root { color-scheme: light dark; --fg: #1d1d1f; --bg: #ffffff; --soft: #56565c; --line: #d8d8de; }
@media (prefers-color-scheme: dark) {
  :root { --fg: #e8e8ec; --bg: #17171a; --soft: #a5a5ae; --line: #3a3a42; }
}
body { margin: 2rem auto; max-width: 46rem; padding: 0 1rem; color: var(--fg); background: var(--bg);
  font: 16px/1.6 system-ui, sans-serif; overflow-wrap: anywhere; }
h2 { margin: 2rem 0 .5rem; font-size: .85rem; letter-spacing: .05em; text-transform: uppercase; color: var(--soft); }
pre { overflow-x: auto; padding: .75rem; border: 1px solid var(--line); border-radius: .4rem; white-space: pre-wrap; }
table { border-collapse: collapse; } th, td { border: 1px solid var(--line); padding: .2rem .6rem; }
blockquote { margin-left: 0; padding-left: 1rem; border-left: 3px solid var(--line); }
.tool summary { color: var(--soft); font-size: .9rem; cursor: pointer; }
.note { color: var(--soft); font-size: .9rem; }
section + .note { margin-top: 2.5rem; padding-top: 1.5rem; border-top: 1px solid var(--line); }
";
