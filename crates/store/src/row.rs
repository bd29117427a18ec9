//! What the databases keep: rows whose content is sealed already, and traces, which are masked.

use crate::trace::{TraceFilter, summed};

/// What a store has one of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InstallRow {
    /// What only the right master key opens.
    pub(crate) key_check: Vec<u8>,
    /// Locked with the master key; stores of the first schema have none until they are opened anew.
    pub(crate) install_key: Option<Vec<u8>>,
}

/// A tenant with its locked keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TenantRow {
    pub(crate) nr: i64,
    pub(crate) lookup_key: Vec<u8>,
    /// By id; the last one is current.
    pub(crate) data_keys: Vec<(u32, Vec<u8>)>,
}

/// A conversation without its messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ConversationRow {
    /// Never used again, so that whoever remembers one cannot hit another conversation.
    pub(crate) nr: i64,
    pub(crate) id: String,
    pub(crate) key_id: u32,
    pub(crate) wrapped_key: Vec<u8>,
    pub(crate) meta: Vec<u8>,
    pub(crate) messages: u32,
    /// Unix milliseconds.
    pub(crate) updated_at: i64,
}

/// A conversation that begins, perhaps with messages.
#[derive(Clone, Debug)]
pub(crate) struct NewConversation {
    pub(crate) tenant: i64,
    pub(crate) id: String,
    pub(crate) key_id: u32,
    pub(crate) wrapped_key: Vec<u8>,
    pub(crate) meta: Vec<u8>,
    pub(crate) messages: Vec<Vec<u8>>,
    /// Unix milliseconds.
    pub(crate) now: i64,
}

/// Messages that go to the end of a conversation.
#[derive(Clone, Debug)]
pub(crate) struct Append {
    pub(crate) conversation: i64,
    /// The position of the first, which the messages are sealed for.
    pub(crate) at: u32,
    pub(crate) messages: Vec<Vec<u8>>,
    /// The drafts that these messages replace.
    pub(crate) drafts: Vec<i64>,
    /// Unix milliseconds.
    pub(crate) now: i64,
}

/// What became of an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Appended {
    Done,
    /// The conversation is not there any more.
    Gone,
    /// Somebody else appended first; the conversation has this many messages now.
    Moved(u32),
}

/// A piece of an answer in progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DraftRow {
    pub(crate) conversation: i64,
    pub(crate) draft: i64,
    pub(crate) part: u32,
    pub(crate) sealed: Vec<u8>,
}

/// A record of the vault that is to be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NewRecord {
    pub(crate) tenant: i64,
    pub(crate) id: String,
    /// The record whose conversation it belongs to, where that one is there.
    pub(crate) parent: Option<String>,
    /// The name of its conversation otherwise; one that this record begins needs none.
    pub(crate) thread: Option<Vec<u8>>,
    pub(crate) key_id: u32,
    pub(crate) keys: Vec<i64>,
    pub(crate) head: Vec<u8>,
    pub(crate) kept: Vec<u8>,
    /// Unix milliseconds.
    pub(crate) now: i64,
}

impl NewRecord {
    /// What it counts as: its content, and about what rows and indexes take.
    pub(crate) fn size(&self) -> i64 {
        const ROW: usize = 160;
        const KEY: usize = 24;
        let size = self.head.len() + self.kept.len() + ROW + KEY * self.keys.len();
        i64::try_from(size).unwrap_or(i64::MAX)
    }

    /// As it will be read, before its conversation has a number.
    pub(crate) fn row(&self) -> RecordRow {
        RecordRow {
            number: 0,
            thread: 0,
            id: self.id.clone(),
            key_id: self.key_id,
            head: self.head.clone(),
            kept: self.kept.clone(),
        }
    }
}

/// A record of the vault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RecordRow {
    /// Its number in the database; 0 where it is not there yet.
    pub(crate) number: i64,
    pub(crate) thread: i64,
    pub(crate) id: String,
    pub(crate) key_id: u32,
    pub(crate) head: Vec<u8>,
    pub(crate) kept: Vec<u8>,
}

