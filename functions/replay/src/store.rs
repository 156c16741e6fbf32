//! Where a replay keeps its state, as an argument.

use aws::{Bucket, Object, Swap};
use lambda::{Objects, StoreFault};

/// Keeps plans, leases, ledgers and records of runs; nothing in it is ever overwritten unseen.
pub trait Store: Objects {
    /// Reads an object; `None` when there is none of this key.
    fn get(&self, key: &str) -> impl Future<Output = Result<Option<Object>, StoreFault>> + Send;

    /// Replaces an object that still is of this tag.
    fn replace(
        &self,
        key: &str,
        body: Vec<u8>,
        etag: &str,
    ) -> impl Future<Output = Result<Swap, StoreFault>> + Send;

    /// Lists the keys that begin so and come after another, in order.
    fn keys_after(
        &self,
        prefix: &str,
        after: &str,
    ) -> impl Future<Output = Result<Vec<String>, StoreFault>> + Send;
}

impl Store for Bucket {
    async fn get(&self, key: &str) -> Result<Option<Object>, StoreFault> {
        Self::get(self, key).await
    }

    async fn replace(&self, key: &str, body: Vec<u8>, etag: &str) -> Result<Swap, StoreFault> {
        self.put_if_match(key, body, etag).await
    }

    async fn keys_after(&self, prefix: &str, after: &str) -> Result<Vec<String>, StoreFault> {
        let listed = self.list_after(prefix, after).await?;
        Ok(listed.into_iter().map(|object| object.key).collect())
    }
}

/// Puts an object whatever was there before; fails when another writes it at the same time.
pub(crate) async fn put<S: Store>(store: &S, key: &str, body: Vec<u8>) -> Result<(), StoreFault> {
    let swap = match store.get(key).await? {
        Some(there) if there.body == body => return Ok(()),
        Some(there) => store.replace(key, body, &there.etag).await?,
        None => match store.put_new(key, body).await? {
            lambda::Put::Created => return Ok(()),
            lambda::Put::Existed => Swap::Changed,
        },
    };
    match swap {
        Swap::Swapped(_) => Ok(()),
        Swap::Changed => Err(StoreFault(format!("{key} is being written by another run"))),
    }
}
