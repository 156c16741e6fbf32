//! Plans in the store: written by dry runs, read by the runs that carry them out.

use futures_util::stream::{self, StreamExt, TryStreamExt};
use lambda::StoreFault;
use pipeline::replay::fingerprint::sha256;
use pipeline::replay::plan::{read_part, write_part};
use pipeline::replay::{Plan, PlanFile, PlanHead, PlanName, PlanPart, Planned};

use crate::error::ReplayError;
use crate::store::{Store, put};

/// How many dead letters one object lists.
pub(crate) const PART: usize = 5_000;

/// How many parts are read at once.
const AT_ONCE: usize = 4;

/// Writes the plan of a dry run, part by part.
#[derive(Debug)]
pub(crate) struct Planner<'a, S> {
    store: &'a S,
    replay_id: &'a str,
    parts: Vec<PlanPart>,
    pending: Vec<Planned>,
}

impl<'a, S: Store> Planner<'a, S> {
    /// Goes on behind the parts that are written.
    pub(crate) const fn new(store: &'a S, replay_id: &'a str, parts: Vec<PlanPart>) -> Self {
        Self {
            store,
            replay_id,
            parts,
            pending: Vec::new(),
        }
    }

    /// Adds dead letters; writes a part when there are enough.
    pub(crate) async fn add(
        &mut self,
        planned: impl IntoIterator<Item = Planned>,
    ) -> Result<(), StoreFault> {
        self.pending.extend(planned);
        if self.pending.len() >= PART {
            self.write_part().await?;
        }
        Ok(())
    }

    /// Writes the plan itself and returns its name: a short one is one object.
    pub(crate) async fn write_plan(&mut self, head: PlanHead) -> Result<PlanName, StoreFault> {
        if !self.parts.is_empty() {
            self.write_part().await?;
        }
        let object = PlanFile {
            head,
            parts: self.parts.clone(),
            planned: self.pending.clone(),
        }
        .write();
        let hash = sha256(&object);
        put(self.store, &plan_key(self.replay_id), object).await?;
        let name = PlanName::new(self.replay_id, &hash);
        name.ok_or_else(|| StoreFault(format!("{:?} is no id", self.replay_id)))
    }

    /// Returns the parts that are written, for the next invocation to go on behind them.
    pub(crate) fn into_parts(self) -> Vec<PlanPart> {
        self.parts
    }

    /// Writes what is not written yet as a part.
    pub(crate) async fn write_part(&mut self) -> Result<(), StoreFault> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let object = write_part(&self.pending);
        let bytes = self.pending.iter().map(|planned| planned.bytes);
        let part = PlanPart {
            sha256: sha256(&object),
            records: u64::try_from(self.pending.len()).unwrap_or(u64::MAX),
            bytes: bytes.fold(0, u64::saturating_add),
        };
        let key = part_key(self.replay_id, self.parts.len(), &part);
        // The hash in its key says that one that is there holds the same.
        self.store.put_new(&key, object).await?;
        self.parts.push(part);
        self.pending.clear();
        Ok(())
    }
}

/// Reads a plan and checks it against its hash.
pub(crate) async fn load<S: Store>(
    store: &S,
    name: &PlanName,
) -> Result<(PlanHead, Plan), ReplayError> {
    let key = plan_key(name.replay_id());
    let mismatch = |why: &dyn std::fmt::Display| ReplayError::Plan(format!("{key}: {why}"));
    let Some(object) = store.get(&key).await? else {
        return Err(mismatch(&"there is no such plan"));
    };
    if sha256(&object.body) != name.sha256() {
        return Err(mismatch(
            &"it is not the plan that was asked for: its SHA-256 is another; the dry run went on since, or somebody changed it",
        ));
    }
    let file = PlanFile::read(&object.body).map_err(|error| mismatch(&error))?;
    if file.head.replay_id != name.replay_id() {
        return Err(mismatch(&"it is the plan of another run"));
    }
    let parts: Vec<Vec<Planned>> = stream::iter(file.parts.iter().enumerate())
        .map(|(nth, part)| read(store, part_key(name.replay_id(), nth, part), &part.sha256))
        .buffered(AT_ONCE)
        .try_collect()
        .await?;
    let planned = file.planned.into_iter().chain(parts.into_iter().flatten());
    Ok((file.head, Plan::new(planned.collect())))
}

async fn read<S: Store>(store: &S, key: String, hash: &str) -> Result<Vec<Planned>, ReplayError> {
    let Some(object) = store.get(&key).await? else {
        return Err(ReplayError::Plan(format!(
            "{key}: this part of the plan is gone"
        )));
    };
    if sha256(&object.body) != hash {
        return Err(ReplayError::Plan(format!(
            "{key}: somebody changed this part of the plan"
        )));
    }
    read_part(&object.body).map_err(|error| ReplayError::Plan(format!("{key}: {error}")))
}

fn plan_key(replay_id: &str) -> String {
    format!("replays/{replay_id}/plan.json")
}

fn part_key(replay_id: &str, nth: usize, part: &PlanPart) -> String {
    let hash: String = part.sha256.chars().take(16).collect();
    format!("replays/{replay_id}/plan/{nth:06}-{hash}.json")
}
