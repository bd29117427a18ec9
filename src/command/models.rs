//! `think models`: lists models, or with `--rules` their rules.

use super::asking::env;
use super::models_rules;
use crate::config;
use crate::failure::{Failure, say};
use crate::offered::{Offered, known, offered};
use crate::printed::for_output;
use clap::Args;
use std::io::Write;
use std::path::PathBuf;
use thinkthrough_core::price::{DOLLAR, Price};
use thinkthrough_json::Writer;

/// List the models that one can ask for
///
/// Each line has the name for `-m`, the context window in tokens, and the price of a million tokens in and out. With words
/// it also lists models whose provider has no key, and says which variable to set. A configuration that names providers is
/// the whole list.
///
/// With --rules it lists what is known about models and what they demand of the thoughts sent back. A name with `*` in it
/// is a pattern; the first rule of a provider that matches counts. An `assumed` rule holds for names that no other rule
/// knows; docs/models.md says what that means.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  think models
  think models claude opus
  think models --rules deepseek")]
pub(crate) struct Models {
    /// Only models whose name or provider has all of these words in it
    #[arg(value_name = "WORD")]
    words: Vec<String>,
    /// List what is known about models instead
    #[arg(long)]
    rules: bool,
    /// The configuration file, in place of the usual one
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Models {
    pub(crate) fn run(&self, out: &mut dyn Write) -> Result<(), Failure> {
        let config = config::read(self.config.as_deref(), &env).map_err(Failure::Failed)?;
        if self.rules {
            return models_rules::print(&config, &|name| self.wants(name), self.json, out);
        }
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Failure::Failed(format!("the runtime cannot start: {error}")))?;
        let mut rows = runtime.block_on(offered(&config, &env));
        let known = known(&config, &env).into_iter();
        let is_new = |row: &Offered| rows.iter().all(|it| it.name != row.name);
        let known: Vec<Offered> = known.filter(is_new).collect();
        rows.extend(known);
        rows.retain(|row| self.wants(&format!("{} {}", row.name, row.provider)));
        if self.json {
            return print_json(&rows, out);
        }
        if rows.is_empty() {
            let words = self.words.join(" ");
            say(format_args!("no model is named so: `{words}`; `think models` lists all"));
        }
        let all = rows.len();
        if self.words.is_empty() {
            rows.retain(|row| row.missing.is_none());
        }
        print_table(&rows, out)?;
        if rows.len() < all {
            let more = all - rows.len();
            say(format_args!("{more} more models need a key; `think models WORD` finds those too"));
        }
        Ok(())
    }

    fn wants(&self, name: &str) -> bool {
        let name = name.to_lowercase();
        self.words.iter().all(|word| name.contains(&word.to_lowercase()))
    }
}

fn print_table(rows: &[Offered], out: &mut dyn Write) -> Result<(), Failure> {
    let cells: Vec<[String; 4]> = rows.iter().map(cells).collect();
    let width = |at: usize| {
        let all = cells.iter().filter_map(|row| row.get(at));
        all.map(|cell| cell.chars().count()).max().unwrap_or_default()
    };
    let (name, context, price) = (width(0), width(1), width(2));
    for [a, b, c, d] in &cells {
        let line = format!("{a:name$}  {b:>context$}  {c:>price$}  {d}");
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

fn cells(row: &Offered) -> [String; 4] {
    let context = row.context.map(short).unwrap_or_default();
    let price = match row.price {
        None => String::new(),
        Some(price) if price.is_free() => "free".to_owned(),
        Some(Price { rates, .. }) => {
            format!("${} / ${}", dollars(rates.input), dollars(rates.output))
        }
    };
    [row.name.clone(), context, price, row.missing.clone().unwrap_or_default()]
}

/// Formats `200000` as `200k` and `1048576` as `1M`.
fn short(tokens: u64) -> String {
    match tokens {
        0..1_000 => tokens.to_string(),
        1_000..1_000_000 => format!("{}k", tokens / 1_000),
        _ => format!("{}M", tokens / 1_000_000),
    }
}

/// Formats micro-dollars as dollars, with at least two digits after the point.
fn dollars(micro: u64) -> String {
    let (whole, part) = (micro / DOLLAR, micro % DOLLAR);
    let digits = format!("{part:06}");
    let digits = digits.trim_end_matches('0');
    format!("{whole}.{digits:0<2}")
}

fn print_json(rows: &[Offered], out: &mut dyn Write) -> Result<(), Failure> {
    let mut json = Writer::new();
    json.array(|w| {
        for row in rows {
            w.object(|w| {
                w.field_str("name", &row.name);
                w.field_str("provider", &row.provider);
                match row.context {
                    Some(tokens) => w.field_u64("contextWindow", tokens),
                    None => w.key("contextWindow").null(),
                }
                w.field_bool("keySet", row.missing.is_none());
                if let Some(Price { rates, .. }) = &row.price {
                    w.key("price").object(|w| {
                        w.key("input").raw_str(&dollars(rates.input));
                        w.key("output").raw_str(&dollars(rates.output));
                        if let Some(cached) = rates.cache_read {
                            w.key("cacheRead").raw_str(&dollars(cached));
                        }
                    });
                }
            });
        }
    });
    writeln!(out, "{}", for_output(&json.finish()))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{dollars, short};

    #[test]
    fn numbers_are_short_and_exact() {
        for (micro, shown) in
            [(600_000, "0.60"), (2_500_000, "2.50"), (28_000, "0.028"), (15_000_000, "15.00")]
        {
            assert_eq!(dollars(micro), shown);
        }
        for (tokens, shown) in [(512, "512"), (131_072, "131k"), (1_048_576, "1M")] {
            assert_eq!(short(tokens), shown);
        }
    }
}
