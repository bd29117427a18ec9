//! Sends questions, checks their budget, and compresses the conversation before it is too long.

use super::conversation::{Conversation, Plan};
use super::message::{Count, Counted, Effect, Keep, Question, RunId, Scroll, Side};
use super::prompt::Prompt;
use super::{Compressing, Session, Subject, entries};
use crate::attachment::words;
use crate::counted::Growing;
use crate::instructions::with_instructions;
use crate::screen::model::{Activity, Body, Budget, EntryId, Level};
use crate::wording::title;
use std::collections::HashMap;
use thinkthrough_core::content::{Content, Speaker};
use thinkthrough_core::decide;
use thinkthrough_core::price::Price;
use thinkthrough_core::settings::{Setting, Source};
use thinkthrough_core::usage::Usage;
use thinkthrough_limits::{BudgetRefusal, OnExceed};
use thinkthrough_store::Cost;

/// The question in progress.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) id: RunId,
    /// The entries of the incoming answer, by the index of their block.
    pub(super) blocks: HashMap<usize, EntryId>,
    pub(super) estimates: HashMap<usize, Growing>,
    /// The tool calls of the incoming answer, in order.
    pub(super) calls: Vec<CallEntry>,
    pub(super) is_stopping: bool,
    pub(super) price: Option<Price>,
}

/// A tool call of the incoming answer.
#[derive(Debug)]
pub(super) struct CallEntry {
    pub(super) id: Option<String>,
    pub(super) entry: EntryId,
    /// The user did not permit it.
    pub(super) is_refused: bool,
}

/// The part of the context window, in percent, for messages that a compression leaves unchanged.
const STAYS: u64 = 25;

impl Session {
    /// Sends a text, or queues it while another question is in progress.
    pub(super) fn submit(&mut self, prompt: Prompt) {
        self.effect(Effect::Scroll(Scroll::Bottom));
        if self.run.is_some() || self.compressing.is_some() || self.resuming.is_some() {
            self.queue.push_back(prompt);
            return;
        }
        if let Some(missing) = self.model.missing_key.clone() {
            self.composer.put(&prompt.words);
            self.notice(Level::Error, format!("{missing}, or choose another with `/model`"));
            return;
        }
        if self.is_full()
            && let Some(plan) = self.plan()
        {
            self.compress(plan, Some(prompt));
            return;
        }
        self.ask(prompt);
    }

    pub(super) fn next(&mut self) {
        if let Some(prompt) = self.queue.pop_front() {
            self.submit_again(prompt);
        }
    }

    fn submit_again(&mut self, prompt: Prompt) {
        if self.is_full()
            && let Some(plan) = self.plan()
        {
            return self.compress(plan, Some(prompt));
        }
        self.ask(prompt);
    }

    pub(super) fn ask(&mut self, prompt: Prompt) {
        let Prompt { words, files } = prompt;
        if let Some(refusal) = self.refusal() {
            self.composer.put(&words);
            self.notice(Level::Error, refusal.to_string());
            return;
        }
        let text = self.text_of(words, files.text);
        let mut content = Content::text(Speaker::Human, text);
        content.blocks.append(&mut self.attached);
        content.blocks.extend(files.media);
        if self.conversation.contents().is_empty() {
            self.effect(Effect::Keep(Keep::Begin));
        }
        self.instructions.set_date((self.clock + self.view.now).as_secs());
        // A summary may hide an earlier change, which is then repeated.
        let earlier = self.conversation.sent(&self.model.target.rule.contract);
        for content in with_instructions(&earlier, &self.instructions, content) {
            if content.speaker == Speaker::Human {
                let shown = self.cover.content(&content);
                entries::show(std::slice::from_ref(&shown), &mut self.view.transcript);
            }
            self.effect(Effect::Keep(Keep::Message(Box::new(content.clone()))));
            self.conversation.push(content);
        }
        self.title();
        self.send();
    }

    /// Sends the conversation, which ends with a question.
    fn send(&mut self) {
        self.keep_model();
        self.keep_reasoning();
        let settings = self.layers.resolve();
        self.last_run += 1;
        let asked =
            self.conversation.contents().iter().rposition(|it| it.speaker == Speaker::Human);
        self.runs.push((asked.unwrap_or_default(), self.last_run));
        self.run = Some(Run {
            id: self.last_run,
            blocks: HashMap::new(),
            estimates: HashMap::new(),
            calls: Vec::new(),
            is_stopping: false,
            price: self.model.target.price,
        });
        self.view.status.activity = Activity::Sending;
        self.is_stale = true;
        let contents = self.conversation.sent(&self.model.target.rule.contract);
        self.effect(Effect::Ask(Box::new(Question {
            run: self.last_run,
            model: self.model.name.clone(),
            target: self.model.target.clone(),
            settings,
            contents,
        })));
    }

