//! What keeps resolving finite: circles are found, depth and effort are bounded.

use std::cell::{Cell, RefCell};

use super::super::place::Place;
use super::super::problem::{Fault, Found, cut};

/// How deep expressions may go through functions, conditions and resources.
const DEEPEST: usize = 100;

/// How many steps a template may take in all: thousands of times what one needs that people write.
const STEPS: usize = 500_000;

/// The way to what is being resolved.
#[derive(Debug)]
pub(super) struct Trail {
    depth: Cell<usize>,
    steps_left: Cell<usize>,
    is_exhausted: Cell<bool>,
    /// The conditions and resources that are being resolved.
    names: RefCell<Vec<String>>,
}

impl Default for Trail {
    fn default() -> Self {
        Self {
            depth: Cell::new(0),
            steps_left: Cell::new(STEPS),
            is_exhausted: Cell::new(false),
            names: RefCell::default(),
        }
    }
}

impl Trail {
    /// Takes a step down, until the returned value is dropped.
    pub(super) fn deeper(&self, place: &Place) -> Found<impl Drop + use<'_>> {
        let depth = self.depth.get();
        if depth >= DEEPEST {
            let what = format!("goes through more than {DEEPEST} functions and references");
            return Err(Fault::wrong(place, what));
        }
        self.spend(1)?;
        self.depth.set(depth.saturating_add(1));
        Ok(Back(move || self.depth.set(depth)))
    }

    /// Takes a step to a condition or a resource by its name, until the returned value is dropped.
    pub(super) fn enter(&self, place: &Place, name: &str) -> Found<impl Drop + use<'_>> {
        if let Some(circle) = self.circle(name) {
            return Err(Fault::wrong(place, circle));
        }
        self.names.borrow_mut().push(name.to_owned());
        Ok(Back(|| {
            self.names.borrow_mut().pop();
        }))
    }

    fn circle(&self, name: &str) -> Option<String> {
        let names = self.names.borrow();
        let start = names.iter().position(|other| other == name)?;
        let circle: Vec<String> = names.iter().skip(start).map(|name| cut(name)).collect();
        Some(format!(
            "{} depends on itself: {}",
            cut(name),
            circle.join(" > ")
        ))
    }

    /// Counts work that was done.
    pub(super) fn spend(&self, steps: usize) -> Found<()> {
        if let Some(left) = self.steps_left.get().checked_sub(steps) {
            self.steps_left.set(left);
            return Ok(());
        }
        self.is_exhausted.set(true);
        Err(Self::exhausted())
    }

    /// Says that the template takes too much work, if it did.
    pub(super) fn check(&self) -> Found<()> {
        if self.is_exhausted.get() {
            return Err(Self::exhausted());
        }
        Ok(())
    }

    fn exhausted() -> Fault {
        let what = "the template takes too much work to resolve";
        Fault::wrong(&Place::default(), what)
    }
}

/// Does something when it is dropped.
struct Back<F: FnMut()>(F);

impl<F: FnMut()> Drop for Back<F> {
    fn drop(&mut self) {
        self.0();
    }
}
