//! Commands that take ids, and those that only report on them.

use leafid::Segment;

use super::{Ends, Outcome, Turn, Wanted, decode};
use crate::frontends::resp::args::Args;
use crate::frontends::resp::reply::{Form, Reply};
use crate::service::{Issued, IssuedId, ServiceError, ShardChoice};

const BAD_TAG: &str = "ERR bad_tag a tag is a text in UTF-8";
const BAD_KEY: &str = "ERR bad_field a shard key is a text in UTF-8";
const NOT_UPWARDS: &str = "ERR bad_count a range of ids has a length of at least 1: the numbers of \
                           a tag never go back, or ids would come twice";

pub(super) fn incr(turn: &mut Turn<'_>, args: Args<'_>) -> Outcome {
    issue(turn, args, Form::Number)
}

pub(super) fn incrby(turn: &mut Turn<'_>, args: Args<'_>) -> Outcome {
    match args.number(2) {
        Some(1) => issue(turn, args, Form::Number),
        Some(length) => take(turn, args, length, Ends::Last),
        None => turn.not_an_integer(),
    }
}

pub(super) fn range(turn: &mut Turn<'_>, args: Args<'_>) -> Outcome {
    match args.number(2) {
        Some(length) => take(turn, args, length, Ends::Both),
        None => turn.not_an_integer(),
    }
}

pub(super) fn next(turn: &mut Turn<'_>, args: Args<'_>) -> Outcome {
    if args.len() == 2 {
        return issue(turn, args, Form::Bulk);
    }
    if args.len() > 3 {
        return next_in_shard(turn, args);
    }
    let Some(count) = args.number(2) else {
        return turn.not_an_integer();
    };
    let (Ok(count), Ok(tag)) = (u64::try_from(count), tag(args)) else {
        return refuse(turn, args);
    };
    let service = &turn.context.service;
    match service.try_next_many(&turn.state.caller, tag, count) {
        Ok(issued) => several(&mut turn.reply, &issued),
        Err(error) if error.is_worth_waiting() => {
            let tag = tag.to_owned();
            return Outcome::Wait(Wanted::Several { tag, count });
        }
        Err(error) => return turn.fail_of(&error, 1),
    }
    Outcome::Done
}

/// `ID.NEXT tag [count] SHARD shard`, or with `SHARDKEY key`.
fn next_in_shard(turn: &mut Turn<'_>, args: Args<'_>) -> Outcome {
    let (count, at) = match args.len() {
        4 => (None, 2),
        5 => (Some(args.number(2)), 3),
        _ => return turn.syntax_error(),
    };
    let shard = if args.is(at, "SHARD") {
        let number = args.number(at + 1).map(u32::try_from);
        let Some(Ok(number)) = number else {
            return turn.not_an_integer();
        };
        ShardChoice::Number(number)
    } else if args.is(at, "SHARDKEY") {
        match str::from_utf8(args.get(at + 1)) {
            Ok(key) => ShardChoice::Key(key.to_owned()),
            Err(_) => return turn.fail(BAD_KEY),
        }
    } else {
        return turn.syntax_error();
    };
    let count = match count {
        None => None,
        Some(None) => return turn.not_an_integer(),
        Some(Some(count)) => Some(u64::try_from(count)),
    };
    let (Ok(count), Ok(tag)) = (count.transpose(), tag(args)) else {
        return refuse(turn, args);
    };
    let tag = tag.to_owned();
    Outcome::Wait(Wanted::InShard { tag, count, shard })
}

pub(super) fn get(turn: &mut Turn<'_>, args: Args<'_>) -> Outcome {
    let Ok(tag) = tag(args) else {
        return turn.fail(BAD_TAG);
    };
    let service = &turn.context.service;
    if let Err(error) = service.access().check_look(&turn.state.caller, Some(tag)) {
        return turn.fail_of(&error, 1);
    }
    match service.last(tag) {
        Some(id) => one(&mut turn.reply, &id, Form::Bulk),
        None => turn.reply.null(),
    }
    Outcome::Done
}

fn tag<'a>(args: Args<'a>) -> Result<&'a str, std::str::Utf8Error> {
    std::str::from_utf8(args.get(1))
}

/// Refuses a command with an invalid count or tag.
fn refuse(turn: &mut Turn<'_>, args: Args<'_>) -> Outcome {
    turn.fail(match tag(args) {
        Ok(_) => NOT_UPWARDS,
        Err(_) => BAD_TAG,
    })
}

/// Issues one id to each of the repeated commands.
fn issue(turn: &mut Turn<'_>, args: Args<'_>, form: Form) -> Outcome {
    let Ok(tag) = tag(args) else {
        return turn.fail_each(BAD_TAG);
    };
    match from_memory(turn, tag, turn.times, form) {
        Ok(()) => Outcome::Done,
        Err((count, error)) if error.is_worth_waiting() => {
            let tag = tag.to_owned();
            Outcome::Wait(Wanted::Ids { tag, count, form })
        }
        Err((count, error)) => turn.fail_of(&error, count),
    }
}

