//! What an operator does to a pipeline that runs anywhere: seed payments, look at topics and incidents, replay, clean up.
//!
//! Here is the work; `cli` has the commands that ask for it. What is found is a value that prints itself as a table and serializes as JSON.

pub mod cleaning;
pub mod cluster;
pub mod incident_groups;
pub mod incident_list;
pub mod incident_payload;
pub mod mix;
pub mod replaying;
pub mod seeding;
pub mod status;
mod table;
pub mod whereabouts;

pub use cleaning::{Cleaned, Objects, Scope};
pub use cluster::{Cluster, TopicOffsets};
pub use incident_groups::{GroupBy, IncidentGroups};
pub use incident_list::{Filter, Found, IncidentList};
pub use incident_payload::Payload;
pub use mix::{Kind, Mix};
pub use replaying::{Asked, Place, Replayed};
pub use seeding::{Seeded, Seeding};
pub use status::Status;
pub use whereabouts::Whereabouts;
