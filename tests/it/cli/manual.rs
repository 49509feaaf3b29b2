//! `outbox completions` and `outbox man`, which need neither settings nor a database.

use outbox_tests::{Ended, Process, program};

async fn outbox(args: &[&str]) -> Ended {
    let mut command = program("outbox");
    command.args(args);
    Process::start(command).ended().await
}

#[tokio::test]
async fn every_shell_learns_the_verbs() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ended = outbox(&["completions", shell]).await;
        assert_eq!(ended.code, Some(0), "{}", ended.output);
        for verb in ["redrive", "list", "until-drained"] {
            assert!(ended.stdout.contains(verb), "{shell} does not know {verb}");
        }
    }
}

#[tokio::test]
async fn the_manual_has_a_page_for_the_program_and_for_each_verb() {
    let dir = std::env::temp_dir().join(format!("outbox-man-{}", uuid::Uuid::new_v4()));
    let ended = outbox(&["man", "--dir", dir.to_str().unwrap()]).await;
    assert_eq!(ended.code, Some(0), "{}", ended.output);
    let help = outbox(&["--help"]).await.stdout;
    let verbs = help
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty());
    let verbs: Vec<&str> = verbs.map(|line| line.split_whitespace().next().unwrap()).collect();
    assert!(verbs.contains(&"show") && verbs.contains(&"man"), "{help}");
    for verb in verbs.iter().filter(|verb| **verb != "help") {
        let page = std::fs::read_to_string(dir.join(format!("outbox-{verb}.1"))).unwrap();
        assert!(page.contains(".SH NAME"), "{page}");
    }
    let page = std::fs::read_to_string(dir.join("outbox.1")).unwrap();
    assert_eq!(outbox(&["man"]).await.stdout.trim_end().lines().next(), page.lines().next());
    std::fs::remove_dir_all(dir).unwrap();

    let ended = outbox(&["man", "--dir", "/dev/null/man"]).await;
    assert_eq!(ended.code, Some(2), "{}", ended.output);
    assert!(ended.output.contains("/dev/null/man"), "{}", ended.output);
}
