//! The loop against simulated providers in this process.

mod effort;
mod switching;

use super::*;
use crate::tools::{Given, Job, Pending, Permission, Question, Source, ToolKind, Verdict, Weighed};
use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use thinkthrough_client::{BodySender, BodyStream, InProcess, InProcessAnswer, Response, Secret};
use thinkthrough_conformance::{SimRequest, Simulator};
use thinkthrough_core::content::Speaker;
use thinkthrough_core::provider;
use thinkthrough_core::settings::resolve;
use thinkthrough_core::wire::WireId;
use thinkthrough_json::{Extra, Raw};
use tokio::sync::{Barrier, Notify};

/// A simulator, or a scripted body in its place.
struct Upstream {
    simulator: Simulator,
    /// The first part of an answer that then stops. The first request receives it.
    held: Mutex<Option<&'static str>>,
    /// Whole answers that are sent before any of the simulator's.
    scripted: Mutex<Vec<&'static str>>,
    writers: Mutex<Vec<BodySender>>,
    bodies: Mutex<Vec<String>>,
}

impl InProcess for Upstream {
    fn handle(&self, request: http::Request<Bytes>) -> InProcessAnswer<'_> {
        let (head, body) = request.into_parts();
        self.bodies.lock().unwrap().push(String::from_utf8_lossy(&body).into_owned());
        let held = self.held.lock().unwrap().take();
        let scripted = self.scripted.lock().unwrap().pop();
        let headers = head.headers.iter();
        let headers =
            headers.map(|(k, v)| (k.to_string(), v.to_str().unwrap().to_owned())).collect();
        let path = head.uri.path_and_query().unwrap().to_string();
        let request = SimRequest { method: "POST".into(), path, headers, body: body.to_vec() };
        Box::pin(async move {
            if let Some(half) = held {
                let (writer, body) = BodyStream::channel();
                assert!(writer.send(half.as_bytes().to_vec()).await);
                self.writers.lock().unwrap().push(writer);
                return Ok(Response::new(StatusCode::OK, HeaderMap::new(), body));
            }
            if let Some(whole) = scripted {
                let body = BodyStream::whole(Bytes::from_static(whole.as_bytes()));
                return Ok(Response::new(StatusCode::OK, HeaderMap::new(), body));
            }
            let said = self.simulator.handle(&request);
            let status = StatusCode::from_u16(said.status).unwrap();
            Ok(Response::new(status, HeaderMap::new(), BodyStream::whole(said.bytes())))
        })
    }
}

/// Tools whose results, permissions and timing the test decides.
#[derive(Debug, Default)]
struct Script {
    permissions: BTreeMap<&'static str, Permission>,
    /// Opens when both tools run.
    together: Option<Barrier>,
    /// The tool whose calls take long to weigh.
    slow: Option<&'static str>,
    /// The tool that ends last: it waits until the other one has run.
    last: Option<(&'static str, Notify)>,
    /// Run time of each tool.
    takes: Duration,
}

impl Source for Script {
    fn offers(&self) -> Pending<'_, Vec<(Tool, Permission)>> {
        let tool = |name: &str| Tool::Function {
            name: name.to_owned(),
            description: Some(format!("Gives the {name} value.")),
            parameters: Raw::parse(r#"{"type":"object","properties":{}}"#).ok(),
            extra: Extra::default(),
        };
        let offers = ["alpha", "beta"].map(|name| (tool(name), self.permission(name)));
        Box::pin(std::future::ready(offers.to_vec()))
    }

    fn weigh<'a>(&'a self, call: &'a ToolCall) -> Pending<'a, Option<Weighed>> {
        let known = ["alpha", "beta"].contains(&call.name.as_str());
        let weighed = known.then(|| Weighed {
            permission: self.permission(&call.name),
            kind: ToolKind::Other,
            title: format!("use {}", call.name),
            reason: None,
            change: None,
            grant: "use the Greek tools".to_owned(),
            fault: None,
        });
        Box::pin(async move {
            for _ in 0..if self.slow == Some(call.name.as_str()) { 20 } else { 0 } {
                tokio::task::yield_now().await;
            }
            weighed
        })
    }

