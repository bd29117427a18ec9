//! Chat Completions and its relatives: one validator and one renderer, and a [`ChatDialect`] for
//! each provider.

mod contract;
mod details;
mod dialect;
mod fields;
mod google;
mod read;
mod refuse;
mod stream;
mod whole;

use serde_json::{Value, json};

use crate::gemini;
use crate::json::Keyed;
use crate::mind::{self, Plan};
use crate::reply::{Answer, Refusal, Visit};
use crate::seal::{ALNUM, Digest};

pub(crate) use dialect::*;
pub(crate) use refuse::{refusal, unauthorised};

pub(crate) fn answer(visit: &mut Visit<'_>, dialect: &ChatDialect) -> Result<Answer, Refusal> {
    let route = visit.route.strip_prefix("/v1beta/openai").unwrap_or(visit.route);
    let route = route.strip_prefix("/v1").unwrap_or(route);
    match (visit.request.method.as_str(), route) {
        ("POST", "/chat/completions") => {
            complete(visit, dialect).map_err(|refusal| refuse::as_streamed(visit, dialect, refusal))
        }
        ("GET", "/models") => Ok(models(visit)),
        ("GET", route) if route.strip_prefix("/models/") == Some(visit.model) => {
            Ok(Answer::whole(&model(visit.model)))
        }
        (method, route) => {
            let text = format!("Invalid URL ({method} {route})");
            Err(refusal(dialect, 404, &text))
        }
    }
}

fn models(visit: &Visit<'_>) -> Answer {
    Answer::whole(&json!({"object": "list", "data": [model(visit.model)]}))
}

fn model(id: &str) -> Value {
    json!({"id": id, "object": "model", "created": CREATED, "owned_by": "simulated"})
}

/// The text of gpt-oss before its calls.
const PREAMBLE: &str = "I will look.";

/// The creation time of all answers, in Unix seconds. Simulators have no clock.
const CREATED: u64 = 1_760_000_000;

fn complete(visit: &mut Visit<'_>, dialect: &ChatDialect) -> Result<Answer, Refusal> {
    let request = read::request(visit, dialect)?;
    contract::enforce(visit, dialect, &request)?;
    let mut plan = mind::think(&request.scene);
    if dialect.contract == Contract::Apart && !plan.calls.is_empty() {
        PREAMBLE.clone_into(&mut plan.text);
        plan.thought = mind::reworded(&plan.thought, 1, &plan.text, &plan.calls);
    }
    let seed = visit.seed();
    let reply = Reply {
        dialect,
        id: format!("chatcmpl-{}", seed.text("id").word(ALNUM, 24)),
        model: request.model.clone(),
        ids: call_ids(dialect, &request, &plan, seed),
        usage: usage(dialect, &request, &plan),
        split: request.body.at("reasoning_split") == true,
        with_usage: request.body.at("stream_options").at("include_usage") == true,
        hidden: hidden(dialect, &request.body),
        signature: match dialect.carrier {
            Carrier::ThoughtTags => {
                gemini::signature(visit, &request.model, &plan).unwrap_or_default()
            }
            Carrier::Details => details::signature(visit, &request.model, &plan),
            Carrier::ReasoningContent
            | Carrier::Reasoning
            | Carrier::ThinkTags
            | Carrier::Chunks => String::new(),
        },
        plan,
        index: 0,
        choices: request.choices,
    };
    Ok(if request.stream { stream::render(&reply) } else { whole::render(&reply) })
}

/// The data of an answer, for both renderers.
#[derive(Clone)]
struct Reply<'a> {
    dialect: &'a ChatDialect,
    id: String,
    model: String,
    plan: Plan,
    ids: Vec<String>,
    usage: Value,
    /// MiniMax' switch: `reasoning_details` instead of tags.
    split: bool,
    /// The request asked for a usage chunk.
    with_usage: bool,
    /// The thought is billed but not shown.
    hidden: bool,
    /// The signature of the thought. Empty if the provider signs none.
    signature: String,
    /// Zero-based index of this choice.
    index: u64,
    /// Number of choices.
    choices: u64,
}

