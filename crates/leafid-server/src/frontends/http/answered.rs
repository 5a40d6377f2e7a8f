//! `Answered`: the result of a route.

use super::answer::Answer;
use super::problem::Problem;

/// The result of a route. The caller of the route knows which form of error its clients expect.
pub(crate) type Answered = Result<Answer, Problem>;
