//! How many records run at once, and how one runs alone.

use tokio::sync::{Semaphore, SemaphorePermit};

/// Lets so many records run at once, or one alone; first come, first served.
#[derive(Debug)]
pub struct Gate {
    places: Semaphore,
    width: u32,
}

impl Gate {
    /// Opens a gate for so many at once.
    pub fn new(width: std::num::NonZeroU16) -> Self {
        Self {
            places: Semaphore::new(usize::from(width.get())),
            width: u32::from(width.get()),
        }
    }

    /// Waits for a place beside others; it is given back when the pass is dropped.
    pub async fn beside_others(&self) -> Pass<'_> {
        Pass {
            _permit: self.places.acquire().await.ok(),
        }
    }

    /// Waits until nobody else runs and keeps it so until the pass is dropped.
    pub async fn alone(&self) -> Pass<'_> {
        Pass {
            _permit: self.places.acquire_many(self.width).await.ok(),
        }
    }
}

/// A place behind the gate. The semaphore is never closed, so that a pass always holds its permit.
#[derive(Debug)]
pub struct Pass<'a> {
    _permit: Option<SemaphorePermit<'a>>,
}
