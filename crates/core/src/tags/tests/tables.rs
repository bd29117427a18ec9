//! Runs the tag tables of the conformance corpus, whole and in every split, and says the score.

use super::{feed, feed_all_ways, named};
use crate::tags::{End, Options, Part, Reasoning, SplitOptions, Start, TagSpec, split};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;

struct Case {
    id: String,
    text: String,
    meta: Value,
    expected: Value,
}

/// The expected result in the table: the thoughts, the text, and the order if the table has one.
#[derive(Debug, PartialEq)]
struct Answer {
    thoughts: Vec<String>,
    text: String,
    blocks: Option<Vec<(bool, String)>>,
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn corpus() -> PathBuf {
    std::env::var_os("THINKTHROUGH_CORPUS")
        .map_or_else(|| root().join("../shared/corpus"), PathBuf::from)
}

fn cases() -> Option<Vec<Case>> {
    let tables = corpus().join("tag-tables");
    let mut dirs: Vec<PathBuf> =
        std::fs::read_dir(&tables).ok()?.map(|entry| entry.unwrap().path()).collect();
    dirs.sort();
    let read = |path: PathBuf| std::fs::read_to_string(path).unwrap();
    let json = |path: PathBuf| serde_json::from_str(&read(path)).unwrap();
    Some(
        dirs.into_iter()
            .map(|dir| Case {
                id: dir.file_name().unwrap().to_str().unwrap().to_owned(),
                text: read(dir.join("response.bin")),
                meta: json(dir.join("meta.json")),
                expected: json(dir.join("expected.json")),
            })
            .collect(),
    )
}

fn exceptions() -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(root().join("fixtures/exceptions/tags.tsv")).unwrap();
    text.lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(|line| {
            let (id, reason) = line.split_once('\t').expect("an id, a tab and a reason");
            assert!(!reason.trim().is_empty(), "an exception without a reason: {id}");
            (id.to_owned(), reason.to_owned())
        })
        .collect()
}

impl Case {
    fn tag(&self, key: &str) -> &Value {
        &self.meta["tags"][key]
    }

    /// The options that the case's own description may lead to: none at all, and what it says of the start. The
    /// generic splitters need the start as an option; every other family knows it.
    fn options(&self) -> Vec<Options> {
        let told = Options { start: Start::Thought, ..Options::default() };
        let inside = self.tag("starts_in_reasoning") == true;
        match (inside, self.is_generic()) {
            (false, _) => vec![Options::default()],
            (true, true) => vec![told],
            (true, false) => vec![Options::default(), told],
        }
    }

    fn is_generic(&self) -> bool {
        matches!(
            self.tag("family").as_str().unwrap(),
            "extract-reasoning-middleware" | "inline-split"
        )
    }

    fn expected(&self) -> Answer {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let list = |key: &str| self.expected[key].as_array().cloned();
        Answer {
            thoughts: list("thinking").unwrap().iter().map(|block| text(&block["text"])).collect(),
            text: text(&self.expected["text"]),
            blocks: list("blocks").map(|blocks| {
                let kind = |block: &Value| block["type"] == "thinking";
                blocks.iter().map(|block| (kind(block), text(&block["text"]))).collect()
            }),
        }
    }

    /// The case's own delimiters where its family is not one of ours by other tags.
    fn spec(&self) -> TagSpec {
        let family = self.tag("family").as_str().unwrap();
        let (open, close) = (self.tag("start"), self.tag("end"));
        match (family, open.as_str()) {
            ("inline-split", Some(open)) if open != "<think>" => {
                TagSpec::custom(open, close.as_str().unwrap()).unwrap()
            }
            _ => named(family),
        }
    }

    fn check(&self) -> Result<(), String> {
        let expected = self.expected();
        for options in self.options() {
            let parts = feed_all_ways(&self.spec(), options, &self.text, End::Clean);
            if let Some(chunks) = self.tag("chunks").as_array() {
                let chunks = chunks.iter().map(|chunk| chunk.as_str().unwrap());
                assert_eq!(feed(&self.spec(), options, chunks, End::Clean), parts, "{}", self.id);
            }
            let got = answer(parts, expected.blocks.is_some());
            if got != expected {
                return Err(format!("{options:?}: got {got:?}, the table says {expected:?}"));
            }
            self.check_split(&self.spec(), options, &expected)?;
            if self.is_generic() {
                let tag = |key: &str| self.tag(key).as_str().unwrap();
                let custom = TagSpec::custom(tag("start"), tag("end")).unwrap();
                self.check_split(&custom, options, &expected)?;
            }
        }
        Ok(())
    }

