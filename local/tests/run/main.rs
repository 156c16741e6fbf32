//! `cargo local run` as its users start it: the real program on the embedded broker, with functions that do what a script says.

#[cfg(test)]
mod bench;
#[cfg(test)]
mod endpoint;
#[cfg(test)]
mod ends;
#[cfg(test)]
mod environment;
#[cfg(test)]
mod invocations;
#[cfg(test)]
mod usage;
