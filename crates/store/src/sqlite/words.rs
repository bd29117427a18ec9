//! The full-text indexes of traces.
//!
//! There are several indexes, each for a fixed number of rows. A single index would need repeated merges to drop old
//! rows, and such a merge is one step however much it reads. Here old rows are only marked as deleted, and an index
//! without remaining rows is deleted as a whole, in steps.

use rusqlite::{Connection, OptionalExtension as _, ToSql, params};
use std::collections::{BTreeMap, BTreeSet};

/// Rows per index.
const ROWS: i64 = 1 << 16;
/// Segments of one level that are merged into one of the next level. A lower number would mean more rewriting.
const SEGMENTS: u32 = 8;
/// Blocks of an index that one step frees: half a megabyte.
const BLOCKS: u32 = 128;
/// Blocks of an index that one step merges in order to delete erased words.
const MERGED: u32 = 64;
/// Blocks up to this number describe the index. All others are its words (section "data" of the shadow tables of
/// FTS5).
const HEAD: i64 = 10;

/// The index for the row with this number.
fn index_of(number: i64) -> String {
    format!("trace_words_{}", number.div_euclid(ROWS))
}

/// All indexes, newest rows first.
fn all(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' \
               AND sql LIKE 'CREATE VIRTUAL TABLE%' AND name GLOB 'trace_words_[0-9]*' \
               ORDER BY length(name) DESC, name DESC";
    connection.prepare_cached(sql)?.query_map([], |row| row.get(0))?.collect()
}

/// Whether the index has rows. An index without rows is being deleted and must not be queried.
fn has_rows(connection: &Connection, index: &str) -> rusqlite::Result<bool> {
    let sql = format!("SELECT EXISTS (SELECT 1 FROM {index}_docsize)");
    connection.query_row(&sql, [], |row| row.get(0))
}

/// Indexes the words of rows.
pub(super) struct Adding<'c> {
    connection: &'c Connection,
    /// The index of the last row.
    index: String,
}

impl<'c> Adding<'c> {
    pub(super) fn to(connection: &'c Connection) -> Self {
        Adding { connection, index: String::new() }
    }

    pub(super) fn add(&mut self, number: i64, thought: &str, answer: &str) -> rusqlite::Result<()> {
        let index = index_of(number);
        if index != self.index {
            self.begin(&index)?;
            self.index = index;
        }
        let index = &self.index;
        let sql =
            format!("INSERT INTO {index} (rowid, reasoning_text, response_text) VALUES (?, ?, ?)");
        self.connection.prepare_cached(&sql)?.execute(params![number, thought, answer]).map(|_| ())
    }

    /// Creates the index if it does not exist. An index without rows may be half deleted, so it is created again.
    fn begin(&self, index: &str) -> rusqlite::Result<()> {
        if self.connection.table_exists(None, index)? && !has_rows(self.connection, index)? {
            self.connection.execute_batch(&format!("DROP TABLE {index}"))?;
        }
        if !self.connection.table_exists(None, index)? {
            self.connection.execute_batch(&format!(
                "CREATE VIRTUAL TABLE {index} USING fts5(
                     reasoning_text, response_text, content = '', contentless_delete = 1
                 );
                 INSERT INTO {index} ({index}, rank) VALUES ('deletemerge', 0);
                 INSERT INTO {index} ({index}, rank) VALUES ('automerge', {SEGMENTS});"
            ))?;
        }
        Ok(())
    }
}

/// Removes the words of rows.
pub(super) struct Removing<'c> {
    connection: &'c Connection,
    /// Whether an index exists, by name.
    known: BTreeMap<String, bool>,
}

impl<'c> Removing<'c> {
    pub(super) fn from(connection: &'c Connection) -> Self {
        Removing { connection, known: BTreeMap::new() }
    }

    pub(super) fn remove(&mut self, number: i64) -> rusqlite::Result<()> {
        let index = index_of(number);
        let is_there = match self.known.get(&index) {
            Some(is_there) => *is_there,
            None => {
                let is_there = self.connection.table_exists(None, index.as_str())?;
                self.known.insert(index.clone(), is_there);
                is_there
            }
        };
        if is_there {
            let sql = format!("DELETE FROM {index} WHERE rowid = ?");
            self.connection.prepare_cached(&sql)?.execute([number])?;
        }
        Ok(())
    }
}

/// The rows with matching words, newest first. `find` queries one index by name for at most `limit` rows.
pub(super) fn search<T>(
    connection: &Connection,
    limit: usize,
    find: impl Fn(&str) -> rusqlite::Result<Vec<T>>,
) -> rusqlite::Result<Vec<T>> {
    // An index may come or go between two statements.
    let _moment = connection.unchecked_transaction()?;
    let mut found = Vec::new();
    // All rows of an index are newer than those of the next one.
    for index in all(connection)? {
        if found.len() >= limit {
            break;
        }
        if has_rows(connection, &index)? {
            found.extend(find(&index)?);
        }
    }
    found.truncate(limit);
    Ok(found)
}

