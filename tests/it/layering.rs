//! Layering: who may know what, read from the manifests.

use std::collections::BTreeMap;
use std::path::Path;

/// A crate that only these packages may name. The tests and examples may name everything.
const ONLY_IN: [(&str, &[&str]); 16] = [
    ("tokio-postgres", &["outbox-store", "outbox-lambda"]),
    ("deadpool-postgres", &["outbox-store", "outbox-lambda"]),
    ("refinery", &["outbox-store"]),
    ("aws-sdk-sqs", &["outbox-publish"]),
    ("aws-sdk-sns", &["outbox-publish"]),
    ("aws-sdk-secretsmanager", &["outbox-lambda"]),
    ("aws-sigv4", &["outbox-lambda"]),
    ("aws-sdk-s3", &["outbox-archive"]),
    ("lambda_runtime", &["relay", "purge", "admin"]),
    ("clap", &["outbox-admin"]),
    ("metrique-writer-format-emf", &["outbox-lambda"]),
    ("opentelemetry", &["outbox-lambda", "outbox-publish"]),
    ("opentelemetry_sdk", &["outbox-lambda"]),
    ("opentelemetry-otlp", &["outbox-lambda"]),
    ("outbox-archive", &["outbox-admin", "purge"]),
    ("outbox-publish", &["outbox-relay", "relay", "outbox-admin"]),
];

/// Package name -> names of its dependencies, of `shared/` and `functions/`.
fn manifests() -> BTreeMap<String, Vec<String>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folders =
        ["shared", "functions"].into_iter().flat_map(|f| std::fs::read_dir(root.join(f)).unwrap());
    let manifests = folders.map(|folder| {
        let text = std::fs::read_to_string(folder.unwrap().path().join("Cargo.toml")).unwrap();
        let name =
            text.lines().find_map(|l| l.strip_prefix("name = \"")?.strip_suffix('"')).unwrap();
        let dependencies =
            text.split("[dependencies]").nth(1).unwrap().split("\n[").next().unwrap();
        let key = |line: &str| line.split([' ', '.', '=']).next().unwrap().to_owned();
        (name.to_owned(), dependencies.lines().map(key).filter(|key| !key.is_empty()).collect())
    });
    manifests.collect()
}

#[test]
fn each_crate_names_only_what_its_layer_may_know() {
    let manifests = manifests();
    assert_eq!(manifests.len(), 10, "seven shared crates and three functions: {manifests:?}");
    for (package, dependencies) in &manifests {
        for (dependency, allowed) in ONLY_IN {
            let names_it = dependencies.iter().any(|d| d == dependency);
            assert!(
                !names_it || allowed.contains(&package.as_str()),
                "{package} must not name {dependency}"
            );
        }
    }
}

/// The vocabulary has no I/O, no async, no clock and no randomness, so nothing that would bring them.
#[test]
fn the_vocabulary_is_pure() {
    assert_eq!(manifests()["outbox"], ["serde", "serde_json", "thiserror", "uuid"]);
}

/// All packages that a program is made of, as it is shipped: built by itself.
fn tree(package: &str) -> String {
    let tree = std::process::Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--package", package, "--edges", "normal", "--prefix", "none"])
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
        .output()
        .unwrap();
    let tree = String::from_utf8(tree.stdout).unwrap();
    assert!(tree.contains("outbox-store"), "{tree}");
    tree
}

/// Purge can't send a message even by mistake.
#[test]
fn the_purge_has_no_publisher_in_its_whole_tree() {
    let tree = tree("purge");
    for forbidden in ["aws-sdk-sqs", "aws-sdk-sns", "outbox-publish", "outbox-relay"] {
        assert!(!tree.contains(forbidden), "purge depends on {forbidden}");
    }
}

/// Only what purges knows the archive: S3 is a large part of a program.
#[test]
fn the_relay_and_the_admin_function_have_no_archive_in_their_whole_tree() {
    for package in ["relay", "admin"] {
        let tree = tree(package);
        for forbidden in ["aws-sdk-s3", "outbox-archive"] {
            assert!(!tree.contains(forbidden), "{package} depends on {forbidden}");
        }
    }
}

/// What nobody asked for by the feature `otel` has nothing of it.
#[test]
fn no_function_has_opentelemetry_in_its_whole_tree_by_default() {
    for package in ["relay", "purge", "admin"] {
        let tree = tree(package);
        assert!(tree.contains("tracing-subscriber"), "{tree}");
        for forbidden in ["opentelemetry", "prost"] {
            assert!(!tree.contains(forbidden), "{package} depends on {forbidden}");
        }
    }
}

/// The lints of the workspace hold only in a crate that takes them over.
#[test]
fn no_crate_may_have_unsafe_code() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let workspace = std::fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let lints = workspace.split("[workspace.lints.rust]\n").nth(1).unwrap();
    assert!(lints.lines().next() == Some("unsafe_code = \"forbid\""), "{lints}");

    let folders = ["shared", "functions", "examples"].map(|folder| root.join(folder));
    let crates = folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap());
    let mut crates: Vec<_> = crates.map(|found| found.unwrap().path()).collect();
    crates.push(root.join("tests"));
    assert!(crates.len() >= 12, "{crates:?}");
    for folder in crates {
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let takes_over = manifest.contains("\n[lints]\nworkspace = true\n");
        assert!(takes_over, "{} does not take over the workspace's lints", folder.display());
    }
}

/// A file that nobody declares is no error to the compiler: its tests are just not there.
#[test]
fn every_file_of_these_tests_is_declared_as_a_module() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("it");
    let (mut folders, mut n_files) = (vec![root.clone()], 0);
    while let Some(folder) = folders.pop() {
        let declaring =
            if folder == root { root.join("main.rs") } else { folder.with_extension("rs") };
        let declared = std::fs::read_to_string(&declaring).unwrap();
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") && path != declaring {
                let module = format!("mod {};", path.file_stem().unwrap().to_str().unwrap());
                let is_declared = declared.lines().any(|line| line.ends_with(&module));
                assert!(is_declared, "{} lacks `{module}`", declaring.display());
                n_files += 1;
            }
        }
    }
    assert!(n_files > 20, "only {n_files} files were found");
}
