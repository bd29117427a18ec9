//! Whole answers of `/p/...` whose tokens a blocking budget books by the provider's own count.
//!
//! The provider makes all of such an answer even if the caller goes away, so the gateway always reads it to its end.

use crate::load::AnswerRoom;
use crate::models::route::Route;
use crate::spending::{Meter, Metering, RequestCharges};
use crate::state::{RequestState, ended};
use std::future::poll_fn;
use std::sync::Arc;
use thinkthrough_client::{
    BodySender, BodyStream, ClientError, Request as Outbound, Response as Answer, shown,
};
use tokio::sync::oneshot;

/// Sends the request and returns its answer. The gateway books the body as it reads it, to its end even if the caller
/// goes away. If the upstream is lost, or the process ends, it books the whole reservation.
pub(crate) async fn booked(
    state: &RequestState,
    route: &Route,
    send: &Outbound,
    metering: Metering,
) -> Result<Answer, ClientError> {
    let (tell, told) = oneshot::channel();
    let (transport, send, url) = (route.transport.clone(), send.clone(), shown(&send.url));
    let (charges, stage) = (Arc::clone(&state.charges), state.stage.clone());
    let memory = state.load.begin();
    tokio::spawn(async move {
        let sent = tokio::select! {
            sent = transport.send(&send) => sent,
            () = ended(stage.clone()) => return charges.forfeit(),
        };
        match sent {
            Ok(mut answer) if answer.status.is_success() => {
                let meter = Meter::new(&metering, &charges);
                let (sender, body) = BodyStream::channel();
                let upstream = std::mem::replace(&mut answer.body, body);
                drop(tell.send(Ok(answer)));
                tokio::select! {
                    () = read(upstream, sender, (meter, memory)) => {}
                    () = ended(stage.clone()) => {}
                }
            }
            sent => {
                let is_lost = sent.as_ref().is_err_and(ClientError::may_be_billed);
                if tell.send(sent).is_err() && is_lost {
                    charges.forfeit();
                }
            }
        }
        // The process ends only after the last copy of `stage` is dropped.
        drop(stage);
    });
    told.await.unwrap_or_else(|_| {
        let detail = "this gateway ends".to_owned();
        Err(ClientError::Protocol { target: url, detail })
    })
}

async fn read(
    mut upstream: BodyStream,
    sender: BodySender,
    (mut meter, mut memory): (Meter, AnswerRoom),
) {
    let mut sender = Some(sender);
    while let Some(bytes) = upstream.next().await {
        match bytes {
            Ok(bytes) => {
                meter.hear(&bytes);
                poll_fn(|cx| meter.poll_room(&mut memory, cx)).await;
                if let Some(taker) = &sender
                    && !taker.send(bytes).await
                {
                    sender = None;
                }
            }
            Err(error) => {
                if let Some(taker) = sender {
                    taker.cut(&error.to_string()).await;
                }
                return;
            }
        }
    }
}

/// A request that was sent and is not answered yet. If its caller goes away, the tokens that it reserved of limits
/// count as spent, because its provider may answer all the same.
pub(crate) struct Unanswered(Option<Arc<RequestCharges>>);

impl Unanswered {
    pub(crate) fn of(charges: &Arc<RequestCharges>) -> Self {
        Unanswered(Some(Arc::clone(charges)))
    }

    /// The answer, or a failure, has arrived.
    pub(crate) fn answered(mut self) {
        self.0 = None;
    }
}

impl Drop for Unanswered {
    fn drop(&mut self) {
        self.0.take().iter().for_each(|charges| charges.forfeit());
    }
}
