//! What a function writes, kept line by line.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use serde_json::Value;

/// Keeps what is written to it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Written(Arc<Mutex<Vec<String>>>);

impl Written {
    /// Takes the lines that were written since it was last asked; each was written in one piece.
    pub(crate) fn take(&self) -> Vec<Value> {
        let pieces = std::mem::take(&mut *self.0.lock().unwrap());
        let lines = pieces.iter().map(|piece| {
            assert_eq!(piece.matches('\n').count(), 1, "{piece:?}");
            serde_json::from_str(piece.strip_suffix('\n').unwrap()).unwrap()
        });
        lines.collect()
    }

    /// Takes the metrics that were written since it was last asked, as `Name` or `Name Reason code`: a count, or the values.
    pub(crate) fn metrics(&self) -> BTreeMap<String, Value> {
        let mut all = BTreeMap::new();
        for line in self.take() {
            let directive = &line["_aws"]["CloudWatchMetrics"][0];
            for metric in directive["Metrics"].as_array().unwrap() {
                let name = metric["Name"].as_str().unwrap();
                let told_by = ["Reason", "ErrorCode"].map(|by| line[by].as_str());
                let words = [Some(name)].into_iter().chain(told_by).flatten();
                let words: Vec<&str> = words.collect();
                let before = all.insert(words.join(" "), line[name].clone());
                assert_eq!(before, None, "{words:?} is told twice");
            }
        }
        all
    }
}

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let piece = String::from_utf8(bytes.to_vec()).unwrap();
        self.0.lock().unwrap().push(piece);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