    fn run<'a>(&'a self, call: &'a ToolCall, job: Job<'a>) -> Pending<'a, Given> {
        Box::pin(async move {
            (job.output)("working");
            tokio::time::sleep(self.takes).await;
            if let Some(together) = &self.together {
                together.wait().await;
            }
            if let Some((last, gate)) = &self.last {
                if call.name == *last {
                    gate.notified().await;
                } else {
                    gate.notify_one();
                }
            }
            Given::text(&format!("the {} value is 7", call.name))
        })
    }
}

impl Script {
    fn permission(&self, name: &str) -> Permission {
        self.permissions.get(name).copied().unwrap_or(Permission::Allow)
    }
}

/// Answers questions from a list, and stores the questions.
#[derive(Default)]
struct Attempt(Mutex<Vec<Verdict>>, Mutex<Vec<Question>>);

impl Approve for Attempt {
    fn approve<'a>(&'a self, question: &'a Question) -> Pending<'a, Verdict> {
        self.1.lock().unwrap().push(question.clone());
        Box::pin(std::future::ready(self.0.lock().unwrap().remove(0)))
    }
}

/// Records events. Stops the run, or sends a message, at the event that the test names.
#[derive(Default)]
struct Notes {
    lines: Vec<String>,
    control: Control,
    stop_at: Option<&'static str>,
    say_at: Option<&'static str>,
}

impl Notes {
    fn note(&mut self, line: String) {
        if self.stop_at.is_some_and(|at| line.starts_with(at)) {
            self.control.stop();
        }
        if self.say_at.take_if(|at| line.starts_with(*at)).is_some() {
            self.control.say(Content::text(Speaker::Human, "And say which day it is."));
        }
        self.lines.push(line);
    }
}

impl Watch for Notes {
    fn event(&mut self, _: usize, event: Event<'_>) {
        if let Event::ThinkingDelta { delta, .. } = event {
            self.note(format!("thought {delta}"));
        }
    }
    fn outgoing(&mut self, round: usize, _: &Outgoing) {
        self.note(format!("request {round}"));
    }
    fn retry(&mut self, _: &Retry<'_>) {}
    fn notice(&mut self, notice: &Notice) {
        self.note(format!("notice {notice}"));
    }
    fn call_started(&mut self, _: usize, index: usize, call: &ToolCall) {
        self.note(format!("started {index} {}", call.name));
    }
    fn call_output(&mut self, _: usize, index: usize, text: &str) {
        self.note(format!("output {index} {text}"));
    }
    fn call_finished(&mut self, _: usize, index: usize, called: &Called) {
        self.note(format!("finished {index} {}", called.call.name));
    }
    fn tool_response(&mut self, _: usize, response: &ToolResponse) {
        self.note(format!("response {}", response.name.as_deref().unwrap_or_default()));
    }
}

struct Stage {
    target: Target,
    settings: Resolved,
    upstream: Arc<Upstream>,
    transport: Transport,
}

impl Stage {
    fn new(id: &str) -> Self {
        let listed = thinkthrough_conformance::list().into_iter().find(|it| it.id == id).unwrap();
        let provider = provider::find(listed.provider).unwrap();
        let endpoint = provider.endpoint(WireId::parse(listed.wire).ok()).unwrap();
        let mut target = Target::of(provider, endpoint, listed.model);
        target.base_url = format!("http://sim.localhost/{id}");
        let upstream = Arc::new(Upstream {
            simulator: Simulator::find(id).unwrap(),
            held: Mutex::default(),
            scripted: Mutex::default(),
            writers: Mutex::default(),
            bodies: Mutex::default(),
        });
        let transport = Transport::in_process(Arc::clone(&upstream) as Arc<dyn InProcess>);
        Stage { target, settings: resolve(&[]), upstream, transport }
    }

