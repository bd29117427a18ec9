use super::{
    Exported, ThoughtForm, from_jsonl, from_markdown, label, to_html, to_jsonl, to_markdown,
    without_thoughts,
};
use base64::Engine as _;
use proptest::prelude::*;
use sha2::{Digest, Sha256};
use thinkthrough_core::content::{
    Block, Content, Media, MediaSource, Origin, Other, Parameters, Speaker, Text, Thinking,
    ToolCall, ToolResponse,
};
use thinkthrough_core::tokens::TokenCount;
use thinkthrough_json::{Extra, Raw};
use thinkthrough_mask::{Masker, Tiers};

const FORMS: [ThoughtForm; 3] = [ThoughtForm::Callout, ThoughtForm::Details, ThoughtForm::Fenced];

#[track_caller]
fn comes_back(exported: &Exported) {
    for form in FORMS {
        let page = to_markdown(exported, form);
        let read = from_markdown(&page).unwrap_or_else(|error| panic!("{error}\n{page}"));
        assert_eq!(read, *exported, "{form:?}\n{page}");
    }
    let lines = to_jsonl(&exported.contents);
    assert_eq!(from_jsonl(&lines).expect("own lines"), exported.contents);
}

fn conversation(blocks: Vec<Block>) -> Exported {
    Exported { title: None, contents: vec![Content::new(Speaker::Ai, blocks)] }
}

fn thought(text: &str) -> Block {
    Block::Thinking(Thinking::new(text, "reasoning_content"))
}

/// Pieces that mean something in one of the forms.
const PIECES: [&str; 26] = [
    "a",
    " ",
    "\n",
    "\n\n",
    "\\",
    "> ",
    ">",
    "## You",
    "## Model ",
    "> [!thinking]-",
    "> [!tool] x",
    "<details>",
    "<details><summary>Thinking",
    "</details>",
    "</DETAILS>",
    "&lt;/details>",
    "&amp;lt;details",
    "---thinking---",
    "---/thinking---",
    "<!-- think:block {} -->",
    "-->",
    "```",
    "é",
    "\r",
    "# ",
    "&gt;",
];

fn any_text() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(&PIECES[..]), 0..9).prop_map(|parts| parts.concat())
}

fn any_block() -> impl Strategy<Value = Block> {
    prop_oneof![
        (any_text(), prop::option::of(any_text())).prop_map(|(text, signature)| {
            Block::Text(Text { text, signature, extra: Extra::default() })
        }),
        (any_text(), prop::option::of(any_text()), any_text(), any::<bool>()).prop_map(
            |(thought, signature, source_field, partial)| {
                Block::Thinking(Thinking {
                    signature,
                    partial,
                    encrypted_content: partial.then(|| "-->".to_owned()),
                    ..Thinking::new(thought, source_field)
                })
            }
        ),
        (any_text(), any_text(), 0..3u8).prop_map(|(name, text, kind)| {
            let parameters = match kind {
                0 => Parameters::Free(text),
                1 => Parameters::Invalid(text),
                _ => Parameters::Json(Raw::string(&text)),
            };
            let (id, signature, extra) = (None, None, Extra::default());
            Block::ToolCall(ToolCall { id, name, parameters, signature, extra })
        }),
        (any_text(), any::<bool>(), any::<bool>()).prop_map(|(text, is_json, is_error)| {
            let json = || Raw::build(|w| w.array(|w| w.str(&text)));
            Block::ToolResponse(ToolResponse {
                call_id: Some(text.clone()),
                name: None,
                result: if is_json { json() } else { Raw::string(&text) }.into(),
                is_error,
                extra: Extra::default(),
            })
        }),
        any_text().prop_map(|text| {
            let source = MediaSource::Url(text.clone());
            Block::Media(Media { media_type: text, source, extra: Extra::default() })
        }),
        any_text().prop_map(|text| {
            let raw = Raw::string(&text);
            Block::Other(Other::new("messages", "citation", raw))
        }),
    ]
}

