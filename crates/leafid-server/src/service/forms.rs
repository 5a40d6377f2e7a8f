//! Ids of tags with a format, of calendar counters and of families: numbers become texts here.

use std::sync::Arc;
use std::time::Duration;

use leafid::format::{Form, FormatContext, FormatError, IdFormat, Period, Radix, TextGenerator};
use leafid::{Id, IssueError, OtherKind, Permanent, Tag, WorkerId};

use super::period_numbers::{no_format, numbers_of};
use super::texts::Texts;
use super::{Caller, Issued, IssuedId, Service, ServiceError};

/// Most texts of ids are shorter.
const TEXT_LEN: usize = 40;

/// A calendar counter at one moment: its format, and the present period.
pub(super) struct Counter {
    pub(super) period: Period,
    format: Arc<dyn IdFormat>,
    context: FormatContext,
}

impl Counter {
    /// The label of the period at a time before the present one.
    pub(super) fn label_before(&self, before: Duration) -> Option<u64> {
        let before_ms = u64::try_from(before.as_millis()).ok()?;
        let unix_ms = self.context.unix_ms.checked_sub(before_ms)?;
        Some(self.format.period(unix_ms)?.label)
    }

    /// The tag of the period, which has the segments. Its memory may later hold the id.
    fn tag(&self, tag: &str) -> String {
        let mut name = String::with_capacity(TEXT_LEN);
        name.push_str(tag);
        name.push('@');
        Radix::Decimal.push(self.period.label, 0, &mut name);
        name
    }

    fn write(&self, id: Id, text: &mut String) -> Result<(), FormatError> {
        self.format.write(self.number(id)?, &self.context, text)
    }

    /// The number that the format writes for the number of the period's own sequence. The period's
    /// tag may have been moved by hand, or created by others with another limit: one above the
    /// period's last would be a number of the next period.
    fn number(&self, id: Id) -> Result<u64, FormatError> {
        let number = (self.period.first - 1).checked_add(id.get());
        let number = number.filter(|number| *number <= self.period.last);
        number.ok_or_else(|| {
            let Period { label, .. } = self.period;
            FormatError::TooLong(format!(
                "{id} is beyond the counter of the period {label}, which ends at {}: wait for the \
                 next period",
                self.period.len()
            ))
        })
    }
}

pub(super) fn cannot_write(tag: &str, error: FormatError) -> ServiceError {
    let tag = tag.to_owned();
    ServiceError::Format { tag, error }
}

impl Service {
    /// A number as it leaves the server.
    #[inline]
    pub(super) fn written(
        &self,
        tag: &str,
        id: Id,
        format: Option<&Arc<dyn IdFormat>>,
    ) -> Result<IssuedId, ServiceError> {
        let Some(format) = format else {
            return Ok(IssuedId::Number(id));
        };
        one_text(tag, id.get(), &**format, &self.format_context(&**format))
    }

    /// Numbers as they leave the server.
    pub(super) fn all_written(
        &self,
        tag: &str,
        issued: Issued,
        format: Option<&Arc<dyn IdFormat>>,
    ) -> Result<Issued, ServiceError> {
        let Some(format) = format else {
            return Ok(issued);
        };
        let context = self.format_context(&**format);
        let number = |id: Id| Ok(id.get());
        many_texts(tag, &issued, number, &**format, &context)
    }

    /// Whether a tag without segments writes its numbers in a format, as far as it was used here.
    pub(crate) fn has_format(&self, tag: &str) -> bool {
        let other = self.generators.other_kind(tag);
        other.is_some_and(|other| other.form.format().is_some())
    }

    fn format_context(&self, format: &dyn IdFormat) -> FormatContext {
        FormatContext {
            unix_ms: u64::try_from(self.clock.wall().as_millis()).unwrap_or(u64::MAX),
            worker_id: self.worker_id_for(format),
        }
    }

    /// Whether a format lacks nothing now: a number taken without it would be lost.
    pub(super) fn check_format(&self, format: &dyn IdFormat) -> Result<(), FormatError> {
        format.check(self.worker_id_for(format))
    }

    /// The worker id, for a format that writes it.
    fn worker_id_for(&self, format: &dyn IdFormat) -> Option<WorkerId> {
        let worker_id = || self.worker_status()?.lease.map(|lease| lease.worker);
        format.needs_worker_id().then(worker_id).flatten()
    }

