//! Text without secrets that looks like it has many: thoughts of models, code, logs, digests, pictures.

use super::samples::Random;

/// The letters of random values.
const HEX: &str = "0123456789abcdef";
const ALNUM: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const BASE64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const BASE64_URL: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Lines with placeholders such as `{h40}`: the letter names the set, the number the length.
const LINES: [&str; 64] = [
    "So the user wants the token count, not the token itself; {w} has to change first.",
    "The password is read from the environment, and the secret is never stored, I think.",
    "Let me check whether the API key is set: if it is missing, the request fails with 401.",
    "Hmm, {w} and {w} look alike, but the key is the {w} of the pair, so the order counts.",
    "Wait. The session token expires after {d2} minutes, and the refresh token after {d1} days.",
    "First, {w}; then {w}. The secret is to keep the {w} small and the {w} simple.",
    "password: str = Field(..., min_length={d2})",
    "api_key = os.environ[\"EXAMPLE_API_KEY\"]",
    "const token = await getToken(user.id, { scope: \"{w}\" });",
    "let secret = config.secrets.get(\"{w}\").ok_or(Error::Missing)?;",
    "if (password !== confirmPassword) throw new Error(\"passwords differ\");",
    "def set_password(self, password: str, *, hash_name: str = \"argon2id\") -> None:",
    "    auth_token: Optional[str] = None  # set by login()",
    "export API_KEY=\"$(pass show {w}/api)\"",
    "api_key: ${{ secrets.DEPLOY_KEY }}",
    "  password: {{ .Values.postgres.password | quote }}",
    "SECRET_KEY = env(\"DJANGO_SECRET_KEY\")",
    "client_secret=<your client secret here>",
    "OPENAI_API_KEY=sk-xxxxxxxxxxxxxxxxxxxxxxxx",
    "AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE",
    "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "Authorization: Bearer <token>",
    "curl -H \"Authorization: Bearer $TOKEN\" https://api.example.org/v1/{w}/{d4}",
    "postgres://user:password@localhost:5432/{w}",
    "redis://default:${REDIS_PASSWORD}@cache:6379/{d1}",
    "commit {h40}",
    "index {h7}..{h7} 100644",
    "sha256:{h64}",
    "{h8}-{h4}-4{h3}-a{h3}-{h12}",
    "\"request_id\":\"req_{a24}\",\"trace\":\"{h32}\"",
    "{\"id\":\"call_{a24}\",\"type\":\"function\",\"function\":{\"name\":\"{w}\"}}",
    "{\"type\":\"tool_use\",\"id\":\"toolu_{a24}\",\"name\":\"{w}\"}",
    "{\"type\":\"thinking\",\"thinking\":\"{w} {w} {w}\",\"signature\":\"{B300}\"}",
    "{\"thoughtSignature\":\"{u400}\"}",
    "{\"encrypted_content\":\"gAAAAAB{u200}\"}",
    "{\"id\":\"rs_{h48}\",\"type\":\"reasoning\",\"summary\":[]}",
    "![chart](data:image/png;base64,iVBORw0KGgo{B900})",
    "src: url(data:font/woff2;base64,d09GMgAB{B600}) format(\"woff2\");",
    "integrity: sha512-{B86}==",
    "resolved \"https://registry.example.org/{w}/-/{w}-{d1}.{d2}.{d1}.tgz#{h40}\"",
    "checksum = \"{h64}\"",
    "etag: W/\"{h32}\"",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{B43} {w}@{w}",
    "-----BEGIN CERTIFICATE-----",
    "{B64}",
    "-----END CERTIFICATE-----",
    "!function(e,t){\"object\"==typeof exports?module.exports=t():e.{a4}=t()}(this,function(){return function(e){var t={};function n(r){if(t[r])return t[r].exports}}});",
    "var a=function(e){return e.replace(/[A-Z]/g,function(e){return\"-\"+e.toLowerCase()})},i=0x{h6},o=\"{a12}\";",
    "<path d=\"M{d3}.{d2} {d3}.{d2}c{d1}.{d2} {d1}.{d2} {d1}.{d2} {d1}.{d2}z\" fill=\"#{h6}\"/>",
    ".{w}-{a6}{color:#{h6};background:rgba({d3},{d3},{d3},.{d1})}",
    "0x{h16} <{w}::{w}+{d3}>: mov rax, [rbp-0x{h2}]",
    "{d4}-0{d1}-1{d1}T1{d1}:2{d1}:3{d1}.{d3}Z INFO {w}: took {d3} ms, trace_id={h32} span_id={h16}",
    "{d3}.{d3}.{d2}.{d2} - - \"GET /{w}/{d6}?page={d1}&sort={w} HTTP/1.1\" 200 {d5}",
    "https://example.org/{w}/{u22}?v={u11}&t={d3}s",
    "docker run -e TOKEN -e PASSWORD -v /{w}:/{w} registry.example.org/{w}@sha256:{h64}",
    "License key: see LICENSE.txt; SPDX-License-Identifier: Apache-2.0",
    "tokens: { input: {d4}, output: {d3}, reasoning: {d3}, cached: {d3} }",
    "max_tokens={d4}, stop_token=\"</s>\", pad_token_id={d5}",
    "primary key ({w}_id), foreign key ({w}_id) references {w} (id)",
    "key_{w}_{d2}: TokenKind::{w}{d2} => Token::new(TokenKind::{w}, {d3}..{d3}),",
    "The public key fingerprint is SHA256:{B43} {w}@{w}",
    "| `password` | string | yes | at least {d1} characters, one of them a digit |",
    "token_type_ids tokenizer_config token_embedding.weight [{d5}, {d4}] float16",
    "fn secret_santa(names: &[&str], seed: u64) -> Vec<(usize, usize)> {",
];

const WORDS: [&str; 24] = [
    "parser", "stream", "buffer", "header", "request", "window", "answer", "thread", "ledger",
    "record", "bucket", "planner", "socket", "vector", "module", "column", "branch", "garden",
    "harvest", "meadow", "lantern", "compass", "village", "thunder",
];

/// Makes that many bytes of benign text.
pub(super) fn text(bytes: usize, seed: u64) -> String {
    let mut random = Random(seed);
    let mut out = String::with_capacity(bytes + 1024);
    while out.len() < bytes {
        line(LINES[random.below(LINES.len())], &mut random, &mut out);
        out.push('\n');
    }
    out
}

fn line(template: &str, random: &mut Random, out: &mut String) {
    let mut rest = template;
    while let Some((before, behind)) = rest.split_once('{') {
        out.push_str(before);
        let run = behind.split_once('}').and_then(|(run, after)| {
            let mut chars = run.chars();
            let letters = match chars.next()? {
                'w' if run.len() == 1 => {
                    out.push_str(WORDS[random.below(WORDS.len())]);
                    return Some(after);
                }
                'h' => HEX,
                'a' => ALNUM,
                'B' => BASE64,
                'u' => BASE64_URL,
                'd' => "123456789",
                _ => return None,
            };
            let letters = letters.as_bytes();
            let length: usize = chars.as_str().parse().ok()?;
            out.extend((0..length).map(|_| char::from(letters[random.below(letters.len())])));
            Some(after)
        });
        rest = run.unwrap_or_else(|| {
            out.push('{');
            behind
        });
    }
    out.push_str(rest);
}