fn any_content() -> impl Strategy<Value = Content> {
    let speaker =
        prop::sample::select(vec![Speaker::Human, Speaker::Ai, Speaker::Tool, Speaker::System]);
    (speaker, prop::collection::vec(any_block(), 0..5), any::<bool>(), any_text()).prop_map(
        |(speaker, blocks, partial, model)| {
            let origin = partial.then(|| Origin { model, ..Origin::default() });
            Content { partial, origin, ..Content::new(speaker, blocks) }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn phase3_markdown_a_page_gives_the_same_blocks_back(contents in prop::collection::vec(any_content(), 0..4)) {
        comes_back(&Exported { title: Some("A title".to_owned()), contents });
    }

    #[test]
    fn no_text_breaks_the_reader(text in any_text()) {
        let _ = from_markdown(&text);
        let _ = from_markdown(&format!("## Model\n{text}"));
    }
}

#[test]
fn phase3_markdown_a_thought_is_a_folded_callout_by_default() {
    let exported = conversation(vec![thought("one\n\ntwo"), Block::text("The answer.")]);
    let page = to_markdown(&exported, ThoughtForm::default());
    assert!(
        page.contains("> [!thinking]- Thinking, about 2 tokens\n> one\n>\n> two\n\nThe answer.\n"),
        "{page}"
    );
}

#[test]
fn phase3_markdown_a_thought_that_holds_the_terminator_stays_whole() {
    for text in ["</details>", "x\n</details>\ny", "---/thinking---", "\\---/thinking---", "> a"] {
        comes_back(&conversation(vec![thought(text), Block::text(text)]));
    }
}

#[test]
fn a_carriage_return_does_not_lead_out_of_a_callout() {
    let exported = conversation(vec![thought("x\r## Heading\r\n\r> quoted\r\r")]);
    let page = to_markdown(&exported, ThoughtForm::Callout);
    let quoted = page.split_once("> [!thinking]").unwrap().1;
    assert!(
        quoted.split(['\r', '\n']).skip(1).all(|it| it.is_empty() || it.starts_with('>')),
        "{page:?}"
    );
    comes_back(&exported);
}

#[test]
fn req_delimiter_redacted_a_masked_conversation_hides_spans_and_leaves_their_seal_out() {
    let mut thinking = Thinking::new("a <REDACTED>PIIalpha77</REDACTED> b", "thinking");
    thinking.signature = Some("sealed".to_owned());
    let exported = Exported {
        title: Some("<REDACTED>PIIbeta88</REDACTED> t".to_owned()),
        contents: conversation(vec![Block::Thinking(thinking)]).contents,
    };
    let masker = Masker::new(Tiers::ALL, &[7; 32]);
    let masked = super::masked(&exported, &masker).unwrap();
    assert_eq!(masked.title.as_deref(), Some("[redacted] t"));
    let hidden = Block::Thinking(Thinking::new("a [redacted] b", "thinking"));
    assert_eq!(masked.contents, conversation(vec![hidden]).contents);
}

#[test]
fn a_page_without_comments_is_read_as_it_looks() {
    let page = "# T\n\n## You\n\nHi\n\n## Model\n\n> [!thinking]- whatever\n> Hm.\n\nHello\n\n\
                <details><summary>Thinking</summary>\n\nagain\n\n</details>\n";
    let read = from_markdown(page).expect("a page by hand");
    assert_eq!(read.title.as_deref(), Some("T"));
    let [human, ai] = &read.contents[..] else { panic!("two messages: {read:?}") };
    assert_eq!(human.visible_text(), "Hi");
    let thoughts: Vec<_> = ai.thoughts().map(|it| it.thought.as_str()).collect();
    assert_eq!((thoughts, ai.visible_text()), (vec!["Hm.", "again"], "Hello".to_owned()));
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    let error = from_markdown("## Model\n\n<!-- think:block {\"type\":} -->\n").unwrap_err();
    assert_eq!(error.line, 3, "{error}");
    let error = from_markdown("> [!thinking]\n> lost\n").unwrap_err();
    assert!(error.to_string().contains("opens a message"), "{error}");
    let error = from_markdown("## Model\n---thinking---\nnever closed").unwrap_err();
    assert!(error.to_string().contains("---/thinking---"), "{error}");
}

#[test]
fn thoughts_can_be_left_out() {
    let contents = [
        Content::new(Speaker::Ai, vec![thought("secret plan"), Block::text("Hi")]),
        Content::new(Speaker::Ai, vec![thought("secret plan")]),
    ];
    let left = without_thoughts(&contents);
    assert_eq!(left.len(), 1);
    let exported = Exported { title: None, contents: left };
    assert!(!to_markdown(&exported, ThoughtForm::Details).contains("secret"));
    assert!(!to_html(&exported).contains("secret"));
}

#[test]
fn a_label_says_what_is_known() {
    let long =
        Thinking { duration_ms: Some(12_400), ..Thinking::new("x".repeat(4_960), "thinking") };
    let about = Some(TokenCount::estimated(1_654));
    assert_eq!(label(&long, about), "Thought for 12 s, about 1,654 tokens");
    assert_eq!(label(&long, Some(TokenCount::reported(1))), "Thought for 12 s, 1 token");
    let withheld = Thinking { signature: Some("s".to_owned()), ..Thinking::default() };
    let effort = Some("high".to_owned());
    let hard = Thinking { effort, ..long.clone() };
    assert_eq!(label(&hard, None), "Thought for 12 s, effort high");
    assert_eq!(label(&withheld, None), "The provider withheld the text");
}

#[test]
fn delimiter_dom_a_thought_is_folded_and_says_its_tokens() {
    let page = to_html(&conversation(vec![thought("12345"), Block::text("**Hi**")]));
    let expected = "<ai-reasoning data-ai-reasoning data-collapsed=\"true\" data-token-est=\"2\" data-msg-id=\"m0\"";
    assert!(page.contains(expected), "{page}");
    assert!(page.contains("data-ai-reasoning-toggle aria-expanded=\"false\" aria-controls="));
    assert!(page.contains(">Thought · 2 tokens</button>"), "the label says the same number");
    assert!(page.contains("<strong>Hi</strong>"));
}

#[test]
fn no_markup_of_a_model_reaches_the_page() {
    let attack = "<script>alert(1)</script>\n\n[x](javascript:alert(1)) ![y](https://a.example/b.png) <img src=x>";
    let page = to_html(&Exported {
        title: Some(attack.to_owned()),
        contents: conversation(vec![thought(attack), Block::text(attack)]).contents,
    });
    assert_eq!(page.matches("<script").count(), 1, "only our own");
    assert!(!page.contains("javascript:") || !page.contains("href=\"javascript:"));
    assert!(!page.contains("src=\"https:") && !page.contains("<img src=x"));
}

#[test]
fn the_policy_allows_exactly_our_script() {
    let hash = Sha256::digest(super::page::SCRIPT.as_bytes());
    let hash = base64::engine::general_purpose::STANDARD.encode(hash);
    assert_eq!(super::page::SCRIPT_HASH, hash);
}