    /// The next id of a tag without segments that is no snowflake tag, from memory.
    pub(super) fn try_text(
        &self,
        caller: &Caller,
        tag: &str,
        other: OtherKind,
    ) -> Result<IssuedId, ServiceError> {
        match &other.form {
            Form::Family(family) => {
                self.check_no_shard(caller, tag)?;
                let mut text = String::with_capacity(TEXT_LEN);
                push_next(&**family, tag, &mut text)?;
                self.charge(caller, tag, 1);
                Ok(IssuedId::Text(text))
            }
            Form::Calendar(format) => {
                let counter = self.counter(tag, format)?;
                let period = counter.tag(tag);
                let taken = self.generators.try_next_formatted(&period, no_format);
                let id = numbers_of(&period, taken).map_err(|error| self.not_begun(error))?;
                self.counted(caller, tag, &counter, id, period)
            }
            _ => Err(other.into_error(tag).into()),
        }
    }

    /// As [`try_text`](Self::try_text); waits for a segment if needed.
    pub(super) async fn wait_text(
        &self,
        caller: &Caller,
        tag: &str,
        other: OtherKind,
    ) -> Result<IssuedId, ServiceError> {
        let Form::Calendar(format) = &other.form else {
            return self.try_text(caller, tag, other);
        };
        let counter = self.counter(tag, format)?;
        let period = counter.tag(tag);
        let taking = || self.generators.next_formatted(&period, no_format);
        let id = self.or_begin(tag, &period, &counter, taking).await?;
        self.counted(caller, tag, &counter, id, period)
    }

    /// As [`try_text`](Self::try_text), for many.
    pub(super) fn try_texts(
        &self,
        caller: &Caller,
        tag: &str,
        count: u64,
        other: OtherKind,
    ) -> Result<Issued, ServiceError> {
        match &other.form {
            Form::Family(family) => {
                self.check_no_shard(caller, tag)?;
                let len = usize::try_from(count).unwrap_or(usize::MAX);
                let mut texts = Texts::with_capacity(len);
                for _ in 0..count {
                    texts.push_with(|text| push_next(&**family, tag, text))?;
                }
                self.charge(caller, tag, count);
                Ok(Issued::Texts(texts))
            }
            Form::Calendar(format) => {
                let counter = self.counter(tag, format)?;
                let period = counter.tag(tag);
                let generators = &self.generators;
                let taken = generators.try_next_many_formatted(&period, count, no_format);
                let taken = numbers_of(&period, taken).map_err(|error| self.not_begun(error))?;
                self.all_counted(caller, tag, &counter, &Issued::Segment(taken))
            }
            _ => Err(other.into_error(tag).into()),
        }
    }

    /// As [`wait_text`](Self::wait_text), for many.
    pub(super) async fn wait_texts(
        &self,
        caller: &Caller,
        tag: &str,
        count: u64,
        other: OtherKind,
    ) -> Result<Issued, ServiceError> {
        let Form::Calendar(format) = &other.form else {
            return self.try_texts(caller, tag, count, other);
        };
        let counter = self.counter(tag, format)?;
        let period = counter.tag(tag);
        let taking = || {
            let generators = &self.generators;
            generators.next_many_formatted(&period, count, no_format)
        };
        let taken = self.or_begin(tag, &period, &counter, taking).await?;
        self.all_counted(caller, tag, &counter, &Issued::Segment(taken))
    }

    /// About the most bytes that an id of the tag has, as far as this server knows the tag.
    pub(crate) fn id_len_max(&self, tag: &str) -> usize {
        /// Digits of a number.
        const NUMBER: usize = 19;
        if let Some(format) = self.generators.format(tag) {
            return format.text_len_max();
        }
        let form = self.generators.other_kind(tag).map(|other| other.form);
        match form {
            Some(Form::Family(family)) => family.text_len_max(),
            Some(form) => form.format().map_or(NUMBER, |format| format.text_len_max()),
            None => NUMBER,
        }
    }

    /// Refuses ranges and numbers of a tag whose numbers have a format.
    pub(super) fn check_plain(&self, tag: &str) -> Result<(), ServiceError> {
        match self.generators.format(tag) {
            Some(_) => Err(ServiceError::TextTag {
                tag: tag.to_owned(),
            }),
            None => Ok(()),
        }
    }

