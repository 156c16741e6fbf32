//! The ledger in the store: one object for each chunk that was published.

use futures_util::stream::{self, StreamExt};
use lambda::StoreFault;
use pipeline::replay::{LedgerEntry, Progress, Published, Request};
use uuid::Uuid;

use crate::store::Store;

/// How many objects are read at once.
const AT_ONCE: usize = 16;

/// Reads what was published of what a run still has before it, and need not go again.
///
/// With `again` that is only what the run itself, or its plan, has published: a token or a plan that is used twice sends nothing twice.
pub(crate) async fn load<S: Store>(
    store: &S,
    request: &Request,
    progress: &Progress,
) -> Result<Published, StoreFault> {
    let window = request.selection.window;
    if request.again && request.progress.is_none() && request.plan.is_none() {
        return Ok(Published::default());
    }
    let first = LedgerEntry::first_key(&request.from, window);
    let keys = store
        .keys_after(&LedgerEntry::folder(&request.from), &first)
        .await?;
    let keys = keys
        .into_iter()
        .filter(|key| LedgerEntry::may_matter(key, window));
    let mut entries = stream::iter(keys)
        .map(|key| read(store, key))
        .buffer_unordered(AT_ONCE);
    let mut published = Published::default();
    while let Some(entry) = entries.next().await {
        let entry = entry?.filter(|entry| !request.again || is_its_own(request, entry));
        let places = entry.map(|entry| entry.places).unwrap_or_default();
        published.add(places.into_iter().filter(|place| {
            progress.awaits_place(place.partition, place.offset) && window.holds(place.time)
        }));
    }
    Ok(published.in_order())
}

fn is_its_own(request: &Request, entry: &LedgerEntry) -> bool {
    entry.replay_id == request.replay_id || (request.plan.is_some() && entry.plan == request.plan)
}

async fn read<S: Store>(store: &S, key: String) -> Result<Option<LedgerEntry>, StoreFault> {
    let Some(object) = store.get(&key).await? else {
        return Ok(None);
    };
    // What it would have said cannot be guessed: to go on without it might publish twice.
    let entry = LedgerEntry::read(&object.body);
    entry.map(Some).map_err(|error| {
        StoreFault(format!(
            "{key}: {error}; once it is clear what it was, move it away"
        ))
    })
}

/// Writes what a chunk has published.
pub(crate) async fn record<S: Store>(store: &S, entry: &LedgerEntry) -> Result<(), StoreFault> {
    let key = entry.key(&Uuid::new_v4().simple().to_string());
    store.put_new(&key, entry.write()).await?;
    Ok(())
}
