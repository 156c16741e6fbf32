//! Where markers are kept.

use std::fs::File;
use std::io::ErrorKind;
use std::path::PathBuf;

/// Reads `MARKER_DIR`: the absolute path of a folder that is there and can be written.
///
/// A disk that is full is no reason to stop payments, and is none here.
pub fn folder(text: &str) -> Result<PathBuf, String> {
    let folder = PathBuf::from(text);
    if !folder.is_absolute() {
        return Err("not an absolute path".to_owned());
    }
    if !folder.is_dir() {
        return Err("not a folder that is there".to_owned());
    }
    let probe = folder.join(format!("brew-probe-{}", std::process::id()));
    match File::create(&probe) {
        Ok(_) => drop(std::fs::remove_file(&probe)),
        Err(error) if error.kind() == ErrorKind::StorageFull => {}
        Err(error) => return Err(format!("not a folder that can be written: {error}")),
    }
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    #[test]
    fn a_marker_folder_must_be_there_and_take_files() {
        let there = TempDir::new().unwrap();
        let file = there.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert_eq!(
            folder(there.path().to_str().unwrap()).as_deref(),
            Ok(there.path())
        );
        assert_eq!(
            std::fs::read_dir(there.path()).unwrap().count(),
            1,
            "the probe is gone"
        );
        let missing = there.path().join("missing");
        for wrong in [
            file.to_str().unwrap(),
            missing.to_str().unwrap(),
            "relative",
            "/proc",
        ] {
            assert!(folder(wrong).is_err(), "{wrong}");
        }
    }
}
