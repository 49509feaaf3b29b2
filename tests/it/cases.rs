//! docs/cases.md against the tests: each case has a test that cites it, and the table names just those.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

type Tests = BTreeMap<String, BTreeSet<String>>;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

#[test]
fn every_case_has_a_policy_and_the_tests_that_cite_it() {
    let table = std::fs::read_to_string(root().join("docs/cases.md")).unwrap();
    let mut named = Tests::new();
    for row in table.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| case")) {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let [case, policy, tests] = cells[..] else { panic!("{row}") };
        if case == "---" {
            continue;
        }
        assert!(!policy.is_empty() && !tests.is_empty(), "{case}");
        let tests = tests.split(", ").map(|test| test.trim_matches('`').to_owned());
        assert!(named.insert(case.to_owned(), tests.collect()).is_none(), "{case} stands twice");
    }
    assert_eq!(named.len(), 79);
    for (case, tests) in cited() {
        assert_eq!(
            named.remove(&case),
            Some(tests),
            "{case}: the table, and the tests that cite it"
        );
    }
    assert!(named.is_empty(), "no test cites {:?}", named.keys());
}

/// The cases that doc comments of tests cite, and the tests.
fn cited() -> Tests {
    let mut cited = Tests::new();
    let mut folders = vec![root().join("tests"), root().join("shared")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                take_in(&std::fs::read_to_string(path).unwrap(), &mut cited);
            }
        }
    }
    cited
}

/// A doc comment, attributes, then the function's name.
fn take_in(source: &str, cited: &mut Tests) {
    let mut doc = String::new();
    for line in source.lines().map(str::trim) {
        if let Some(text) = line.strip_prefix("///") {
            doc.push_str(text);
        } else if let Some((_, after)) = line.split_once("fn ") {
            let name = after.split(['(', '<']).next().unwrap_or_default();
            for case in cases_in(&doc) {
                cited.entry(case).or_default().insert(name.to_owned());
            }
            doc.clear();
        } else if !line.starts_with("#[") {
            doc.clear();
        }
    }
}

/// The numbers that follow the word, one or several: "Cases X01, Y02 and Z03".
fn cases_in(doc: &str) -> BTreeSet<String> {
    let is_case = |word: &str| {
        word.len() == 3
            && word.starts_with(['A', 'B', 'L', 'P', 'R'])
            && word[1..].bytes().all(|b| b.is_ascii_digit())
    };
    let words: Vec<&str> = doc.split(|c: char| !c.is_ascii_alphanumeric()).collect();
    let mut cases = BTreeSet::new();
    let mut is_list = false;
    for word in words.into_iter().filter(|word| !word.is_empty()) {
        is_list = match word {
            "Case" | "Cases" | "case" | "cases" => true,
            word if is_list && is_case(word) => cases.insert(word.to_owned()) || is_list,
            "and" => is_list,
            _ => false,
        };
    }
    cases
}
