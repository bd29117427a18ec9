//! Who knows what really was thought, and by whom: from how the world was made, and from plain words.

use super::client::{Part, Sent};
use super::vault::Vault;
use super::world::{Ids, Setting, Talk};
use std::collections::{BTreeMap, BTreeSet};
use thinkthrough_core::content::{Block, Content, MediaSource, Speaker};

/// A message as anyone can read it.
#[derive(Clone, Debug)]
pub(super) struct Line {
    /// Who says what, with ids as clients leave them alone.
    pub(super) words: String,
    /// The same without ids.
    said: String,
    pub(super) copy: Option<String>,
    /// The first random id in it that is as it was given.
    pub(super) anchor: Option<String>,
    pub(super) parts: Vec<Part>,
    /// The answers in it of which a random id is as it was given.
    shown: BTreeSet<String>,
}

/// A request as anyone can read it.
#[derive(Clone, Debug)]
pub(super) struct Path {
    pub(super) tenant: usize,
    pub(super) model: usize,
    pub(super) tools: String,
    pub(super) lines: Vec<Line>,
}

/// What singles an answer out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Evidence {
    /// A random id of its own.
    OwnId,
    /// Everything since the last random id, which nobody else has.
    History,
    /// The next answer, which is known and was given behind this one.
    Next,
}

/// One answer.
struct Known {
    tenant: usize,
    model: usize,
    record: String,
    /// All that the client had sent.
    before: String,
    /// The same and the answer.
    full: String,
    /// The same since the last random id.
    since: String,
    /// Both, as a client that drops the ids of calls has the answer.
    full_without: String,
    since_without: String,
    copies: Vec<Option<String>>,
    answer: String,
    /// The answer without ids.
    said: String,
    /// The answer before it, if something singled that one out.
    parent: Option<String>,
    /// The answers whose thoughts could be sent with its request.
    carried: BTreeSet<String>,
}

pub(super) struct Oracle {
    setting: Setting,
    known: BTreeMap<String, Known>,
    by_record: BTreeMap<String, String>,
    /// Whose each random id is.
    own_ids: BTreeMap<String, String>,
    /// All answers to the same words that are the same.
    alike: BTreeMap<(usize, String), usize>,
    /// Twins that were told apart by nothing when they were asked for: the own name and the other one.
    excused: BTreeSet<(String, String)>,
}

impl Oracle {
    pub(super) fn new(setting: Setting) -> Self {
        Oracle {
            setting,
            known: BTreeMap::new(),
            by_record: BTreeMap::new(),
            own_ids: BTreeMap::new(),
            alike: BTreeMap::new(),
            excused: BTreeSet::new(),
        }
    }

    pub(super) fn name_of(&self, record: &str) -> &str {
        &self.by_record[record]
    }

    /// Reads a request.
    pub(super) fn read(&self, talk: &Talk, sent: &[Sent]) -> Path {
        let lines = sent.iter().map(|it| self.line(it)).collect();
        let tools = format!("with {} tools", talk.frame.tools.len());
        Path { tenant: talk.tenant, model: talk.model, tools, lines }
    }

    fn line(&self, sent: &Sent) -> Line {
        let ids = || sent.content.tool_calls().filter_map(|call| call.id.as_deref()).map(plain);
        let is_own = |id: &String| {
            let owner = self.own_ids.get(id);
            owner.is_some_and(|owner| sent.parts.iter().any(|part| part.name == *owner))
        };
        let read = |has_ids: bool| {
            let mut words = words(&sent.content, has_ids);
            if let Some(copy) = &sent.copy {
                words = words.replacen(copy, "", 1).replacen("|text |", "", 1);
            }
            match &sent.clock {
                Some(clock) if !self.setting.contract.signed => words.replacen(clock, "", 1),
                _ => words,
            }
        };
        Line {
            words: read(true),
            said: read(false),
            copy: sent.copy.clone(),
            anchor: ids().find(is_own),
            parts: sent.parts.clone(),
            shown: ids().filter_map(|id| self.own_ids.get(&id)).cloned().collect(),
        }
    }

