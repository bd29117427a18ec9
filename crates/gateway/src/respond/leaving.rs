//! Answers whose caller went away. The gateway closes the upstream at once, or drains it: reads the answer to its
//! end.
//!
//! Some providers finish such an answer anyway, and bill all of it. Then draining costs nothing. The thoughts are
//! whole when the caller asks again, and the spent amount is known.

use crate::answer::live::LiveAnswer;
use crate::attempt::sending::{Outcome, Waiting};
use crate::observe::bus::Reporter;
use crate::observe::progress::Heard;
use crate::rejection::Rejection;
use crate::spending::RequestCharges;
use crate::state::{Stage, ended};
use bytes::Bytes;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use thinkthrough_client::{BodyStream, ClientError};
use thinkthrough_core::answer::Answer;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

/// How long the gateway drains an answer.
const TIME: Duration = Duration::from_secs(60);
/// How long it drains a whole answer that a budget or a limit books, because only the provider's count settles it.
const BOOKED: Duration = Duration::from_secs(60 * 60);
/// The most text of a drained answer in bytes: 32,000 tokens of about four letters.
const TEXT: usize = 32_000 * 4;

/// The caller of an answer in progress went away.
pub(crate) fn leave(body: &mut BodyStream, live: &mut LiveAnswer) {
    let Some((live, stage)) = live.leave() else { return leave_spilled(live) };
    live.reporter().is_left(true);
    let body = std::mem::replace(body, BodyStream::whole(Bytes::new()));
    if let Ok(runtime) = Handle::try_current() {
        runtime.spawn(hear(body, live, stage, Instant::now()));
    }
}

/// The caller went away, and the answer is not drained. Its record is made once its spilled thoughts are in memory.
fn leave_spilled(live: &mut LiveAnswer) {
    let (Some(mut live), Ok(runtime)) = (live.leave_spilled(), Handle::try_current()) else {
        return;
    };
    let reporter = live.reporter();
    reporter.is_left(true);
    runtime.spawn(async move {
        poll_fn(|cx| live.poll_gather(true, cx)).await;
        drop(live);
        reporter.ends_unheard();
    });
}

async fn hear(
    mut body: BodyStream,
    mut live: LiveAnswer,
    stage: watch::Receiver<Stage>,
    since: Instant,
) {
    let reporter = live.reporter();
    let until = since + time(live.is_booked());
    let listening = timeout_at(until, listen(&mut body, &mut live));
    let heard = tokio::select! {
        heard = listening => heard.unwrap_or(None),
        () = ended(stage.clone()) => None,
    };
    poll_fn(|cx| live.poll_gather(true, cx)).await;
    let (heard, usage) = match heard {
        // Keeps the part that was complete by then, as if the caller had stopped the answer.
        None => {
            // The drop books the received part and reports it to the trace.
            drop(live);
            (Heard::Left, None)
        }
        Some(cut) => {
            let cut_by = cut.as_ref().map(ToString::to_string);
            let (load, size) = (live.load(), live.came());
            let end = Box::pin(async move { live.end(cut_by.as_deref()) });
            let ended = load.offload.go_on(size, end).await;
            let answer = ended.map(|ended| ended.answer);
            let is_whole = cut.is_none() && answer.as_ref().is_some_and(Answer::is_complete);
            let heard = if is_whole { Heard::Completed } else { Heard::Failed };
            (heard, answer.and_then(|answer| answer.usage))
        }
    };
    reporter.drained(heard, usage.as_ref(), since.elapsed());
    // The end of the process waits until all copies of `stage` are dropped.
    drop(stage);
}

fn time(is_booked: bool) -> Duration {
    if is_booked { BOOKED } else { TIME }
}

/// Reads an answer to its end and returns the error that broke it off. Returns `None` if the answer gets too long, or
/// may not go on for lack of budget or memory.
async fn listen(body: &mut BodyStream, live: &mut LiveAnswer) -> Option<Option<ClientError>> {
    let before = live.heard();
    while !live.is_over() {
        match body.next().await {
            None => break,
            Some(Err(error)) => return Some(Some(error)),
            Some(Ok(bytes)) => drop(live.push(bytes)),
        }
        poll_fn(|cx| live.poll_room(cx)).await;
        let is_long = live.heard() - before > TEXT && !live.is_booked();
        if is_long || live.stopped().is_some() {
            return None;
        }
    }
    Some(None)
}

