//! Reading single records by their coordinates.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;

use pipeline::{Coordinates, Offset, Partition};

use super::Reader;
use super::chunk::{ChunkLimit, Found};
use super::error::ReadError;
use super::progress::Progress;

/// How many records may lie between two wanted ones before it pays to go there anew instead of reading on.
const NEAR: i64 = 500;

/// How much is held at a time while looking for the wanted ones.
const CHUNK: ChunkLimit = ChunkLimit {
    records: 1_000,
    bytes: 4 << 20,
};

type Wanted = BTreeMap<Partition, BTreeSet<i64>>;

impl Reader {
    /// Reads the records at exactly these coordinates, until `until` is over.
    ///
    /// Each of them comes back once, in order, as what is there or as nothing; those that were not reached before `until` was over do
    /// not come back at all. The reader's positions stay as they were.
    pub async fn read_exact(
        &mut self,
        wanted: &[Coordinates],
        until: impl Future<Output = ()>,
    ) -> Result<Vec<Found>, ReadError> {
        let mut left = Wanted::new();
        for coordinates in wanted {
            if coordinates.topic != self.topic {
                return Err(ReadError::OtherTopic(coordinates.clone()));
            }
            let offsets = left.entry(coordinates.partition).or_default();
            offsets.insert(coordinates.offset.get());
        }
        let positions = self.progress.clone();
        let found = self.find(left, until).await;
        self.progress = positions;
        self.assigned = false;
        let mut found = found?;
        found.sort_by(|one, other| one.coordinates().cmp(other.coordinates()));
        Ok(found)
    }

    async fn find(
        &mut self,
        mut left: Wanted,
        until: impl Future<Output = ()>,
    ) -> Result<Vec<Found>, ReadError> {
        let mut until = pin!(until);
        let mut found = Vec::new();
        let whole = self.ranges.clone();
        while !left.is_empty() {
            // Each partition is read from its first wanted offset to the last one that is near enough.
            let windows: BTreeMap<Partition, (i64, i64)> = left
                .iter()
                .filter_map(|(partition, offsets)| Some((*partition, window(offsets)?)))
                .collect();
            self.progress = BTreeMap::new();
            for range in &whole {
                if let Some((first, end)) = windows.get(&range.partition) {
                    let mut progress = Progress::new(range);
                    progress.end_at(*end);
                    progress.start_at(*first);
                    self.progress.insert(range.partition, progress);
                }
            }
            self.assigned = false;
            while !self.is_at_end() {
                let before = self.positions();
                let chunk = self.next_chunk(CHUNK, until.as_mut()).await?;
                if chunk.records.is_empty() && chunk.positions == before && !self.is_at_end() {
                    return Ok(found);
                }
                for read in chunk.records {
                    if take(&mut left, read.coordinates()) {
                        found.push(Found::Here(read));
                    }
                }
            }
            for (partition, (_, end)) in windows {
                found.extend(self.passed(&mut left, partition, end));
            }
        }
        Ok(found)
    }

    /// Takes what is still wanted of a partition before an offset: there is nothing.
    fn passed(&self, left: &mut Wanted, partition: Partition, end: i64) -> Vec<Found> {
        let Some(offsets) = left.get_mut(&partition) else {
            return Vec::new();
        };
        let later = offsets.split_off(&end);
        let passed = std::mem::replace(offsets, later);
        if offsets.is_empty() {
            left.remove(&partition);
        }
        let passed = passed.into_iter().filter_map(Offset::new);
        let nothing = passed.map(|offset| {
            Found::Nothing(Coordinates {
                topic: self.topic.clone(),
                partition,
                offset,
            })
        });
        nothing.collect()
    }
}

fn take(left: &mut Wanted, coordinates: &Coordinates) -> bool {
    let offsets = left.get_mut(&coordinates.partition);
    offsets.is_some_and(|offsets| offsets.remove(&coordinates.offset.get()))
}

/// Returns the first wanted offset and the one behind the last that is near enough to read on to.
fn window(offsets: &BTreeSet<i64>) -> Option<(i64, i64)> {
    let first = *offsets.first()?;
    let last = offsets.iter().fold(first, |last, offset| {
        if offset.saturating_sub(last) <= NEAR {
            *offset
        } else {
            last
        }
    });
    Some((first, last.saturating_add(1)))
}
