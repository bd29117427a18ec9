//! Finds the connection to a model and sends requests.

use super::engine::Inbound;
use super::keep::Order;
use super::{App, LAST_WRITES};
use crate::session::{Ended, Keep, Message, Progress, Question, Side};
use std::sync::Arc;
use tokio::sync::oneshot;
use tokio::time::timeout;

impl App {
    pub(super) fn ask(&mut self, question: Question) {
        match self.connections.get(&question.model).cloned() {
            Some(connection) => {
                let is_unknown =
                    question.target.rule.context == 0 && !connection.model.is_simulated;
                self.unknown = is_unknown.then(|| question.model.clone());
                let is_kept = self.is_kept();
                self.engine.ask(question, connection, is_kept);
            }
            None => {
                let failure = Some(format!("there is no way to `{}`", question.model));
                let ended = Ended { failure, ..Ended::default() };
                self.update(Message::Progress(question.run, Progress::Done(ended)));
            }
        }
    }

    /// Asks the server of a model that has answered for the context window, once, if the window is unknown.
    pub(super) fn look_for_window(&mut self) {
        let Some(name) = self.unknown.take() else { return };
        if !self.looked_for.insert(name.clone()) {
            return;
        }
        let (host, sender) = (Arc::clone(&self.host), self.sender.clone());
        tokio::spawn(async move {
            if let Some(tokens) = host.window(&name).await {
                drop(sender.send(Inbound::Message(Message::Window(name, tokens))));
            }
        });
    }

    /// Waits until all messages so far are stored, so that a message with an answer is never lost.
    pub(super) fn is_kept(&self) -> impl Future<Output = ()> + Send + 'static {
        let (sender, receiver) = oneshot::channel();
        self.order(Order::Done(sender));
        async move {
            // Without a store the sender was dropped.
            drop(timeout(LAST_WRITES, receiver).await);
        }
    }

    pub(super) fn aside(&mut self, side: Side, question: Question) {
        match self.connections.get(&question.model).cloned() {
            Some(connection) => {
                self.engine.aside(question, connection, move |said| Message::Side(side, said));
            }
            None => {
                let error = format!("there is no way to `{}`", question.model);
                self.update(Message::Side(side, Err(error)));
            }
        }
    }

    /// Finds a model. The session gets the model only after its connection is known.
    pub(super) fn choose(&mut self, name: String) {
        let (host, sender) = (Arc::clone(&self.host), self.sender.clone());
        tokio::spawn(async move {
            let inbound = match host.choose(&name).await {
                Ok(connection) => Inbound::Chosen(Box::new(connection)),
                Err(error) => Inbound::Message(Message::Chosen(Err(error))),
            };
            drop(sender.send(inbound));
        });
    }

    /// Handles a store order without a store. A command of the user gets an error; automatic writes are skipped.
    pub(super) fn without_store(&mut self, keep: &Keep) {
        match keep {
            Keep::Begin
            | Keep::Leave
            | Keep::Message(_)
            | Keep::Title(_)
            | Keep::Model(_)
            | Keep::Reasoning(_)
            | Keep::Cost(_)
            | Keep::Compressed(_) => {}
            Keep::Open(_) | Keep::Fork(_) | Keep::Delete(_) | Keep::List | Keep::Search { .. } => {
                let error = "conversations are not kept in this session".to_owned();
                self.update(Message::Stored(Err(error)));
            }
        }
    }
}
