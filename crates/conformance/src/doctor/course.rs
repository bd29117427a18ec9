//! Plays a scenario one way and records the requests.

use super::Gateway;
use super::Ward;
use super::caller::Answer;
use super::patient::{Entry, IMAGE, Patient, Way};
use super::post::Heard;
use super::scenario::{Act, Play, Scenario};
use super::stage::Seen;
use crate::log::ThoughtState;

/// The most answers of a tool loop, so that every scenario ends.
const ROUNDS: usize = 8;

/// The record of one way.
#[derive(Debug, Default)]
pub(super) struct Trace {
    pub(super) rounds: Vec<Round>,
    /// The reason why the scenario could not be played to its end.
    pub(super) broken: Option<String>,
    /// Number of cut streams.
    pub(super) cuts: usize,
}

/// One request of the client.
#[derive(Debug)]
pub(super) struct Round {
    pub(super) status: u16,
    /// The text of a refusal.
    pub(super) refusal: String,
    pub(super) explained: Option<String>,
    /// The body that the client sent.
    pub(super) sent: Vec<u8>,
    /// The last request that arrived at the simulator.
    pub(super) arrived: Option<Seen>,
    /// Number of the simulator's refusals in this round. If the gateway repairs the request, the
    /// client does not see them.
    pub(super) repaired: usize,
    pub(super) answer: Answer,
    /// The thoughts of earlier answers with calls, which a client without losses would send.
    pub(super) thoughts: Vec<String>,
    /// Thoughts that must not be in this request.
    pub(super) strange: Vec<String>,
    pub(super) is_stranger: bool,
    /// The gateway lost its memory before this request.
    pub(super) is_after_loss: bool,
    /// The token count of the answer, if the request asked for one.
    pub(super) counted: Option<u64>,
}

impl Round {
    pub(super) fn losses(&self) -> &[String] {
        self.arrived.as_ref().map_or(&[], |seen| &seen.log.losses)
    }

    /// Number of thoughts that arrived unchanged.
    pub(super) fn own(&self) -> usize {
        self.states(ThoughtState::Own)
    }

    pub(super) fn states(&self, state: ThoughtState) -> usize {
        let thoughts = self.arrived.iter().flat_map(|seen| &seen.log.thoughts);
        thoughts.filter(|thought| thought.state == state).count()
    }
}

/// One way of a scenario, while it is played.
pub(super) struct Run<'a> {
    ward: &'a Ward,
    way: Way,
    /// The address of the simulators or of the gateway. It changes if the gateway is started again.
    base: String,
    gateway: Option<&'a dyn Gateway>,
    patient: Patient<'a>,
    trace: Trace,
    /// The thoughts and payloads of all whole answers, from any conversation.
    read: Vec<String>,
    is_after_loss: bool,
}

