//! The object store as an argument: where incidents and spilled records go.

/// Puts objects that must not overwrite others.
pub trait Objects: Send + Sync + 'static {
    /// Puts an object unless one of this key exists already.
    fn put_new(
        &self,
        key: &str,
        body: Vec<u8>,
    ) -> impl Future<Output = Result<Put, StoreFault>> + Send;
}

/// Tells which attempt made the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// This call made it, also when its answer was lost on the way and it had to ask again.
    Created,
    /// It was there before.
    Existed,
}

/// Says that the store is away or refuses us: not the record's fault. Names the bucket and the cause.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the object store cannot be used: {0}")]
pub struct StoreFault(pub String);