    async fn ask(
        &self,
        (tools, approve): (Option<&Toolbox>, &dyn Approve),
        conversation: &mut Vec<Content>,
        notes: &mut Notes,
    ) -> Outcome {
        let mut setup = Setup::new(&self.target, &self.settings, &self.transport);
        setup.auth = Auth::Bearer(Secret::new("simulated"));
        setup.tools = tools;
        setup.approve = approve;
        let control = notes.control.clone();
        run(&setup, conversation, &control, notes).await.unwrap()
    }
}

fn toolbox(script: Script) -> Toolbox {
    Toolbox::empty().with(Box::new(script)).attended()
}

fn question() -> Vec<Content> {
    vec![Content::text(Speaker::Human, "Use alpha and then use beta.")]
}

fn results(outcome: &Outcome) -> Vec<(String, String, bool)> {
    let responses = outcome.rounds.iter().flat_map(|round| &round.tool_responses);
    responses.map(|it| (it.name.clone().unwrap(), it.result.text(), it.is_error)).collect()
}

#[tokio::test]
async fn an_answer_that_looks_like_tags_is_told_once_with_the_setting_that_reads_them() {
    const TAGGED: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"<think>Hm.</think>It is 4.\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let stage = Stage::new("kimi-k2");
    let (mut conversation, mut notes) = (question(), Notes::default());
    for _ in 0..2 {
        stage.upstream.scripted.lock().unwrap().push(TAGGED);
        stage.ask((None, &Nobody), &mut conversation, &mut notes).await;
        conversation.push(Content::text(Speaker::Human, "Sure?"));
    }
    let told: Vec<&String> = notes.lines.iter().filter(|it| it.starts_with("notice")).collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("set `tags = \"think\"`"), "{told:?}");
}

#[tokio::test]
async fn calls_of_one_answer_run_at_once_and_are_answered_in_their_order() {
    let stage = Stage::new("kimi-k2");
    for last in ["alpha", "beta"] {
        // Neither tool can finish before both run, and `last` ends after the other.
        let script = Script {
            together: Some(Barrier::new(2)),
            last: Some((last, Notify::new())),
            ..Script::default()
        };
        let (mut conversation, mut notes) = (question(), Notes::default());
        let tools = toolbox(script);
        let outcome = stage.ask((Some(&tools), &Nobody), &mut conversation, &mut notes).await;
        let names: Vec<_> = results(&outcome).into_iter().map(|(name, ..)| name).collect();
        assert_eq!(names, ["alpha", "beta"]);
        let lines: Vec<_> =
            notes.lines.iter().filter(|line| !line.starts_with("thought")).collect();
        let finished: Vec<_> = lines.iter().filter(|line| line.starts_with("finished")).collect();
        assert!(finished[1].ends_with(last), "{lines:?}");
        assert_eq!(lines.iter().filter(|line| line.starts_with("output")).count(), 2, "{lines:?}");
        assert_eq!(lines[lines.len() - 3..], ["response alpha", "response beta", "request 1"]);
        assert_eq!((outcome.rounds.len(), outcome.failure), (2, None));
        let text = conversation.last().unwrap().visible_text();
        assert!(text.contains("the alpha value is 7"), "{text}");
    }
}

#[tokio::test]
async fn a_permission_is_asked_for_and_always_counts_for_the_calls_that_wait() {
    let ask = || Script {
        permissions: BTreeMap::from([("alpha", Permission::Ask), ("beta", Permission::Ask)]),
        ..Script::default()
    };
    let given = |name: &str| (name.to_owned(), format!("the {name} value is 7"), false);
    let refused = |name: &str, why: &str| (name.to_owned(), why.to_owned(), true);
    let not_today = "this call was not allowed: not today";
    for (verdicts, expected, questions) in [
        (vec![Verdict::Once, Verdict::Once], [given("alpha"), given("beta")], 2),
        (vec![Verdict::Always], [given("alpha"), given("beta")], 1),
        (
            vec![Verdict::Deny("not today".into()), Verdict::Once],
            [refused("alpha", not_today), given("beta")],
            2,
        ),
        (
            vec![Verdict::Once, Verdict::Deny(String::new())],
            [given("alpha"), refused("beta", "the user did not allow this call")],
            2,
        ),
    ] {
        let stage = Stage::new("anthropic-manual");
        let asked = Attempt(Mutex::new(verdicts), Mutex::default());
        let tools = toolbox(ask());
        let mut notes = Notes::default();
        let outcome = stage.ask((Some(&tools), &asked), &mut question(), &mut notes).await;
        assert_eq!(results(&outcome), expected);
        assert_eq!(asked.1.lock().unwrap().len(), questions);
        assert_eq!(outcome.failure, None);
    }
}

