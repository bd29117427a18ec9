//! The audit copy of what models thought.

use super::Folder;
use thinkthrough_core::plane::{Masked, Tenant};
use thinkthrough_json::Writer;
use thinkthrough_mask::{Masker, Tiers};
use thinkthrough_store::{
    Meta, NewTrace, Trace, TraceFilter, TraceNumbers, TraceSession, TraceState, TraceSum, TraceText,
};

on_each_database! {
    a_trace_is_kept_once_and_whole,
    traces_are_listed_by_what_is_asked_for_and_page_by_page,
    words_are_found_where_they_are_looked_for,
    a_search_indexes_the_next_traces_and_says_what_is_missing,
    traces_are_summed_up_by_time_and_model_and_lists_are_brief,
    sessions_are_listed_by_their_newest_trace_and_page_by_page,
    old_traces_go_and_new_ones_are_still_found,
    old_traces_all_go_however_long_each_takes,
    t_10_traces_go_with_their_tenant,
    traces_go_with_their_conversation,
}

fn masked(text: &str) -> Masked<String> {
    Masked::by(&Masker::new(Tiers::ALL, &[7; 32]), &text.to_owned())
}

pub(crate) fn trace(id: &str, at: u64, thought: &str, answer: &str) -> NewTrace {
    NewTrace {
        id: id.to_owned(),
        tenant: Tenant::local(),
        session: "s".to_owned(),
        run: "r".to_owned(),
        model: "m".to_owned(),
        provider: "p".to_owned(),
        thought: masked(thought),
        answer: masked(answer),
        metadata: masked("{}"),
        why: Masked::fixed(""),
        items: None,
        numbers: TraceNumbers { created_at: at, ..TraceNumbers::default() },
        state: TraceState::Whole,
    }
}

pub(crate) fn ids(traces: &[Trace]) -> Vec<&str> {
    traces.iter().map(|trace| trace.id.as_str()).collect()
}

async fn traces_go_with_their_conversation(folder: Folder) {
    let store = folder.open().await.unwrap();
    let (traces, conversations) = (store.traces(), store.conversations(&Tenant::local()));
    let id = conversations.create(&Meta::default()).await.unwrap();
    let session = id.as_str().to_owned();
    let its = |it: &str| NewTrace { session: session.clone(), ..trace(it, 5, "a zebra", "") };
    let alice = Tenant::named("alice").unwrap();
    let all =
        vec![its("a"), its("b"), trace("c", 5, "", ""), NewTrace { tenant: alice, ..its("d") }];
    traces.add(all).await.unwrap();
    conversations.delete(&id).await.unwrap();
    let mut left = traces.list(TraceFilter::default()).await.unwrap();
    left.sort_by(|one, other| one.id.cmp(&other.id));
    assert_eq!(ids(&left), ["c", "d"]);
}

async fn a_trace_is_kept_once_and_whole(folder: Folder) {
    let traces = folder.open().await.unwrap().traces();
    let numbers = TraceNumbers {
        reasoning_tokens: 7,
        total_tokens: 30,
        input_tokens: Some(10),
        output_tokens: Some(20),
        cached_tokens: None,
        cost: Some(2_500),
        duration: 12,
        sealed_bytes: 99,
        created_at: 5,
    };
    let new =
        NewTrace { numbers, state: TraceState::Cut, ..trace("a", 5, "password=hunter2x \0", "ok") };
    let why = masked("{\"ways\":[],\"words\":[[\"\",\"of a thought\"]]}");
    let new = NewTrace { why, ..new };
    traces.add(vec![new.clone(), new]).await.unwrap();
    traces.add(vec![trace("a", 6, "another", "")]).await.unwrap();
    let kept = traces.get("a").await.unwrap().unwrap();
    assert!(kept.thought.starts_with("password=[masked:password:"), "{}", kept.thought);
    assert!(kept.thought.ends_with(" \u{fffd}") && kept.answer == "ok");
    assert_eq!(
        (kept.numbers, kept.state, kept.tenant.as_str()),
        (numbers, TraceState::Cut, "local")
    );
    let shown = |with_thought| {
        let mut w = Writer::new();
        kept.write(&mut w, with_thought);
        w.finish()
    };
    assert!(shown(true).ends_with(&format!("\"why\":{}}}", kept.why)), "{}", shown(true));
    assert!(shown(false).ends_with("\"why\":{\"ways\":[]}}"), "{}", shown(false));
    let brief = TraceFilter { brief: Some(9), ..TraceFilter::default() };
    assert_eq!(traces.list(brief).await.unwrap()[0].why, "");
    assert_eq!(traces.get("b").await.unwrap(), None);
    assert_eq!(ids(&traces.list(TraceFilter::default()).await.unwrap()), ["a"]);
}

