//! What stands before each try of a request.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

/// Lets the tries of a request out, one by one: the first, and each further one that a policy, or a server that takes
/// only the plainer form, asks for.
pub trait Gate: Send + Sync {
    /// Comes back when one more try may go out, or may not.
    fn pass(&self) -> Passing<'_>;
}

/// Comes later.
pub type Passing<'a> = Pin<Box<dyn Future<Output = Result<(), Held>> + Send + 'a>>;

/// A try that may not go out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// Why, as a sentence for whoever asked.
    pub message: String,
    /// When it would be let out.
    pub retry_after: Duration,
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
