//! A provider takes one file and one line: those that `CONTRIBUTING.md` shows, put into a copy of this crate.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const ASKS: &str = r#"
use thinkthrough_core::{provider, wire};

fn main() {
    let provider = provider::find("imaginary").unwrap();
    let target = provider::Target::built_in(provider.id, None, "Dreamer-2-pro").unwrap();
    println!("{}", provider::Known);
    println!("{} {}", target.wire.id(), target.url(true));
    println!("{} from {}", target.rule.contract.summary(), target.rule_source);
    println!("{:?} {:?}", target.dialect.field, target.dialect.empty);
    println!("{:?}", wire::find("chat-completions").map(wire::Wire::id));
}
"#;

#[test]
fn an_imaginary_provider_takes_one_file_and_one_line() {
    let core = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = core.join("../..");
    let [file, line] = blocks(&read(&root.join("CONTRIBUTING.md")));
    let copy = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("imaginary");
    let _ = fs::remove_dir_all(copy.join("src"));
    copy_folder(&core.join("src"), &copy.join("src"));
    write(&copy.join("Cargo.toml"), &manifest(&read(&root.join("Cargo.toml"))));
    write(&copy.join("Cargo.lock"), &read(&root.join("Cargo.lock")));
    write(&copy.join("examples/asks.rs"), ASKS);

    let list = copy.join("src/provider/mod.rs");
    let before = read(&list);
    let after = before.replacen("\nproviders! {\n", &format!("\nproviders! {{\n{line}"), 1);
    assert_ne!(before, after, "the list has another form");
    write(&list, &after);
    write(&copy.join("src/provider/imaginary.rs"), &file);

    let asked = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--offline", "--example", "asks"])
        .current_dir(&copy)
        .env("CARGO_TARGET_DIR", copy.join("target"))
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&asked.stderr);
    assert_eq!(errors, "", "it compiles without a word");
    let said = String::from_utf8_lossy(&asked.stdout);
    let lines: Vec<&str> = said.lines().collect();
    assert!(lines[0].starts_with("imaginary, openai, "), "{said}");
    assert_eq!(
        lines[1..],
        [
            "chat-completions https://api.imaginary.example/v1/chat/completions",
            "tool-calls, required, reasoning_content from imaginary dreamer-*",
            r#"Some("reasoning_content") Some("")"#,
            r#"Some("chat-completions")"#,
        ]
    );
}

/// The two blocks of code in the section on providers.
fn blocks(contributing: &str) -> [String; 2] {
    let (_, section) = contributing.split_once("\n## Adding a provider\n").unwrap();
    let section = section.split_once("\n## ").map_or(section, |(section, _)| section);
    let blocks: Vec<String> = section
        .split("```rust\n")
        .skip(1)
        .map(|rest| rest.split_once("```").unwrap().0.to_owned())
        .collect();
    blocks.try_into().unwrap()
}

/// A manifest of its own for the copy, with the dependencies of this crate at the versions of the workspace.
fn manifest(workspace: &str) -> String {
    let own = read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"));
    let (_, dependencies) = own.split_once("\n[dependencies]\n").unwrap();
    let names = dependencies.lines().take_while(|line| !line.starts_with('['));
    let names = names.filter_map(|line| line.split_once(" = ").map(|(name, _)| name));
    let lines = names.map(|name| {
        let line = workspace.lines().find(|line| line.starts_with(&format!("{name} = ")));
        line.unwrap_or_else(|| panic!("{name} stands in no list of the workspace"))
    });
    let lines: Vec<&str> = lines.collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let lines = lines.join("\n").replace("path = \"", &format!("path = \"{}/", root.display()));
    format!(
        "[package]\nname = \"thinkthrough-core\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n{lines}\n"
    )
}

fn copy_folder(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let place = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &place);
        } else {
            write(&place, &read(&entry.path()));
        }
    }
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}