#[tokio::test]
async fn questions_come_in_the_order_of_the_calls_however_long_each_takes_to_weigh() {
    for slow in ["alpha", "beta"] {
        let script = Script {
            permissions: BTreeMap::from([("alpha", Permission::Ask), ("beta", Permission::Ask)]),
            slow: Some(slow),
            ..Script::default()
        };
        let stage = Stage::new("anthropic-manual");
        let asked = Attempt(Mutex::new(vec![Verdict::Once, Verdict::Once]), Mutex::default());
        let tools = toolbox(script);
        let mut notes = Notes::default();
        stage.ask((Some(&tools), &asked), &mut question(), &mut notes).await;
        let asked = asked.1.lock().unwrap();
        let asked: Vec<_> = asked.iter().map(|question| question.tool.as_str()).collect();
        assert_eq!(asked, ["alpha", "beta"], "{slow} is slow");
    }
}

#[tokio::test]
async fn where_nobody_can_be_asked_such_tools_are_neither_offered_nor_run() {
    let script = || Script {
        permissions: BTreeMap::from([("alpha", Permission::Ask), ("beta", Permission::Deny)]),
        ..Script::default()
    };
    assert!(Toolbox::empty().with(Box::new(script())).offers().await.is_empty());
    assert_eq!(toolbox(script()).offers().await.len(), 1, "`beta` is denied");
    let tools = Toolbox::empty().with(Box::new(script())).permit("beta", Permission::Allow);
    assert_eq!(tools.offers().await.len(), 1, "the configuration allows it");
    let stage = Stage::new("kimi-k2");
    let tools = toolbox(script()).permit("beta", Permission::Ask);
    let outcome = stage.ask((Some(&tools), &Nobody), &mut question(), &mut Notes::default()).await;
    for (_, text, is_error) in results(&outcome) {
        assert!(is_error && text.contains("nobody is there to give one"), "{text}");
    }
}

const HALF: &str = "data: {\"id\":\"x\",\"object\":\"chat.completion.chunk\",\"model\":\"kimi-k2-thinking\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"reasoning_content\":\"Half a tho\"}}]}\n\n";

#[tokio::test]
async fn a_stopped_answer_is_kept_and_the_upstream_sees_it_at_once() {
    let stage = Stage::new("kimi-k2");
    *stage.upstream.held.lock().unwrap() = Some(HALF);
    let mut conversation = vec![Content::text(Speaker::Human, "Think about this.")];
    let mut notes = Notes { stop_at: Some("thought"), ..Notes::default() };
    let outcome = stage.ask((None, &Nobody), &mut conversation, &mut notes).await;
    assert!(outcome.is_stopped && outcome.failure.is_none());
    let kept = &conversation[1];
    assert!(kept.partial);
    let thought = kept.thoughts().next().unwrap();
    assert_eq!((thought.thought.as_str(), thought.partial), ("Half a tho", true));
    assert!(thought.duration_ms.is_some());
    let writer = stage.upstream.writers.lock().unwrap().pop().unwrap();
    tokio::time::timeout(Duration::from_secs(60), writer.cancelled()).await.unwrap();
    // The conversation can continue.
    conversation.push(Content::text(Speaker::Human, "Never mind. Hello!"));
    let outcome = stage.ask((None, &Nobody), &mut conversation, &mut Notes::default()).await;
    assert_eq!(outcome.failure, None);
    assert_eq!(conversation.len(), 4);
}