    /// Refuses single numbers of a tag that has texts.
    pub(super) fn check_number(&self, tag: &str) -> Result<(), ServiceError> {
        match self.gear_numbers {
            true => Ok(()),
            false => self.check_plain(tag),
        }
    }

    /// The time is read once, so that period, date and number go together.
    fn counter(&self, tag: &str, format: &Arc<dyn IdFormat>) -> Result<Counter, ServiceError> {
        let context = self.format_context(&**format);
        let Some(period) = format.period(context.unix_ms) else {
            let message = "the clock shows a date without a period: correct the clock";
            return Err(cannot_write(tag, FormatError::Invalid(message.to_owned())));
        };
        let checked = format.check(context.worker_id);
        checked.map_err(|error| cannot_write(tag, error))?;
        Ok(Counter {
            period,
            format: Arc::clone(format),
            context,
        })
    }

    /// The text of an id of the period, in the memory of `text`: one allocation an id.
    fn counted(
        &self,
        caller: &Caller,
        tag: &str,
        counter: &Counter,
        id: Id,
        mut text: String,
    ) -> Result<IssuedId, ServiceError> {
        self.charge(caller, tag, 1);
        text.clear();
        let written = counter.write(id, &mut text);
        written.map_err(|error| cannot_write(tag, error))?;
        Ok(IssuedId::Text(text))
    }

    /// An error of a period's tag. A period that nobody has begun is worth waiting for.
    fn not_begun(&self, error: IssueError) -> ServiceError {
        match error {
            IssueError::Permanent(Permanent::UnknownTag { tag }) => loading(tag).into(),
            error => self.refusal(error),
        }
    }

    fn all_counted(
        &self,
        caller: &Caller,
        tag: &str,
        counter: &Counter,
        issued: &Issued,
    ) -> Result<Issued, ServiceError> {
        self.charge(caller, tag, issued.len());
        let number = |id| counter.number(id);
        many_texts(tag, issued, number, &*counter.format, &counter.context)
    }
}

fn one_text(
    tag: &str,
    number: u64,
    format: &dyn IdFormat,
    context: &FormatContext,
) -> Result<IssuedId, ServiceError> {
    let mut text = String::with_capacity(TEXT_LEN);
    let written = format.write(number, context, &mut text);
    written.map_err(|error| cannot_write(tag, error))?;
    Ok(IssuedId::Text(text))
}

fn many_texts(
    tag: &str,
    issued: &Issued,
    number: impl Fn(Id) -> Result<u64, FormatError>,
    format: &dyn IdFormat,
    context: &FormatContext,
) -> Result<Issued, ServiceError> {
    let mut texts = Texts::with_capacity(usize::try_from(issued.len()).unwrap_or(0));
    for id in issued.numbers() {
        let written = texts.push_with(|text| format.write(number(id)?, context, text));
        written.map_err(|error| cannot_write(tag, error))?;
    }
    Ok(Issued::Texts(texts))
}

fn push_next(family: &dyn TextGenerator, tag: &str, text: &mut String) -> Result<(), ServiceError> {
    let pushed = family.push_next(text);
    pushed.map_err(|error| cannot_write(tag, error))
}

fn loading(tag: Tag) -> IssueError {
    super::create_on_first_use::transient(tag, leafid::TransientReason::Loading)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Limits;

    /// A calendar that has a period in 1970 only, as that of another compiler may.
    #[derive(Debug)]
    struct Of1970;

    impl IdFormat for Of1970 {
        fn write(&self, _: u64, _: &FormatContext, _: &mut String) -> Result<(), FormatError> {
            Ok(())
        }

        fn read(&self, text: &str) -> Result<u64, FormatError> {
            Err(FormatError::NotOfFormat(text.to_owned()))
        }

        fn largest(&self) -> u64 {
            9
        }

        fn period(&self, unix_ms: u64) -> Option<Period> {
            let period = Period {
                label: 1970,
                first: 1,
                last: 9,
            };
            (unix_ms < 1000).then_some(period)
        }
    }

    /// Guards that a date without a period issues nothing: a label made up for it would be one
    /// counter for all such dates.
    #[test]
    fn a_date_without_a_period_is_refused() {
        let (service, _driver) = Service::in_memory(Vec::new(), Limits::default());
        let format: Arc<dyn IdFormat> = Arc::new(Of1970);
        let Err(error) = service.counter("order", &format) else {
            panic!("a counter without a period");
        };
        assert!(error.to_string().contains("correct the clock"), "{error}");
    }
}
