//! The lists of models, as each API has them.

use crate::accept::place::Face;
use crate::models::route::Listed;
use thinkthrough_json::{Raw, Writer};

/// One model, as the caller's API has it.
pub(crate) fn model(face: Face, listed: &Listed) -> String {
    written(|w| one(w, face, listed))
}

/// The models, as the caller's API has them.
pub(crate) fn models(face: Face, list: &[Listed]) -> String {
    written(|w| {
        w.object(|w| {
            let items = |w: &mut Writer| list.iter().for_each(|listed| one(w, face, listed));
            match face {
                Face::Generate | Face::Lines | Face::Prompt => w.key("models").array(items),
                Face::Chat | Face::Responses => {
                    w.field_str("object", "list");
                    w.key("data").array(items);
                }
                Face::Messages => {
                    w.key("data").array(items);
                    w.key("has_more").bool(false);
                    for (key, end) in [("first_id", list.first()), ("last_id", list.last())] {
                        match end {
                            Some(listed) => w.field_str(key, &listed.name),
                            None => w.key(key).null(),
                        }
                    }
                }
            }
        });
    })
}

fn one(w: &mut Writer, face: Face, listed: &Listed) {
    let Listed { name, provider } = listed;
    w.object(|w| match face {
        Face::Chat | Face::Responses => {
            w.field_str("id", name);
            w.field_str("object", "model");
            w.field_u64("created", 0);
            w.field_str("owned_by", provider);
        }
        Face::Messages => {
            w.field_str("type", "model");
            w.field_str("id", name);
            w.field_str("display_name", name);
            w.field_str("created_at", "1970-01-01T00:00:00Z");
        }
        Face::Generate => {
            w.field_str("name", &format!("models/{name}"));
            w.field_str("baseModelId", name);
            w.field_str("version", "1");
            w.field_str("displayName", name);
            w.key("supportedGenerationMethods").array(|w| {
                ["generateContent", "streamGenerateContent", "countTokens"]
                    .into_iter()
                    .for_each(|verb| w.str(verb));
            });
        }
        Face::Lines | Face::Prompt => {
            w.field_str("name", name);
            w.field_str("model", name);
        }
    });
}

fn written(write: impl FnOnce(&mut Writer)) -> String {
    Raw::build(write).as_str().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use thinkthrough_json::Doc;

    #[test]
    fn each_api_finds_the_name_where_it_looks_for_it() {
        let list = [Listed { name: "a/b".to_owned(), provider: "a".to_owned() }];
        for (face, field, key, expected) in [
            (Face::Chat, "data", "id", "a/b"),
            (Face::Messages, "data", "id", "a/b"),
            (Face::Generate, "models", "name", "models/a/b"),
            (Face::Lines, "models", "name", "a/b"),
        ] {
            let text = models(face, &list);
            let doc = Doc::parse_str(&text).unwrap();
            let first = doc.root().some(field).unwrap().items().next().unwrap();
            assert_eq!(first.string(key).as_deref(), Some(expected), "{text}");
            assert_eq!(model(face, &list[0]), first.raw());
        }
    }

    #[test]
    fn an_empty_list_is_a_list() {
        for face in [Face::Chat, Face::Messages, Face::Generate, Face::Lines] {
            assert!(models(face, &[]).contains("[]"), "{face:?}");
        }
    }
}
