//! The program that a function runs.

use std::path::{Component, Path};
use std::rc::Rc;

use super::super::node::Node;
use super::super::problem::Found;
use super::super::resolve::Resolver;

/// Returns `BuildProperties.Binary` of the metadata, else the last folder of `CodeUri`.
///
/// Source: SAM developer guide, "Building Rust Lambda functions with Cargo Lambda".
pub(super) fn binary(
    resolver: Resolver<'_>,
    metadata: Option<&Rc<Node>>,
    code: Option<&Rc<Node>>,
) -> Found<Option<String>> {
    let named = metadata
        .and_then(|metadata| metadata.get("BuildProperties"))
        .and_then(|build| build.get("Binary"))
        .map(|binary| resolver.text(binary));
    if let Some(binary) = named.transpose()?.flatten() {
        return Ok(Some(binary));
    }
    // Code that lies elsewhere says nothing of a program here, and is no fault.
    let code = code.and_then(|code| resolver.text(code).ok().flatten());
    Ok(code.and_then(|code| last_folder(&code)))
}

fn last_folder(code: &str) -> Option<String> {
    if code.contains("://") {
        return None;
    }
    match Path::new(code).components().next_back()? {
        Component::Normal(folder) => folder.to_str().map(str::to_owned),
        Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_folder_names_the_program() {
        for (code, expected) in [
            ("functions/payments", Some("payments")),
            ("functions/payments/", Some("payments")),
            ("./payments", Some("payments")),
            ("payments/.", Some("payments")),
            (".", None),
            ("", None),
            ("..", None),
            ("/", None),
            ("s3://bucket/payments", None),
        ] {
            assert_eq!(last_folder(code).as_deref(), expected, "{code:?}");
        }
    }
}
