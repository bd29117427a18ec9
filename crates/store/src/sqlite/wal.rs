//! Detects damage in SQLite's write-ahead log.
//!
//! SQLite reads a log up to the first frame with a wrong checksum, and reports no error: the process may simply have
//! ended there. A changed bit looks the same, and hides every later transaction. The difference is a commit after
//! that place: a frame with the salts of this log was written after the log began, and the last frame of a
//! transaction is marked as such.
//!
//! Facts: "Database File Format", section 4, on sqlite.org.

/// Size of the header of the file.
const HEAD: usize = 32;
const FRAME: usize = 24;
/// The start of the header. The lowest bit is the byte order of the words in checksums.
const MAGIC: u32 = 0x377f_0682;
const VERSION: u32 = 3_007_000;

/// The position in bytes from which the log is damaged. `None` if the log is intact, or ends where a process ended.
pub(super) fn broken_at(log: &[u8]) -> Option<usize> {
    if log.is_empty() {
        return None;
    }
    let Some(head) = Head::read(log) else { return Some(0) };
    let mut sums = head.sums;
    let mut at = HEAD;
    while let Some(frame) = Frame::at(log, at, head.page) {
        match frame.page.and_then(|page| head.sums_of(frame.first, page, sums)) {
            Some(next) if frame.salts == head.salts && next == frame.sums => sums = next,
            _ => break,
        }
        at += FRAME + head.page;
    }
    let was_commit = Frame::at(log, at, head.page)
        .is_some_and(|frame| head.is_own(&frame) && head.hides_a_commit(&frame, sums));
    let mut rest = at;
    while let Some(frame) = Frame::at(log, rest, head.page) {
        if was_commit || (head.is_own(&frame) && frame.is_commit()) {
            return Some(at);
        }
        rest += FRAME + head.page;
    }
    None
}

struct Head {
    is_big_endian: bool,
    page: usize,
    salts: [u32; 2],
    sums: [u32; 2],
}

struct Frame<'a> {
    /// The page's number, and the length of the database in pages, or 0 if the transaction goes on.
    first: [u32; 2],
    salts: [u32; 2],
    sums: [u32; 2],
    /// `None` if the file ends within the frame.
    page: Option<&'a [u8]>,
}

impl Head {
    fn read(log: &[u8]) -> Option<Self> {
        let [magic, version, page, _count, salts @ .., one, two] = words::<8>(log, 0)?;
        let is_big_endian = magic & 1 == 1;
        let sums = sums(is_big_endian, log.get(..24)?, [0, 0])?;
        let page = usize::try_from(page).ok()?;
        let is_right = magic & !1 == MAGIC && version == VERSION && sums == [one, two];
        let is_size = page.is_power_of_two() && (512..=65_536).contains(&page);
        (is_right && is_size).then_some(Head { is_big_endian, page, salts, sums })
    }

    /// Whether a frame belongs to this log and not to an earlier one in the same file. One equal salt suffices,
    /// because both salts change together.
    fn is_own(&self, frame: &Frame<'_>) -> bool {
        self.salts.iter().zip(frame.salts).any(|(own, salt)| *own == salt)
    }

    /// The running checksum after a frame.
    fn sums_of(
        &self,
        [number, length]: [u32; 2],
        page: &[u8],
        before: [u32; 2],
    ) -> Option<[u32; 2]> {
        let head = (u64::from(number) << 32 | u64::from(length)).to_be_bytes();
        sums(self.is_big_endian, page, sums(self.is_big_endian, &head, before)?)
    }

    /// Whether this would be a valid commit frame, except for one changed bit in its commit field.
    fn hides_a_commit(&self, frame: &Frame<'_>, before: [u32; 2]) -> bool {
        let [page, length] = frame.first;
        (0..32).any(|bit| {
            let first = [page, length ^ (1 << bit)];
            let sums = frame.page.and_then(|page| self.sums_of(first, page, before));
            sums == Some(frame.sums)
        })
    }
}

impl<'a> Frame<'a> {
    fn at(log: &'a [u8], at: usize, page: usize) -> Option<Self> {
        let [one, two, salt, pepper, sum, other] = words::<6>(log, at)?;
        let start = at.checked_add(FRAME)?;
        let page = log.get(start..start.checked_add(page)?);
        Some(Frame { first: [one, two], salts: [salt, pepper], sums: [sum, other], page })
    }

    fn is_commit(&self) -> bool {
        self.first[1] != 0
    }
}

/// `N` big-endian words of four bytes.
fn words<const N: usize>(bytes: &[u8], at: usize) -> Option<[u32; N]> {
    let mut words = [0; N];
    let bytes = bytes.get(at..at.checked_add(4 * N)?)?;
    for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(4)) {
        *word = u32::from_be_bytes(bytes.try_into().ok()?);
    }
    Some(words)
}

