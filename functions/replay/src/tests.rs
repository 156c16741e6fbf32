//! Whole runs over dead letters in memory, in moved time.

mod deadline;
mod fault;
mod rate;
mod refusal;
mod resume;
mod selection;
mod world;
