//! The token kept between calls, and read again when it is refused.

use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};

use pipeline::mask::Masker;
use tokio::sync::Mutex;

use crate::token::{Token, TokenFault, TokenSource};

/// The token as it was last read, kept from one call to the next.
#[derive(Debug)]
pub(crate) struct Tokens<T> {
    source: T,
    last: Mutex<Last>,
    /// What takes the token out of messages: apart from the rest, since nobody who writes one may wait for a reading.
    masker: std::sync::Mutex<Masker>,
    /// How many readings have failed.
    failed: AtomicU64,
}

/// What came of the readings so far.
#[derive(Debug, Default)]
struct Last {
    held: Option<Held>,
    /// The last failed reading: which it was, and why.
    fault: Option<(u64, TokenFault)>,
}

/// A token, the one before it, and how often it had been read before.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    pub(crate) token: Option<Token>,
    replaced: Option<Token>,
    reading: u64,
}

impl<T: TokenSource> Tokens<T> {
    pub(crate) fn new(source: T) -> Self {
        Self {
            source,
            last: Mutex::default(),
            masker: std::sync::Mutex::default(),
            failed: AtomicU64::new(0),
        }
    }

    /// Returns the token, read at first need.
    pub(crate) async fn current(&self) -> Result<Held, TokenFault> {
        self.after(None).await
    }

    /// Returns a token read after the one that was refused.
    ///
    /// Of many calls that need a reading at once, one reads, and the others share the token or the fault.
    #[expect(
        clippy::significant_drop_tightening,
        reason = "the lock is held while reading, so that one reads for all"
    )]
    pub(crate) async fn after(&self, refused: Option<&Held>) -> Result<Held, TokenFault> {
        let failed_before = self.failed.load(Ordering::Relaxed);
        let mut last = self.last.lock().await;
        if let Some(held) = &last.held
            && refused.is_none_or(|refused| held.reading > refused.reading)
        {
            return Ok(held.clone());
        }
        if let Some((number, fault)) = &last.fault
            && *number >= failed_before
        {
            return Err(fault.clone());
        }
        match self.source.read().await {
            Ok(token) => {
                let held = Held {
                    token,
                    replaced: refused.and_then(|refused| refused.token.clone()),
                    reading: refused.map_or(0, |refused| refused.reading.saturating_add(1)),
                };
                *self.masker.lock().unwrap_or_else(PoisonError::into_inner) = held.masker();
                last.held = Some(held.clone());
                Ok(held)
            }
            Err(fault) => {
                let number = self.failed.fetch_add(1, Ordering::Relaxed);
                last.fault = Some((number, fault.clone()));
                Err(fault)
            }
        }
    }

    /// Returns what takes the token out of messages, and the one before it, which calls still under way may have sent.
    pub(crate) fn masker(&self) -> Masker {
        self.masker
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Held {
    fn masker(&self) -> Masker {
        let tokens = [&self.token, &self.replaced].into_iter().flatten();
        Masker::with_secrets(tokens.map(|token| token.secret().to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use futures_util::future::join_all;

    use super::*;

    /// Gives another token at each reading.
    #[derive(Debug, Default)]
    struct Rotating(AtomicU64);

    impl TokenSource for Rotating {
        async fn read(&self) -> Result<Option<Token>, TokenFault> {
            let number = self.0.fetch_add(1, Ordering::SeqCst);
            tokio::task::yield_now().await;
            Ok(format!("token-{number}").parse().ok())
        }
    }

    #[tokio::test]
    async fn calls_that_are_refused_at_once_read_the_token_again_once() {
        let tokens = Tokens::new(Rotating::default());
        let secret = |held: &Held| held.token.clone().unwrap().secret().to_owned();
        let first = join_all((0..32).map(|_| tokens.current())).await;
        assert!(
            first
                .iter()
                .all(|held| secret(held.as_ref().unwrap()) == "token-0")
        );
        let refused = first[0].clone().unwrap();
        let second = join_all((0..32).map(|_| tokens.after(Some(&refused)))).await;
        assert!(
            second
                .iter()
                .all(|held| secret(held.as_ref().unwrap()) == "token-1")
        );
        assert_eq!(secret(&tokens.current().await.unwrap()), "token-1");
        let refused = second[0].clone().unwrap();
        assert_eq!(
            secret(&tokens.after(Some(&refused)).await.unwrap()),
            "token-2"
        );
    }

    /// Is away at the first readings.
    #[derive(Debug)]
    struct Away {
        for_the_first: u64,
        readings: AtomicU64,
    }

    impl TokenSource for Away {
        async fn read(&self) -> Result<Option<Token>, TokenFault> {
            let number = self.readings.fetch_add(1, Ordering::SeqCst);
            tokio::time::sleep(std::time::Duration::from_secs(8)).await;
            if number < self.for_the_first {
                Err(TokenFault("away".to_owned()))
            } else {
                Ok(None)
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn calls_that_wait_for_a_reading_share_its_fault_and_later_ones_read_again() {
        let tokens = Tokens::new(Away {
            for_the_first: 2,
            readings: AtomicU64::new(0),
        });
        for round in 1..=2 {
            let all = join_all((0..32).map(|_| tokens.current())).await;
            assert!(all.iter().all(Result::is_err));
            assert_eq!(tokens.source.readings.load(Ordering::SeqCst), round);
        }
        assert!(tokens.current().await.is_ok());
        assert!(tokens.current().await.is_ok());
        assert_eq!(tokens.source.readings.load(Ordering::SeqCst), 3);
    }
}
