//! Scripted faults that a test asks of a simulator.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::exchange::SimChunk;
use crate::reply::Answer;

/// Faults for one answer, as `x-sim-fault` or `--fault` has them, joined by commas: `cut=N`,
/// `goaway=N`, `stall=MS`, `stall-at=N`, `status=429,retry-after=S`, `error-at=N`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fault {
    /// The connection breaks after this many bytes of the body. Over HTTP/2 only the stream breaks.
    pub cut: Option<usize>,
    /// The connection breaks after this many bytes of the body. Over HTTP/2 it ends with GOAWAY.
    pub goaway: Option<usize>,
    /// A pause before the first event, or before the event that `stall_at` names.
    pub stall: Option<Duration>,
    /// The pause comes after this many events of a stream, or before the last event of a shorter
    /// one.
    pub stall_at: Option<usize>,
    /// The request is refused with this status.
    pub status: Option<u16>,
    /// Seconds for the `retry-after` header of that refusal.
    pub retry_after: Option<u64>,
    /// After this many events of a stream an error event replaces the rest.
    pub error_at: Option<usize>,
}

/// An invalid fault specification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FaultError {
    /// The invalid part.
    pub part: String,
}

impl fmt::Display for FaultError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "unknown fault `{}`; allowed are `cut=N` and `goaway=N` (bytes), `stall=MS` with or without \
             `stall-at=N` (events), `status=CODE` from 400 to 599 with or without `retry-after=S`, and `error-at=N` (events), joined by commas",
            self.part
        )
    }
}

impl std::error::Error for FaultError {}

impl FromStr for Fault {
    type Err = FaultError;

    fn from_str(spec: &str) -> Result<Self, FaultError> {
        let mut fault = Self::default();
        for part in spec.split(',').map(str::trim) {
            let error = || FaultError { part: part.to_owned() };
            let (key, value) = part.split_once('=').ok_or_else(error)?;
            match key {
                "cut" => fault.cut = Some(value.parse().map_err(|_| error())?),
                "goaway" => fault.goaway = Some(value.parse().map_err(|_| error())?),
                "stall" => {
                    fault.stall = Some(Duration::from_millis(value.parse().map_err(|_| error())?));
                }
                "stall-at" => fault.stall_at = Some(value.parse().map_err(|_| error())?),
                "status" => {
                    let status: u16 = value.parse().map_err(|_| error())?;
                    if !(400..600).contains(&status) {
                        return Err(error());
                    }
                    fault.status = Some(status);
                }
                "retry-after" => fault.retry_after = Some(value.parse().map_err(|_| error())?),
                "error-at" => fault.error_at = Some(value.parse().map_err(|_| error())?),
                _ => return Err(error()),
            }
        }
        if fault.retry_after.is_some() && fault.status.is_none() {
            return Err(FaultError { part: "retry-after without status".to_owned() });
        }
        if fault.stall_at.is_some() && fault.stall.is_none() {
            return Err(FaultError { part: "stall-at without stall".to_owned() });
        }
        Ok(fault)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            self.cut.map(|n| format!("cut={n}")),
            self.goaway.map(|n| format!("goaway={n}")),
            self.stall.map(|pause| format!("stall={}", pause.as_millis())),
            self.stall_at.map(|n| format!("stall-at={n}")),
            self.status.map(|code| format!("status={code}")),
            self.retry_after.map(|seconds| format!("retry-after={seconds}")),
            self.error_at.map(|n| format!("error-at={n}")),
        ];
        f.write_str(&parts.into_iter().flatten().collect::<Vec<_>>().join(","))
    }
}

impl Fault {
    /// Applies the faults to the body of an answer. Returns its pieces, and whether the connection
    /// breaks after them.
    pub(crate) fn body(&self, answer: &Answer) -> (Vec<SimChunk>, bool) {
        let mut frames = answer.frames.clone();
        if let Some(at) = self.error_at.filter(|_| !answer.error_event.is_empty()) {
            frames.truncate(at);
            frames.push(answer.error_event.clone());
        }
        let mut chunks: Vec<SimChunk> = frames
            .into_iter()
            .map(|frame| SimChunk { pause: Duration::ZERO, bytes: frame })
            .collect();
        let limit = self.cut.into_iter().chain(self.goaway).min();
        let cut = limit.is_some_and(|limit| shorten(&mut chunks, limit));
        let last = chunks.len().saturating_sub(1);
        let at = self.stall_at.unwrap_or_default().min(last);
        if let (Some(chunk), Some(pause)) = (chunks.get_mut(at), self.stall) {
            chunk.pause = pause;
        }
        (chunks, cut)
    }
}

/// Keeps the first `limit` bytes. Returns false if there were no more.
fn shorten(chunks: &mut Vec<SimChunk>, limit: usize) -> bool {
    let mut left = limit;
    let mut cut = false;
    chunks.retain_mut(|chunk| {
        cut |= chunk.bytes.len() > left;
        chunk.bytes.truncate(left);
        left -= chunk.bytes.len();
        !chunk.bytes.is_empty()
    });
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specifications_are_read_and_written_back() {
        for spec in [
            "cut=10",
            "goaway=10",
            "stall=1500",
            "stall=5,stall-at=2",
            "status=429,retry-after=2",
            "error-at=3",
            "cut=4,stall=5",
        ] {
            assert_eq!(spec.parse::<Fault>().unwrap().to_string(), spec);
        }
        for spec in
            ["", "cut", "cut=x", "status=200", "bogus=1", "retry-after=3", "stall-at=3", "cut=-1"]
        {
            let error = spec.parse::<Fault>().unwrap_err().to_string();
            assert!(error.contains("error-at=N"), "{spec}: {error}");
        }
    }

    #[test]
    fn a_cut_keeps_exactly_so_many_bytes() {
        let answer = Answer::events(vec!["abc".into(), "def".into()], "err".into());
        for limit in 0..8 {
            let fault = Fault { cut: Some(limit), ..Fault::default() };
            let (chunks, cut) = fault.body(&answer);
            let bytes: Vec<u8> = chunks.into_iter().flat_map(|chunk| chunk.bytes).collect();
            assert_eq!(bytes, b"abcdef"[..limit.min(6)]);
            assert_eq!(cut, limit < 6);
        }
    }
}
