//! Something that is read at first need and kept.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Mutex;

use super::CredentialsFault;

/// Something that is read at first need and kept until it is not good enough any more.
///
/// Of many that need a reading at once, one reads, and the others share what came of it.
#[derive(Debug)]
pub(super) struct Kept<T> {
    last: Mutex<Option<Result<T, CredentialsFault>>>,
    /// How many readings have ended.
    ended: AtomicU64,
}

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Self {
            last: Mutex::default(),
            ended: AtomicU64::new(0),
        }
    }
}

impl<T: Clone> Kept<T> {
    /// Returns what is kept when it is good enough, else reads; what was there before is told to the reading.
    ///
    /// The lock is held while reading, so that one reads for all.
    pub(super) async fn get(
        &self,
        is_good: impl Fn(&T) -> bool,
        read: impl AsyncFnOnce(Option<&T>) -> Result<T, CredentialsFault>,
    ) -> Result<T, CredentialsFault> {
        let ended = self.ended.load(Ordering::SeqCst);
        let mut last = self.last.lock().await;
        match last.as_ref() {
            Some(Ok(kept)) if is_good(kept) => return Ok(kept.clone()),
            Some(Err(fault)) if self.ended.load(Ordering::SeqCst) > ended => {
                return Err(fault.clone());
            }
            Some(Ok(_) | Err(_)) | None => {}
        }
        let before = last.as_ref().and_then(|last| last.as_ref().ok());
        let result = read(before).await;
        self.ended.fetch_add(1, Ordering::SeqCst);
        *last = Some(result.clone());
        result
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::future::join_all;

    use super::*;

    /// Reads a number that grows, or fails, after a while.
    async fn read(readings: &AtomicU64, away: bool) -> Result<u64, CredentialsFault> {
        let number = readings.fetch_add(1, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_secs(2)).await;
        if away {
            Err(CredentialsFault("away".to_owned()))
        } else {
            Ok(number)
        }
    }

    #[tokio::test(start_paused = true)]
    async fn those_who_need_a_reading_at_once_share_it_and_later_ones_what_is_kept() {
        let (kept, readings) = (Kept::default(), AtomicU64::new(0));
        for (least, expected) in [(0, 0), (0, 0), (1, 1), (0, 1)] {
            let all = (0..32).map(|_| {
                kept.get(
                    move |number| *number >= least,
                    async |_| read(&readings, false).await,
                )
            });
            for number in join_all(all).await {
                assert_eq!(number, Ok(expected));
            }
        }
        assert_eq!(readings.load(Ordering::SeqCst), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn those_who_wait_share_a_fault_and_later_ones_read_again() {
        let (kept, readings) = (Kept::default(), AtomicU64::new(0));
        for round in 1..=2 {
            let all = (0..32).map(|_| kept.get(|_| true, async |_| read(&readings, true).await));
            assert!(join_all(all).await.iter().all(Result::is_err));
            assert_eq!(readings.load(Ordering::SeqCst), round);
        }
        let third = kept.get(|_| true, async |_| read(&readings, false).await);
        assert_eq!(third.await, Ok(2));
    }
}
