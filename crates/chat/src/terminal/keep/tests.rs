use super::{
    Compression, Cover, Folders, Here, Inbound, Keep, Keeper, Kept, Message, Order, read, said,
};
use thinkthrough_core::content::{Block, Content, Speaker, Text, Thinking};
use thinkthrough_core::plane::Tenant;
use thinkthrough_core::settings::Partial;
use thinkthrough_store::{
    ConversationState, Conversations, Cost, KeySource, Location, Meta, Store, Within,
};
use tokio::sync::{mpsc, oneshot};

#[test]
fn compressions_are_read_back() {
    let list = vec![Compression { upto: 3, made_at: 7, summary: "a \"b\"".to_owned() }];
    assert_eq!(read(&said(&list)), list);
}

/// A store for one test, deleted at the end.
struct Folder(std::path::PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("think-keep-{}-{name}", std::process::id()));
        // A folder that is left from a killed process with the same id.
        drop(std::fs::remove_dir_all(&folder));
        std::fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    async fn conversations(&self) -> Conversations {
        let location = Location::Sqlite(self.0.join("store.db"));
        let key = KeySource::File(self.0.join("store.key"));
        Store::open(&location, &key).await.unwrap().conversations(&Tenant::local())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// A running keeper of these conversations: its orders, and what it reports.
fn keeper(
    conversations: Conversations,
) -> (mpsc::UnboundedSender<Order>, mpsc::UnboundedReceiver<Inbound>) {
    let (sender, inbox) = mpsc::unbounded_channel();
    let (orders, queue) = mpsc::unbounded_channel();
    let rest = (Here::default(), Cover::default(), Folders::default());
    tokio::spawn(Keeper::new(conversations, sender, None, rest).run(queue));
    (orders, inbox)
}

fn answer(thought: &str, text: &str) -> Content {
    let thought = Block::Thinking(Thinking::new(thought, "thinking"));
    Content::new(Speaker::Ai, vec![thought, Block::Text(Text::new(text))])
}

/// The hits of a search, each with its place.
async fn found(inbox: &mut mpsc::UnboundedReceiver<Inbound>) -> Vec<String> {
    loop {
        if let Inbound::Message(Message::Stored(stored)) = inbox.recv().await.unwrap()
            && let Kept::Found(hits) = stored.unwrap()
        {
            return hits.into_iter().map(|hit| hit.excerpt).collect();
        }
    }
}

#[tokio::test]
async fn a_search_holds_nothing_back() {
    let folder = Folder::new("holds");
    let conversations = folder.conversations().await;
    for number in 0..40 {
        let said = [answer("a thought", &format!("the needle {number}"))];
        conversations.begin(&Meta::default(), &said).await.unwrap();
    }
    let (orders, mut inbox) = keeper(conversations);
    let search = |words: &str| {
        let words = words.to_owned();
        Order::Keep(Keep::Search { words, within: Within::All, shows_thoughts: true })
    };
    orders.send(search("needle")).unwrap();
    let (done, is_done) = oneshot::channel();
    orders.send(Order::Done(done)).unwrap();
    is_done.await.unwrap();
    // Other orders are carried out during the search.
    while let Ok(inbound) = inbox.try_recv() {
        assert!(
            !matches!(inbound, Inbound::Message(Message::Stored(Ok(Kept::Found(_))))),
            "the search was waited for"
        );
    }
    assert_eq!(found(&mut inbox).await.len(), 40);
    // A newer search replaces a running one.
    orders.send(search("needle")).unwrap();
    orders.send(search("the needle 7")).unwrap();
    assert_eq!(found(&mut inbox).await, ["answer: the needle 7"]);
}

#[tokio::test]
async fn a_search_lists_three_finds_of_a_conversation_and_no_hidden_thought() {
    let folder = Folder::new("hidden");
    let conversations = folder.conversations().await;
    let mut said = vec![Content::text(Speaker::Human, "What of the Needle?")];
    said.extend((0..3).map(|number| answer(&format!("needle plan {number}"), "nothing")));
    said.push(answer("quiet", "a needle it is"));
    conversations.begin(&Meta::default(), &said).await.unwrap();
    let (orders, mut inbox) = keeper(conversations);
    let mut find = async |within, shows_thoughts| {
        let words = "needle".to_owned();
        orders.send(Order::Keep(Keep::Search { words, within, shows_thoughts })).unwrap();
        found(&mut inbox).await
    };
    let [first, second] = ["thought: needle plan 0", "thought: needle plan 1"];
    let question = "question: What of the Needle?";
    assert_eq!(find(Within::All, true).await, [question, first, second]);
    assert_eq!(find(Within::All, false).await, [question, "answer: a needle it is"]);
    assert_eq!(find(Within::Answers, true).await, ["answer: a needle it is"]);
}

#[tokio::test]
async fn how_a_conversation_is_held_is_kept_with_it() {
    let folder = Folder::new("held");
    let conversations = folder.conversations().await;
    let (sender, mut inbox) = mpsc::unbounded_channel();
    let (orders, queue) = mpsc::unbounded_channel();
    let (here, cover) = (Here::default(), Cover::default());
    let keeper =
        Keeper::new(conversations.clone(), sender, None, (here, cover, Folders::default()));
    tokio::spawn(keeper.run(queue));
    let mut reasoning = Partial::default();
    reasoning.set("effort", "high").unwrap();
    let cost = Cost { micro: 70, is_partial: false };
    for keep in [
        Keep::Begin,
        Keep::Model("m".to_owned()),
        Keep::Reasoning(reasoning.clone()),
        Keep::Cost(cost),
        Keep::Cost(cost),
    ] {
        orders.send(Order::Keep(keep)).unwrap();
    }
    let (done, is_done) = oneshot::channel();
    orders.send(Order::Done(done)).unwrap();
    is_done.await.unwrap();
    let id = loop {
        let inbound = inbox.recv().await.unwrap();
        if let Inbound::Message(Message::Stored(Ok(Kept::Begun(id)))) = inbound {
            break id;
        }
    };
    let id = conversations.resolve(&id).await.unwrap();
    let cost = Cost { micro: 140, is_partial: false };
    let expected = ConversationState { model: Some("m".to_owned()), reasoning, cost };
    assert_eq!(super::open(&conversations, &id).await.unwrap().state, expected);
}