impl<'a> Run<'a> {
    pub(super) fn new(
        ward: &'a Ward,
        (number, scenario): (usize, &'a Scenario),
        way: Way,
        gateway: Option<&'a dyn Gateway>,
    ) -> Self {
        let base = match (way, gateway) {
            (Way::Gateway, Some(gateway)) => gateway.base(),
            _ => ward.base(),
        };
        let patient = Patient::new(scenario, number, way);
        let (trace, read) = (Trace::default(), Vec::new());
        Self { ward, way, base, gateway, patient, trace, read, is_after_loss: false }
    }

    /// Starts a gateway that the scenario will kill: a process of its own with an empty memory.
    pub(super) async fn prepare(&mut self, scenario: &Scenario) -> Result<(), String> {
        if let (Way::Gateway, Some(gateway), true) =
            (self.way, self.gateway, scenario.needs_restart())
        {
            self.base = gateway.kill_and_start(true).await?;
        }
        Ok(())
    }

    /// Plays all acts, and stops at the first refusal.
    pub(super) async fn play(mut self, play: &Play) -> Trace {
        let ended = match play {
            Play::Acts(acts) => self.acts(acts).await,
            Play::Cuts => self.cuts().await,
        };
        if let Err(Stop::Broken(why)) = ended {
            self.trace.broken = Some(why);
        }
        self.trace
    }

    async fn acts(&mut self, acts: &[Act]) -> Result<(), Stop> {
        for act in acts {
            self.act(*act).await?;
        }
        Ok(())
    }

    async fn act(&mut self, act: Act) -> Result<(), Stop> {
        match act {
            Act::User(text) => self.patient.say(text, None),
            Act::Image(text) => self.patient.say(text, Some(IMAGE)),
            Act::Send => self.send().await?,
            Act::Tools => {
                self.patient.run_tools();
            }
            Act::Loop => self.tool_loop().await?,
            Act::Waste => {
                self.round(None, false).await?;
            }
            Act::HangUp(pieces) => {
                self.round(Some(pieces), false).await?;
            }
            Act::Count => {
                self.round(None, true).await?;
            }
            Act::Model(sim) => self.patient.sim = sim,
            Act::Extra(fields) => self.patient.extra(fields),
            Act::New => self.patient.begin_anew(),
            Act::Keep(number) => self.patient.keep(number),
            Act::Back(number) => self.patient.back(number),
            Act::Compact(summary) => self.patient.compact(summary),
            Act::Stranger => self.patient.is_stranger = true,
            Act::Kill => self.restart(false).await?,
            Act::Lose => self.restart(true).await?,
        }
        Ok(())
    }

    async fn restart(&mut self, forgets: bool) -> Result<(), Stop> {
        if let (Way::Gateway, Some(gateway)) = (self.way, self.gateway) {
            self.base = gateway.kill_and_start(forgets).await.map_err(Stop::Broken)?;
            self.is_after_loss |= forgets;
        }
        Ok(())
    }

    async fn tool_loop(&mut self) -> Result<(), Stop> {
        for _ in 0..ROUNDS {
            self.send().await?;
            if !self.patient.run_tools() {
                return Ok(());
            }
        }
        Err(Stop::Broken("the tool loop found no end".to_owned()))
    }

    async fn send(&mut self) -> Result<(), Stop> {
        let answer = self.round(None, false).await?;
        if !answer.is_whole {
            return Err(Stop::Broken("the answer has no end".to_owned()));
        }
        self.patient.course.entries.push(Entry::Answer(answer));
        Ok(())
    }

    /// Cuts the first answer of a tool loop after each of its events in turn.
    async fn cuts(&mut self) -> Result<(), Stop> {
        let mut at = 0;
        loop {
            self.patient.begin_anew();
            self.patient.say(&format!("What is in this folder? I ask for the {at}. time."), None);
            self.ward.stage.cut_next(at);
            let answer = self.cut_round().await?;
            let events = self.trace.rounds.last().and_then(|round| round.arrived.as_ref());
            let events = events.map_or(0, |seen| seen.events);
            if answer.is_some_and(|answer| answer.is_whole) && at + 1 < events {
                return Err(Stop::Broken(format!(
                    "cut after {at} of {events} events, the answer looked whole"
                )));
            }
            self.trace.cuts = at;
            if at >= events {
                return Ok(());
            }
            self.tool_loop().await?;
            at += 1;
        }
    }

    /// Plays a request whose answer is cut. Its failure is not a refusal, so that the scenario goes
    /// on.
    async fn cut_round(&mut self) -> Result<Option<Answer>, Stop> {
        let heard = match self.exchange(None, false, true).await {
            Ok(heard) => heard,
            // The connection may break before the head of the response.
            Err(Stop::Broken(_)) if !self.trace.rounds.is_empty() => Heard::default(),
            Err(stop) => return Err(stop),
        };
        let (status, answer) = (heard.status, self.note(&heard, true)?);
        Ok((status == 200).then_some(answer))
    }

    /// Plays a request. The first refusal ends the scenario.
    async fn round(&mut self, pieces: Option<usize>, count: bool) -> Result<Answer, Stop> {
        let stream = !count && (pieces.is_some() || self.streams());
        let heard = self.exchange(pieces, count, stream).await?;
        let status = heard.status;
        let answer = self.note(&heard, stream)?;
        if status == 200 { Ok(answer) } else { Err(Stop::Refused) }
    }

    /// Whether the next request streams. Every second one does.
    fn streams(&self) -> bool {
        self.patient.requests.is_multiple_of(2)
    }

    async fn exchange(
        &mut self,
        pieces: Option<usize>,
        count: bool,
        stream: bool,
    ) -> Result<Heard, Stop> {
        let own: Vec<String> = self.patient.own_answers().flat_map(marks).collect();
        let strangers = self.read.iter().filter(|read| !own.contains(read));
        let strange: Vec<String> = strangers.cloned().collect();
        // A stranger may receive thoughts of his own answers, but not those of the first client.
        let is_meant = |answer: &&Answer| !(self.patient.is_stranger && answer.is_strangers);
        let calling = self.patient.own_answers().filter(|answer| !answer.calls.is_empty());
        let calling = calling.filter(is_meant);
        let thoughts = calling.map(|answer| answer.thought.clone()).collect();
        let (before, letter) = self.patient.ask(stream, count).map_err(Stop::Broken)?;
        // Requests that arrived late, after the end of the previous round, do not belong to this
        // one.
        self.ward.stage.forget();
        let base = format!("{}{before}", self.base);
        let heard = self.ward.postman.send(&base, &letter, pieces).await;
        let said = heard.as_ref().ok();
        self.trace.rounds.push(Round {
            status: said.map_or(0, |heard| heard.status),
            refusal: String::new(),
            explained: said.and_then(|heard| heard.explained.clone()),
            counted: said.filter(|_| count).and_then(counted),
            sent: letter.body,
            arrived: None,
            repaired: 0,
            answer: Answer::default(),
            thoughts,
            strange,
            is_stranger: self.patient.is_stranger,
            is_after_loss: self.is_after_loss,
        });
        heard.map_err(Stop::Broken)
    }

    /// Records the result of a request.
    fn note(&mut self, heard: &Heard, stream: bool) -> Result<Answer, Stop> {
        let caller = self.patient.caller().map_err(Stop::Broken)?;
        let mut seen = self.ward.stage.seen();
        let Some(round) = self.trace.rounds.last_mut() else { return Err(Stop::Refused) };
        round.repaired = seen.iter().filter(|seen| seen.log.refusal.is_some()).count();
        round.arrived = seen.pop();
        if heard.status != 200 {
            round.refusal = heard.text();
            return Ok(Answer::default());
        }
        let mut answer = caller.read(&heard.text(), stream);
        answer.is_whole &= !heard.broken;
        (answer.sim, answer.wire) = (self.patient.sim, caller.wire());
        answer.is_strangers = self.patient.is_stranger;
        round.answer = answer.clone();
        // The thought of a broken answer is not recorded: it may be the beginning of a whole
        // thought, which rightly comes back.
        if answer.is_whole {
            self.read.extend(marks(&answer));
        }
        Ok(answer)
    }
}

/// The reason why a scenario ended early.
enum Stop {
    Refused,
    Broken(String),
}

/// The thought and payloads of an answer, by which its thought is recognised.
fn marks(answer: &Answer) -> impl Iterator<Item = String> {
    let thought = Some(answer.thought.clone()).filter(|thought| !thought.is_empty());
    thought.into_iter().chain(answer.opaque.iter().cloned())
}

fn counted(heard: &Heard) -> Option<u64> {
    let body: serde_json::Value = serde_json::from_slice(&heard.body).ok()?;
    body.get("input_tokens")?.as_u64()
}