/// What keys found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Hit {
    /// A record of this number that the one who asks has at hand.
    Known(i64),
    /// Any other one.
    Read(RecordRow),
}

/// How many records one key finds at most: the first. The same question with the same answer may have been asked any
/// number of times, and the first of equal answers goes back.
pub(crate) const PER_KEY: i64 = 32;

/// A conversation of the vault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ThreadRow {
    pub(crate) nr: i64,
    /// Unix milliseconds.
    pub(crate) used_at: i64,
    pub(crate) records: i64,
    pub(crate) bytes: i64,
}

/// What a tenant has in the vault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) tenant: i64,
    /// Its keys are there; else nothing of it can be opened any more.
    pub(crate) has_keys: bool,
    pub(crate) records: i64,
    pub(crate) bytes: i64,
    /// How many of the records were not used for long.
    pub(crate) stale: i64,
}

/// A key of the gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyRow {
    pub(crate) name: String,
    pub(crate) hash: Vec<u8>,
    /// Unix milliseconds.
    pub(crate) created_at: i64,
    pub(crate) is_revoked: bool,
}

/// What a refusal taught about a model, that is to be kept.
#[derive(Clone, Debug)]
pub(crate) struct NewFact {
    pub(crate) tenant: i64,
    /// The digest of endpoint and model.
    pub(crate) name: Vec<u8>,
    pub(crate) key_id: u32,
    pub(crate) sealed: Vec<u8>,
    /// Unix milliseconds.
    pub(crate) since: i64,
    /// How many a tenant has at most; the oldest go.
    pub(crate) most: u32,
}

/// What a refusal taught about a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FactRow {
    /// Never used again.
    pub(crate) nr: i64,
    /// The tenant's name.
    pub(crate) tenant: String,
    pub(crate) name: Vec<u8>,
    pub(crate) key_id: u32,
    pub(crate) sealed: Vec<u8>,
    /// Unix milliseconds.
    pub(crate) since: i64,
    /// Another one than before where the tenant was erased and came back.
    pub(crate) tenant_nr: i64,
}

/// What differs whenever the facts do: how many there are, and the sum of their numbers, of which none is used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FactMark {
    pub(crate) count: i64,
    pub(crate) sum: i64,
}

/// An answer that is to be kept by its id.
#[derive(Clone, Debug)]
pub(crate) struct NewResponse {
    pub(crate) tenant: i64,
    pub(crate) id: Vec<u8>,
    /// The one that it goes on from, and whose conversation it belongs to.
    pub(crate) previous: Option<Vec<u8>>,
    /// The digest by which every tenant finds the owner of a provider resource.
    pub(crate) resource: Option<Vec<u8>>,
    pub(crate) key_id: u32,
    pub(crate) sealed: Vec<u8>,
    /// Unix milliseconds.
    pub(crate) now: i64,
}

impl NewResponse {
    /// What it counts as.
    pub(crate) fn size(&self) -> i64 {
        NewResponse::size_of(i64::try_from(self.sealed.len()).unwrap_or(i64::MAX))
    }

    /// What an answer of this length counts as: its content, and about what row and index take.
    pub(crate) fn size_of(len: i64) -> i64 {
        len.saturating_add(160)
    }
}

/// A tenant that owns a provider resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OwnerRow {
    pub(crate) resource: Vec<u8>,
    pub(crate) tenant: i64,
    pub(crate) thread: i64,
}

/// An answer that is kept by its id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ResponseRow {
    pub(crate) thread: i64,
    pub(crate) id: Vec<u8>,
    pub(crate) key_id: u32,
    pub(crate) sealed: Vec<u8>,
}

