//! Replay, as far as it is a matter of rules: what is asked, what is selected, how a dead letter goes back, and what is told of it.

pub mod answer;
mod fields;
pub mod fingerprint;
pub mod lease;
pub mod ledger;
pub mod moment;
pub mod plan;
pub mod progress;
pub mod rate;
pub mod request;
pub mod returning;
pub mod run_record;
pub mod selection;
pub mod tally;
pub mod token;

pub use answer::{Answer, Ended, Stopped};
pub use fingerprint::Fingerprint;
pub use lease::LeaseNote;
pub use ledger::{LedgerEntry, Place, Published};
pub use plan::{Plan, PlanFile, PlanHead, PlanName, PlanPart, Planned};
pub use progress::{Lane, Progress};
pub use rate::Rate;
pub use request::{Carried, InvalidReplay, Limit, Request, Terms};
pub use returning::Returning;
pub use run_record::{Ends, Invoker, RunRecord, RunState};
pub use selection::{Judgement, Selection, SkipReason, Window};
pub use tally::{Fate, Matched, Tally};
pub use token::run_of;
