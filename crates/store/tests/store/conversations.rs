//! What goes in comes out.

use super::{Folder, answer, local, question, titled};
use thinkthrough_core::content::Content;
use thinkthrough_core::plane::Tenant;
use thinkthrough_json::Raw;
use thinkthrough_store::{ConversationId, ConversationState, Cost, Fork, Meta, StoreError};

on_each_database! {
    a_conversation_comes_back_exactly_also_in_another_process,
    the_latest_is_first_and_a_new_title_changes_no_order,
    a_fork_stands_alone,
    what_is_deleted_is_gone_for_everybody,
    two_processes_append_to_one_conversation,
    the_beginning_of_an_id_is_enough,
    tenants_see_nothing_of_each_other,
}

async fn a_conversation_comes_back_exactly_also_in_another_process(folder: Folder) {
    let said = [question("why?"), answer("let me see", "because"), question("\0 and \u{1F600}?")];
    let meta = Meta {
        state: ConversationState {
            model: Some("m".into()),
            cost: Cost { micro: 120_000, is_partial: false },
            ..ConversationState::default()
        },
        settings: Raw::parse("{\"effort\":\"high\"}").ok(),
        ..titled("Reasons")
    };
    let id = {
        let conversations = local(&folder).await;
        let id = conversations.create(&meta).await.unwrap();
        assert_eq!(conversations.append(&id, &said[..1]).await, Ok(1));
        assert_eq!(conversations.append(&id, &said[1..]).await, Ok(3));
        assert_eq!(conversations.append(&id, &[]).await, Ok(3));
        id
    };
    let conversations = local(&folder).await;
    let whole = conversations.load(&id).await.unwrap();
    assert_eq!(whole.contents, said);
    assert_eq!((whole.meta, whole.drafts, whole.damaged), (meta.clone(), vec![], vec![]));
    let list = conversations.list().await.unwrap();
    assert_eq!(list.len(), 1);
    assert_eq!((&list[0].id, &list[0].meta, list[0].messages), (&id, &meta, 3));
}

async fn the_latest_is_first_and_a_new_title_changes_no_order(folder: Folder) {
    let conversations = local(&folder).await;
    assert_eq!(conversations.list().await, Ok(vec![]));
    assert_eq!(conversations.latest().await, Ok(None));
    let first = conversations.create(&titled("first")).await.unwrap();
    let second = conversations.create(&titled("second")).await.unwrap();
    let titles = async || -> Vec<String> {
        let list = conversations.list().await.unwrap();
        list.into_iter().map(|it| it.meta.title.unwrap()).collect()
    };
    assert_eq!(titles().await, ["second", "first"]);
    std::thread::sleep(std::time::Duration::from_millis(2));
    conversations.append(&first, &[question("again?")]).await.unwrap();
    assert_eq!(titles().await, ["first", "second"]);
    conversations.rename(&second, "2nd").await.unwrap();
    assert_eq!(titles().await, ["first", "2nd"]);
    assert_eq!(conversations.latest().await.unwrap().unwrap().id, first);
    let own = Meta { folder: Some("/a".to_owned()), ..Meta::default() };
    let own = conversations.create(&own).await.unwrap();
    assert_eq!(conversations.latest_in("/a").await.unwrap().unwrap().id, own);
    assert_eq!(conversations.latest_in("/b").await.unwrap().unwrap().id, first, "without a folder");
}

async fn a_fork_stands_alone(folder: Folder) {
    let conversations = local(&folder).await;
    let said = [question("a"), answer("b", "c"), question("d")];
    let id = conversations.begin(&titled("t"), &said).await.unwrap();
    let fork = conversations.fork(&id, 2).await.unwrap();
    let all = conversations.fork(&id, 3).await.unwrap();
    assert_eq!(
        conversations.fork(&id, 4).await,
        Err(StoreError::NoMessage { id: id.clone(), messages: 3, at: 4 })
    );
    conversations.delete(&id).await.unwrap();
    conversations.append(&fork, &[question("e")]).await.unwrap();
    let fork = conversations.load(&fork).await.unwrap();
    assert_eq!(fork.contents, [said[0].clone(), said[1].clone(), question("e")]);
    assert_eq!(fork.meta.fork, Some(Fork { from: id.as_str().into(), at: 2 }));
    assert_eq!(conversations.load(&all).await.unwrap().contents, said);
}