/// A generation as people see it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TraceRow {
    pub(crate) id: String,
    pub(crate) tenant: String,
    pub(crate) session: String,
    pub(crate) run: String,
    pub(crate) model: String,
    pub(crate) provider: String,
    pub(crate) thought: String,
    pub(crate) answer: String,
    pub(crate) metadata: String,
    pub(crate) why: String,
    pub(crate) state: String,
    /// Unix milliseconds.
    pub(crate) created_at: i64,
    pub(crate) reasoning_tokens: i64,
    pub(crate) total_tokens: i64,
    /// Milliseconds.
    pub(crate) duration: i64,
    pub(crate) sealed_bytes: i64,
    pub(crate) input_tokens: Option<i64>,
    pub(crate) output_tokens: Option<i64>,
    pub(crate) cached_tokens: Option<i64>,
    /// Micro-dollars.
    pub(crate) cost: Option<i64>,
}

impl TraceRow {
    /// The columns in the order in which they are read and written.
    pub(crate) const COLUMNS: &'static str = "id, tenant, session_key, run_id, model, provider, \
        reasoning_text, response_text, metadata, state, created_at, reasoning_tokens, \
        total_tokens, duration_ms, sealed_bytes, input_tokens, output_tokens, cached_tokens, \
        why, cost_micro_usd";

    /// What it counts as: its texts, and about what row and indexes take.
    pub(crate) fn size(&self) -> usize {
        const ROW: usize = 400;
        ROW + self.texts().iter().map(|text| text.len()).sum::<usize>()
    }

    /// Its texts in the order of the columns. Stands in journals: the order never changes.
    pub(crate) fn texts(&self) -> [&str; 11] {
        [
            &self.id,
            &self.tenant,
            &self.session,
            &self.run,
            &self.model,
            &self.provider,
            &self.thought,
            &self.answer,
            &self.metadata,
            &self.state,
            &self.why,
        ]
    }

    /// Its numbers in the order of the columns, as [`TraceRow::texts`].
    pub(crate) fn numbers(&self) -> [i64; 5] {
        let TraceRow { created_at, reasoning_tokens, total_tokens, duration, sealed_bytes, .. } =
            *self;
        [created_at, reasoning_tokens, total_tokens, duration, sealed_bytes]
    }

    /// The numbers that may be unknown in the order of the columns, as [`TraceRow::texts`].
    pub(crate) fn maybe(&self) -> [Option<i64>; 4] {
        [self.input_tokens, self.output_tokens, self.cached_tokens, self.cost]
    }

    /// A row of what [`TraceRow::texts`], [`TraceRow::numbers`] and [`TraceRow::maybe`] give.
    pub(crate) fn of(texts: [String; 11], numbers: [i64; 5], maybe: [Option<i64>; 4]) -> Self {
        let [id, tenant, session, run, model, provider, thought, answer, metadata, state, why] =
            texts;
        let [created_at, reasoning_tokens, total_tokens, duration, sealed_bytes] = numbers;
        let [input_tokens, output_tokens, cached_tokens, cost] = maybe;
        TraceRow {
            id,
            tenant,
            session,
            run,
            model,
            provider,
            thought,
            answer,
            metadata,
            why,
            state,
            created_at,
            reasoning_tokens,
            total_tokens,
            duration,
            sealed_bytes,
            input_tokens,
            output_tokens,
            cached_tokens,
            cost,
        }
    }

    /// The same, with no more than so many letters of the texts, and without what only explains.
    pub(crate) fn columns(brief: Option<usize>) -> String {
        let Some(most) = brief else { return Self::COLUMNS.to_owned() };
        ["reasoning_text", "response_text"]
            .iter()
            .fold(Self::COLUMNS.to_owned(), |all, text| {
                all.replace(text, &format!("substr({text}, 1, {most})"))
            })
            .replace(", why", ", '' AS why")
    }
}

/// Traces summed up: model, provider, tenant and client, and the numbers in the order in which [`SumRow::columns`] has them.
#[derive(Debug)]
pub(crate) struct SumRow {
    pub(crate) names: [String; 4],
    pub(crate) numbers: [i64; 15],
}

impl SumRow {
    /// No more stretches of time times models are given.
    pub(crate) const MOST: u32 = 5_000;

