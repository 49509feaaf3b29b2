//! The pages for operators and platform teams: what they link to is there, and what they tell to type is understood.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use outbox_tests::{Process, program};

/// All pages whose links are followed.
const PAGES: [&str; 11] = [
    "README.md",
    "ARCHITECTURE.md",
    "SECURITY.md",
    "docs/archive.md",
    "docs/cases.md",
    "docs/deploy.md",
    "docs/guarantees.md",
    "docs/limits.md",
    "docs/operations.md",
    "docs/outcomes.md",
    "docs/telemetry.md",
];

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

pub(crate) fn page(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap()
}

/// What stands between backticks.
pub(crate) fn quoted(text: &str) -> BTreeSet<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The anchors of a page: its headings as GitHub spells them, and what it names itself.
fn anchors(page: &str) -> BTreeSet<String> {
    let is_kept = |c: &char| c.is_alphanumeric() || ['-', '_', ' '].contains(c);
    let spelled = |heading: &str| {
        let kept: String = heading.to_lowercase().chars().filter(is_kept).collect();
        kept.trim().replace(' ', "-")
    };
    let headings = page.lines().filter(|line| line.starts_with('#'));
    let named = page.split("<a id=\"").skip(1).filter_map(|text| text.split('"').next());
    headings
        .map(|line| spelled(line.trim_start_matches('#')))
        .chain(named.map(str::to_owned))
        .collect()
}

/// The targets of a page's links that lead to this repository.
fn links(page: &str) -> Vec<String> {
    let targets = page.split("](").skip(1).filter_map(|text| text.split(')').next());
    targets.filter(|target| !target.contains("://")).map(str::to_owned).collect()
}

#[test]
fn every_link_leads_to_a_file_and_a_heading_that_are_there() {
    let mut followed = 0;
    for path in PAGES {
        let text = page(path);
        for link in links(&text) {
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = if file.is_empty() {
                root().join(path)
            } else {
                root().join(path).parent().unwrap().join(file)
            };
            assert!(target.exists(), "{path} links to {link}");
            if !anchor.is_empty() {
                let anchors = anchors(&std::fs::read_to_string(&target).unwrap());
                assert!(anchors.contains(anchor), "{path} links to {link}; there are {anchors:?}");
            }
            followed += 1;
        }
    }
    assert!(followed > 40, "{followed}");
}

/// The command lines of a page that begin with `outbox`, in the text and in blocks.
fn command_lines(page: &str) -> BTreeSet<String> {
    let in_blocks = page.lines().filter_map(|line| line.strip_prefix("    ")).map(str::trim);
    // Without a comment, and without what a shell does with the answer.
    let typed = in_blocks.map(|line| line.split(['#', '>', '|']).next().unwrap().trim().to_owned());
    let all = quoted(page).into_iter().chain(typed);
    all.map(|text| text.replace('\n', " ")).filter(|text| text.starts_with("outbox ")).collect()
}

/// The words of a command line, as a shell reads them, with something real in place of what stands for it.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (n, text) in line.split('"').enumerate() {
        if n % 2 == 1 {
            words.push(text.to_owned());
        } else {
            words.extend(text.split_whitespace().map(str::to_owned));
        }
    }
    for word in &mut words {
        if ["ID", "ID..."].contains(&word.as_str()) {
            "1".clone_into(word);
        }
    }
    words.remove(0);
    words
}

/// Each is typed, with a database that is not there: it fails at that, or at a setting, and never at its words.
#[tokio::test]
async fn every_command_line_of_the_pages_is_understood() {
    // There, `outbox claim` is a span.
    let pages = PAGES.iter().filter(|path| **path != "docs/telemetry.md");
    let lines: BTreeSet<String> = pages.flat_map(|path| command_lines(&page(path))).collect();
    assert!(lines.len() > 25, "{lines:?}");
    for line in lines {
        let mut words = words(&line);
        // A verb by itself is spoken of, and may lack what it needs; two verbs need no database, and one of them writes files.
        let asks_for_help = words.len() == 1 || ["man", "completions"].contains(&words[0].as_str());
        words.extend(asks_for_help.then(|| "--help".to_owned()));
        let mut command = program("outbox");
        command.args(&words).env("OUTBOX_DATABASE_URL", "postgres://nobody@127.0.0.1:1/none");
        let ended = Process::start(command).ended().await;
        assert!(!ended.output.starts_with("error:"), "`{line}`: {}", ended.output);
        assert!(!asks_for_help || ended.code == Some(0), "`{line}`: {}", ended.output);
    }
}
