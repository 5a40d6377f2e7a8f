//! Remediation: what a caller can do about an error, in the same words over HTTP and gRPC. Each
//! front end provides the names of its calls and fields, as a [`Wording`].

use std::borrow::Cow;

use leafid::format::FormatError;
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
            Self::NextBehind { .. } | Self::Store(StoreError::NextBeyond { .. }) => {
                Some((wording.tag_field)(TagField::Next))
            }
            Self::Decompose(_) => Some("id"),
            Self::NoShards { .. } | Self::Shard(_) => Some("shard"),
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
                error.remedy("send", field).into()
            }
            Self::Issue(IssueError::Transient(transient))
                if matches!(transient.reason, TransientReason::TooManyTags(_)) =>
            {
                "use a tag that is in use already, or raise tags-max".into()
            }
            Self::MayNotCreate { .. } => wording
                .fill("use a token with admin = true, or have the tag created with <create-tag>"),
            Self::Store(StoreError::FormerKind { .. }) => wording
                .fill("choose another name, or create it with <create-tag> and its former kind"),
            Self::Store(StoreError::NextBeyond { limit, .. }) => {
                let next = (wording.tag_field)(TagField::Next);
                format!(
                    "send {next} as at most {}, or raise the limit first",
                    limit.largest()
                )
                .into()
            }
            Self::PeriodSpent { .. } => wording.fill(
                "wait for the next period, or create a tag whose format has a wider number, with \
                <create-tag>",
            ),
            Self::Format {
                error: FormatError::TooLong(_),
                ..
            } => wording.fill("create a tag whose format has a wider number, with <create-tag>"),
            Self::NoShards { .. } => "leave the shard out, or name a tag of kind snowflake".into(),
            Self::Shard(_) => {
                "leave the shard out, or name one that the server's layout has".into()
            }
            Self::Decompose(_) => {
                wording.fill("name the layout that the id was made with, as <layout>")
            }
            other => other.code().remediation(wording),
        }
    }
}

impl Code {
    /// What to do about an error of which no more is known.
    pub(crate) fn remediation(self, wording: &Wording) -> Cow<'static, str> {
        wording.fill(self.remediation_text())
    }
}

impl Wording {
    /// Replaces the terms in angle brackets by those of the protocol.
    fn fill(&self, text: &'static str) -> Cow<'static, str> {
        if !text.contains('<') {
            return text.into();
        }
        let parts = text.split(['<', '>']);
        let parts = parts.map(|part| self.term(part).unwrap_or(part));
        parts.collect::<String>().into()
    }

    fn term(&self, name: &str) -> Option<&'static str> {
        Some(match name {
            "retry-after" => self.retry_after,
            "tag" => self.tag,
            "token" => self.token,
            "layout" => self.layout,
            "create-tag" => self.create_tag,
            "update-tag" => self.update_tag,
            "take-ids" => self.take_ids,
            _ => return None,
        })
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
            let terms = code.remediation_text().split(['<', '>']).skip(1).step_by(2);
            for term in terms {
                assert!(WORDING.term(term).is_some(), "{code}: {term}");
            }
        }
    }
}
