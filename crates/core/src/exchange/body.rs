//! The upstream's body, and the parameters of its request beside the messages.

use super::difference::Differences;
use super::{Caller, RequestContext, Thoughts, pair};
use crate::allowance::can_be_off;
use crate::bookkeeping;
use crate::content::Content;
use crate::contract::Return;
use crate::decide::{self, Applied};
use crate::decision::{Action, Decision};
use crate::edit::Plan;
use crate::edit::request::{Additions, plan_to};
use crate::json::Raw;
use crate::outgoing::{self, Choice, Outgoing, Parameters, dressed};
use crate::settings::{Effort, Resolved, Setting, Source};
use crate::turns::Turns;
use std::borrow::Cow;
use thinkthrough_mask::{Masker, mask_request};

impl<'d> RequestContext<'d> {
    /// Whether the turn under way goes on without thinking: one of its answers is known to have had no thought, and the
    /// model demands one of each as long as it thinks.
    pub(super) fn began_off(&self, decisions: &[Decision], settings: &Resolved) -> bool {
        let contract = &self.target.rule.contract;
        let is_strict = contract.required
            && contract.required_in == Return::CurrentTurn
            && contract.bypass.is_none()
            && can_be_off(&self.target.rule);
        if !is_strict
            || self.goes_as_it_came()
            || !decide::thinks(&self.request, &self.target, settings)
        {
            return false;
        }
        let turns = Turns::of(&self.request.contents);
        let mut empty = decisions.iter().filter(|it| it.action == Action::Empty);
        empty.any(|it| turns.is_current(it.message) && turns.has_calls(it.message))
    }

    /// The reason why the tool choice conflicts with the settings, and a remedy.
    pub(super) fn conflict(&self) -> String {
        format!("`tool_choice`: `{}` {}", self.target.model, outgoing::CONFLICT)
    }

    /// Decides about the tool choice. A request that goes as it came on the model's own wire keeps its tool choice.
    pub(super) fn choice(&self) -> Choice {
        if self.is_own_wire() && self.goes_as_it_came() {
            return Choice::Stays;
        }
        outgoing::choice(&self.request, &self.target, &self.settings, self.is_own_wire())
    }

    /// Records the members that are set beside the messages, in the order of setting.
    pub(super) fn set_members(&self, differences: &mut Differences, settings: &Resolved) {
        let Some(Caller { doc, .. }) = self.caller.filter(|_| self.is_own_wire()) else { return };
        let model = Raw::build(|w| w.object(|w| w.field_str("model", &self.target.model)));
        if doc.root().get("model").is_some() {
            differences.set(doc, &model);
        }
        for fill in self.fill(settings) {
            let missing = Raw::build(|w| {
                w.object(|w| {
                    let is_new = |name: &str| doc.root().get(name).is_none();
                    for (name, value) in fill.doc().root().entries().filter(|it| is_new(&it.0)) {
                        w.key(&name).raw_str(value.raw());
                    }
                });
            });
            differences.set(doc, &missing);
        }
        for patch in outgoing::said(&self.request, &self.target, settings).patches {
            differences.set(doc, &patch);
        }
    }

    /// Body, decisions, and the rest of the upstream's request.
    pub(super) fn outgoing(
        &self,
        applied: Applied<'_>,
        settings: &Resolved,
    ) -> (Option<String>, Outgoing) {
        let (applied, lost) = self.fitting(applied);
        let own = self.caller.filter(|_| self.is_own_wire());
        let edited = own.and_then(|caller| self.edited(caller, &applied.contents, settings));
        if let Some((body, said)) = edited {
            let mut warnings = applied.warnings;
            warnings.extend(said.warnings);
            let outgoing = Outgoing {
                url: self.target.url(self.request.stream),
                headers: self.target.headers.clone(),
                body: String::new(),
                stream: self.request.stream,
                decisions: applied.decisions,
                warnings,
                untranslated: lost,
                adapted: said.adapted,
            };
            return (body, outgoing);
        }
        let mut settings = Cow::Borrowed(settings);
        if self.show().is_some() && !settings.include_in_response.is_explicit() {
            let show = Setting { value: true, source: Source::Request };
            settings.to_mut().include_in_response = show;
        }
        let paired = pair::pair(applied.contents);
        // With weak ids of its own, the provider takes such ids.
        let paired = match self.target.rule.contract.tickets {
            None => pair::unique(paired),
            Some(_) => paired,
        };
        let contents = decide::said(paired);
        let applied = Applied { contents, ..applied };
        let mut outgoing = outgoing::write(&self.request, applied, &self.target, &settings);
        outgoing.untranslated.extend(lost);
        let body = std::mem::take(&mut outgoing.body);
        let body = self.without_members(&body).unwrap_or(body);
        (Some(self.at_most(&body).unwrap_or(body)), outgoing)
    }

