//! Remediation: what a caller can do about an error, in the same words over HTTP and gRPC. Each
//! front end provides the names of its calls and fields, as a [`Wording`].

use std::borrow::Cow;

use leafid::store::{StoreError, TagField};
use leafid::{IssueError, Permanent, TransientReason};

use super::code::Code;
use super::error::ServiceError;

/// The terms of a protocol in remediations.
#[derive(Debug)]
pub(crate) struct Wording {
    /// Where the time to retry is.
    pub(crate) retry_after: &'static str,
    /// The syntax of a tag.
    pub(crate) tag: &'static str,
    /// The syntax of a token.
    pub(crate) token: &'static str,
    /// The syntax of a layout.
    pub(crate) layout: &'static str,
    /// The calls for these actions.
    pub(crate) create_tag: &'static str,
    pub(crate) update_tag: &'static str,
    pub(crate) take_ids: &'static str,
    /// What a setting of a tag is called in requests.
    pub(crate) tag_field: fn(TagField) -> &'static str,
}

impl ServiceError {
    /// The field of the request that is wrong.
    pub(crate) fn field(&self, wording: &Wording) -> Option<&'static str> {
        match self {
            Self::BadCount { field, .. } => Some(field),
            Self::Issue(IssueError::Permanent(Permanent::BadTag(_))) => Some("tag"),
            Self::NextBehind { .. } => Some((wording.tag_field)(TagField::Next)),
            Self::Decompose(_) => Some("id"),
            Self::Store(StoreError::BadField(error)) => Some((wording.tag_field)(error.field)),
            _ => None,
        }
    }

    /// What to do about it.
    pub(crate) fn remediation(&self, wording: &Wording) -> Cow<'static, str> {
        match self {
            Self::SegmentOff => "set segment = true, or ask another server".into(),
            Self::SnowflakeOff => "set snowflake = true, or ask another server".into(),
            Self::BadCount { field, max, .. } => {
                format!("send {field} as a whole number from 1 to {max}").into()
            }
            Self::Store(StoreError::BadField(error)) => {
                let field = (wording.tag_field)(error.field);
                format!("send {field} as {}", error.wanted).into()
            }
            Self::Issue(IssueError::Transient(transient))
                if matches!(transient.reason, TransientReason::TooManyTags(_)) =>
            {
                "use a tag that is in use already, or raise tags-max".into()
            }
            Self::MayNotCreate { .. } => {
                let create_tag = wording.create_tag;
                format!("use a token with admin = true, or have the tag created with {create_tag}")
                    .into()
            }
            Self::Decompose(_) => {
                let layout = wording.layout;
                format!("name the layout that the id was made with, as {layout}").into()
            }
            other => other.code().remediation(wording),
        }
    }
}

impl Code {
    /// What to do about an error of which no more is known.
    pub(crate) fn remediation(self, wording: &Wording) -> Cow<'static, str> {
        let Wording {
            retry_after,
            tag,
            token,
            create_tag,
            update_tag,
            take_ids,
            ..
        } = wording;
        let retry = format_args!("try again when {retry_after} has passed");
        match self {
            Self::BadCount => "ask for fewer ids, at least 1".into(),
            Self::BadField => "send another value".into(),
            Self::BadTag => format!("name {tag}").into(),
            Self::NoToken => format!("send {token}").into(),
            Self::BadToken => "send the secret of one of the tokens in the access file".into(),
            Self::NotAdmin => "use a token with admin = true".into(),
            Self::NotAllowed => {
                "use a token whose scope and tags in the access file allow it".into()
            }
            Self::UnknownTag => format!("create it with {create_tag}").into(),
            Self::UnknownToken => "see the access file for the names of tokens".into(),
            Self::UnknownWorker => "see GET /v1/workers for the worker ids that were held".into(),
            Self::TagExists => {
                format!("change it with {update_tag}, or choose another name").into()
            }
            Self::LimitReached => {
                format!("raise the tag's limit with {update_tag}, or use another tag").into()
            }
            Self::NextBehind => "choose a larger number".into(),
            Self::SnowflakeTag => {
                format!("take its ids with {take_ids}, or create another tag of kind segment")
                    .into()
            }
            Self::WorkerAlive => "stop that server, and it gives the worker id back".into(),
            Self::WorkerHeld => {
                "wait until its lease ends: then any server can claim it".into()
            }
            Self::ClockAhead => "wait until the clock has reached that time, or set worker-id to one that no server had, and start again".into(),
            Self::WorkerChanged => "see GET /v1/workers for its present holder".into(),
            Self::TooManyQuotas => {
                "remove another tag's quota with DELETE /v1/quotas/tags/{tag}".into()
            }
            Self::OverQuota => format!("{retry}, or raise the quota").into(),
            Self::TooManyNewTags => {
                format!("{retry}, create the tag with {create_tag}, or raise create-tags-per-minute")
                    .into()
            }
            Self::BadRow => "repair the tag's row in the store".into(),
            Self::LayoutEnded => {
                "set layout to one with more bits of time, or with a later epoch".into()
            }
            Self::Unsupported => "set the store up as the error says".into(),
            Self::ModeOff => "ask another server".into(),
            Self::NotYet => retry.to_string().into(),
            Self::NoWorker | Self::StoreUnavailable => {
                format!("{retry}; if it persists, see /readyz?verbose and the server's log").into()
            }
            Self::ClockBehind => format!("{retry}, or set clock-policy = borrow").into(),
            Self::ShuttingDown => {
                "ask another server, or this one again once it is restarted".into()
            }
            Self::Overloaded => format!("{retry}, or ask another server").into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use leafid::Layout;

    use super::*;

    const WORDING: Wording = Wording {
        retry_after: "THE TIME",
        tag: "A TAG",
        token: "A TOKEN",
        layout: "LAYOUT",
        create_tag: "CREATE",
        update_tag: "UPDATE",
        take_ids: "TAKE",
        tag_field: TagField::name,
    };

    #[test]
    fn a_remediation_is_in_the_words_of_its_protocol() {
        let check = |code: Code, expected: &str| assert_eq!(code.remediation(&WORDING), expected);
        check(Code::BadTag, "name A TAG");
        check(Code::NoToken, "send A TOKEN");
        check(Code::UnknownTag, "create it with CREATE");
        check(
            Code::TagExists,
            "change it with UPDATE, or choose another name",
        );
        check(
            Code::LimitReached,
            "raise the tag's limit with UPDATE, or use another tag",
        );
        check(
            Code::SnowflakeTag,
            "take its ids with TAKE, or create another tag of kind segment",
        );
        check(Code::NotYet, "try again when THE TIME has passed");
        let decompose = Layout::LEAF.try_decompose(u64::MAX).unwrap_err();
        assert_eq!(
            ServiceError::Decompose(decompose).remediation(&WORDING),
            "name the layout that the id was made with, as LAYOUT"
        );
    }

    /// Guards the style of error texts.
    #[test]
    fn every_code_has_a_remediation() {
        for code in Code::ALL {
            let remediation = code.remediation(&WORDING);
            assert!(remediation.starts_with(|first: char| first.is_ascii_lowercase()));
            assert!(!remediation.ends_with('.'), "{code}: {remediation}");
        }
    }
}