    fn check_split(&self, spec: &TagSpec, options: Options, want: &Answer) -> Result<(), String> {
        let halves = split(
            &self.text,
            &SplitOptions { start: options.start, ..SplitOptions::new(spec.clone()) },
        );
        let Reasoning::One(thought) = &halves.reasoning else { panic!("not staged") };
        let thought = thought.as_ref().map(|thought| thought.text.clone());
        let thoughts = (!want.thoughts.is_empty()).then(|| want.thoughts.join("\n"));
        if thought != thoughts || halves.visible != want.text {
            return Err(format!("split by {}: got {halves:?}, want {want:?}", spec.name()));
        }
        Ok(())
    }
}

fn answer(parts: Vec<Part>, with_blocks: bool) -> Answer {
    let blocks: Vec<(bool, String)> = parts
        .into_iter()
        .map(|part| match part {
            Part::Text(text) => (false, text),
            Part::Thinking { thought, .. } => (true, thought),
        })
        .collect();
    let of = |thinking: bool| {
        blocks.iter().filter(move |block| block.0 == thinking).map(|block| block.1.clone())
    };
    let (thoughts, text) = (of(true).collect(), of(false).collect());
    Answer { thoughts, text, blocks: with_blocks.then_some(blocks) }
}

#[test]
fn tag_tables_give_the_stated_results_in_every_split() {
    let Some(cases) = cases() else {
        println!("the conformance corpus is absent; the tag tables were not run");
        return;
    };
    let mut exceptions = exceptions();
    let (mut right, mut failures) = (0, Vec::new());
    for case in &cases {
        match (case.check(), exceptions.remove(&case.id)) {
            (Ok(()), None) => right += 1,
            (Ok(()), Some(_)) => failures.push(format!("{}: excepted, but right", case.id)),
            (Err(_), Some(reason)) => println!("{}: excepted: {reason}", case.id),
            (Err(error), None) => failures.push(format!("{}: {error}", case.id)),
        }
    }
    println!("tag tables: {right} of {} cases right", cases.len());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(exceptions.is_empty(), "exceptions without a case: {:?}", exceptions.keys());
}

#[test]
fn thinking_off_takes_nothing_for_a_thought() {
    let off = Options { thinking_off: true, ..Options::default() };
    for text in ["This is the rest", "</think>This is the rest", "<think>a</think>b"] {
        for family in TagSpec::names() {
            let parts = feed_all_ways(&named(family), off, text, End::Clean);
            assert_eq!(parts, [Part::Text(text.to_owned())], "{family}");
        }
    }
}

#[test]
fn recorded_answers_with_tags_are_split_as_recorded() {
    let Ok(manifest) = std::fs::read_to_string(corpus().join("manifest.json")) else {
        println!("the conformance corpus is absent; recorded answers with tags were not read");
        return;
    };
    let manifest: Value = serde_json::from_str(&manifest).unwrap();
    let list = manifest.get("cases").unwrap_or(&manifest).as_array().unwrap();
    let mut seen = 0;
    for entry in list {
        let dir = entry["dir"].as_str().unwrap();
        let expected = std::fs::read_to_string(corpus().join(dir).join("expected.json")).unwrap();
        let expected: Value = serde_json::from_str(&expected).unwrap();
        let (Some(tagged), Some(input)) = (expected.get("tagged"), expected["text"].as_str())
        else {
            continue;
        };
        seen += 1;
        let halves = split(input, &SplitOptions::new(named("think")));
        let Reasoning::One(thought) = halves.reasoning else { panic!("not staged") };
        let thought = thought.map(|thought| thought.text).unwrap_or_default();
        assert_eq!(thought, tagged["thinking"].as_str().unwrap(), "{dir}");
        assert_eq!(halves.visible, tagged["text"].as_str().unwrap(), "{dir}");
    }
    assert!(seen > 0, "the corpus has answers with tags");
    println!("recorded answers with tags: {seen} right");
}