    /// An answer is given: its name, its record and what its caller gets.
    pub(super) fn learn(
        &mut self,
        mut path: Path,
        evidence: &BTreeMap<String, Evidence>,
        parent: Option<String>,
        (name, record, given): (&str, &str, &Content),
    ) {
        let Setting { ids, contract, is_unlisted, .. } = self.setting;
        let is_random = contract.tickets.is_some() || (ids == Ids::Random && !is_unlisted);
        for id in given.tool_calls().filter_map(|call| call.id.as_deref()).filter(|_| is_random) {
            self.own_ids.insert(plain(id), name.to_owned());
        }
        path.lines.push(Line {
            words: words(given, true),
            said: words(given, false),
            copy: None,
            anchor: None,
            parts: Vec::new(),
            shown: BTreeSet::new(),
        });
        let at = path.lines.len() - 1;
        let since = path.since(at);
        *self.alike.entry((path.tenant, since.clone())).or_default() += 1;
        self.by_record.insert(record.to_owned(), name.to_owned());
        let mut without = path.clone();
        if let Some(line) = without.lines.last_mut() {
            line.words.clone_from(&line.said);
        }
        let known = Known {
            full_without: without.full(at),
            since_without: without.since(at),
            tenant: path.tenant,
            model: path.model,
            record: record.to_owned(),
            before: join(&path.tools, &path.lines[..at]),
            full: path.full(at),
            since,
            copies: path.copies(at),
            answer: words(given, true),
            said: words(given, false),
            parent: parent.filter(|parent| evidence.contains_key(parent)),
            carried: evidence.keys().cloned().collect(),
        };
        self.known.insert(name.to_owned(), known);
    }

    /// The answers of a request that something singles out, as long as their records are there.
    pub(super) fn evidence(&self, path: &Path, vault: &Vault) -> BTreeMap<String, Evidence> {
        let mut evidence: BTreeMap<String, Evidence> = BTreeMap::new();
        let mut next: Option<&str> = None;
        for (name, at) in path.answers().iter().rev() {
            let known = &self.known[*name];
            if let Some(found) = self.singled_out(path, name, *at, next, vault)
                && self.may_go(path, *at, known, found, &evidence)
            {
                evidence.insert((*name).to_owned(), found);
            }
            // On a bound contract the first that cannot go leaves out all before it.
            if self.setting.contract.bound && !evidence.contains_key(*name) {
                break;
            }
            next = evidence.contains_key(*name).then_some(*name);
        }
        evidence
    }

    fn singled_out(
        &self,
        path: &Path,
        name: &str,
        at: usize,
        next: Option<&str>,
        vault: &Vault,
    ) -> Option<Evidence> {
        let known = &self.known[name];
        let is_readable = known.model == path.model || self.setting.reads_others();
        if !vault.has(&known.record) || !is_readable {
            return None;
        }
        let line = &path.lines[at];
        if path.lines.iter().any(|line| line.is_of(name) && line.shown.contains(name)) {
            return Some(Evidence::OwnId);
        }
        let is_whole = line.parts.len() == 1 && line.words == known.answer;
        let is_same = is_whole && path.since(at) == known.since;
        if is_same && self.alike[&(known.tenant, known.since.clone())] == 1 {
            return Some(Evidence::History);
        }
        let is_named = next.is_some_and(|next| self.known[next].parent.as_deref() == Some(name));
        (is_whole && is_named).then_some(Evidence::Next)
    }

    /// A bound thought goes behind the very words that it was thought behind, and only if those behind it were thought
    /// with it.
    fn may_go(
        &self,
        path: &Path,
        at: usize,
        known: &Known,
        found: Evidence,
        evidence: &BTreeMap<String, Evidence>,
    ) -> bool {
        let name = self.name_of(&known.record);
        let carry = |later: &String| self.known[later].carried.contains(name);
        !self.setting.contract.bound
            || (found != Evidence::Next
                && path.full(at) == known.full
                && evidence.keys().all(carry))
    }

