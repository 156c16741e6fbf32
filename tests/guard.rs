//! No test is forgotten.

use std::fs;
use std::path::Path;

/// Returns what is wrong with a folder of modules whose parent module is in `parent`.
fn forgotten(folder: &Path, parent: &Path) -> Vec<String> {
    let declared = fs::read_to_string(parent).unwrap();
    let mut forgotten = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let module = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if path == parent || module == "bin" {
            continue;
        }
        let is_declared = declared
            .lines()
            .any(|line| line.ends_with(&format!("mod {module};")));
        if path.is_dir() && path.join("mod.rs").exists() {
            forgotten.extend(self::forgotten(&path, &path.join("mod.rs")));
        }
        if path.extension().is_some_and(|extension| extension == "rs") && !is_declared {
            forgotten.push(path.display().to_string());
        }
    }
    forgotten
}

#[test]
fn every_file_of_this_folder_is_a_module() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let main = folder.join("main.rs");
    assert_eq!(forgotten(folder, &main), Vec::<String>::new());
}

/// Returns every `.rs` file below a folder, as one text.
fn sources(folder: &Path) -> String {
    let mut text = String::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            text += &sources(&path);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            text += &fs::read_to_string(path).unwrap();
        }
    }
    text
}

#[test]
fn every_test_that_the_documents_name_exists() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let documents: String = ["docs/faults.md", "docs/operations.md"]
        .map(|name| fs::read_to_string(workspace.join(name)).unwrap())
        .concat();
    let sources: String = ["shared", "functions", "local", "tests"]
        .map(|folder| sources(&workspace.join(folder)))
        .concat();
    let tests: Vec<&str> = documents
        .split(|c: char| c != '_' && !c.is_ascii_alphanumeric())
        .filter(|name| name.matches('_').count() > 3)
        .collect();
    assert!(tests.len() > 80, "{}", tests.len());
    for test in tests {
        assert!(sources.contains(&format!("fn {test}(")), "no test {test}");
    }
}