/// The wait for an answer. It goes on in the background if the caller goes away before the answer begins.
pub(crate) struct Lasting {
    waiting: Option<Waiting>,
    stage: watch::Receiver<Stage>,
    reporter: Arc<Reporter>,
    /// The charges of a whole answer. They are booked in full if the upstream is lost or too late.
    booked: Option<Arc<RequestCharges>>,
}

impl Lasting {
    pub(crate) fn over(
        waiting: Waiting,
        stage: watch::Receiver<Stage>,
        reporter: &Arc<Reporter>,
        booked: Option<Arc<RequestCharges>>,
    ) -> Self {
        // Set before the caller can go away, because the end of the request is reported before this value is dropped.
        reporter.is_left(true);
        Lasting { waiting: Some(waiting), stage, reporter: Arc::clone(reporter), booked }
    }
}

impl Future for Lasting {
    type Output = Result<Outcome, Rejection>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(waiting) = &mut self.waiting else { return Poll::Pending };
        let polled = waiting.as_mut().poll(cx);
        if polled.is_ready() {
            self.waiting = None;
            self.reporter.is_left(false);
        }
        polled
    }
}

impl Drop for Lasting {
    fn drop(&mut self) {
        let Some(waiting) = self.waiting.take() else { return };
        let Ok(runtime) = Handle::try_current() else { return self.reporter.ends_unheard() };
        let (since, stage, reporter) =
            (Instant::now(), self.stage.clone(), Arc::clone(&self.reporter));
        let booked = self.booked.take();
        runtime.spawn(async move {
            let until = since + time(booked.is_some());
            let outcome = tokio::select! {
                outcome = timeout_at(until, waiting) => outcome.ok(),
                () = ended(stage) => None,
            };
            match outcome {
                Some(Ok(Outcome::Answer { answer, mut live, .. })) => {
                    if let Some((live, stage)) = live.leave() {
                        return hear(answer.body, live, stage, since).await;
                    }
                }
                Some(Ok(Outcome::Refused(_))) => {}
                // No count of the lost answer will come.
                Some(Err(_)) => {
                    booked.iter().filter(|charges| charges.has_lost()).for_each(|it| it.forfeit());
                }
                None => booked.iter().for_each(|charges| charges.forfeit()),
            }
            reporter.ends_unheard();
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::live::Keep;
    use crate::load::{Budget, Holder, Load, Offload};
    use crate::observe::bus::Bus;
    use crate::observe::log::Log;
    use crate::observe::spans::Traces;
    use crate::spending::BudgetLeases;
    use crate::store::vault::Looked;
    use std::sync::atomic::{AtomicBool, Ordering};
    use thinkthrough_core::exchange::{Handling, RequestContext};
    use thinkthrough_core::provider::Target;
    use thinkthrough_core::settings::resolve;
    use thinkthrough_core::wire::find;
    use thinkthrough_json::Doc;
    use thinkthrough_limits::runaway::Runaway;

    /// An answer that never begins. It reports that it was dropped.
    struct Never(Arc<AtomicBool>);

    impl Future for Never {
        type Output = Result<Outcome, Rejection>;

        fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
            Poll::Pending
        }
    }

    impl Drop for Never {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    /// A request without listeners.
    fn unheard() -> Arc<Reporter> {
        let bus = Arc::new(Bus::new(Log::off(), Traces::off(), None, None));
        Reporter::new(&bus, 0, "/v1/chat/completions")
    }

    // The paused clock moves on only while a task waits for it.
    #[tokio::test(start_paused = true)]
    async fn c_3_nobody_is_waited_for_longer_than_a_minute() {
        let is_let_go = Arc::new(AtomicBool::new(false));
        let (_open, stage) = watch::channel(Stage::Open);
        drop(Lasting::over(Box::pin(Never(Arc::clone(&is_let_go))), stage, &unheard(), None));
        tokio::time::sleep(TIME - Duration::from_secs(1)).await;
        assert!(!is_let_go.load(Ordering::Relaxed), "it is still waited for");
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert!(is_let_go.load(Ordering::Relaxed), "it is waited for for ever");
    }

    #[tokio::test(start_paused = true)]
    async fn k_5_the_end_of_the_process_waits_for_what_is_heard_and_ends_it_in_time() {
        let is_let_go = Arc::new(AtomicBool::new(false));
        let (open, stage) = watch::channel(Stage::Open);
        drop(Lasting::over(Box::pin(Never(Arc::clone(&is_let_go))), stage, &unheard(), None));
        open.send(Stage::Draining).unwrap();
        let closed = tokio::time::timeout(Duration::from_secs(30), open.closed()).await;
        assert!(closed.is_err() && !is_let_go.load(Ordering::Relaxed), "nobody waited for it");
        open.send(Stage::Ended).unwrap();
        tokio::time::timeout(Duration::from_secs(1), open.closed()).await.unwrap();
        assert!(is_let_go.load(Ordering::Relaxed), "it goes on although the process ends");
    }

    const ASKED: &str = r#"{"model":"m","stream":true,"messages":[]}"#;

    /// An answer whose caller went away, and the bus that receives its events.
    fn left() -> (Arc<Bus>, LiveAnswer) {
        let target = Target::built_in("deepseek", None, "deepseek-chat").unwrap();
        let (doc, settings) = (Doc::parse_str(ASKED).unwrap(), resolve(&[]));
        let wire = find("chat-completions").unwrap();
        let asked = RequestContext::read(wire, &doc, &target, &settings, Handling::default(), None)
            .unwrap();
        let Looked { found, open } = Looked::nothing();
        let mut exchange = asked.prepare(&found, &*open).exchange;
        exchange.head(200);
        let bus = Arc::new(Bus::new(Log::off(), Traces::off(), None, None));
        let reporter = Reporter::new(&bus, 0, "/v1/chat/completions");
        let budget = Arc::new(Budget::new(bus.metrics.load.clone()));
        let pools = Arc::clone(&bus.pools);
        let offload = Offload::new(pools.bodies.clone(), Holder::Operator);
        let share = budget.caller(std::net::Ipv4Addr::LOCALHOST.into());
        let load = Load::new(offload, share, pools);
        let (vault, keeping, tap, drained, store) = (None, None, None, None, Arc::default());
        let charges = RequestCharges::open(
            &Arc::default(),
            &Arc::new(BudgetLeases::new(&bus)),
            &reporter,
            None,
        );
        let (runaway, is_blind, is_booked) = (Runaway::Off, false, false);
        let keep = Keep {
            vault,
            is_blind,
            keeping,
            tap,
            drained,
            is_booked,
            store,
            reporter,
            charges,
            runaway,
            load,
        };
        (bus, LiveAnswer::new(exchange, keep))
    }

    #[tokio::test(start_paused = true)]
    async fn c_3_an_answer_that_goes_on_and_on_is_left() {
        let words = format!(
            r#"{{"choices":[{{"index":0,"delta":{{"content":"{}"}}}}]}}"#,
            "w".repeat(TEXT + 1)
        );
        // Comments are no text, but they take time.
        for (said, seconds) in
            [(": still here\n\n".to_owned(), 60), (format!("data: {words}\n\n"), 1)]
        {
            let (bus, live) = left();
            let (_open, stage) = watch::channel(Stage::Open);
            let (sender, body) = BodyStream::channel();
            let answer_events = tokio::spawn(hear(body, live, stage, Instant::now()));
            for second in 0..seconds {
                assert!(!answer_events.is_finished(), "left after {second} of {seconds} s");
                assert!(sender.send(said.clone()).await);
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
            assert!(answer_events.is_finished(), "still heard after {seconds} s");
            let counted = r#"thinkthrough_drained_total{outcome="left"} 1"#;
            assert!(bus.metrics.text(true).contains(counted), "{}", bus.metrics.text(true));
        }
    }
}