impl Reply<'_> {
    /// All choices. They make the same calls, but each has its own thought, text and call ids.
    fn all(&self) -> Vec<Self> {
        let one = |index: u64| {
            let mut choice = Self { index, ..self.clone() };
            if index > 0 {
                choice.ids.iter_mut().for_each(|id| id.push_str(&format!("{index}")));
                if !choice.plan.text.is_empty() {
                    choice.plan.text.push_str(&format!(" (Said in {} other words.)", index + 1));
                }
                let Plan { thought, text, calls, .. } = &choice.plan;
                choice.plan.thought = mind::reworded(thought, index + 1, text, calls);
            }
            choice
        };
        (0..self.choices).map(one).collect()
    }

    fn finish_reason(&self) -> &'static str {
        if self.plan.truncated {
            "length"
        } else if self.plan.calls.is_empty() {
            "stop"
        } else {
            "tool_calls"
        }
    }

    /// The wire form of a call. Only streams add `index` to it.
    fn call(&self, place: usize, arguments: &str) -> Value {
        let name = self.plan.calls.get(place).map_or("", |call| call.name.as_str());
        let id = self.ids.get(place).map_or("", String::as_str);
        let mut call = json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
        if self.dialect.carrier == Carrier::ThoughtTags && place == 0 {
            call.set("extra_content", google::signed(&self.signature));
        }
        call
    }

    fn arguments(&self, place: usize) -> String {
        self.plan.calls.get(place).map_or_else(String::new, |call| call.arguments.to_string())
    }
}

fn hidden(dialect: &ChatDialect, body: &Value) -> bool {
    match dialect.carrier {
        Carrier::Reasoning => {
            body.at("reasoning_format") == "hidden" || body.at("include_reasoning") == false
        }
        Carrier::Details => *body.at("reasoning").at("exclude") == true,
        Carrier::ThoughtTags => !google::shows_thoughts(body),
        Carrier::ReasoningContent | Carrier::ThinkTags | Carrier::Chunks => false,
    }
}

fn call_ids(
    dialect: &ChatDialect,
    request: &read::Request,
    plan: &Plan,
    seed: Digest,
) -> Vec<String> {
    let before: usize = request.messages.iter().map(|message| message.calls.len()).sum();
    let calls = plan.calls.iter().enumerate();
    calls
        .map(|(place, call)| {
            let seed = seed.text("call").number(place as u64);
            match dialect.ids {
                Ids::Counted => format!("functions.{}:{}", call.name, before + place),
                Ids::Repeating => format!("{}:{place}", call.name),
                Ids::Prefixed { prefix, length } => format!("{prefix}{}", seed.word(ALNUM, length)),
                Ids::Position => format!("call_{place}"),
            }
        })
        .collect()
}

fn usage(dialect: &ChatDialect, request: &read::Request, plan: &Plan) -> Value {
    let prompt = mind::tokens(&request.body.at("messages").to_string())
        + mind::tokens(&request.body.at("tools").to_string());
    let (thought, visible) = (plan.thought_tokens(), plan.visible_tokens());
    let (thought, visible) = (thought * request.choices, visible * request.choices);
    let completion = thought + visible;
    let mut usage = json!({
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    });
    if dialect.counts_reasoning() {
        usage.set("completion_tokens_details", json!({"reasoning_tokens": thought}));
    }
    if dialect.house == House::Kimi {
        usage.set("cached_tokens", json!(0));
    } else if dialect.house == House::DeepSeek {
        usage.set("prompt_cache_hit_tokens", json!(0));
        usage.set("prompt_cache_miss_tokens", json!(prompt));
    } else if dialect.house == House::Xai {
        // xAI counts only visible tokens here. The total includes the thought.
        usage.set("completion_tokens", json!(visible));
    }
    usage
}
