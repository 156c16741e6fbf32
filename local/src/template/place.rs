//! Where something stands in a template: its line, and its path from the top.

use std::fmt;
use std::rc::Rc;

use super::problem::cut;

/// A line and a path.
#[derive(Clone, Debug, Default)]
pub(super) struct Place {
    /// From 1; 0 is the template as a whole.
    pub(super) line: usize,
    pub(super) path: Path,
}

/// The keys and indexes that lead to a node; cheap to clone.
///
/// Arguments of functions do not lengthen it: it names the property, not the place in an expression.
#[derive(Clone, Debug, Default)]
pub(super) struct Path(Option<Rc<Link>>);

#[derive(Debug)]
struct Link {
    parent: Path,
    segment: Segment,
}

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Segment {
    /// Into a map.
    Key(Rc<str>),
    /// Into a list.
    Index(usize),
}

impl Place {
    /// Returns the place of something below, on a line of its own.
    pub(super) fn below(&self, line: usize, segment: Segment) -> Self {
        Self {
            line,
            path: self.path.push(segment),
        }
    }
}

impl Path {
    /// Returns the path of something below.
    pub(super) fn push(&self, segment: Segment) -> Self {
        Self(Some(Rc::new(Link {
            parent: self.clone(),
            segment,
        })))
    }

    /// Returns the last step.
    pub(super) fn last(&self) -> Option<&Segment> {
        self.0.as_ref().map(|link| &link.segment)
    }

    /// Tells whether both are one path of one tree.
    pub(super) fn is(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (None, None) => true,
            (Some(this), Some(other)) => Rc::ptr_eq(this, other),
            (None, Some(_)) | (Some(_), None) => false,
        }
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(link) = &self.0 else { return Ok(()) };
        write!(f, "{}", link.parent)?;
        match &link.segment {
            Segment::Index(index) => write!(f, "[{index}]"),
            Segment::Key(key) if link.parent.0.is_none() => write!(f, "{}", cut(key)),
            Segment::Key(key) => write!(f, ".{}", cut(key)),
        }
    }
}
