//! An API on another's platform: the model in the address, a version in the body.

use crate::naive::Naive;
use crate::town::Town;

#[tokio::test]
async fn claude_on_vertex_gets_its_thoughts_back_whichever_api_its_caller_speaks() {
    for api in ["messages", "chat-completions", "responses", "generate-content"] {
        for stream in [true, false] {
            let town = Town::new().await;
            let mut client = Naive::new(api, "vertex-claude", stream);
            client.user("What is in this folder, and what does the readme say?");
            let (_, calls) = client.step(&town, &town.gateway).await;
            assert!(!calls.is_empty(), "{api}: it calls a tool");
            client.run_tools(&calls);
            let (said, _) = client.step(&town, &town.gateway).await;
            assert_eq!(said.counts(), [1, 0, 0, 0], "{api} {stream}");
            let seen = town.seen();
            let method = if stream { "streamRawPredict" } else { "rawPredict" };
            let path = format!("/vertex-claude/models/claude-sonnet-4-5@20250929:{method}");
            assert!(seen.iter().all(|it| it.path == path), "{api} {stream}: {seen:?}");
            assert_eq!(seen.len(), 2, "{api} {stream}");
        }
    }
}

#[tokio::test]
async fn tokens_for_claude_on_vertex_are_counted_here() {
    let town = Town::new().await;
    let mut client = Naive::new("messages", "vertex-claude", false);
    client.user("How long is this?");
    let body = client.request().1.to_string();
    let said = town.post(&town.gateway, "/v1/messages/count_tokens", &[], &body).await;
    assert_eq!(said.status, 200, "{}", said.text());
    assert!(said.text().contains("\"input_tokens\":"), "{}", said.text());
    assert!(town.seen().is_empty(), "its own way to count is another one");
}