    /// The columns, for stretches of so many milliseconds; `outcome` reads a number of the metadata by its name, and
    /// `client` the name of the client's program.
    pub(crate) fn columns(bucket: i64, outcome: impl Fn(&str) -> String, client: &str) -> String {
        let sum = summed;
        let columns = [
            format!("model, provider, tenant, coalesce({client}, '') AS client"),
            format!("(created_at / {bucket}) * {bucket} AS began"),
            "CAST(count(*) AS BIGINT)".to_owned(),
            sum("CASE WHEN state = 'whole' THEN 0 ELSE 1 END"),
            sum("reasoning_tokens"),
            sum("total_tokens"),
            sum("input_tokens"),
            sum("cached_tokens"),
            sum("duration_ms"),
            sum(&outcome("restored")),
            sum(&outcome("missed")),
            sum(&outcome("ambiguous")),
            sum(&outcome("dropped")),
            sum("cost_micro_usd"),
            "CAST(count(cost_micro_usd) AS BIGINT)".to_owned(),
            sum(&format!("CASE WHEN {} > 0 THEN cached_tokens END", outcome("restored"))),
        ];
        columns.join(", ")
    }

    /// What stands behind the conditions.
    pub(crate) fn grouped() -> String {
        let most = Self::MOST;
        format!("GROUP BY model, provider, tenant, client, began ORDER BY began DESC LIMIT {most}")
    }
}

/// The traces of a session summed up, in the order in which [`SessionRow::select`] has it.
#[derive(Debug)]
pub(crate) struct SessionRow {
    /// Session, tenant, newest trace, and the models with commas between them.
    pub(crate) texts: [String; 4],
    /// The last and the first time, traces, tokens of thoughts, tokens, milliseconds.
    pub(crate) numbers: [i64; 6],
}

impl SessionRow {
    /// The sessions that fulfil `all`, so many, the one with the newest trace first.
    pub(crate) fn select(all: &str, limit: u32) -> String {
        format!(
            "SELECT session_key, tenant, last_id, models, last_at, first_at, requests, \
             reasoning_tokens, total_tokens, duration_ms FROM trace_session {all} \
             ORDER BY last_at DESC, last_id DESC LIMIT {limit}"
        )
    }

    /// What sessions must be like: what is asked of traces is asked of their newest ones.
    pub(crate) fn conditions(filter: &TraceFilter) -> Vec<(&'static str, Vec<Bound>)> {
        let columns = [
            "(SELECT model FROM reasoning_traces WHERE id = last_id) =",
            "(SELECT provider FROM reasoning_traces WHERE id = last_id) =",
            "last_at >=",
            "last_at <",
            "(last_at, last_id) <",
        ];
        compared(filter, columns)
    }
}

/// A value that a row is compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Bound {
    Number(i64),
    Text(String),
}

/// What rows must be like: the comparison, and what with. Two values mean a pair.
pub(crate) fn conditions(filter: &TraceFilter) -> Vec<(&'static str, Vec<Bound>)> {
    let after = "(created_at, reasoning_traces.id) <";
    compared(filter, ["model =", "provider =", "created_at >=", "created_at <", after])
}

/// The comparisons of model, provider, both ends of time, and the place behind which to go on, with what they are for.
fn compared(
    filter: &TraceFilter,
    [model, provider, since, until, after]: [&'static str; 5],
) -> Vec<(&'static str, Vec<Bound>)> {
    let number = |number: u64| Bound::Number(i64::try_from(number).unwrap_or(i64::MAX));
    let text = |name, value: &Option<String>| value.clone().map(|it| (name, vec![Bound::Text(it)]));
    let place = |(time, id): &(u64, String)| (after, vec![number(*time), Bound::Text(id.clone())]);
    let all = [
        text("tenant =", &filter.tenant),
        text("session_key =", &filter.session),
        text(model, &filter.model),
        text(provider, &filter.provider),
        filter.since.map(|time| (since, vec![number(time)])),
        filter.until.map(|time| (until, vec![number(time)])),
        filter.after.as_ref().map(place),
    ];
    all.into_iter().flatten().collect()
}