    /// Whether the thought of `name` may stand in an answer of these names; gives the name of the answer that it is put
    /// into.
    pub(super) fn right(
        &mut self,
        path: &Path,
        at: usize,
        name: &str,
        is_there: &dyn Fn(&str) -> bool,
    ) -> Option<String> {
        let owns: Vec<String> = path.lines[at].parts.iter().map(|part| part.name.clone()).collect();
        if owns.iter().any(|own| own == name) {
            return Some(name.to_owned());
        }
        owns.into_iter().find(|own| {
            self.is_twin(path, at, own, name) || self.stands_in(path, at, (own, name), is_there)
        })
    }

    /// Nothing tells the two apart: they are answers of one model to one tenant that are the same, to words that are the
    /// same.
    fn is_twin(&mut self, path: &Path, at: usize, own: &str, name: &str) -> bool {
        let pair = (own.to_owned(), name.to_owned());
        let path = &path.joined(at);
        let (mine, other) = (&self.known[own], &self.known[name]);
        // Who shows a copy shows whose thought it is.
        if mine.tenant != other.tenant || mine.model != other.model || path.lines[at].copy.is_some()
        {
            return false;
        }
        let is_bound = self.setting.contract.bound;
        // Who drops ids has answers that only their ids told apart.
        let drops = path.lines[at].words == path.lines[at].said;
        let (full, since) = match drops {
            true => (&other.full_without, &other.since_without),
            false => (&other.full, &other.since),
        };
        let by_now = match is_bound {
            true => path.full(at) == *full,
            false => path.since(at) == *since,
        };
        let were = match is_bound {
            true => by_now,
            false => {
                let is_same = match drops {
                    true => mine.since_without == other.since_without,
                    false => mine.since == other.since,
                };
                is_same && are_one(&mine.copies, &other.copies)
            }
        };
        if (by_now && are_one(&path.copies(at), &other.copies)) || were {
            self.excused.insert(pair.clone());
        }
        self.excused.contains(&pair)
    }

    /// Another model said the same to the same words, and nothing is left of what this one thought, or it was asked with
    /// other words then: who asks with the other answer asks the very same, so that nobody can tell which of the two it
    /// is.
    fn stands_in(
        &self,
        path: &Path,
        at: usize,
        (own, name): (&str, &str),
        is_there: &dyn Fn(&str) -> bool,
    ) -> bool {
        let (mine, other) = (&self.known[own], &self.known[name]);
        let is_readable = other.model == path.model || self.setting.reads_others();
        // As for twins: who drops ids has answers that only their ids told apart.
        let drops = path.lines[at].words == path.lines[at].said;
        let is_of = |known: &Known| match (self.setting.contract.bound, drops) {
            (true, true) => path.full(at) == known.full_without,
            (true, false) => path.full(at) == known.full,
            (false, true) => path.since(at) == known.since_without,
            (false, false) => path.since(at) == known.since,
        };
        mine.tenant == other.tenant
            && mine.model != other.model
            && (!is_there(&mine.record) || !is_of(mine))
            && is_readable
            && is_of(other)
            && are_one(&path.copies(at), &other.copies)
    }

    /// Notes that two could not be told apart at this time, though no thought went back.
    pub(super) fn note(&mut self, path: &Path, at: usize, name: &str) {
        self.right(path, at, name, &|_| true);
    }

    /// Whether a bound answer stands behind other words than it was thought behind, or says something else. Ids that a
    /// client drops are known from the record.
    pub(super) fn is_moved(&self, path: &Path, at: usize, name: &str) -> bool {
        let is_whole = path.answers().iter().filter(|(_, other)| *other == at).count() == 1
            && path.lines.iter().filter(|line| line.is_of(name)).count() == 1;
        let (known, line) = (&self.known[name], &path.lines[at]);
        let is_same =
            join(&path.tools, &path.lines[..at]) == known.before && line.said == known.said;
        self.setting.contract.bound && is_whole && !is_same
    }

    pub(super) fn model_of(&self, name: &str) -> usize {
        self.known[name].model
    }