async fn what_is_deleted_is_gone_for_everybody(folder: Folder) {
    let (here, there) = (local(&folder).await, local(&folder).await);
    let id = here.begin(&titled("t"), &[question("a")]).await.unwrap();
    assert_eq!(there.append(&id, &[question("b")]).await, Ok(2));
    here.delete(&id).await.unwrap();
    let gone = StoreError::NoConversation(id.as_str().to_owned());
    assert_eq!(there.append(&id, &[question("c")]).await, Err(gone.clone()));
    assert_eq!(there.load(&id).await.err(), Some(gone.clone()));
    assert_eq!(here.set_meta(&id, &titled("x")).await, Err(gone.clone()));
    assert_eq!(here.delete(&id).await, Err(gone.clone()));
    assert_eq!(here.draft(&id, None).await.err(), Some(gone.clone()));
    assert_eq!(here.fork(&id, 0).await, Err(gone));
    let new = here.begin(&titled("new"), &[question("n")]).await.unwrap();
    assert_eq!(there.list().await.unwrap().len(), 1);
    assert_eq!(there.load(&new).await.unwrap().contents, [question("n")]);
}

async fn two_processes_append_to_one_conversation(folder: Folder) {
    let (here, there) = (local(&folder).await, local(&folder).await);
    let id = here.create(&titled("t")).await.unwrap();
    let many = |conversations: &thinkthrough_store::Conversations, name: &'static str| {
        let (conversations, id) = (conversations.clone(), id.clone());
        tokio::spawn(async move {
            for n in 0..50 {
                let pair = [question(&format!("{name}{n}")), answer(name, &n.to_string())];
                conversations.append(&id, &pair).await.unwrap();
            }
        })
    };
    let (a, b) = (many(&here, "here"), many(&there, "there"));
    a.await.unwrap();
    b.await.unwrap();
    let whole = here.load(&id).await.unwrap();
    assert_eq!((whole.contents.len(), whole.damaged), (200, vec![]));
    let texts: Vec<String> = whole.contents.iter().map(Content::visible_text).collect();
    for name in ["here", "there"] {
        let own: Vec<_> = texts.chunks(2).filter(|pair| pair[0].starts_with(name)).collect();
        let expected: Vec<[String; 2]> =
            (0..50).map(|n| [format!("{name}{n}"), n.to_string()]).collect();
        assert_eq!(own, expected, "pairs stay together and in order");
    }
}

async fn the_beginning_of_an_id_is_enough(folder: Folder) {
    let conversations = local(&folder).await;
    let id = conversations.create(&titled("t")).await.unwrap();
    assert_eq!(conversations.resolve(&id.as_str()[..6].to_uppercase()).await, Ok(id.clone()));
    let none = |text: &str| Err(StoreError::NoConversation(text.to_owned()));
    for no in ["", "l", "%", "' OR 1=1 --", "0000000000000000"] {
        assert_eq!(conversations.resolve(no).await, none(no));
    }
    // Of 33 ids two begin with the same letter.
    for _ in 0..32 {
        conversations.create(&titled("t")).await.unwrap();
    }
    let ids: Vec<ConversationId> =
        conversations.list().await.unwrap().into_iter().map(|it| it.id).collect();
    let mut first: Vec<&str> = ids.iter().map(|id| &id.as_str()[..1]).collect();
    first.sort_unstable();
    let twice = first.windows(2).find(|pair| pair[0] == pair[1]).unwrap()[0];
    assert_eq!(conversations.resolve(twice).await, Err(StoreError::Ambiguous(twice.to_owned())));
}

async fn tenants_see_nothing_of_each_other(folder: Folder) {
    let store = folder.open().await.unwrap();
    let (alice, bob) = (Tenant::named("alice").unwrap(), Tenant::named("bob").unwrap());
    let (hers, his) = (store.conversations(&alice), store.conversations(&bob));
    let id = hers.begin(&titled("t"), &[question("a")]).await.unwrap();
    let own = his.begin(&titled("t"), &[question("a")]).await.unwrap();
    let gone = StoreError::NoConversation(id.as_str().to_owned());
    assert_eq!(his.load(&id).await.err(), Some(gone.clone()));
    assert_eq!(his.append(&id, &[question("b")]).await, Err(gone.clone()));
    assert_eq!(his.resolve(id.as_str()).await, Err(gone.clone()));
    assert_eq!(his.delete(&id).await, Err(gone));
    assert_eq!(store.erase(&alice).await, Ok(Some(1)));
    assert_eq!(store.erase(&alice).await, Ok(None));
    assert_eq!(hers.list().await, Ok(vec![]));
    assert!(hers.append(&id, &[question("c")]).await.is_err());
    assert_eq!(his.load(&own).await.unwrap().contents, [question("a")]);
    // An erased tenant may come again, with new keys.
    let id = hers.begin(&titled("t"), &[question("d")]).await.unwrap();
    assert_eq!(hers.load(&id).await.unwrap().contents, [question("d")]);
}
