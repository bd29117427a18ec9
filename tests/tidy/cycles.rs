//! The modules of a crate do not use each other in a circle.

use std::collections::{BTreeMap, BTreeSet};

use crate::code::Code;
use crate::exceptions::Exceptions;
use crate::{assert_none, tree};

/// For each top-level module the other top-level modules that it names.
type Edges = BTreeMap<String, BTreeSet<String>>;

#[test]
fn no_modules_of_a_crate_form_a_circle() {
    let mut exceptions = Exceptions::read("cycles.txt", include_str!("cycles.txt"));
    let mut findings = Vec::new();
    for src in tree::src_folders() {
        let sources = tree::shipped(&src);
        let circles = circles(&edges(&src, &sources)).into_iter().map(|circle| circle.join(", "));
        let refused = circles.filter(|_| !exceptions.allow(&src, "circles"));
        findings.extend(refused.map(|circle| format!("{src}: {circle}")));
    }
    findings.extend(exceptions.stale());
    assert_none("these modules use each other; move what they share to a lower module", &findings);
}

fn edges(src: &str, sources: &[(String, Code)]) -> Edges {
    let module_of = |path: &str| {
        let inside = path.strip_prefix(src)?.trim_start_matches('/');
        let module =
            inside.split_once('/').map_or(inside, |(module, _)| module).trim_end_matches(".rs");
        (!["lib", "main", "bin"].contains(&module)).then(|| module.to_owned())
    };
    let modules: BTreeSet<String> =
        sources.iter().filter_map(|(path, _)| module_of(path)).collect();
    let mut edges: Edges = modules.iter().map(|module| (module.clone(), BTreeSet::new())).collect();
    for (path, code) in sources {
        let Some(from) = module_of(path) else { continue };
        let is_top = !path.strip_prefix(src).unwrap_or(path).trim_start_matches('/').contains('/');
        let in_mod_file = path.strip_suffix("/mod.rs").and_then(|folder| folder.rsplit_once('/'));
        let mut paths = code.paths_from("crate");
        if is_top || in_mod_file.is_some_and(|(parent, _)| parent == src) {
            paths.extend(code.paths_from("super"));
        }
        let named = paths.iter().filter_map(|(_, path)| path.first());
        let named = named.filter(|to| **to != from && modules.contains(**to));
        edges.entry(from.clone()).or_default().extend(named.map(|to| (*to).to_owned()));
    }
    edges
}

/// Sets of modules that all reach each other.
fn circles(edges: &Edges) -> Vec<Vec<String>> {
    let reached: BTreeMap<&String, BTreeSet<&String>> =
        edges.keys().map(|from| (from, reachable(from, edges))).collect();
    let mut circles = BTreeSet::new();
    for (from, to) in &reached {
        let circle: Vec<String> =
            to.iter().filter(|to| reached[**to].contains(from)).map(|to| (*to).clone()).collect();
        if circle.len() > 1 {
            circles.insert(circle);
        }
    }
    circles.into_iter().collect()
}

fn reachable<'e>(from: &'e String, edges: &'e Edges) -> BTreeSet<&'e String> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from];
    while let Some(module) = open.pop() {
        open.extend(edges[module].iter().filter(|to| reached.insert(*to)));
    }
    reached
}

#[test]
fn a_circle_is_found_over_several_modules() {
    let source = |path: &str, text: &str| (format!("s/{path}"), Code::without_tests(text));
    let sources = [
        source("lib.rs", "pub mod a; pub mod b; pub mod c; pub mod d; use crate::d::X;"),
        source("a.rs", "use crate::{b::B, d};"),
        source("b/mod.rs", "mod deep;"),
        source("b/deep.rs", "fn f() { crate::c::g() } use super::a;"),
        source("c.rs", "use super::a::A; #[cfg(test)] mod tests { use crate::d; }"),
        source("d.rs", "// crate::a\n"),
    ];
    let found = circles(&edges("s", &sources));
    assert_eq!(found, [["a", "b", "c"]]);
}
