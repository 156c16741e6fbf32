//! The pages of AWS's documentation that rows cite.

use crate::row::Source;

/// What the page on Kafka says, or its section of that name.
pub(super) const fn kafka(says: &'static str) -> Source {
    Source::Aws {
        page: "AWS Lambda developer guide, \"Configuring error handling controls for Kafka event sources\"",
        says,
    }
}

/// What the page on Kinesis says, taken to hold for Kafka where the page on Kafka is silent.
pub(super) const fn streams(says: &'static str) -> Source {
    Source::Aws {
        page: "AWS Lambda developer guide, \"Configuring partial batch response with Kinesis Data Streams and Lambda\"",
        says,
    }
}

/// As [`streams`], on records that are given up.
pub(super) const fn discarded(says: &'static str) -> Source {
    Source::Aws {
        page: "AWS Lambda developer guide, \"Retain discarded batch records for a Kinesis Data Streams event source in Lambda\"",
        says,
    }
}

pub(super) const fn batching(says: &'static str) -> Source {
    Source::Aws {
        page: "AWS Lambda developer guide, \"How Lambda processes records from stream and queue-based event sources\"",
        says,
    }
}

pub(super) const fn starting(says: &'static str) -> Source {
    Source::Aws {
        page: "AWS Lambda developer guide, \"Apache Kafka polling and stream starting positions in Lambda\"",
        says,
    }
}

pub(super) const fn group(says: &'static str) -> Source {
    Source::Aws {
        page: "AWS Lambda developer guide, \"Customizable consumer group ID in Lambda\"",
        says,
    }
}

pub(super) const fn pollers(says: &'static str) -> Source {
    Source::Aws {
        page: "AWS Lambda developer guide, \"Apache Kafka event poller scaling modes in Lambda\"",
        says,
    }
}

pub(super) const fn quotas(says: &'static str) -> Source {
    Source::Aws {
        page: "AWS Lambda developer guide, \"Lambda quotas\"",
        says,
    }
}
