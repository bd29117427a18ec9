//! Names of models without the additions of hosts, so that a model is recognised on every host.

/// Suffixes that name a format of the weights, or the newest of them.
const FORMATS: [&str; 17] = [
    "awq", "bf16", "exl2", "exl3", "fp16", "fp4", "fp8", "gguf", "gptq", "int4", "int8", "latest",
    "maas", "mlx", "mxfp4", "mxfp8", "nvfp4",
];

/// The families whose models read each other's thoughts, by the beginnings of their names; the first that fits counts.
const FAMILIES: [(&str, &str); 24] = [
    ("claude", "claude"),
    ("gpt-oss", "gpt-oss"),
    ("gpt", "gpt"),
    ("chatgpt", "gpt"),
    ("codex", "gpt"),
    ("o1", "gpt"),
    ("o3", "gpt"),
    ("o4", "gpt"),
    ("gemini", "gemini"),
    ("gemma", "gemma"),
    ("grok", "grok"),
    ("kimi", "kimi"),
    ("deepseek", "deepseek"),
    ("glm", "glm"),
    ("qwen", "qwen"),
    ("qwq", "qwen"),
    ("minimax", "minimax"),
    ("mimo", "mimo"),
    ("mistral", "mistral"),
    ("magistral", "mistral"),
    ("ministral", "mistral"),
    ("command", "command"),
    ("nova", "nova"),
    ("sonar", "sonar"),
];

/// The family of a model, by its name. `None` if the name belongs to no known family.
pub(crate) fn family(model: &str) -> Option<&'static str> {
    let plain = plain(model);
    FAMILIES.iter().find(|(beginning, _)| plain.starts_with(beginning)).map(|(_, family)| *family)
}

/// The tag family of a model whose server does not separate thoughts from text.
pub(crate) fn tags(model: &str) -> Option<&'static str> {
    match family(model)? {
        "deepseek" | "glm" | "mimo" | "minimax" | "qwen" => Some("think"),
        _ => None,
    }
}

/// Returns whether two names belong to one model.
pub(crate) fn is_same(one: &str, other: &str) -> bool {
    one == other || plain(one) == plain(other)
}

/// A model's name in small letters, without the path of its host, the vendor before a dot, tags, dates and formats:
/// `us.anthropic.claude-opus-4-6-20260205`, `deepseek-ai/DeepSeek-V4-FP8`, `gpt-oss:120b`.
pub(crate) fn plain(model: &str) -> String {
    let lower = model.to_ascii_lowercase();
    let name = lower.rsplit('/').find(|part| !part.is_empty()).unwrap_or(&lower);
    let name = name.split(['@', ':']).find(|part| !part.is_empty()).unwrap_or(name);
    let mut name = without_vendor(name);
    while let Some((head, _)) = name.rsplit_once('-').filter(|(_, tail)| is_dressing(tail)) {
        name = head.to_owned();
    }
    match without_date(&name) {
        Some(head) => head.to_owned(),
        None => name,
    }
}

/// A name without regions and vendors before dots. A version alone is no name, so its vendor belongs to it.
fn without_vendor(name: &str) -> String {
    let mut rest = name;
    while let Some((vendor, model)) = rest.split_once('.') {
        let is_word = vendor.bytes().all(|b| b.is_ascii_alphabetic()) || vendor == "us-gov";
        if !is_word || vendor.is_empty() {
            break;
        }
        let is_version = model.starts_with(['r', 'v'])
            && model.get(1..).is_some_and(|it| it.starts_with(|c: char| c.is_ascii_digit()));
        if is_version {
            return format!("{vendor}-{model}");
        }
        rest = model;
    }
    // Claude's own names have no dots.
    if rest.starts_with("claude") { rest.replace('.', "-") } else { rest.to_owned() }
}

/// Whether the last part of a name is a format or a day.
fn is_dressing(tail: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let is_day = tail.len() == 8 && digits(tail);
    let quantised = tail.strip_prefix("iq").or_else(|| tail.strip_prefix('q'));
    let is_quantised = quantised.is_some_and(|it| it.starts_with(|c: char| c.is_ascii_digit()));
    let is_bits = tail.strip_suffix("bit").is_some_and(digits);
    let is_width = tail.strip_prefix('w').and_then(|it| it.split_once('a'));
    let is_width = is_width.is_some_and(|(weights, rest)| digits(weights) && digits(rest));
    FORMATS.contains(&tail) || is_day || is_quantised || is_bits || is_width
}

/// A name without a day at its end: `-2025-08-05`.
fn without_date(name: &str) -> Option<&str> {
    let at = name.len().checked_sub("-2025-08-05".len())?;
    let (head, tail) = (name.get(..at)?, name.get(at..)?);
    let lengths: Vec<usize> = tail.split('-').map(str::len).collect();
    let is_date = lengths == [0, 4, 2, 2] && tail.bytes().all(|b| b == b'-' || b.is_ascii_digit());
    is_date.then_some(head)
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn hosts_write_names_in_many_ways() {
        for (names, expected) in [
            (
                &["deepseek-ai/DeepSeek-V4-FP8", "accounts/fireworks/models/deepseek-v4"][..],
                "deepseek-v4",
            ),
            (&["deepseek.v3.1", "deepseek-v3.1-maas"], "deepseek-v3.1"),
            (
                &[
                    "us.anthropic.claude-opus-4-6",
                    "anthropic/claude-opus-4.6",
                    "claude-opus-4-6@20260205",
                ],
                "claude-opus-4-6",
            ),
            (&["claude-opus-4-6-20260205", "Claude-Opus-4-6-latest"], "claude-opus-4-6"),
            (&["@cf/openai/gpt-oss-120b", "openai.gpt-oss-120b"], "gpt-oss-120b"),
            (&["gpt-oss:120b", "library/gpt-oss:latest"], "gpt-oss"),
            (
                &["Qwen/Qwen3-32B-AWQ", "Qwen3-32B-Q4_K_M", "qwen3-32b-4bit", "qwen3-32b-w4a16"],
                "qwen3-32b",
            ),
            (&["gpt-5-2025-08-07", "openai/gpt-5"], "gpt-5"),
            (&["moonshotai/Kimi-K2.6", "us.moonshotai.kimi-k2.6:0"], "kimi-k2.6"),
            (&["models/gemini-3.8-flash", "google/gemini-3.8-flash"], "gemini-3.8-flash"),
            (&["mistral-large-4"], "mistral-large-4"),
            (&[""], ""),
        ] {
            for name in names {
                assert_eq!(plain(name), expected, "{name}");
            }
        }
    }
}
