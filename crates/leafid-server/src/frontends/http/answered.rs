//! `Answered`: what a route returns.

use super::answer::Answer;
use super::problem::Problem;

/// What a route returns. The caller of the route knows which form of error its clients expect.
pub(crate) type Answered = Result<Answer, Problem>;
