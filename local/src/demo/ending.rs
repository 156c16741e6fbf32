//! How a demo comes to its end.

use anyhow::Context;

use super::screen::Screen;

/// How a demo came to its end.
#[derive(Debug)]
pub enum Ending<T> {
    /// The whole story was told: what was seen.
    Told(T),
    /// It was broken off.
    BrokenOff,
}

/// Joins how the story ended with whether what it had made could be removed.
pub(super) fn after<T>(
    ending: anyhow::Result<T>,
    removed: anyhow::Result<()>,
    screen: &Screen,
) -> anyhow::Result<T> {
    let removed = removed.context("the demo's topics and groups could not all be deleted");
    if let (Err(_), Err(left)) = (&ending, &removed) {
        // The command fails for another reason, which is told at its end.
        screen.wrong(&format!("{left:#}"));
    }
    let ending = ending?;
    removed?;
    Ok(ending)
}
