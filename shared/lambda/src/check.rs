//! `{"check":true}`: what a function can reach, tried without doing anything to it.

mod asked;
mod reached;
#[cfg(test)]
mod tests;

use std::fmt;
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt, join_all};
use tokio::time::Instant;

pub(crate) use self::asked::is_asked;
pub use self::asked::{InvalidCheck, asked};
pub use self::reached::{Checked, Found, Reached, Thing, Unreached, Why};

/// How long one check may take; all run at once.
pub const LIMIT: Duration = Duration::from_secs(5);

/// Tries something within a time and tells what came of it: one line, or several that depend on each other.
type Try = Box<dyn Fn(Duration) -> BoxFuture<'static, Vec<Reached>> + Send + Sync>;

/// What one function needs outside, and how each is tried.
pub struct Checks {
    function: &'static str,
    tries: Vec<Try>,
}

impl fmt::Debug for Checks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Checks")
            .field("function", &self.function)
            .field("tries", &self.tries.len())
            .finish()
    }
}

impl Checks {
    /// Starts the list of a function with nothing in it.
    pub const fn new(function: &'static str) -> Self {
        Self {
            function,
            tries: Vec::new(),
        }
    }

    /// Adds one thing; a try that takes longer than it may is given up.
    pub fn with<F>(
        self,
        thing: Thing,
        target: impl Into<String>,
        try_it: impl Fn() -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Found, Unreached>> + Send + 'static,
    {
        let target = target.into();
        self.with_lines(move |limit| {
            let (target, tried) = (target.clone(), try_it());
            async move { vec![Reached::within(limit, thing, target, tried).await] }
        })
    }

    /// Adds what is told in several lines; it keeps to the limit by itself.
    pub fn with_lines<F>(mut self, try_it: impl Fn(Duration) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Vec<Reached>> + Send + 'static,
    {
        self.tries
            .push(Box::new(move |limit| try_it(limit).boxed()));
        self
    }

    /// Tries everything at once, with so much time left; what failed is logged too.
    pub async fn run(&self, left: Duration) -> Checked {
        let limit = left.min(LIMIT);
        let tried = join_all(self.tries.iter().map(|try_it| try_it(limit))).await;
        let checked = Checked::new(self.function, tried.into_iter().flatten().collect());
        for line in checked.lines() {
            line.log();
        }
        checked
    }
}

impl Reached {
    /// Waits for a try within a limit and tells what came of it.
    pub async fn within(
        limit: Duration,
        thing: Thing,
        target: String,
        tried: impl Future<Output = Result<Found, Unreached>>,
    ) -> Self {
        let began = Instant::now();
        let came = tokio::time::timeout(limit, tried)
            .await
            .unwrap_or_else(|_| {
                let text = format!("no answer within {limit:?}");
                Err(Unreached::new(Why::Timeout, &text))
            });
        Self::new(thing, target, began.elapsed(), came)
    }
}
