//! Replay, as far as it is a matter of rules: what is asked, what is selected, how a dead letter goes back, and what is told of it.

pub mod answer;
mod fields;
pub mod moment;
pub mod progress;
pub mod rate;
pub mod request;
pub mod returning;
pub mod selection;
pub mod tally;
pub mod token;

pub use answer::{Answer, Stopped};
pub use progress::{Lane, Progress};
pub use rate::Rate;
pub use request::{InvalidReplay, Limit, Request, Terms};
pub use returning::Returning;
pub use selection::{Judgement, Selection, SkipReason, Window};
pub use tally::{Fate, Matched, Tally};
