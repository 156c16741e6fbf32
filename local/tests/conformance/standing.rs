//! Where a mapping says that it stands.
