//! The rows of the databases. Contents of rows are sealed, traces are masked.

use crate::trace::{TraceFilter, summed};

/// The single row of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InstallRow {
    /// Only the right master key opens this value.
    pub(crate) key_check: Vec<u8>,
    /// Locked with the master key. Stores of the first schema lack it until they are opened again.
    pub(crate) install_key: Option<Vec<u8>>,
}

/// A tenant with its locked keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TenantRow {
    pub(crate) nr: i64,
    pub(crate) lookup_key: Vec<u8>,
    /// Key ids and keys. The last one is current.
    pub(crate) data_keys: Vec<(u32, Vec<u8>)>,
}

/// A conversation without its messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ConversationRow {
    /// Never used again, so that an old number cannot name another conversation.
    pub(crate) nr: i64,
    pub(crate) id: String,
    pub(crate) key_id: u32,
    pub(crate) wrapped_key: Vec<u8>,
    pub(crate) meta: Vec<u8>,
    pub(crate) messages: u32,
    /// Unix milliseconds.
    pub(crate) updated_at: i64,
}

/// A new conversation, perhaps with messages.
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

/// Messages to append to a conversation.
#[derive(Clone, Debug)]
pub(crate) struct Append {
    pub(crate) conversation: i64,
    /// Position of the first message. The messages are sealed for their positions.
    pub(crate) at: u32,
    pub(crate) messages: Vec<Vec<u8>>,
    /// The drafts that these messages replace.
    pub(crate) drafts: Vec<i64>,
    /// Unix milliseconds.
    pub(crate) now: i64,
}

/// The result of an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Appended {
    Done,
    /// The conversation no longer exists.
    Gone,
    /// Another writer appended first. The conversation now has this many messages.
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

/// A new record of the vault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NewRecord {
    pub(crate) tenant: i64,
    pub(crate) id: String,
    /// A record of the same conversation, if it is stored.
    pub(crate) parent: Option<String>,
    /// The name of the conversation if `parent` is missing. A record that begins a conversation needs no name.
    pub(crate) thread: Option<Vec<u8>>,
    pub(crate) key_id: u32,
    pub(crate) keys: Vec<i64>,
    pub(crate) head: Vec<u8>,
    pub(crate) kept: Vec<u8>,
    /// Unix milliseconds.
    pub(crate) now: i64,
}

impl NewRecord {
    /// The accounted size in bytes: the content plus an estimate for rows and indexes.
    pub(crate) fn size(&self) -> i64 {
        const ROW: usize = 160;
        const KEY: usize = 24;
        let size = self.head.len() + self.kept.len() + ROW + KEY * self.keys.len();
        i64::try_from(size).unwrap_or(i64::MAX)
    }

    /// The record as it will be read, before its conversation has a number.
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
    /// Its number in the database, or 0 before it is stored.
    pub(crate) number: i64,
    pub(crate) thread: i64,
    pub(crate) id: String,
    pub(crate) key_id: u32,
    pub(crate) head: Vec<u8>,
    pub(crate) kept: Vec<u8>,
}

/// The result of a look-up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Hit {
    /// A record that the caller already has, by its number.
    Known(i64),
    /// Any other record.
    Read(RecordRow),
}

/// The most records that one key finds, oldest first. The same question may have got the same answer any number of
/// times, and the first of equal answers goes back.
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

/// The amount that a tenant stores in the vault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) tenant: i64,
    /// False if the tenant's keys are gone. Its data cannot be opened then.
    pub(crate) has_keys: bool,
    pub(crate) records: i64,
    pub(crate) bytes: i64,
    /// Number of records that were unused for a long time.
    pub(crate) stale: i64,
}

/// A gateway key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyRow {
    pub(crate) name: String,
    pub(crate) hash: Vec<u8>,
    /// Unix milliseconds.
    pub(crate) created_at: i64,
    pub(crate) is_revoked: bool,
}

/// A new fact about a model.
#[derive(Clone, Debug)]
pub(crate) struct NewFact {
    pub(crate) tenant: i64,
    /// The digest of endpoint and model.
    pub(crate) name: Vec<u8>,
    pub(crate) key_id: u32,
    pub(crate) sealed: Vec<u8>,
    /// Unix milliseconds.
    pub(crate) since: i64,
    /// The most facts of a tenant. The oldest are deleted.
    pub(crate) most: u32,
}

/// A fact about a model.
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
    /// Differs from before if the tenant was erased and came back.
    pub(crate) tenant_nr: i64,
}

/// The number of facts and the sum of their numbers. Numbers are never used again, so it differs whenever the facts
/// do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FactMark {
    pub(crate) count: i64,
    pub(crate) sum: i64,
}

/// A new answer, stored by its id.
#[derive(Clone, Debug)]
pub(crate) struct NewResponse {
    pub(crate) tenant: i64,
    pub(crate) id: Vec<u8>,
    /// The previous answer, whose conversation it continues.
    pub(crate) previous: Option<Vec<u8>>,
    /// The digest by which every tenant finds the owner of a provider resource.
    pub(crate) resource: Option<Vec<u8>>,
    pub(crate) key_id: u32,
    pub(crate) sealed: Vec<u8>,
    /// Unix milliseconds.
    pub(crate) now: i64,
}

