//! The table of supported commands. The most frequent come first, as the search starts at the top.

use super::{Command, Group, Kind};
use super::{client, config, decode, greeting, help, ids, server, transaction};

const fn command(name: &'static str, arity: i32, kind: Kind, group: Group) -> Command {
    Command {
        name,
        arity,
        kind,
        group,
        usage: "",
        summary: "",
        run: help::help,
        words: &[],
    }
}

/// One row: name, arity, kind, group, arguments, summary, function, and the second words.
macro_rules! row {
    ($name:literal $arity:literal $kind:ident $group:ident $usage:literal $summary:literal
     $run:expr $(, $words:expr)?) => {
        Command {
            usage: $usage,
            summary: $summary,
            run: $run,
            $(words: $words,)?
            ..command($name, $arity, Kind::$kind, Group::$group)
        }
    };
}

/// Every command.
pub(in crate::frontends::resp) const COMMANDS: &[Command] = &[
    row!("incr" 2 Taking Ids "tag" "Take the next id of a tag" ids::incr),
    row!("incrby" 3 Taking Ids "tag count"
        "Take a range of adjacent ids of a tag; the answer is the last of them" ids::incrby),
    row!("id.next" -2 Taking Ids "tag [count] [SHARD shard | SHARDKEY key]"
        "Take the next id of a tag, or several, as strings" ids::next),
    row!("id.range" 3 Taking Ids "tag length"
        "Take a range of adjacent ids of a tag; the answer is the first and the last" ids::range),
    row!("get" 2 Asking Ids "tag" "The last id of a tag that this server issued" ids::get),
    row!("id.decode" -2 Plain Ids "id [layout | TAG tag]"
        "What an id says: by a layout, by its tag, or by what it looks like" decode::decode),
    row!("ping" -1 Plain Connection "[message]" "Whether the server answers" greeting::ping),
    row!("multi" 1 InTransaction Transactions "" "Begin a transaction" transaction::multi),
    row!("exec" 1 InTransaction Transactions "" "Execute a transaction" transaction::exec),
    row!("discard" 1 InTransaction Transactions "" "Discard a transaction"
        transaction::discard),
    row!("unwatch" 1 Plain Transactions "" "Does nothing: nothing is ever watched"
        transaction::unwatch),
    row!("hello" -1 BeforeAuth Connection "[protover [AUTH username token] [SETNAME name]]"
        "Choose the protocol, and authenticate" greeting::hello),
    row!("auth" -2 BeforeAuth Connection "[username] token" "Authenticate" greeting::auth),
    row!("echo" 2 Plain Connection "message" "The message" greeting::echo),
    row!("select" 2 Plain Connection "index" "There is one database, 0" greeting::select),
    row!("client" -2 Plain Connection "" "Settings of this connection" help::help, CLIENT),
    row!("command" -1 Plain Server "" "Describe all commands" server::command, COMMAND),
    row!("config" -2 Plain Server "" "Settings that Redis clients look for" help::help, CONFIG),
    row!("info" -1 Plain Server "[section [section ...]]" "Version and state of the server" server::info),
    row!("time" 1 Plain Server "" "The server's clock" server::time),
    row!("quit" -1 Always Connection "" "End the connection" greeting::quit),
    row!("reset" 1 Always Connection "" "Reset the connection, as if just connected" greeting::reset),
];

const CLIENT: &[Command] = &[
    row!("client|id" 2 Plain Connection "" "The number of this connection" client::id),
    row!("client|getname" 2 Plain Connection "" "The name of this connection" client::name),
    row!("client|setname" 3 Plain Connection "name" "Name this connection" client::set_name),
    row!("client|setinfo" 4 Plain Connection "LIB-NAME|LIB-VER value" "Name the client's library"
        client::set_library),
    row!("client|info" 2 Plain Connection "" "This connection in one line" client::describe),
    row!("client|list" -2 Plain Connection "[TYPE type] [ID id [id ...]]"
        "This connection in one line; other connections are not listed" client::list),
    row!("client|reply" 3 Plain Connection "ON|OFF|SKIP" "Turn replies on or off"
        client::reply),
    row!("client|no-evict" 3 Plain Connection "ON|OFF" "Does nothing: nothing is evicted"
        client::on_or_off),
    row!("client|no-touch" 3 Plain Connection "ON|OFF" "Does nothing: nothing is evicted"
        client::on_or_off),
    row!("client|getredir" 2 Plain Connection "" "-1: nothing is tracked" client::redirection),
    row!("client|help" 2 Plain Connection "" "This text" help::help),
];

const COMMAND: &[Command] = &[
    row!("command|count" 2 Plain Server "" "The number of commands" server::count),
    row!("command|docs" -2 Plain Server "[name [name ...]]" "Documentation of commands" server::docs),
    row!("command|getkeys" -4 Plain Server "command [arg ...]" "The tag in a command"
        server::keys),
    row!("command|info" -2 Plain Server "[name [name ...]]" "Arity and flags of commands"
        server::describe),
    row!("command|list" -2 Plain Server "" "The names of all commands" server::list),
    row!("command|help" 2 Plain Server "" "This text" help::help),
];

const CONFIG: &[Command] = &[
    row!("config|get" -3 Plain Server "pattern [pattern ...]" "Settings by the names of Redis"
        config::get),
    row!("config|set" -4 Plain Server "name value" "Refused: settings cannot be changed over the Redis protocol"
        config::set),
    row!("config|help" 2 Plain Server "" "This text" help::help),
];
