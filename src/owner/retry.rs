//! When a request to the control plane is made again.

use std::time::Duration;

use super::{error::OwnerError, reply::NO_CAPACITY};

/// Attempts in all.
const ATTEMPTS: u32 = 4;
/// A longer wait than this is the caller's decision.
const MAX_WAIT: Duration = Duration::from_secs(30);
/// Before the second attempt; doubled before each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(250);

/// What a request does to the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// It makes something: twice makes two.
    Creates,
    /// Twice is the same as once.
    Idempotent,
}

/// How long to wait before attempt `attempt + 1` (the first is 1); `None` when there shall be none.
pub(super) fn pause(effect: Effect, attempt: u32, error: &OwnerError) -> Option<Duration> {
    if attempt >= ATTEMPTS {
        return None;
    }
    let growing = FIRST_PAUSE * 2_u32.pow(attempt - 1);
    match error {
        // It never left.
        OwnerError::Unreachable(_) => Some(growing),
        // It was refused at the door. A quota of sandboxes has no such time and will not go away by itself.
        OwnerError::RateLimited { retry_after: Some(wait), .. } if *wait <= MAX_WAIT => Some((*wait).max(growing)),
        // Nothing was started anywhere, and the server asks to try again shortly.
        OwnerError::Placement { error_code, .. } if error_code == NO_CAPACITY => Some(growing * 4),
        OwnerError::AnswerLost(_) | OwnerError::Server { .. } if effect == Effect::Idempotent => Some(growing),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limited(seconds: Option<u64>) -> OwnerError {
        OwnerError::RateLimited { message: String::new(), retry_after: seconds.map(Duration::from_secs) }
    }

    fn placement(code: &str) -> OwnerError {
        OwnerError::Placement { status: 503, error_code: code.into(), message: String::new() }
    }

    #[test]
    fn c61_a_create_is_repeated_only_when_nothing_can_have_been_created() {
        let again = |error| pause(Effect::Creates, 1, &error).is_some();
        assert!(again(OwnerError::Unreachable(String::new())));
        assert!(again(limited(Some(1))));
        assert!(again(placement(NO_CAPACITY)));
        assert!(!again(OwnerError::AnswerLost(String::new())));
        assert!(!again(OwnerError::Server { status: 502, error_code: None, message: String::new() }));
        assert!(!again(placement("sandbox_placement_timeout")));
        assert!(!again(placement("sandbox_create_failed")));
    }

    #[test]
    fn c61_what_can_be_done_twice_is_repeated_after_a_lost_answer_too() {
        assert!(pause(Effect::Idempotent, 1, &OwnerError::AnswerLost(String::new())).is_some());
        assert!(pause(Effect::Idempotent, 1, &OwnerError::Unauthorized(String::new())).is_none());
    }

    #[test]
    fn c61_the_servers_own_time_is_kept_when_it_is_short() {
        assert_eq!(pause(Effect::Creates, 1, &limited(Some(7))), Some(Duration::from_secs(7)));
        assert_eq!(pause(Effect::Creates, 1, &limited(Some(0))), Some(FIRST_PAUSE));
        assert_eq!(pause(Effect::Creates, 1, &limited(Some(31))), None);
        assert_eq!(pause(Effect::Creates, 1, &limited(None)), None);
    }

    #[test]
    fn attempts_end() {
        assert!(pause(Effect::Creates, ATTEMPTS, &OwnerError::Unreachable(String::new())).is_none());
    }
}