async fn traces_are_listed_by_what_is_asked_for_and_page_by_page(folder: Folder) {
    let traces = folder.open().await.unwrap().traces();
    let all: Vec<NewTrace> =
        (0..10_u64).map(|at| trace(&format!("t{at}"), at / 2, "", "")).collect();
    traces.add(all).await.unwrap();
    let other = |id: &str| trace(id, 3, "", "");
    let others = vec![
        NewTrace { session: "other".to_owned(), ..other("session") },
        NewTrace { model: "other".to_owned(), ..other("model") },
        NewTrace { provider: "other".to_owned(), ..other("provider") },
        NewTrace { tenant: Tenant::named("other").unwrap(), ..other("tenant") },
    ];
    traces.add(others).await.unwrap();
    let some = || Some("other".to_owned());
    let none = TraceFilter::default;
    for (filter, found) in [
        (TraceFilter { session: some(), ..none() }, vec!["session"]),
        (TraceFilter { model: some(), ..none() }, vec!["model"]),
        (TraceFilter { provider: some(), ..none() }, vec!["provider"]),
        (TraceFilter { tenant: some(), ..none() }, vec!["tenant"]),
        (TraceFilter { since: Some(4), ..none() }, vec!["t9", "t8"]),
        (TraceFilter { since: Some(1), until: Some(2), ..none() }, vec!["t3", "t2"]),
        (TraceFilter { until: Some(1), limit: 1, ..none() }, vec!["t1"]),
    ] {
        assert_eq!(ids(&traces.list(filter.clone()).await.unwrap()), found, "{filter:?}");
    }
    let (mut paged, mut after) = (Vec::new(), None);
    loop {
        let filter = TraceFilter { limit: 3, after: after.clone(), ..none() };
        let page = traces.list(filter).await.unwrap();
        let Some(last) = page.last() else { break };
        after = Some((last.numbers.created_at, last.id.clone()));
        paged.extend(page);
    }
    let whole = traces.list(none()).await.unwrap();
    assert_eq!((ids(&paged), paged.len()), (ids(&whole), 14));
}

async fn words_are_found_where_they_are_looked_for(folder: Folder) {
    let traces = folder.open().await.unwrap().traces();
    let new = vec![
        trace("1", 1, "The user wants a \"quoted\" thing", "Here it is"),
        trace("2", 2, "Nothing of that kind", "The user gets a quoted thing"),
        trace("3", 3, "don't panic: user's choice", "quoted"),
        trace(
            "4",
            4,
            "see https://example.com/docs/page_two?x=1 on node.js, v1.2",
            "我在思考这个问题",
        ),
        trace("5", 5, "思 and 考 apart; カタカナで書く", "foo::bar[baz]"),
    ];
    traces.add(new).await.unwrap();
    while traces.index().await.unwrap() > 0 {}
    let all = [
        ("user", TraceText::Thoughts, vec!["3", "1"]),
        ("USER quoted", TraceText::All, vec!["3", "2", "1"]),
        ("user quoted", TraceText::Thoughts, vec!["1"]),
        ("user quoted", TraceText::Answers, vec!["2"]),
        ("panic choice", TraceText::All, vec!["3"]),
        ("nowhere", TraceText::All, vec![]),
        // What would be a command of either language of search is a word here.
        ("user OR nowhere", TraceText::All, vec![]),
        ("reasoning_text:", TraceText::Answers, vec![]),
        ("\"quoted\" 'don\\", TraceText::All, vec!["3"]),
        ("", TraceText::All, vec!["5", "4", "3", "2", "1"]),
        // Signs stand between words, wherever the database would end one.
        ("node.js", TraceText::Thoughts, vec!["4"]),
        ("js", TraceText::Thoughts, vec!["4"]),
        ("example", TraceText::All, vec!["4"]),
        ("page_two", TraceText::All, vec!["4"]),
        ("example.com/docs", TraceText::All, vec!["4"]),
        ("v1.2", TraceText::All, vec!["4"]),
        ("bar", TraceText::Answers, vec!["5"]),
        ("foo::bar", TraceText::All, vec!["5"]),
        // Writing without blanks.
        ("思考", TraceText::All, vec!["4"]),
        ("思考", TraceText::Thoughts, vec![]),
        ("问题 在思", TraceText::Answers, vec!["4"]),
        ("タカナ", TraceText::All, vec!["5"]),
    ];
    for (words, within, found) in all {
        let hits = traces.search(words, within, TraceFilter::default()).await.unwrap();
        assert_eq!(ids(&hits.traces), found, "{words} in {within:?}");
        assert_eq!(hits.indexed_to, None);
    }
    let filter = TraceFilter { since: Some(2), limit: 1, ..TraceFilter::default() };
    let hits = traces.search("quoted", TraceText::All, filter).await.unwrap();
    assert_eq!(ids(&hits.traces), ["3"]);
}

