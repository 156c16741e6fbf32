//! The parts of the orders function put together.

use std::io::Write;
use std::num::NonZeroU16;

use aws::Bucket;
use kafka::Producer;
use lambda::gate::Gate;
use lambda::markers::Markers;
use lambda::{Attempts, Clock, CountingStep, Forwarding, Handler, Incidents};
use pipeline::Masker;

use crate::settings::Settings;

/// How many orders are handled at once.
const CONCURRENCY: NonZeroU16 = NonZeroU16::MIN.saturating_add(31);

/// The step of the orders function, with everything real in its place.
pub type OrdersStep<H, C> = CountingStep<H, Producer<C>, Bucket, C>;

/// Builds the step from its handler and the settings, alerts going to `alerts`; nothing is connected yet.
pub fn step<H: Handler, C: Clock>(
    handler: H,
    settings: Settings,
    alerts: Box<dyn Write + Send>,
    clock: C,
) -> OrdersStep<H, C> {
    let masker = Masker::default();
    let attempts = Attempts {
        handler,
        markers: Markers::open(&settings.marker_dir, clock.now()),
        gate: Gate::new(CONCURRENCY),
        clock: clock.clone(),
    };
    let forwarding = Forwarding {
        broker: Producer::with_clock(settings.connection, clock.clone()),
        incidents: Incidents::new(settings.bucket, masker.clone(), alerts),
        masker,
        clock,
    };
    CountingStep::new(settings.counting, attempts, forwarding)
}