    /// Sends the last question again. If it has an answer, the stored conversation keeps that answer, and a copy
    /// without it continues.
    pub(super) fn retry(&mut self) {
        let contents = self.conversation.contents();
        let Some(at) = contents.iter().rposition(|it| it.speaker == Speaker::Human) else {
            return self.notice(Level::Error, "there is no question to send again yet");
        };
        let missing = self.model.missing_key.as_ref();
        let missing = missing.map(|it| format!("{it}, or choose another with `/model`"));
        if let Some(why) = missing.or_else(|| self.refusal().map(|it| it.to_string())) {
            return self.notice(Level::Error, why);
        }
        let keep = at + 1;
        if keep < contents.len() {
            self.cut(keep);
            if self.conversation.id.is_some() {
                self.effect(Effect::Keep(Keep::Fork(keep)));
            }
        }
        self.effect(Effect::Scroll(Scroll::Bottom));
        self.send();
    }

    /// Stops the command of the user, or else the question in progress.
    pub(super) fn stop(&mut self) -> bool {
        self.stop_shell() || self.stop_run()
    }

    /// Stops the question in progress. Its partial answer is kept.
    pub(super) fn stop_run(&mut self) -> bool {
        let Some(run) = &mut self.run else { return self.stop_compressing() };
        if !run.is_stopping {
            run.is_stopping = true;
            let id = run.id;
            self.effect(Effect::Stop(id));
            self.say_about(Subject::Stopping, "stopping; what was said is kept");
        }
        true
    }

    /// Cancels a compression. The session ignores a summary that arrives later.
    fn stop_compressing(&mut self) -> bool {
        let Some(Compressing { run, then, .. }) = self.compressing.take() else { return false };
        self.effect(Effect::Stop(run));
        self.notice(Level::Info, "nothing was compressed");
        if let Some(prompt) = then.filter(|_| self.composer.is_empty()) {
            self.composer.put(&prompt.words);
        }
        self.next();
        true
    }

    /// Refuses further questions if the budget is spent and its rules block. The gate applies all other rules.
    fn refusal(&self) -> Option<BudgetRefusal> {
        let max = self.rules.max.get()?;
        let is_off = !self.layers.resolve().enabled.value;
        let is_spent = self.rules.on_exceed == OnExceed::Block && self.used >= max && !is_off;
        is_spent.then_some(BudgetRefusal { used: self.used, reserved: 0, max })
    }

    pub(super) fn budget_shown(&self) -> Option<Budget> {
        let max = self.rules.max.get()?;
        Some(Budget { used: self.used, max, warn_percent: self.rules.warn_at.percent() })
    }

    /// Charges a side request for a title or a summary.
    pub(super) fn pay(&mut self, model: &str, usage: Option<&Usage>) {
        let models = self.utility.iter().chain([&self.model]);
        let price = models.into_iter().find(|it| it.name == model).and_then(|it| it.target.price);
        self.book(Cost::of(price, usage));
    }

    /// Counts the tokens of the next request again, if it may have changed.
    pub(super) fn recount(&mut self) {
        if !std::mem::take(&mut self.is_stale) {
            return;
        }
        self.counts += 1;
        let count = self.request();
        self.effect(Effect::Count(Box::new(count)));
    }

    /// The request that would be sent now.
    pub(super) fn request(&self) -> Count {
        Count {
            number: self.counts,
            target: self.lessons.taught(&self.model.target).into_owned(),
            settings: self.layers.resolve(),
            contents: self.conversation.sent(&self.model.target.rule.contract),
            tools: self.tools.clone(),
        }
    }

    pub(super) fn on_counted(&mut self, counted: Counted) {
        if let Some(failure) = counted.warning {
            self.notice(Level::Warning, failure.to_string());
        }
        if counted.number == self.counts {
            self.count = Some(counted.count);
        }
    }

    /// The request has reached the threshold for compression.
    pub(super) fn is_full(&self) -> bool {
        let (Some(count), Some(limit)) = (self.count, self.model.limit()) else { return false };
        let threshold = u128::from(limit) * u128::from(self.compress_at);
        self.compress_at > 0 && u128::from(count.tokens) * 100 >= threshold
    }

    pub(super) fn plan(&self) -> Option<Plan> {
        let room = self.model.limit().map_or(0, |limit| limit / 100 * STAYS);
        self.conversation.plan(room)
    }

