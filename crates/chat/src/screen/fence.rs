//! Cuts long blocks of code into chunks, because an open block would otherwise be laid out again with every delta.

use super::chunk::push_chunks;
use super::code::Scanner;
use super::markdown;
use std::ops::Range;

/// Blocks of code longer than this are cut.
const LONG: usize = 16 << 10;

/// A part of an answer that is laid out by itself.
pub(super) struct Cut {
    pub(super) range: Range<usize>,
    /// It is a chunk of a block of code; otherwise it is Markdown.
    pub(super) code: Option<Code>,
}

/// A chunk of a block of code.
#[derive(Clone, Debug)]
pub(super) struct Code {
    fence: Fence,
    /// The length of the line that opens the block, in its first chunk.
    opens: usize,
    /// The scanner's state at its beginning.
    scanner: Scanner,
}

#[derive(Clone, Debug)]
struct Fence {
    mark: char,
    count: usize,
}

impl Code {
    /// The code of the chunk, without the lines of the fence, and whether the block ends with it.
    pub(super) fn text<'t>(&self, chunk: &'t str) -> (&'t str, bool) {
        let code = chunk.get(self.opens..).unwrap_or_default();
        match self.fence.end(code, true) {
            Some(end) => (code.get(..end.start).unwrap_or_default(), true),
            None => (code, false),
        }
    }

    /// Whether the block begins here.
    pub(super) fn is_first(&self) -> bool {
        self.opens > 0
    }

    pub(super) fn scanner(&self) -> Scanner {
        self.scanner.clone()
    }

    /// The block at the start of a text, if it is a fenced block of code.
    fn open(block: &str) -> Option<Self> {
        let line = block.split_inclusive('\n').next().filter(|line| line.ends_with('\n'))?;
        let mark = line.chars().next().filter(|mark| ['`', '~'].contains(mark))?;
        let info = line.trim_start_matches(mark);
        let count = line.len() - info.len();
        let info = info.trim();
        let is_fence = count >= 3 && !(mark == '`' && info.contains('`'));
        is_fence.then(|| Code {
            fence: Fence { mark, count },
            opens: line.len(),
            scanner: Scanner::new(info),
        })
    }

    /// The next chunk, given the text of this one.
    fn next(&self, chunk: &str) -> Self {
        let mut scanner = self.scanner();
        let code = self.text(chunk).0;
        for line in code.strip_suffix('\n').unwrap_or(code).split('\n') {
            scanner.line(line, |_, _| {});
        }
        Code { opens: 0, scanner, ..self.clone() }
    }
}

impl Fence {
    /// The line that ends the block. A line without a line feed may still become another line.
    fn end(&self, code: &str, takes_open_line: bool) -> Option<Range<usize>> {
        let mut at = 0;
        for line in code.split_inclusive('\n') {
            let plain = line.trim_end();
            let rest = plain.trim_start_matches(' ');
            let is_near = plain.len() - rest.len() <= 3;
            let is_mark = rest.len() >= self.count && rest.chars().all(|char| char == self.mark);
            if is_near && is_mark && (takes_open_line || line.ends_with('\n')) {
                return Some(at..at + line.len());
            }
            at += line.len();
        }
        None
    }
}

/// Cuts an answer from `start` on. `code` is set if a chunk of code begins there. Text that may still change is in
/// the last cut.
pub(super) fn cuts(text: &str, start: usize, code: Option<Code>) -> Vec<Cut> {
    let mut cuts = Vec::new();
    let mut at = match code {
        Some(code) => push_code(text, start, code, &mut cuts),
        None => start,
    };
    'blocks: while at < text.len() {
        let tail = text.get(at..).unwrap_or_default();
        for block in markdown::blocks(tail) {
            let range = at + block.start..at + block.end;
            let code = text.get(range.clone()).filter(|it| it.len() > LONG).and_then(Code::open);
            if let Some(code) = code {
                at = push_code(text, range.start, code, &mut cuts);
                continue 'blocks;
            }
            cuts.push(Cut { range, code: None });
        }
        break;
    }
    cuts
}

/// Cuts a block of code from a chunk on, and returns the position after the block.
fn push_code(text: &str, start: usize, mut code: Code, cuts: &mut Vec<Cut>) -> usize {
    let tail = text.get(start..).unwrap_or_default();
    let inside = tail.get(code.opens..).unwrap_or_default();
    let mut end = code.fence.end(inside, false).map_or(tail.len(), |line| code.opens + line.end);
    if tail.get(end..).unwrap_or_default().trim().is_empty() {
        end = tail.len();
    }
    let mut chunks = Vec::new();
    push_chunks(tail.get(..end).unwrap_or_default(), 0, &mut chunks);
    for chunk in chunks {
        let next = code.next(tail.get(chunk.clone()).unwrap_or_default());
        let code = std::mem::replace(&mut code, next);
        cuts.push(Cut { range: start + chunk.start..start + chunk.end, code: Some(code) });
    }
    start + end
}

#[cfg(test)]
mod tests {
    use super::cuts;

    #[test]
    fn a_long_block_of_code_is_cut_and_short_ones_and_text_are_not() {
        let code = "let x = 1; /* a\ncomment */\n".repeat(3_000);
        let text = format!("before\n\n```rs\nshort\n```\n\n~~~rs\n{code}~~~\n\nafter\n");
        let cuts = cuts(&text, 0, None);
        let joined: String = cuts.iter().map(|cut| text.get(cut.range.clone()).unwrap()).collect();
        assert_eq!(joined, text);
        let of_code = cuts.iter().filter(|cut| cut.code.is_some()).count();
        assert!(of_code > 4, "{of_code}");
        assert_eq!(cuts.len() - of_code, 3, "before, the short block, after");
        let shown: String = cuts
            .iter()
            .filter_map(|cut| Some(cut.code.as_ref()?.text(text.get(cut.range.clone())?).0))
            .collect();
        assert_eq!(shown, code);
        assert!(cuts.iter().all(|cut| cut.range.len() < 40_000));
    }

    #[test]
    fn a_growing_block_costs_its_last_chunk() {
        let mut text = format!("```rs\n{}", "fn f() {}\n".repeat(60_000));
        let first = cuts(&text, 0, None);
        let last = first.last().unwrap();
        text.push_str("more\n");
        let again = cuts(&text, last.range.start, last.code.clone());
        assert!(again.len() <= 2 && again[0].range.start == last.range.start);
        text.push_str("```\n\nand text");
        let closed = cuts(&text, last.range.start, last.code.clone());
        assert!(closed.last().unwrap().code.is_none());
        let behind = text.get(closed.last().unwrap().range.clone()).unwrap();
        assert!(behind.contains("and text"));
    }
}
