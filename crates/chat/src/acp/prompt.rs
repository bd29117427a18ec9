//! Reads a prompt of the editor into the neutral form.

use super::rpc::Problem;
use thinkthrough_core::content::{Block, Content, Speaker};
use thinkthrough_json::Val;

/// The message of a prompt.
pub(super) fn content(params: Val<'_>) -> Result<Content, Problem> {
    let blocks = params.get("prompt").into_iter().flat_map(Val::items);
    let blocks: Vec<Block> = blocks.map(block).collect::<Result<_, _>>()?;
    if blocks.is_empty() {
        return Err(Problem::params("`prompt` is empty"));
    }
    Ok(Content::new(Speaker::Human, blocks))
}

fn block(block: Val<'_>) -> Result<Block, Problem> {
    let kind = block.text("type").unwrap_or_default();
    match kind.as_ref() {
        "text" => Ok(Block::text(block.string("text").unwrap_or_default())),
        "resource_link" => {
            let (name, uri) = (block.text("name"), block.text("uri"));
            let (name, uri) = (name.unwrap_or_default(), uri.unwrap_or_default());
            Ok(Block::text(format!("[{name}]({uri})")))
        }
        "resource" => {
            let resource = block.get("resource");
            let text = resource.and_then(|it| it.text("text"));
            let text =
                text.ok_or_else(|| Problem::params("only resources that are text can be read"))?;
            let uri = resource.and_then(|it| it.text("uri")).unwrap_or_default();
            Ok(Block::text(format!("{uri}:\n{text}")))
        }
        // Our capabilities do not announce this kind, so that an editor that follows them sends none.
        other => Err(Problem::params(&format!("a prompt cannot have a block of type `{other}`"))),
    }
}