    /// Starts a summary of the older part of the conversation, and asks `then` afterwards.
    pub(super) fn compress(&mut self, plan: Plan, then: Option<Prompt>) {
        let before = self.count;
        let of = before.map_or_else(String::new, |count| format!(" of {}", count.tokens));
        let Plan { summarised, stays, tokens, .. } = plan;
        let bound = if self.model.target.rule.contract.bound {
            "; their thoughts are bound to what goes and stay out of requests"
        } else {
            ""
        };
        self.notice(
            Level::Info,
            format!(
                "Compressing: {summarised} messages (about {tokens}{of} tokens) become a summary, the last {stays} \
                 stay{bound}. Nothing is lost: the log keeps everything, and `/compress undo` takes it back."
            ),
        );
        let text = self.conversation.to_summarise(plan.upto);
        self.last_run += 1;
        let run = self.last_run;
        self.compressing = Some(Compressing { run, plan, before, then });
        self.aside(run, Side::Summary(run), text);
    }

    /// Asks the utility model, or else the current one, without reasoning.
    fn aside(&mut self, run: RunId, side: Side, text: String) {
        let model = self.utility.as_ref().unwrap_or(&self.model);
        let mut settings = self.layers.resolve();
        settings.enabled = Setting { value: false, source: Source::Request };
        let question = Question {
            run,
            model: model.name.clone(),
            target: model.target.clone(),
            settings,
            contents: vec![Content::text(Speaker::Human, text)],
        };
        self.effect(Effect::Aside(side, Box::new(question)));
    }

    pub(super) fn on_side(&mut self, side: Side, said: Result<String, String>) {
        match side {
            Side::Title => {
                // A blank answer does not replace the current title.
                if let Some(title) = said.ok().and_then(|said| title(&self.cover.text(&said))) {
                    self.effect(Effect::Keep(Keep::Title(title.clone())));
                    self.conversation.title = Some(title);
                }
            }
            Side::Summary(run) => self.on_summary(run, said),
        }
    }

    fn on_summary(&mut self, run: RunId, said: Result<String, String>) {
        // A cancelled summary may still arrive while another one is being written.
        let Some(Compressing { plan, before, then, .. }) =
            self.compressing.take_if(|it| it.run == run)
        else {
            return;
        };
        match said.map(|text| text.trim().to_owned()) {
            Ok(summary) if !summary.is_empty() => {
                let compression = self.conversation.compress(plan.upto, summary.clone());
                self.effect(Effect::Keep(Keep::Compressed(Some(compression))));
                let before = before.map_or_else(String::new, |count| {
                    format!(" The request had {} tokens.", count.tokens)
                });
                let text = format!(
                    "{} messages are sent as this summary from now on.{before}\n\n{summary}",
                    plan.summarised
                );
                let text = self.cover.text(&text).into_owned();
                self.view.transcript.push(Body::Compression(text));
                self.is_stale = true;
            }
            Ok(_) => {
                let text =
                    "the summary came back empty, so nothing was compressed; try `/compress` again";
                self.notice(Level::Error, text);
            }
            Err(error) => {
                self.notice(Level::Error, format!("nothing was compressed: {error}"));
            }
        }
        match then {
            Some(prompt) => self.ask(prompt),
            None => self.next(),
        }
    }

    /// Gives a new conversation a title at once: the beginning of its first question.
    fn title(&mut self) {
        if self.conversation.title.is_some() {
            return;
        }
        let contents = self.conversation.contents();
        let first = contents.iter().find(|content| content.speaker == Speaker::Human);
        let title = first.map(|first| title_of(&self.cover.text(words(&first.visible_text()))));
        let Some(title) = title else { return };
        self.conversation.title = Some(title.clone());
        self.is_titled = false;
        self.effect(Effect::Keep(Keep::Title(title)));
    }

    /// Asks the utility model, if one is configured, for a better title.
    pub(super) fn ask_for_title(&mut self) {
        if std::mem::replace(&mut self.is_titled, true) || self.utility.is_none() {
            return;
        }
        let contents = std::sync::Arc::clone(self.conversation.contents());
        let Some(first) = contents.iter().find(|content| content.speaker == Speaker::Human) else {
            return;
        };
        let asked = first.visible_text();
        let answered = contents.last().map(Content::visible_text).unwrap_or_default();
        let text = format!(
            "Give this conversation a title of at most six words. Say the title only.\n\n[user]\n{}\n\n[assistant]\n{}",
            head(&asked),
            head(&answered)
        );
        self.last_run += 1;
        self.aside(self.last_run, Side::Title, text);
    }

    /// Number of thoughts that the current model cannot read.
    pub(super) fn withheld(&self) -> usize {
        let contents = self.conversation.contents();
        decide::withheld(contents, &self.model.target, &self.layers.resolve())
    }

    pub(super) fn conversation(&self) -> &Conversation {
        &self.conversation
    }
}

/// A title from the beginning of a text.
fn title_of(text: &str) -> String {
    title(text).unwrap_or_else(|| "untitled".to_owned())
}

fn head(text: &str) -> String {
    text.chars().take(2_000).collect()
}