async fn a_search_indexes_the_next_traces_and_says_what_is_missing(folder: Folder) {
    let traces = folder.open().await.unwrap().traces();
    let find = || traces.search("word", TraceText::All, TraceFilter::default());
    traces.add(vec![trace("1", 1, "word", "")]).await.unwrap();
    let hits = find().await.unwrap();
    assert_eq!((ids(&hits.traces), hits.indexed_to), (vec!["1"], None));
    // These are more than one step indexes.
    let more = |at: u64| trace(&format!("{at}"), at, if at == 301 { "word" } else { "" }, "");
    traces.add((2..302).map(more).collect()).await.unwrap();
    let hits = find().await.unwrap();
    assert_eq!((ids(&hits.traces), hits.indexed_to), (vec!["1"], Some(258)));
    let hits = find().await.unwrap();
    assert_eq!((ids(&hits.traces), hits.indexed_to), (vec!["301", "1"], None));
}

async fn traces_are_summed_up_by_time_and_model_and_lists_are_brief(folder: Folder) {
    let traces = folder.open().await.unwrap().traces();
    let with = |id: &str, at: u64, model: &str, metadata: &str, state: TraceState| {
        let numbers = TraceNumbers {
            reasoning_tokens: 3,
            total_tokens: 10,
            input_tokens: Some(6),
            cached_tokens: (at > 60).then_some(4),
            cost: (at < 65).then_some(7),
            duration: 100,
            created_at: at,
            ..TraceNumbers::default()
        };
        let (model, metadata) = (model.to_owned(), masked(metadata));
        NewTrace { numbers, model, metadata, state, ..trace(id, at, "éa thought", "an answer") }
    };
    let new = vec![
        with("a", 10, "m", r#"{"restored":2,"missed":1}"#, TraceState::Whole),
        with("b", 59, "m", "no JSON at all", TraceState::Failed),
        with("c", 61, "m", r#"{"client":"curl","restored":1,"dropped":5}"#, TraceState::Whole),
        with("d", 70, "n", "{}", TraceState::Cut),
    ];
    traces.add(new).await.unwrap();
    let filter = TraceFilter { since: Some(5), ..TraceFilter::default() };
    let mut sums = traces.sums(filter, 60).await.unwrap();
    sums.sort_by(|one, other| (one.at, &one.model).cmp(&(other.at, &other.model)));
    let named = |at, model: &str, requests| TraceSum {
        at,
        model: model.to_owned(),
        provider: "p".to_owned(),
        tenant: "local".to_owned(),
        requests,
        reasoning_tokens: 3 * requests,
        total_tokens: 10 * requests,
        input_tokens: 6 * requests,
        duration: 100 * requests,
        ..TraceSum::default()
    };
    let expected = [
        TraceSum { failed: 1, restored: 2, missed: 1, cost: 14, costed: 2, ..named(0, "m", 2) },
        TraceSum {
            cached_tokens: 4,
            restored: 1,
            dropped: 5,
            cost: 7,
            costed: 1,
            cached_restored: 4,
            client: "curl".to_owned(),
            ..named(60, "m", 1)
        },
        TraceSum { cached_tokens: 4, failed: 1, ..named(60, "n", 1) },
    ];
    assert_eq!(sums, expected);
    let filter = TraceFilter { brief: Some(4), limit: 1, ..TraceFilter::default() };
    let brief = traces.list(filter).await.unwrap().remove(0);
    assert_eq!((brief.thought.as_str(), brief.answer.as_str()), ("éa t", "an a"));
    assert_eq!(brief.numbers.cost, None);
}

async fn old_traces_go_and_new_ones_are_still_found(folder: Folder) {
    let traces = folder.open().await.unwrap().traces();
    let old = (0..1_200).map(|at| trace(&format!("{at}"), at, "word", "")).collect();
    traces.add(old).await.unwrap();
    while traces.index().await.unwrap() > 0 {}
    assert_eq!(traces.older_than(1_100).await.unwrap(), 1_100);
    assert_eq!(traces.prune_older_than(1_100).await.unwrap(), 1_100);
    assert_eq!(traces.prune_older_than(5_000).await.unwrap(), 100, "all are gone now");
    traces.add(vec![trace("new", 9_000, "word", "")]).await.unwrap();
    assert_eq!(traces.index().await.unwrap(), 1, "whatever number its row has");
    let hits = traces.search("word", TraceText::All, TraceFilter::default()).await.unwrap();
    assert_eq!(ids(&hits.traces), ["new"]);
}

async fn old_traces_all_go_however_long_each_takes(folder: Folder) {
    let traces = folder.open().await.unwrap().traces();
    // Few of them are taken out in the time of a step.
    let long = "long ".repeat(100_000);
    for at in 0..60 {
        traces.add(vec![trace(&format!("{at}"), at, &long, &long)]).await.unwrap();
    }
    assert_eq!(traces.prune_older_than(58).await.unwrap(), 58);
    assert_eq!(ids(&traces.list(TraceFilter::default()).await.unwrap()), ["59", "58"]);
}

async fn t_10_traces_go_with_their_tenant(folder: Folder) {
    let store = folder.open().await.unwrap();
    let traces = store.traces();
    let alice = Tenant::named("alice").unwrap();
    let hers = NewTrace { tenant: alice.clone(), ..trace("hers", 1, "word", "") };
    traces.add(vec![hers, trace("mine", 2, "word", "")]).await.unwrap();
    while traces.index().await.unwrap() > 0 {}
    store.erase(&alice).await.unwrap();
    assert_eq!(traces.get("hers").await.unwrap(), None);
    let hits = traces.search("word", TraceText::All, TraceFilter::default()).await.unwrap();
    assert_eq!(ids(&hits.traces), ["mine"]);
}

async fn sessions_are_listed_by_their_newest_trace_and_page_by_page(folder: Folder) {
    let traces = folder.open().await.unwrap().traces();
    let in_session = |session: &str, id: &str, at: u64, model: &str| {
        let numbers = TraceNumbers {
            reasoning_tokens: 3,
            total_tokens: 10,
            duration: 7,
            created_at: at,
            ..TraceNumbers::default()
        };
        let (session, model) = (session.to_owned(), model.to_owned());
        NewTrace { session, model, numbers, ..trace(id, at, "a thought", "an answer") }
    };
    let alice = Tenant::named("alice").unwrap();
    let hers = NewTrace { tenant: alice.clone(), ..in_session("one", "h", 4, "m") };
    let all = vec![
        in_session("one", "a", 1, "m"),
        in_session("one", "b", 5, "n"),
        in_session("two", "c", 5, "m"),
        in_session("three", "d", 2, "m"),
        hers,
    ];
    traces.add(all).await.unwrap();
    let page = |limit, after: Option<(u64, &str)>, tenant: Option<&Tenant>| TraceFilter {
        limit,
        after: after.map(|(at, id)| (at, id.to_owned())),
        tenant: tenant.map(|it| it.as_str().to_owned()),
        ..TraceFilter::default()
    };
    let first = traces.sessions(page(2, None, None)).await.unwrap();
    let names = |all: &[TraceSession]| {
        all.iter().map(|it| (it.session.clone(), it.requests)).collect::<Vec<_>>()
    };
    assert_eq!(names(&first), [("two".to_owned(), 1), ("one".to_owned(), 2)]);
    let mut one = first[1].clone();
    one.models.sort();
    let expected = TraceSession {
        session: "one".to_owned(),
        tenant: "local".to_owned(),
        last_id: "b".to_owned(),
        last: 5,
        first: 1,
        models: vec!["m".to_owned(), "n".to_owned()],
        requests: 2,
        reasoning_tokens: 6,
        total_tokens: 20,
        duration: 14,
        title: None,
        client: None,
    };
    assert_eq!(one, expected);
    let rest = traces.sessions(page(9, Some((5, "b")), None)).await.unwrap();
    assert_eq!(names(&rest), [("one".to_owned(), 1), ("three".to_owned(), 1)]);
    let hers = traces.sessions(page(9, None, Some(&alice))).await.unwrap();
    assert_eq!((hers.len(), hers[0].last_id.as_str()), (1, "h"));
}
