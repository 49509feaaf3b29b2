//! docs/operations.md and docs/guarantees.md against the code: each alarm, each code and each promise has its paragraph.

use std::collections::BTreeSet;

use crate::pages::{page, quoted, root};

/// The codes that a chapter of the page explains: those between a heading and the paragraph that says what to do.
fn explained(chapter: &str) -> BTreeSet<String> {
    let page = page("docs/operations.md");
    let chapter = page.split("\n# ").find(|text| text.starts_with(chapter)).unwrap();
    let mut explained = BTreeSet::new();
    for section in chapter.split("\n### ").skip(1) {
        let [heading, codes, advice, ..] = section.split("\n\n").collect::<Vec<_>>()[..] else {
            panic!("a heading, its codes, what to do: {section}");
        };
        assert!(advice.len() > 40, "{heading}");
        for code in quoted(codes) {
            assert!(explained.insert(code.clone()), "{code} is explained twice");
        }
    }
    explained
}

/// Whether a word looks like an error code and not like a setting or a value.
fn is_code(word: &str) -> bool {
    let is_word = word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_word && !word.starts_with("OUTBOX_")
}

/// The codes in one column of a page's tables, counted from the right.
fn codes_of_column(path: &str, from_the_right: usize) -> BTreeSet<String> {
    let page = page(path);
    let rows = page.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix('|'));
    let cells = rows.filter_map(|row| row.rsplit('|').nth(from_the_right).map(quoted));
    cells.flatten().filter(|word| is_code(word)).collect()
}

/// The two pages are themselves compared with the code, by tests of `outbox` and `outbox-publish`.
#[test]
fn every_last_error_code_has_a_paragraph_with_what_to_do() {
    let explained = explained("Codes");
    let of_answers = codes_of_column("docs/outcomes.md", 0);
    let of_defects = codes_of_column("docs/limits.md", 1);
    assert!(of_answers.contains("QueueDoesNotExist") && of_answers.contains("connect_failed"));
    assert!(of_defects.contains("no_route") && of_defects.contains("no_outcome"));
    for code in of_answers.iter().chain(&of_defects).filter(|code| !code.starts_with("KMS")) {
        assert!(explained.contains(code), "docs/operations.md does not explain `{code}`");
    }
}

#[test]
fn every_code_of_a_failed_run_has_a_paragraph_with_what_to_do() {
    let explained = explained("Runs that fail");
    for file in ["shared/outbox-lambda/src/error.rs", "shared/outbox-store/src/error.rs"] {
        let source = page(file);
        let code = source.split("pub fn code(").nth(1).unwrap().split("\n    }\n").next().unwrap();
        let codes: Vec<&str> = code.split('"').skip(1).step_by(2).collect();
        assert!(codes.len() > 4, "{file}");
        for code in codes {
            assert!(explained.contains(code), "docs/operations.md does not explain `{code}`");
        }
    }
}

#[test]
fn every_finding_of_the_status_has_a_row_that_says_where_to_read_on() {
    let page_text = page("docs/operations.md");
    let table = page_text.split("## What `outbox status` finds").nth(1).unwrap();
    let table = table.split("\n# ").next().unwrap();
    let rows = table.lines().filter_map(|line| line.strip_prefix("| ")?.split('|').next());
    let told: BTreeSet<String> = rows.flat_map(quoted).filter(|word| word != "code").collect();
    // `problem("paused", ...)`, `note("bounded", ...)` and `code: "hidden_sessions"`.
    let verdict = page("shared/outbox-admin/src/status/verdict.rs");
    let mut found = BTreeSet::new();
    for opening in ["problem(", "note(", "code: "] {
        for text in verdict.split(opening).skip(1) {
            let code = text.trim_start().strip_prefix('"').and_then(|text| text.split('"').next());
            found.extend(code.map(str::to_owned));
        }
    }
    assert!(found.len() > 12, "{found:?}");
    assert_eq!(told, found);
}

#[test]
fn every_alarm_of_the_template_has_its_heading_and_no_other() {
    let template = page("infra/template.yaml");
    let lines = template.lines().filter_map(|line| line.trim().strip_prefix("AlarmName: "));
    // `!Sub ["${Prefix}-backlog-age", { Prefix: ... }]`
    let alarms: BTreeSet<String> = lines
        .map(|name| name.split("}-").nth(1).unwrap().split('"').next().unwrap().to_owned())
        .collect();
    assert!(alarms.len() > 8 && alarms.contains("backlog-age"), "{alarms:?}");
    let page = page("docs/operations.md");
    let headings = page.lines().filter(|line| line.starts_with("## "));
    let named = headings.filter_map(|line| line.split_once(": alarm `"));
    let named: BTreeSet<String> =
        named.map(|(_, name)| name.trim_matches('`').to_owned()).collect();
    assert_eq!(named, alarms);
    for alarm in alarms {
        // Each alarm's description links there.
        assert!(page.contains(&format!("<a id=\"{alarm}\"></a>\n\n## ")), "{alarm}");
        assert!(template.contains(&format!("(docs/operations.md#{alarm})")), "{alarm}");
    }
}

#[test]
fn every_test_that_the_guarantees_name_is_there() {
    let page = page("docs/guarantees.md");
    let mut sources = String::new();
    let mut folders = vec![root().join("tests"), root().join("shared")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                sources.push_str(&std::fs::read_to_string(path).unwrap());
            }
        }
    }
    let rows = page.lines().filter(|line| line.starts_with("| "));
    let tests: BTreeSet<String> = rows
        .flat_map(|row| quoted(row.trim_end_matches(" |").rsplit('|').next().unwrap()))
        .collect();
    assert!(tests.len() > 7);
    for test in tests {
        assert!(sources.contains(&format!("fn {test}(")), "docs/guarantees.md names `{test}`");
    }
}