    /// Fits the messages to the endpoint. Returns also the names of the removed blocks.
    fn fitting<'c>(&self, applied: Applied<'c>) -> (Applied<'c>, Vec<String>) {
        if self.goes_as_it_came() {
            return (applied, Vec::new());
        }
        let (mut contents, is_lost) = outgoing::fitting(applied.contents, &self.target);
        if !self.target.dialect.reads_bookkeeping {
            contents = bookkeeping::in_place(contents);
        }
        let lost = is_lost.then(|| outgoing::TEXT.to_owned());
        (Applied { contents, ..applied }, lost.into_iter().collect())
    }

    /// The caller's own bytes, edited to contain these messages and the settings; `None` if its bytes cannot be
    /// edited.
    fn edited(
        &self,
        caller: Caller<'_>,
        after: &[Content],
        settings: &Resolved,
    ) -> Option<(Option<String>, Parameters)> {
        let text = caller.doc.text();
        let edited = match self.plan(caller, after, settings)?.apply(text.as_bytes()) {
            Cow::Borrowed(_) => None,
            Cow::Owned(bytes) => Some(String::from_utf8(bytes).ok()?),
        };
        let edited = self.for_house(edited.as_deref().unwrap_or(text)).or(edited);
        let mut said = outgoing::said(&self.request, &self.target, settings);
        said.patches.extend(self.lowered(caller, settings));
        let body = match said.patches.as_slice() {
            [] => edited,
            patches => {
                let body = edited.unwrap_or_else(|| text.to_owned());
                Some(outgoing::merged_in(body, patches))
            }
        };
        let whole = outgoing::without_contradiction(
            body.as_deref().unwrap_or(text),
            &self.target.rule,
            settings,
        );
        let whole = whole.or(body);
        let whole = self.without_members(whole.as_deref().unwrap_or(text)).or(whole);
        let whole = self.at_most(whole.as_deref().unwrap_or(text)).or(whole);
        let whole = dressed(whole.as_deref().unwrap_or(text), &self.target).or(whole);
        Some((whole, said))
    }

    /// Covers secrets in the texts of users and tools in the body of an own conversation.
    pub(super) fn cover(&mut self, masker: Option<&'d Masker>) {
        self.masker = masker;
    }

    pub(super) fn covered(&self, body: String) -> String {
        let masked = self.masker.and_then(|masker| {
            let masked = mask_request(masker, body.as_bytes()).ok()??;
            String::from_utf8(masked).ok()
        });
        masked.unwrap_or(body)
    }

    /// Removes bookkeeping lines of clients from the system prompt. `None` if the body stays as it is.
    fn for_house(&self, body: &str) -> Option<String> {
        let is_left_alone = self.goes_as_it_came() || self.target.dialect.reads_bookkeeping;
        if is_left_alone { None } else { bookkeeping::without(body) }
    }

    /// The body within the cap of a budget, which takes precedence over room for a thought.
    fn at_most(&self, body: &str) -> Option<String> {
        outgoing::at_most(body, &self.target, self.most?)
    }

    fn plan(&self, caller: Caller<'_>, after: &[Content], settings: &Resolved) -> Option<Plan> {
        let fill = self.fill(settings);
        let additions = Additions { model: Some(&self.target.model), fill: &fill };
        let before = &self.request.contents;
        plan_to(caller.wire, caller.doc, before, after, &self.target.dialect, additions).ok()
    }

    /// The members that are added if the request lacks them.
    fn fill(&self, settings: &Resolved) -> Vec<Raw> {
        let is_ours = !self.goes_as_it_came();
        let is_thinking = decide::as_asked(&self.request, &self.target, settings).enabled.value;
        // Kimi's models without efforts refuse the member `thinking` beside an effort.
        let has_effort = self.request.reasoning.effort.is_some();
        let is_apart = has_effort && self.target.rule.thinking.effort.is_none();
        let is_thinking_member = |flags: &&str| flags.contains(r#""thinking":"#);
        let flags = self.target.rule.contract.flags;
        let flags = flags.filter(|flags| !(is_apart && is_thinking_member(flags)));
        let said = [flags, self.show().filter(|_| is_thinking)].into_iter().flatten();
        said.filter(|_| is_ours).filter_map(|said| Raw::parse(said).ok()).collect()
    }

    /// The parameter that asks for thoughts that the provider withholds by default, for a caller that shows thoughts
    /// and does not mention them in its request.
    fn show(&self) -> Option<&'static str> {
        let (said, thinking) = (&self.request.reasoning, &self.target.rule.thinking);
        let asks = said.enabled == Some(true) || said.effort.is_some() || said.max_tokens.is_some();
        let thinks = said.enabled != Some(false)
            && said.effort != Some(Effort::None)
            && (asks || thinking.default_on);
        let is_left_out = said.show.is_none();
        let is_wanted = self.handling.thoughts == Thoughts::Show;
        thinking.show.filter(|_| is_wanted && thinks && is_left_out)
    }
}
