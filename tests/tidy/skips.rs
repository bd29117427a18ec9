//! No test and no documented example is switched off.

use crate::code::Code;
use crate::{assert_none, tree};

#[test]
fn no_test_is_ignored() {
    let findings = findings(|file| ignored_tests(&Code::with_tests(&file.text)), &["rs"]);
    assert_none("a test that does not run proves nothing", &findings);
}

#[test]
fn no_documented_example_is_ignored() {
    let findings = findings(|file| ignored_examples(&file.text), &["rs", "md"]);
    assert_none("an example that is not compiled rots; mark text as `text`", &findings);
}

fn findings(check: impl Fn(&tree::File) -> Vec<usize>, extensions: &[&str]) -> Vec<String> {
    let files = extensions.iter().flat_map(|extension| tree::files(extension));
    let lines =
        files.flat_map(|file| check(&file).into_iter().map(move |line| (file.path.clone(), line)));
    lines.map(|(path, line)| format!("{path}:{line}")).collect()
}

/// Lines with an attribute that switches a test off, also under a condition.
fn ignored_tests(code: &Code) -> Vec<usize> {
    let words = code.words();
    let attributes = words.windows(3).filter(|words| (words[0].1, words[1].1) == ("#", "["));
    let mut lines: Vec<usize> =
        attributes.filter(|words| words[2].1 == "ignore").map(|words| words[0].0).collect();
    let conditional = words.windows(2).filter(|words| (words[0].1, words[1].1) == (",", "ignore"));
    lines.extend(conditional.map(|words| words[0].0));
    lines
}

/// Lines that open a fenced example that the documentation tests skip.
fn ignored_examples(text: &str) -> Vec<usize> {
    let fences = (1..).zip(text.lines()).filter_map(|(line, text)| {
        let text = text.trim_start().trim_start_matches(['/', '!', '*', '>']).trim_start();
        text.strip_prefix("```").map(|info| (line, info))
    });
    let ignored = fences.filter(|(_, info)| {
        info.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == "ignore")
    });
    ignored.map(|(line, _)| line).collect()
}

#[test]
fn switched_off_tests_and_examples_are_found() {
    let off = "#[test]\n#[ignore]\nfn a() {}\n#[ignore = \"slow\"]\n#[cfg_attr(windows, ignore)]\nfn b() {}";
    assert_eq!(ignored_tests(&Code::with_tests(off)), [2, 4, 5]);
    let on = "// #[ignore]\nfn ignore() { g(\"#[ignore]\"); }";
    assert_eq!(ignored_tests(&Code::with_tests(on)), [0_usize; 0]);

    let fence = "```";
    let text = format!(
        "/// {fence}rust,ignore\n//! {fence}ignore\n{fence}\n{fence}text\n  {fence}no_run\n// ignore\n"
    );
    assert_eq!(ignored_examples(&text), [1, 2]);
}