/// Reads the blocks that [`give_back`] frees next.
pub(super) fn look_at_gone(connection: &Connection) -> rusqlite::Result<()> {
    for index in all(connection)?.iter().rev() {
        if has_rows(connection, index)? {
            continue;
        }
        let sql = format!("SELECT block FROM {index}_data WHERE id > ? ORDER BY id LIMIT ?");
        let mut blocks = connection.prepare(&sql)?;
        let mut blocks = blocks.query([&HEAD as &dyn ToSql, &BLOCKS])?;
        let mut is_any = false;
        while let Some(block) = blocks.next()? {
            block.get_ref(0)?.as_bytes_or_null()?;
            is_any = true;
        }
        if is_any {
            return Ok(());
        }
    }
    Ok(())
}

/// Frees a part of an index without rows. Returns true if there is more to do.
pub(super) fn give_back(connection: &Connection) -> rusqlite::Result<bool> {
    for index in all(connection)?.iter().rev() {
        if has_rows(connection, index)? {
            continue;
        }
        let sql = format!(
            "DELETE FROM {index}_data WHERE id IN \
             (SELECT id FROM {index}_data WHERE id > ? ORDER BY id LIMIT ?)"
        );
        connection.prepare(&sql)?.execute([&HEAD as &dyn ToSql, &BLOCKS])?;
        let sql = format!("SELECT 1 FROM {index}_data WHERE id > ? LIMIT 1");
        if !connection.prepare(&sql)?.exists([HEAD])? {
            connection.execute_batch(&format!("DROP TABLE {index}"))?;
        }
        return Ok(true);
    }
    Ok(false)
}

/// Marks the indexes of these rows for a merge. Deleted rows are only marked in an index until it is merged, so their
/// words would stay in the file. The list of such indexes is stored, so that the next process can continue.
pub(super) fn erased(connection: &Connection, numbers: &[i64]) -> rusqlite::Result<()> {
    let indexes: BTreeSet<String> = numbers.iter().map(|number| index_of(*number)).collect();
    for index in indexes {
        let sql = "INSERT INTO trace_words_erased (name) VALUES (?) \
                   ON CONFLICT DO UPDATE SET is_begun = 0";
        connection.prepare_cached(sql)?.execute([index])?;
    }
    Ok(())
}

/// Whether the file contains erased words.
pub(super) fn is_any_erased(connection: &Connection) -> rusqlite::Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM trace_words_erased)";
    connection.prepare_cached(sql)?.query_row([], |row| row.get(0))
}

/// Merges a part of an index with erased words, which deletes them from the file. Returns true if there is more to
/// do.
pub(super) fn forget(connection: &Connection) -> rusqlite::Result<bool> {
    let sql = "SELECT name, is_begun FROM trace_words_erased ORDER BY name LIMIT 1";
    let next = connection.prepare_cached(sql)?.query_row([], |row| Ok((row.get(0)?, row.get(1)?)));
    let Some((index, is_begun)): Option<(String, bool)> = next.optional()? else {
        return Ok(false);
    };
    // An index without rows is freed as a whole.
    let is_more = match all(connection)?.contains(&index) && has_rows(connection, &index)? {
        true => merge(connection, &index, is_begun)?,
        false => give_back(connection)?,
    };
    let sql = match is_more {
        true => "UPDATE trace_words_erased SET is_begun = 1 WHERE name = ?",
        false => "DELETE FROM trace_words_erased WHERE name = ?",
    };
    connection.prepare_cached(sql)?.execute([index])?;
    Ok(true)
}

/// Starts or continues a merge of all segments into one. Returns whether there was anything to merge. Words that were
/// added since the start do not restart it (section "The 'merge' Command" of FTS5: a negative number starts, a
/// positive one continues, and a call that changes fewer than two rows had no work).
fn merge(connection: &Connection, index: &str, is_begun: bool) -> rusqlite::Result<bool> {
    let changes = || connection.query_row("SELECT total_changes()", [], |row| row.get::<_, i64>(0));
    let (before, sign) = (changes()?, if is_begun { "" } else { "-" });
    let sql = format!("INSERT INTO {index} ({index}, rank) VALUES ('merge', {sign}{MERGED})");
    connection.execute_batch(&sql)?;
    Ok(changes()? - before >= 2)
}

#[cfg(test)]
mod tests {
    use super::super::{schema, traces};
    use super::*;

    /// A store with traces of these numbers.
    fn store(name: &str, numbers: &[i64]) -> (std::path::PathBuf, Connection) {
        let folder =
            std::env::temp_dir().join(format!("think-words-{name}-{}", std::process::id()));
        let connection = schema::open(&folder.join("words.db")).unwrap();
        for number in numbers {
            insert(&connection, *number);
        }
        (folder, connection)
    }

    fn insert(connection: &Connection, number: i64) {
        let sql = "INSERT INTO reasoning_traces (rowid, id, session_key, run_id, model, provider, \
                   reasoning_text, created_at) VALUES (?1, ?1, 's', 'r', 'm', 'p', 'word', ?1)";
        connection.execute(sql, [number]).unwrap();
    }