/// The running checksum after these bytes.
fn sums(is_big_endian: bool, bytes: &[u8], before: [u32; 2]) -> Option<[u32; 2]> {
    let [mut one, mut two] = before;
    for pair in bytes.chunks_exact(8) {
        let (first, second) = pair.split_at_checked(4)?;
        let (first, second) = (first.try_into().ok()?, second.try_into().ok()?);
        let [first, second] = match is_big_endian {
            true => [first, second].map(u32::from_be_bytes),
            false => [first, second].map(u32::from_le_bytes),
        };
        one = one.wrapping_add(first).wrapping_add(two);
        two = two.wrapping_add(second).wrapping_add(one);
    }
    Some([one, two])
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::Connection;
    use std::path::PathBuf;

    /// A database without checkpoints.
    struct Logged {
        folder: PathBuf,
        connection: Connection,
    }

    impl Logged {
        fn new(name: &str) -> Self {
            let folder =
                std::env::temp_dir().join(format!("think-wal-{}-{name}", std::process::id()));
            drop(std::fs::remove_dir_all(&folder));
            std::fs::create_dir_all(&folder).unwrap();
            let connection = Connection::open(folder.join("a.db")).unwrap();
            connection
                .execute_batch(
                    "PRAGMA page_size = 512; PRAGMA journal_mode = wal; PRAGMA wal_autocheckpoint = 0;
                     CREATE TABLE it (n INTEGER PRIMARY KEY, text TEXT)",
                )
                .unwrap();
            Logged { folder, connection }
        }

        fn say(&self, sql: &str) {
            self.connection.execute_batch(sql).unwrap();
        }

        fn log(&self) -> Vec<u8> {
            std::fs::read(self.folder.join("a.db-wal")).unwrap()
        }
    }

    impl Drop for Logged {
        fn drop(&mut self) {
            drop(std::fs::remove_dir_all(&self.folder));
        }
    }

    /// A short log with transactions of one frame and of several.
    fn short(name: &str) -> (Logged, Vec<u8>) {
        let logged = Logged::new(name);
        logged.say("INSERT INTO it VALUES (1, 'one')");
        logged.say(&format!("INSERT INTO it VALUES (2, '{}')", "long ".repeat(400)));
        logged.say("UPDATE it SET text = 'two' WHERE n = 1");
        let log = logged.log();
        (logged, log)
    }

    #[test]
    fn d_4_every_changed_bit_of_a_log_is_noticed() {
        let (_logged, whole) = short("bits");
        assert_eq!(broken_at(&whole), None);
        let mut log = whole.clone();
        for bit in 0..log.len() * 8 {
            log[bit / 8] ^= 1 << (bit % 8);
            let at = broken_at(&log).unwrap_or_else(|| panic!("bit {bit} of {}", log.len() * 8));
            // The log before this place is intact.
            assert!(at <= bit / 8, "{at} is behind bit {bit}");
            let frame = FRAME + 512;
            let expected = if bit / 8 < HEAD { 0 } else { HEAD + (bit / 8 - HEAD) / frame * frame };
            assert_eq!(at, expected, "bit {bit}");
            log[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn a_page_of_garbage_is_noticed_where_something_follows_it() {
        let (_logged, whole) = short("garbage");
        let frame = FRAME + 512;
        let frames = (whole.len() - HEAD) / frame;
        for at in 0..frames - 1 {
            let mut log = whole.clone();
            let start = HEAD + at * frame;
            log[start..start + frame].iter_mut().for_each(|byte| *byte = !*byte);
            assert_eq!(broken_at(&log), Some(start), "frame {at}");
        }
    }

    #[test]
    fn a_log_that_ends_where_its_process_did_is_whole() {
        let (logged, whole) = short("ends");
        // The last transaction is incomplete. The commit is in the last frame.
        let frame = FRAME + 512;
        let commits: Vec<usize> = (0..(whole.len() - HEAD) / frame)
            .map(|at| HEAD + at * frame)
            .filter(|at| Frame::at(&whole, *at, 512).unwrap().is_commit())
            .collect();
        for end in (0..=whole.len()).filter(|end| *end >= HEAD) {
            let cut_commit = commits.iter().any(|at| (at + FRAME..at + frame).contains(&end));
            let expected = cut_commit.then(|| HEAD + (end - HEAD) / frame * frame);
            assert_eq!(broken_at(&whole[..end]), expected, "cut at {end}");
        }
        // A log that restarted over a longer one.
        logged.connection.query_row("PRAGMA wal_checkpoint(RESTART)", [], |_| Ok(())).unwrap();
        logged.say("INSERT INTO it VALUES (3, 'three')");
        let anew = logged.log();
        assert_eq!((anew.len(), broken_at(&anew)), (whole.len(), None));
        assert_eq!(broken_at(&[]), None);
    }

    #[test]
    fn what_a_killed_process_left_behind_a_shorter_transaction_is_no_damage() {
        let (logged, whole) = short("left");
        // A transaction was cut before its commit, and another process wrote a shorter one over it.
        logged.say(&format!("INSERT INTO it VALUES (4, '{}')", "more ".repeat(400)));
        let longer = logged.log();
        let copy = logged.folder.join("b.db");
        std::fs::copy(logged.folder.join("a.db"), &copy).unwrap();
        let cut = longer.len() - FRAME - 512;
        assert!(cut > whole.len() + FRAME + 512);
        std::fs::write(logged.folder.join("b.db-wal"), &longer[..cut]).unwrap();
        assert_eq!(broken_at(&longer[..cut]), None);
        let other = Connection::open(&copy).unwrap();
        other.execute_batch("PRAGMA wal_autocheckpoint = 0").unwrap();
        other.execute_batch("UPDATE it SET text = 'three' WHERE n = 1").unwrap();
        let log = std::fs::read(logged.folder.join("b.db-wal")).unwrap();
        assert_eq!(log.len(), cut);
        assert_eq!(broken_at(&log), None);
    }

    #[test]
    fn no_bytes_break_it() {
        let (_logged, whole) = short("any");
        for length in 0..200 {
            let mut log = whole.clone();
            log.truncate(length * 7);
            log.iter_mut().step_by(length + 1).for_each(|byte| *byte = byte.wrapping_add(97));
            let _whatever = broken_at(&log);
        }
        assert_eq!(broken_at(&[0; 4]), Some(0));
        assert_eq!(broken_at(&[0xff; 4096]), Some(0));
    }
}
