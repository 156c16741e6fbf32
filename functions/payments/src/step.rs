//! The parts of the payments function put together.

use std::io::Write;

use aws::Bucket;
use kafka::Producer;
use lambda::gate::Gate;
use lambda::markers::Markers;
use lambda::{Attempts, Clock, Forwarding, Incidents, StageStep};

use crate::charge::Charge;
use crate::circuit::CircuitBreaker;
use crate::gateway::Gateway;
use crate::settings::Settings;
use crate::token::ConfiguredToken;

/// The step of a payments stage, with everything real in its place.
pub type PaymentsStep<C> = StageStep<Charge<ConfiguredToken, C>, Producer<C>, Bucket, C>;

/// Builds the step from the settings, alerts going to `alerts`; nothing is connected yet.
pub fn step<C: Clock>(
    settings: Settings,
    alerts: Box<dyn Write + Send>,
    clock: C,
) -> PaymentsStep<C> {
    let masker = settings.token.masker();
    let handler = Charge::new(
        Gateway::new(settings.gateway_url, settings.gateway_timeout),
        settings.token,
        settings.asking,
        settings.circuit.map(CircuitBreaker::new),
        clock.clone(),
    );
    StageStep {
        stages: settings.stages,
        attempts: Attempts {
            handler,
            markers: Markers::open(&settings.marker_dir, clock.now()),
            gate: Gate::new(settings.concurrency),
            clock: clock.clone(),
        },
        forwarding: Forwarding {
            broker: Producer::with_clock(settings.connection, clock.clone()),
            incidents: Incidents::new(settings.bucket, masker.clone(), alerts),
            masker,
            clock,
        },
    }
}