impl NewResponse {
    /// The accounted size in bytes.
    pub(crate) fn size(&self) -> i64 {
        NewResponse::size_of(i64::try_from(self.sealed.len()).unwrap_or(i64::MAX))
    }

    /// The accounted size of an answer of this length: the content plus an estimate for row and index.
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

/// An answer, stored by its id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ResponseRow {
    pub(crate) thread: i64,
    pub(crate) id: Vec<u8>,
    pub(crate) key_id: u32,
    pub(crate) sealed: Vec<u8>,
}

/// A trace as people see it.
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
    /// In a table of their own. Not read together with the row.
    pub(crate) items: Option<SealedItems>,
}

/// The sealed items of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SealedItems {
    pub(crate) key_id: u32,
    pub(crate) sealed: Vec<u8>,
}

/// A trace with its items only.
#[derive(Clone, Debug)]
pub(crate) struct ItemsRow {
    pub(crate) trace: String,
    pub(crate) tenant: String,
    pub(crate) metadata: String,
    pub(crate) items: Option<SealedItems>,
}

impl TraceRow {
    /// The columns in the order in which they are read and written.
    pub(crate) const COLUMNS: &'static str = "id, tenant, session_key, run_id, model, provider, \
        reasoning_text, response_text, metadata, state, created_at, reasoning_tokens, \
        total_tokens, duration_ms, sealed_bytes, input_tokens, output_tokens, cached_tokens, \
        why, cost_micro_usd";

    /// The accounted size in bytes: the texts plus an estimate for row and indexes.
    pub(crate) fn size(&self) -> usize {
        const ROW: usize = 400;
        let items = self.items.as_ref().map_or(0, |items| items.sealed.len());
        ROW + items + self.texts().iter().map(|text| text.len()).sum::<usize>()
    }

    /// The texts in the order of the columns. Journals contain them in this order, so it never changes.
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

    /// The known numbers in the order of the columns. Journals contain them in this order too.
    pub(crate) fn numbers(&self) -> [i64; 5] {
        let TraceRow { created_at, reasoning_tokens, total_tokens, duration, sealed_bytes, .. } =
            *self;
        [created_at, reasoning_tokens, total_tokens, duration, sealed_bytes]
    }

    /// The optional numbers in the order of the columns. Journals contain them in this order too.
    pub(crate) fn maybe(&self) -> [Option<i64>; 4] {
        [self.input_tokens, self.output_tokens, self.cached_tokens, self.cost]
    }

    /// Builds a row from the values of [`TraceRow::texts`], [`TraceRow::numbers`] and [`TraceRow::maybe`].
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
            items: None,
        }
    }

    /// The columns for a query. With `brief`, the texts are cut to so many letters and `why` is empty.
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

/// Sums of traces: model, provider, tenant and client, and the numbers in the order of [`SumRow::columns`].
#[derive(Debug)]
pub(crate) struct SumRow {
    pub(crate) names: [String; 4],
    pub(crate) numbers: [i64; 15],
}

impl SumRow {
    /// The most rows (time buckets times models) of a query.
    pub(crate) const MOST: u32 = 5_000;

    /// The columns for buckets of `bucket` milliseconds. `outcome` reads a number of the metadata by its name, and
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

    /// The end of the query, after the conditions.
    pub(crate) fn grouped() -> String {
        let most = Self::MOST;
        format!("GROUP BY model, provider, tenant, client, began ORDER BY began DESC LIMIT {most}")
    }
}

/// The sums of a session, in the order of [`SessionRow::select`].
#[derive(Debug)]
pub(crate) struct SessionRow {
    /// Session, tenant, newest trace, the models with commas between them, and the first trace.
    pub(crate) texts: [String; 5],
    /// The last and the first time, traces, tokens of thoughts, tokens, milliseconds.
    pub(crate) numbers: [i64; 6],
}

impl SessionRow {
    /// Selects at most `limit` sessions that fulfil `all`, with the newest trace first.
    pub(crate) fn select(all: &str, limit: u32) -> String {
        format!(
            "SELECT session_key, tenant, last_id, models, \
             coalesce((SELECT min(id) FROM reasoning_traces AS it WHERE created_at = first_at \
             AND it.session_key = trace_session.session_key AND it.tenant = trace_session.tenant), ''), \
             last_at, first_at, requests, reasoning_tokens, total_tokens, duration_ms FROM trace_session {all} \
             ORDER BY last_at DESC, last_id DESC LIMIT {limit}"
        )
    }

    /// The conditions for sessions. A session matches if its newest trace matches.
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

/// The conditions for rows: each comparison with its values. Two values mean a pair.
pub(crate) fn conditions(filter: &TraceFilter) -> Vec<(&'static str, Vec<Bound>)> {
    let after = "(created_at, reasoning_traces.id) <";
    compared(filter, ["model =", "provider =", "created_at >=", "created_at <", after])
}

/// The comparisons of model, provider, both ends of time, and the place after which to go on, with their values.
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
