//! Settings that are printed: a program, and variables of a shell.

use super::gateway::Gateway;
use crate::failure::Failure;
use std::io::Write;
use thinkthrough_json::Raw;

/// Prints a program for the OpenAI SDK.
pub(super) fn python(gateway: &Gateway, out: &mut dyn Write) -> Result<(), Failure> {
    let quoted = |text: &str| Raw::string(text).as_str().to_owned();
    let (base, key) = (quoted(&format!("{}/v1", gateway.base)), quoted(&gateway.key));
    let model = quoted(gateway.model()?);
    Ok(write!(
        out,
        "\
# pip install openai
from openai import OpenAI

client = OpenAI(base_url={base}, api_key={key})
answer = client.chat.completions.create(
    model={model},
    messages=[{{\"role\": \"user\", \"content\": \"What is 2 + 2? Think first.\"}}],
)
print(answer.choices[0].message.content)
"
    )?)
}

/// Prints variables that the SDKs of OpenAI and Anthropic read.
pub(super) fn variables(gateway: &Gateway, out: &mut dyn Write) -> Result<(), Failure> {
    let Gateway { base, key, .. } = gateway;
    for (name, value) in [
        ("OPENAI_BASE_URL", &format!("{base}/v1")),
        ("OPENAI_API_KEY", key),
        ("ANTHROPIC_BASE_URL", base),
        ("ANTHROPIC_AUTH_TOKEN", key),
    ] {
        writeln!(out, "export {name}='{}'", value.replace('\'', "'\\''"))?;
    }
    Ok(())
}
