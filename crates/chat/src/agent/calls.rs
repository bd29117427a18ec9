//! Runs the tool calls of an answer: the user is asked one by one, the calls run at once, and their results keep the
//! order.

use super::Watch;
use crate::tools::{Approve, FileChange, Given, Job, Rule, ToolKind, Toolbox, Verdict};
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use std::time::Duration;
use thinkthrough_core::content::{Block, Content, Media, Speaker, ToolCall, ToolResponse};
use thinkthrough_json::Extra;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// A finished call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Called {
    /// The call.
    pub call: ToolCall,
    /// The tool's result. A refusal is an error.
    pub response: ToolResponse,
    /// Images and other media that came with the result.
    pub media: Vec<Media>,
    /// The change that was made to a file.
    pub change: Option<FileChange>,
    /// It was not allowed, and did not run.
    pub is_refused: bool,
    /// How long it ran, without the time that the user took to allow it.
    pub took: Duration,
}

impl Called {
    /// The message with the result for the model.
    #[must_use]
    pub fn content(&self) -> Content {
        let mut blocks = vec![Block::ToolResponse(self.response.clone())];
        blocks.extend(self.media.iter().cloned().map(Block::Media));
        Content::new(Speaker::Tool, blocks)
    }
}

/// How long a stopped call may take to return its partial result.
const GRACE: Duration = Duration::from_millis(500);
const STOPPED: &str = "the user stopped this call before it was finished";
const NEVER_RUN: &str = "the user stopped before this call was run";

/// State that the calls of one answer share.
struct Desk<'a> {
    toolbox: &'a Toolbox,
    approve: &'a dyn Approve,
    stop: &'a CancellationToken,
    /// Whether each call is decided. Questions come in the order of the calls, one at a time, so that an "always"
    /// counts for the calls that wait.
    decided: watch::Sender<Vec<bool>>,
    progress: mpsc::UnboundedSender<Progress>,
}

enum Progress {
    Weighed(usize, ToolKind, String),
    Started(usize),
    Output(usize, String),
}

/// Runs the calls and returns their results in the order of the calls.
pub(super) async fn run_calls(
    toolbox: &Toolbox,
    approve: &dyn Approve,
    stop: &CancellationToken,
    (round, calls): (usize, &[ToolCall]),
    watch: &mut (dyn Watch + Send),
) -> Vec<Called> {
    let (progress, mut news) = mpsc::unbounded_channel();
    let decided = watch::Sender::new(vec![false; calls.len()]);
    let desk = Desk { toolbox, approve, stop, decided, progress };
    let mut running: FuturesUnordered<_> =
        calls.iter().enumerate().map(|(index, call)| desk.one(index, call)).collect();
    let mut done: Vec<Option<Called>> = calls.iter().map(|_| None).collect();
    loop {
        tokio::select! {
            biased;
            Some(progress) = news.recv() => tell(&progress, (round, calls), watch),
            next = running.next() => {
                let Some((index, called)) = next else { break };
                // A quick call may begin and end before its progress is read. Its progress is reported before its
                // end.
                while let Ok(progress) = news.try_recv() {
                    tell(&progress, (round, calls), watch);
                }
                watch.call_finished(round, index, &called);
                if let Some(slot) = done.get_mut(index) {
                    *slot = Some(called);
                }
            }
        }
    }
    done.into_iter().flatten().collect()
}

fn tell(progress: &Progress, (round, calls): (usize, &[ToolCall]), watch: &mut (dyn Watch + Send)) {
    match progress {
        Progress::Weighed(index, kind, title) => {
            if let Some(call) = calls.get(*index) {
                watch.call_weighed(round, *index, call, (*kind, title));
            }
        }
        Progress::Started(index) => {
            if let Some(call) = calls.get(*index) {
                watch.call_started(round, *index, call);
            }
        }
        Progress::Output(index, text) => watch.call_output(round, *index, text),
    }
}

impl Desk<'_> {
    async fn one(&self, index: usize, call: &ToolCall) -> (usize, Called) {
        let allowed = tokio::select! {
            biased;
            () = self.stop.cancelled() => Err(NEVER_RUN.to_owned()),
            allowed = self.weigh(index, call) => allowed,
        };
        self.decided.send_modify(|decided| {
            if let Some(decided) = decided.get_mut(index) {
                *decided = true;
            }
        });
        let started = Instant::now();
        let is_refused = allowed.is_err() && !self.stop.is_cancelled();
        let given = match allowed {
            Ok(may_leave) => self.run(index, call, may_leave).await,
            Err(refusal) => Given::error(&refusal),
        };
        let response = ToolResponse {
            call_id: call.id.clone(),
            name: Some(call.name.clone()),
            result: given.result.into(),
            is_error: given.is_error,
            extra: Extra::default(),
        };
        let (media, change) = (given.media, given.change);
        let took = started.elapsed();
        (index, Called { call: call.clone(), response, media, change, is_refused, took })
    }

    /// Reports the effect of the call, and decides whether it may run.
    async fn weigh(&self, index: usize, call: &ToolCall) -> Result<bool, String> {
        let (kind, title) = self.toolbox.describe(call).await;
        drop(self.progress.send(Progress::Weighed(index, kind, title)));
        self.may_run(index, call).await
    }

    /// Whether the call may run. The value in `Ok` says whether it may leave the working folder.
    async fn may_run(&self, index: usize, call: &ToolCall) -> Result<bool, String> {
        match self.toolbox.rule(call).await {
            Rule::Allow { may_leave } => return Ok(may_leave),
            Rule::Deny(why) => return Err(why),
            Rule::Ask(_) => {}
        }
        let before = |decided: &Vec<bool>| decided.iter().take(index).all(|decided| *decided);
        // It fails only if the sender is gone, and `self` holds the sender.
        drop(self.decided.subscribe().wait_for(before).await);
        // An earlier question may have allowed this call too.
        let mut question = match self.toolbox.rule(call).await {
            Rule::Allow { may_leave } => return Ok(may_leave),
            Rule::Deny(why) => return Err(why),
            Rule::Ask(question) => question,
        };
        question.index = index;
        match self.approve.approve(&question).await {
            Verdict::Once => Ok(question.reason.is_some()),
            Verdict::Always => {
                self.toolbox.always(&question);
                Ok(question.reason.is_some())
            }
            Verdict::Deny(words) if words.trim().is_empty() => {
                Err("the user did not allow this call".to_owned())
            }
            Verdict::Deny(words) => Err(format!("this call was not allowed: {}", words.trim())),
        }
    }

    async fn run(&self, index: usize, call: &ToolCall, may_leave: bool) -> Given {
        // If the run was dropped, the receiver is gone, and this call is dropped too.
        let tell = |progress| drop(self.progress.send(progress));
        tell(Progress::Started(index));
        let output = |text: &str| tell(Progress::Output(index, text.to_owned()));
        let stopped = async {
            self.stop.cancelled().await;
            tokio::time::sleep(GRACE).await;
        };
        tokio::select! {
            biased;
            given = self.toolbox.run(call, Job { stop: self.stop, output: &output, may_leave }) => given,
            () = stopped => Given::error(STOPPED),
        }
    }
}
