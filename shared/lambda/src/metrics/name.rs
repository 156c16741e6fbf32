//! The names of our metrics, a closed set: each name and combination of dimensions is one custom metric, and is billed as one.

use std::fmt;

/// What lies beneath every name, so that two stacks of one account can be told apart by the function alone.
pub(super) const NAMESPACE: &str = "BrewPayments";

/// The metric of what failed, which is told with reason, class and code.
pub(super) const FAILURES: &str = "Failures";

/// The combinations of dimensions of everything else.
pub(super) const BY_FUNCTION: &[&[Dimension]] = &[&[Dimension::Function]];

/// The combinations of dimensions of what failed.
pub(super) const BY_FAILURE: &[&[Dimension]] = &[
    &[Dimension::Function, Dimension::Reason],
    &[
        Dimension::Function,
        Dimension::ErrorClass,
        Dimension::ErrorCode,
    ],
];

/// What a metric is told apart by; the values of each are few.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub enum Dimension {
    /// The function's name, and with it the stage: each stage has a function of its own.
    Function,
    /// What followed a failure: `next-retry`, `permanent`, `exhausted`, or `failed` when it is tried again where it is.
    Reason,
    /// `transient` or `permanent`.
    ErrorClass,
    /// One of the closed set of error codes.
    ErrorCode,
}

/// A metric as CloudWatch will know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Definition {
    /// Its name.
    pub name: &'static str,
    /// Its unit, in CloudWatch's spelling.
    pub unit: &'static str,
    /// The combinations of dimensions that it is told by.
    pub dimensions: &'static [&'static [Dimension]],
}

/// Writes an enum whose members are metrics.
macro_rules! metrics {
    ($(#[$outer:meta])* $name:ident, $unit:literal { $($(#[$inner:meta])* $variant:ident,)+ }) => {
        $(#[$outer])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name {
            $($(#[$inner])* $variant,)+
        }

        impl $name {
            /// Every member.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The unit of all of them, in CloudWatch's spelling.
            pub(super) const UNIT: &'static str = $unit;

            /// Returns the metric's name.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => stringify!($variant),)+
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

metrics! {
    /// What is counted.
    Count, "Count" {
        /// Records that were handled.
        RecordsDone,
        /// Records that an earlier invocation had done, which did not end clean.
        RecordsDoneBefore,
        /// Records that went to the next retry topic.
        RecordsForwarded,
        /// Records that went to the dead-letter topic, or were spilled.
        RecordsDeadLettered,
        /// Records handed back in the normal course of things: not due, no time left, behind another of their key.
        RecordsWaiting,
        /// Records handed back because they failed, to be tried again where they are.
        RecordsFailed,
        /// Records handed back because broker or store are away, or something of ours is broken.
        RecordsFaulted,
        /// Invocations that did nothing: the event is none of Kafka's, or the function's timeout is too short.
        InvocationsRefused,
        /// Processes that ended at their start, since settings are wrong.
        StartsFailed,
        /// New incidents.
        IncidentsCreated,
        /// Alerts written.
        AlertsRaised,
        /// Posts that the webhook did not take; each may stand for many alerts.
        PostsFailed,
        /// Dead letters that a replay was asked for.
        ReplayMatched,
        /// Dead letters that a replay sent back.
        ReplayPublished,
        /// Dead letters that a replay left where they are, for a reason that its answer tells.
        ReplaySkipped,
        /// Dead letters that the broker did not take back, or that are gone.
        ReplayFailed,
        /// Replays that broker or store stopped, or did not let begin.
        ReplaysBroken,
    }
}

metrics! {
    /// What is measured in milliseconds, one value for each time it happened.
    Time, "Milliseconds" {
        /// From when a record was due until its turn came: from its own time, and on a retry stage its delay later.
        Lateness,
        /// The whole exchange of a charge with the provider, until its limit at most.
        ChargeLatency,
        /// The whole exchange of a question to the provider.
        AskLatency,
        /// Since the oldest dead letter died that is transient and that no replay has sent back, of those that a dry run met.
        UnreplayedTransientAge,
        /// The same of those that are permanent, or do not tell what they are.
        UnreplayedOtherAge,
    }
}

/// Returns every metric that there is.
pub fn definitions() -> Vec<Definition> {
    let by_function = |name, unit| Definition {
        name,
        unit,
        dimensions: BY_FUNCTION,
    };
    let counts = Count::ALL
        .iter()
        .map(|count| by_function(count.name(), Count::UNIT));
    let times = Time::ALL
        .iter()
        .map(|time| by_function(time.name(), Time::UNIT));
    let failures = Definition {
        name: FAILURES,
        unit: Count::UNIT,
        dimensions: BY_FAILURE,
    };
    counts.chain(times).chain([failures]).collect()
}