/// Issues what memory holds; returns how many are missing, and why.
fn from_memory(
    turn: &mut Turn<'_>,
    tag: &str,
    count: u64,
    form: Form,
) -> Result<(), (u64, ServiceError)> {
    let (service, caller) = (&turn.context.service, &turn.state.caller);
    // Each command counts against a quota separately, unlike one call for many ids.
    if count > 1 && !service.access().has_quota(caller, tag) {
        match service.try_next_many(caller, tag, count) {
            Ok(issued) => {
                each(&mut turn.reply, &issued, form);
                return Ok(());
            }
            // One refusal counts for all of them: the others are not asked again.
            Err(error) if error.is_refusal() => return Err((count, error)),
            Err(_) => {}
        }
    }
    // Fewer are available, or only one is wanted: one by one.
    for given in 0..count {
        match service.try_next(caller, tag) {
            Ok(id) => one(&mut turn.reply, &id, form),
            Err(error) => return Err(turn.stopped(error, count - given)),
        }
    }
    Ok(())
}

/// Issues a range of ids.
fn take(turn: &mut Turn<'_>, args: Args<'_>, length: i64, ends: Ends) -> Outcome {
    let (Ok(length @ 1..), Ok(tag)) = (u64::try_from(length), tag(args)) else {
        return refuse(turn, args);
    };
    match turn
        .context
        .service
        .try_take(&turn.state.caller, tag, length)
    {
        Ok(run) => answer_run(&mut turn.reply, run, ends),
        Err(error) if error.is_worth_waiting() => {
            let tag = tag.to_owned();
            return Outcome::Wait(Wanted::Run { tag, length, ends });
        }
        Err(error) => return turn.fail_of(&error, 1),
    }
    Outcome::Done
}

/// Waits for ids or for a tag, and answers.
pub(in crate::frontends::resp) async fn wait(turn: &mut Turn<'_>, wanted: Wanted) {
    let (service, caller) = (&turn.context.service, &turn.state.caller);
    match wanted {
        Wanted::Ids { tag, count, form } => {
            if let Err((missing, error)) = wait_for_each(turn, &tag, count, form).await {
                turn.fail_of(&error, missing);
            }
        }
        Wanted::Several { tag, count } => match service.next_many(caller, &tag, count).await {
            Ok(issued) => several(&mut turn.reply, &issued),
            Err(error) => drop(turn.fail_of(&error, 1)),
        },
        Wanted::Run { tag, length, ends } => match service.take(caller, &tag, length).await {
            Ok(run) => answer_run(&mut turn.reply, run, ends),
            Err(error) => drop(turn.fail_of(&error, 1)),
        },
        Wanted::InShard { tag, count, shard } => {
            wait_in_shard(turn, &tag, count, &shard).await;
        }
        Wanted::Decoded { tag, id } => decode::wait(turn, &tag, &id).await,
    }
}

async fn wait_in_shard(turn: &mut Turn<'_>, tag: &str, count: Option<u64>, shard: &ShardChoice) {
    let (service, caller) = (&turn.context.service, &turn.state.caller);
    let issuing = async {
        let caller = service.in_shard(caller, tag, shard).await?;
        service.next_many(&caller, tag, count.unwrap_or(1)).await
    };
    match (issuing.await, count) {
        (Ok(issued), None) => each(&mut turn.reply, &issued, Form::Bulk),
        (Ok(issued), Some(_)) => several(&mut turn.reply, &issued),
        (Err(error), _) => drop(turn.fail_of(&error, 1)),
    }
}

/// Issues what can be had; returns how many are missing, and why.
async fn wait_for_each(
    turn: &mut Turn<'_>,
    tag: &str,
    count: u64,
    form: Form,
) -> Result<(), (u64, ServiceError)> {
    let (service, caller) = (&turn.context.service, &turn.state.caller);
    if !service.access().has_quota(caller, tag) {
        match service.next_many(caller, tag, count).await {
            Ok(issued) => {
                each(&mut turn.reply, &issued, form);
                return Ok(());
            }
            // The deadline has passed.
            Err(error) if error.is_worth_waiting() => return from_memory(turn, tag, count, form),
            Err(error) if error.is_refusal() => return Err((count, error)),
            // Fewer are available, such as near the tag's limit: one by one.
            Err(_) => {}
        }
    }
    for given in 0..count {
        match service.next(caller, tag).await {
            Ok(id) => one(&mut turn.reply, &id, form),
            Err(error) => return Err(turn.stopped(error, count - given)),
        }
    }
    Ok(())
}

/// Writes one id. A text is a bulk string whatever the command: Redis has no other form for it.
fn one(reply: &mut Reply<'_>, id: &IssuedId, form: Form) {
    match id {
        IssuedId::Number(id) => reply.run(id.get(), 1, form),
        IssuedId::Text(text) => reply.bulk(text.as_bytes()),
    }
}

/// Writes each id as an answer of its own.
fn each(reply: &mut Reply<'_>, issued: &Issued, form: Form) {
    match issued {
        Issued::Segment(taken) => {
            for run in taken.ranges() {
                reply.run(run.start(), run.len(), form);
            }
        }
        Issued::Snowflake(ids) => {
            for id in ids.clone() {
                reply.run(id.get(), 1, form);
            }
        }
        Issued::Texts(texts) => {
            for text in texts.iter() {
                reply.bulk(text.as_bytes());
            }
        }
    }
}

/// Writes all ids as one answer.
fn several(reply: &mut Reply<'_>, issued: &Issued) {
    reply.array(usize::try_from(issued.len()).unwrap_or(usize::MAX));
    each(reply, issued, Form::Bulk);
}

fn answer_run(reply: &mut Reply<'_>, run: Segment, ends: Ends) {
    let last = run.end() - 1;
    match ends {
        Ends::Last => reply.run(last, 1, Form::Number),
        Ends::Both => {
            reply.array(2);
            reply.bulk_number(run.start());
            reply.bulk_number(last);
        }
    }
}
