//! The frame of an exported page: its style and the script that folds thoughts.

/// What a page may load and run: its own style and script, pictures that are in it, and nothing from anywhere else.
/// The hash is that of [`SCRIPT`]; a test compares them.
pub(super) const POLICY: &str = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; \
     script-src 'sha256-HASH'; base-uri 'none'; form-action 'none'";

/// SHA-256 of [`SCRIPT`], in base64.
pub(super) const SCRIPT_HASH: &str = "WhJgk6mgxu/ERmpKUBX1maXJiK9NRl5Jm0ECuUSAY8w=";

/// Folds and unfolds, and tells the page about it.
pub(super) const SCRIPT: &str = "
for (const button of document.querySelectorAll('[data-ai-reasoning-toggle]')) {
  button.addEventListener('click', () => {
    const block = button.closest('[data-ai-reasoning]');
    const expanded = block.dataset.collapsed === 'true';
    block.dataset.collapsed = String(!expanded);
    button.setAttribute('aria-expanded', String(expanded));
    const payload = { msgId: block.dataset.msgId, expanded, tokens: Number(block.dataset.tokenEst) };
    document.dispatchEvent(new CustomEvent('svmai:event', { detail: { type: 'reasoning_toggle', payload } }));
  });
}
";

/// Light and dark, and readable on paper, where thoughts are unfolded.
pub(super) const STYLE: &str = "
:root { color-scheme: light dark; --fg: #1d1d1f; --bg: #ffffff; --soft: #56565c; --line: #d8d8de; --thought: #f0f0f4; }
@media (prefers-color-scheme: dark) {
  :root { --fg: #e8e8ec; --bg: #17171a; --soft: #a5a5ae; --line: #3a3a42; --thought: #26262c; }
}
body { margin: 2rem auto; max-width: 46rem; padding: 0 1rem; color: var(--fg); background: var(--bg);
  font: 16px/1.6 system-ui, sans-serif; overflow-wrap: anywhere; }
h2 { margin: 2rem 0 .5rem; font-size: .85rem; letter-spacing: .05em; text-transform: uppercase; color: var(--soft); }
pre { overflow-x: auto; padding: .75rem; border: 1px solid var(--line); border-radius: .4rem; white-space: pre-wrap; }
table { border-collapse: collapse; } th, td { border: 1px solid var(--line); padding: .2rem .6rem; }
blockquote { margin-left: 0; padding-left: 1rem; border-left: 3px solid var(--line); }
[data-ai-reasoning] { margin: .75rem 0; border-radius: .4rem; background: var(--thought); font-style: italic; }
[data-ai-reasoning-toggle] { all: unset; box-sizing: border-box; width: 100%; padding: .4rem .75rem; cursor: pointer;
  color: var(--soft); font-style: normal; font-size: .9rem; }
[data-ai-reasoning-toggle]:focus-visible { outline: 2px solid currentColor; border-radius: .4rem; }
[data-ai-reasoning-toggle]::before { content: '\\25be\\a0'; }
[data-collapsed='true'] [data-ai-reasoning-toggle]::before { content: '\\25b8\\a0'; }
[data-ai-reasoning-content] { padding: 0 .75rem .6rem; white-space: pre-wrap; }
[data-collapsed='true'] [data-ai-reasoning-content] { display: none; }
@media print { [data-collapsed='true'] [data-ai-reasoning-content] { display: block; } }
.tool summary { color: var(--soft); font-size: .9rem; cursor: pointer; }
.note { color: var(--soft); font-size: .9rem; }
";
