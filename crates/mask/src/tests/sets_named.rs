//! The measured sets of secrets that their place identifies: keys behind names in every notation, and passwords in
//! sentences.

use super::samples::{Random, samples};
use crate::{Masker, Tiers};

const PASSWORDS: [&str; 2] = [
    include_str!("../../../../fixtures/masks/passwords.tsv"),
    include_str!("../../../../fixtures/masks/prose.tsv"),
];

/// The notations for a name with a value in programs and files: `{i}` is the name, `{I}` the same in capitals, `{s}`
/// the value.
const NOTATIONS: [&str; 26] = [
    "{i}_token=\"{s}\"",
    "{i}Token = '{s}'",
    "{I}_API_KEY={s}\n",
    "export {I}_TOKEN='{s}'",
    "\"{i}_key\": \"{s}\",",
    "{\\\"{i}_key\\\": \\\"{s}\\\"}",
    "{i}_token: {s}\n",
    "{i}_token: \"{s}\"\n",
    "<{i}Token>{s}</{i}Token>",
    "<{i}Token>\n  {s}\n</{i}Token>",
    "<add key=\"{i}Token\" value=\"{s}\" />",
    "- name: {I}_TOKEN\n  value: {s}\n",
    "{\"name\": \"{I}_TOKEN\", \"value\": \"{s}\"}",
    "let {i}_token = \"{s}\";",
    "var {i}Token string = \"{s}\"",
    "{i}Token := `{s}`",
    "${i}Token .= \"{s}\";",
    "'{i}_key' => '{s}',",
    "System.setProperty(\"{I}_TOKEN\", \"{s}\");",
    "{I}_TOKEN ?= {s}",
    "{I}_TOKEN :::= {s}",
    "const {i}Key: string = '{s}';",
    "+    {i}_token = \"{s}\"",
    "https://host/path?{i}_key={s}&page=2",
    "the {i} key is {s}, I think",
    "{i}.token={s}\n",
];

#[test]
fn set_g_keys_of_services_are_covered_in_every_notation() {
    let masker = Masker::new(Tiers::ALL, &[7; 32]);
    let (mut all, mut missed) = (0, Vec::new());
    for seed in 30..32 {
        // A sample such as `ADOBE_KEY=...` has the name of its service, and its key.
        for sample in samples(seed).iter().filter(|sample| sample.is_secret) {
            let Some((name, key)) = sample.text.split_once("_KEY=") else { continue };
            if !name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
                || key.contains(' ')
            {
                continue;
            }
            for notation in NOTATIONS {
                let text = notation
                    .replace("{i}", &name.to_ascii_lowercase())
                    .replace("{I}", name)
                    .replace("{s}", key.trim());
                all += 1;
                if !masker.mask_text(&text).contains("[masked:") {
                    missed.push(text);
                }
            }
        }
    }
    println!("set G: {all} keys, {} missed", missed.len());
    assert!(all > 2_000, "{all}");
    assert!(missed.len() * 1_000 <= all * 5, "{} of {all}\n{}", missed.len(), missed.join("\n"));
}

/// A password as people choose it.
fn password(random: &mut Random) -> String {
    const WORDS: [&str; 16] = [
        "apple", "river", "stone", "cloud", "tiger", "pepper", "winter", "happy", "monkey",
        "dragon", "silver", "coffee", "falcon", "orange", "ladder", "market",
    ];
    let letters = b"abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789!@#%*+".as_slice();
    let drawn = |random: &mut Random, from: &[u8], length: usize| -> String {
        (0..length).map(|_| char::from(from[random.below(from.len())])).collect()
    };
    let mut word = || WORDS[random.below(WORDS.len())].to_owned();
    let (one, two) = (word(), word());
    let capital = |word: &str| -> String {
        let first = word.chars().take(1).map(|char| char.to_ascii_uppercase());
        first.chain(word.chars().skip(1)).collect()
    };
    let number = 10 + random.below(90);
    match random.below(8) {
        0 => format!("{}{number}!", capital(&one)),
        1 => format!("{one}{number}{two}"),
        2 => drawn(random, &letters[..56], 12),
        3 => format!("{one}-{two}-{number}"),
        4 => capital(&one).replace('o', "0").replace('e', "3") + "$" + &number.to_string(),
        5 => drawn(random, letters, 14),
        6 => format!("{}{}{}", capital(&one), capital(&two), 1950 + number),
        _ => format!("{one}.{two}{number}"),
    }
}

/// Masks a part of set C. Returns the number of passwords, the passwords that were not covered, and the other texts
/// that were.
fn set_c(part: &str) -> (usize, Vec<String>, Vec<String>) {
    let masker = Masker::new(Tiers::ALL, &[7; 32]);
    let mut random = Random(41);
    let (mut all, mut missed, mut wrong) = (0, Vec::new(), Vec::new());
    let lines = PASSWORDS.iter().flat_map(|texts| texts.lines());
    for line in lines.filter(|line| !line.starts_with('#')) {
        let cells: Vec<&str> = line.split('\t').collect();
        let [kind, sign, text] = cells[..] else { panic!("no sample: {line}") };
        let text = text.replace("\\n", "\n");
        if kind != part {
            continue;
        }
        if sign == "-" {
            if masker.mask_text(&text).contains("[masked:") {
                wrong.push(text);
            }
            continue;
        }
        for _ in 0..8 {
            let password = password(&mut random);
            let masked = masker.mask_text(&text.replace("{}", &password));
            all += 1;
            if password
                .as_bytes()
                .windows(5)
                .any(|part| std::str::from_utf8(part).is_ok_and(|part| masked.contains(part)))
            {
                missed.push(masked);
            }
        }
    }
    (all, missed, wrong)
}

/// The parts of set C, and how much of each is to be covered, of a hundred.
const PARTS: [(&str, usize); 4] = [("seen", 80), ("unseen", 80), ("second", 80), ("third", 80)];

#[test]
fn set_c_passwords_are_covered_where_people_write_them() {
    let mut samples = 0;
    // The environment variable names the part whose results are printed in full.
    let shown = std::env::var("THINKTHROUGH_PASSWORDS").unwrap_or_default();
    for (part, least) in PARTS {
        let (all, missed, wrong) = set_c(part);
        let found = all - missed.len();
        println!("set C, {part}: {found} of {all} covered, {} others covered", wrong.len());
        samples += all;
        let told = || format!("{}\n{}", missed.join("\n"), wrong.join("\n"));
        if shown == part {
            println!("{}", told());
        }
        assert!(found * 100 >= all * least, "{part}\n{}", told());
        assert!(found * 100 >= (found + wrong.len()) * 60, "{}", told());
    }
    assert!(samples >= 600, "{samples}");
}