    /// What is known of an answer, for people.
    pub(super) fn tell(&self, name: &str) -> String {
        let Some(known) = self.known.get(name) else { return format!("{name}: not known") };
        let Known { tenant, model, record, full, .. } = known;
        format!("{name} ({record}, tenant {tenant}, model {model}) was\n{full}")
    }
}

impl Line {
    pub(super) fn is_of(&self, name: &str) -> bool {
        self.parts.iter().any(|part| part.name == name)
    }
}

impl Path {
    /// The answers in it, each once, and where they begin.
    pub(super) fn answers(&self) -> Vec<(&str, usize)> {
        let mut seen = BTreeSet::new();
        let parts = self
            .lines
            .iter()
            .enumerate()
            .flat_map(|(at, line)| line.parts.iter().map(move |part| (part.name.as_str(), at)));
        parts.filter(|(name, _)| seen.insert(*name)).collect()
    }

    /// The same with the messages of an answer that a client cut as one.
    fn joined(&self, at: usize) -> Path {
        let mut path = self.clone();
        while path.lines.get(at + 1).is_some_and(|next| next.words.starts_with("ai|")) {
            let next = path.lines.remove(at + 1);
            let line = &mut path.lines[at];
            line.words.push_str(next.words.trim_start_matches("ai"));
            line.said.push_str(next.said.trim_start_matches("ai"));
        }
        path
    }

    /// All words up to a message, and with it.
    fn full(&self, at: usize) -> String {
        join(&self.tools, &self.lines[..=at])
    }

    /// The same from the nearest random id before the message on.
    fn since(&self, at: usize) -> String {
        let start = self.start(at);
        let anchor = start.and_then(|start| self.lines[start].anchor.as_ref());
        match (start, anchor) {
            (Some(start), Some(anchor)) => join(anchor, &self.lines[start + 1..=at]),
            _ => self.full(at),
        }
    }

    fn start(&self, at: usize) -> Option<usize> {
        self.lines[..at].iter().rposition(|line| line.anchor.is_some())
    }

    fn copies(&self, at: usize) -> Vec<Option<String>> {
        let start = self.start(at).map_or(0, |start| start + 1);
        self.lines[start..=at].iter().map(|line| line.copy.clone()).collect()
    }
}

/// No two copies at one place differ.
fn are_one(one: &[Option<String>], two: &[Option<String>]) -> bool {
    let differ = |(one, two): (&Option<String>, &Option<String>)| {
        one.is_some() && two.is_some() && one != two
    };
    !one.iter().zip(two).any(differ)
}

fn join(first: &str, lines: &[Line]) -> String {
    let mut all = first.to_owned();
    for line in lines {
        all.push('\n');
        all.push_str(&line.words);
    }
    all
}

/// Ids as the most careful client leaves them.
fn plain(id: &str) -> String {
    let is_kept = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let id: String = id.chars().take(40).map(|c| if is_kept(c) { c } else { '_' }).collect();
    id.strip_suffix("_dup2").map_or(id.clone(), str::to_owned)
}

fn words(content: &Content, has_ids: bool) -> String {
    let mut words = match content.speaker {
        Speaker::Ai => "ai",
        Speaker::Human => "human",
        Speaker::System => "system",
        Speaker::Tool => "tool",
    }
    .to_owned();
    for block in &content.blocks {
        let id =
            |id: &Option<String>| id.as_deref().filter(|_| has_ids).map(plain).unwrap_or_default();
        match block {
            Block::Text(text) => words += &format!("|text {}|", text.text),
            Block::ToolCall(call) => {
                let arguments = call.parameters.as_text();
                words += &format!("|call {} {arguments} {}|", call.name, id(&call.id));
            }
            Block::ToolResponse(it) => {
                words += &format!("|result {} {}|", it.result.text(), id(&it.call_id));
            }
            Block::Media(media) => match &media.source {
                MediaSource::Data(data) | MediaSource::Url(data) => {
                    words += &format!("|media {data}|");
                }
            },
            Block::Thinking(_) | Block::Other(_) => {}
        }
    }
    words
}