#[tokio::test]
async fn a_stop_before_the_answer_leaves_the_conversation_as_it_was() {
    let stage = Stage::new("kimi-k2");
    let (mut conversation, mut notes) = (question(), Notes::default());
    notes.stop_at = Some("request 0");
    let outcome = stage.ask((None, &Nobody), &mut conversation, &mut notes).await;
    assert_eq!(outcome, Outcome { is_stopped: true, ..Outcome::default() });
    assert_eq!(conversation, question());
}

#[tokio::test]
async fn a_stop_while_tools_run_keeps_what_is_there_and_answers_every_call() {
    let stage = Stage::new("anthropic-manual");
    let script = Script { last: Some(("beta", Notify::new())), ..Script::default() };
    let never = Script { last: Some(("alpha", Notify::new())), ..script };
    let (mut conversation, mut notes) = (question(), Notes::default());
    // `alpha` waits for `beta`, which does not get its permission.
    let tools =
        toolbox(Script { permissions: BTreeMap::from([("beta", Permission::Ask)]), ..never });
    notes.stop_at = Some("output 0");
    let outcome = stage.ask((Some(&tools), &Open), &mut conversation, &mut notes).await;
    assert!(outcome.is_stopped && outcome.rounds.len() == 1);
    let told = results(&outcome);
    assert!(told[0].1.contains("before it was finished"), "{told:?}");
    assert!(told[1].1.contains("before this call was run"), "{told:?}");
    conversation.push(Content::text(Speaker::Human, "Go on."));
    let outcome = stage.ask((None, &Nobody), &mut conversation, &mut Notes::default()).await;
    assert_eq!(outcome.failure, None, "each call has its result");
}

/// Never answers a question.
struct Open;

impl Approve for Open {
    fn approve<'a>(&'a self, _: &'a Question) -> Pending<'a, Verdict> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test]
async fn what_is_said_while_tools_run_goes_in_after_their_results() {
    for id in
        ["kimi-k2", "anthropic-manual", "gemini-3", "responses-stateless", "mistral", "ollama"]
    {
        let stage = Stage::new(id);
        let tools = toolbox(Script::default());
        let (mut conversation, mut notes) = (question(), Notes::default());
        notes.say_at = Some("started 0");
        let outcome = stage.ask((Some(&tools), &Nobody), &mut conversation, &mut notes).await;
        assert_eq!(outcome.failure, None, "{id}");
        let speakers: Vec<_> = conversation.iter().map(|content| content.speaker).collect();
        let (human, ai, tool) = (Speaker::Human, Speaker::Ai, Speaker::Tool);
        let said = speakers.iter().rposition(|speaker| *speaker == human).unwrap();
        assert_eq!(speakers[said - 1..], [tool, human, ai], "{id}: {speakers:?}");
        assert!(stage.upstream.bodies.lock().unwrap()[1].contains("which day it is"), "{id}");
        assert_eq!(outcome.added[..], conversation[1..], "{id}");
    }
}

// The paused clock moves only while all tasks wait.
#[tokio::test(start_paused = true)]
async fn thoughts_are_timed_without_the_tools() {
    let takes = Duration::from_millis(300);
    let stage = Stage::new("kimi-k2");
    let tools = toolbox(Script { takes, ..Script::default() });
    let outcome = stage.ask((Some(&tools), &Nobody), &mut question(), &mut Notes::default()).await;
    let [round, last] = outcome.rounds.as_slice() else { panic!("{outcome:?}") };
    assert!(round.tools >= takes && last.tools < takes, "{outcome:?}");
    for round in [round, last] {
        assert!(round.thinking <= round.took && round.took < takes, "{round:?}");
    }
    let thought = outcome.added[0].thoughts().next().unwrap();
    assert_eq!(thought.duration_ms, u64::try_from(round.thinking.as_millis()).ok());
    // The next thought, in a new request, does not include the time of the tools before it.
    let thoughts = outcome.added.iter().flat_map(Content::thoughts);
    assert!(thoughts.filter_map(|it| it.duration_ms).all(|ms| ms < 300), "{outcome:?}");
    assert_eq!(outcome.thinking(), round.thinking + last.thinking);
}