    fn add(connection: &Connection, numbers: &[i64]) {
        let mut words = Adding::to(connection);
        numbers.iter().for_each(|number| words.add(*number, "word", "").unwrap());
    }

    fn remove(connection: &Connection, numbers: &[i64]) {
        let mut words = Removing::from(connection);
        for number in numbers {
            words.remove(*number).unwrap();
            connection.execute("DELETE FROM reasoning_traces WHERE rowid = ?", [number]).unwrap();
        }
    }

    fn found(connection: &Connection, limit: usize) -> Vec<i64> {
        let find = |index: &str| {
            let sql = format!(
                "SELECT {index}.rowid FROM {index} JOIN reasoning_traces \
                 ON reasoning_traces.rowid = {index}.rowid WHERE {index} MATCH 'word' \
                 ORDER BY {index}.rowid DESC LIMIT {limit}"
            );
            let mut statement = connection.prepare(&sql)?;
            statement.query_map([], |row| row.get(0))?.collect()
        };
        search(connection, limit, find).unwrap()
    }

    #[test]
    fn a_search_finds_the_newest_rows_of_all_indexes_in_order() {
        let numbers = [1, 2, ROWS - 1, ROWS, ROWS + 1, 9 * ROWS, 10 * ROWS, 10 * ROWS + 1];
        let (folder, connection) = store("order", &numbers);
        add(&connection, &numbers);
        let newest: Vec<i64> = numbers.into_iter().rev().collect();
        assert_eq!(found(&connection, 100), newest);
        for limit in 1..newest.len() {
            assert_eq!(found(&connection, limit), newest[..limit], "{limit}");
        }
        assert_eq!(all(&connection).unwrap().len(), 4);
        drop(connection);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn an_index_without_rows_goes_and_its_numbers_begin_anew() {
        let old: Vec<i64> = (1..600).collect();
        let (folder, connection) = store("anew", &old);
        add(&connection, &old);
        insert(&connection, ROWS);
        add(&connection, &[ROWS]);
        assert!(!give_back(&connection).unwrap(), "all are in use");
        remove(&connection, &old);
        assert_eq!(found(&connection, 9), [ROWS]);
        while give_back(&connection).unwrap() {}
        assert_eq!(all(&connection).unwrap(), ["trace_words_1"]);
        // Numbers of deleted rows may be used again, also in an index that is half freed.
        insert(&connection, 7);
        add(&connection, &[7]);
        remove(&connection, &[7]);
        let half = format!("DELETE FROM trace_words_0_data WHERE id > {HEAD}");
        connection.execute_batch(&half).unwrap();
        assert_eq!(found(&connection, 9), [ROWS], "it is not asked");
        insert(&connection, 8);
        add(&connection, &[8]);
        assert_eq!(found(&connection, 9), [ROWS, 8]);
        drop(connection);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn rows_are_indexed_where_an_index_lost_all_of_its_own() {
        let (folder, connection) = store("lost", &[1, 2]);
        assert_eq!(traces::index(&connection, 9).unwrap(), 2);
        remove(&connection, &[1, 2]);
        insert(&connection, 3);
        assert_eq!(traces::index(&connection, 9).unwrap(), 1);
        assert_eq!(found(&connection, 9), [3]);
        drop(connection);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn the_words_of_erased_rows_go_and_those_of_others_stay() {
        let numbers: Vec<i64> = (1..900).chain(ROWS..ROWS + 50).collect();
        let long: String = (0..500).map(|at| format!(" a{at}b{}", at * 7919)).collect();
        let (folder, connection) = store("erased", &numbers);
        let mut words = Adding::to(&connection);
        let erased = |number: i64| number % 3 == 0;
        for number in &numbers {
            let own = if erased(*number) { "xylophone" } else { "quagmire" };
            words.add(*number, &format!("word {own}{number}{long}"), own).unwrap();
        }
        let has = |word: &str| {
            let is_in = |index: &String| {
                let sql = format!("SELECT 1 FROM {index}_data WHERE instr(block, CAST(? AS BLOB))");
                connection.prepare(&sql).unwrap().exists([word]).unwrap()
            };
            all(&connection).unwrap().iter().filter(|index| is_in(index)).count()
        };
        assert_eq!((has("xylophone"), has("quagmire")), (2, 2));
        let gone: Vec<i64> = numbers.iter().copied().filter(|it| erased(*it)).collect();
        super::erased(&connection, &gone).unwrap();
        remove(&connection, &gone);
        assert!(is_any_erased(&connection).unwrap());
        // The merge ends even if words are added all the time.
        let mut steps = 0;
        while forget(&connection).unwrap() {
            steps += 1;
            assert!(steps < 200);
            let number = ROWS + 50 + steps;
            insert(&connection, number);
            Adding::to(&connection).add(number, "word quagmire", "").unwrap();
        }
        assert!(steps > 6, "{steps}");
        assert!(!is_any_erased(&connection).unwrap());
        assert_eq!((has("xylophone"), has("quagmire")), (0, 2));
        let left = numbers.iter().filter(|it| !erased(**it)).count();
        assert_eq!(found(&connection, 10_000).len(), left + usize::try_from(steps).unwrap());
        drop(connection);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
