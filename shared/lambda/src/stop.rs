//! The wish that the process ends: what runs is finished, what has not started is handed back.

use std::sync::Arc;

use tokio::sync::watch;

/// A switch that can be thrown once, and is shared by everyone who must see it.
#[derive(Clone, Debug)]
pub struct Stop(Arc<watch::Sender<bool>>);

/// Waits for the switch.
#[derive(Debug)]
pub struct Stopping(watch::Receiver<bool>);

impl Default for Stop {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }
}

impl Stop {
    /// Throws the switch.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }

    /// Returns something to wait on.
    pub fn subscribe(&self) -> Stopping {
        Stopping(self.0.subscribe())
    }
}

impl Stopping {
    /// Waits until the switch is thrown.
    pub async fn stopped(&mut self) {
        if self.0.wait_for(|stop| *stop).await.is_err() {
            // The switch is gone: nobody can throw it any more.
            std::future::pending::<()>().await;
        }
    }
}
