//! `Transcript`: the output of a program, step by step.

use serde_json::Value;

use super::program::Library;

#[derive(Debug)]
pub(super) struct Transcript {
    library: Library,
    lines: Vec<Value>,
}

impl Transcript {
    pub(super) fn new(library: Library, lines: Vec<Value>) -> Self {
        Self { library, lines }
    }

    /// The result of a step, which must be this.
    pub(super) fn check(&self, step: &str, expected: &Value) {
        let line = self.line(step);
        let value = line.get("value");
        assert_eq!(value, Some(expected), "{:?}: {line}", self.library);
    }

    /// Whether a step succeeded, whatever its result.
    pub(super) fn has_value(&self, step: &str) -> bool {
        self.line(step).get("value").is_some()
    }

    /// The error of a step.
    pub(super) fn error(&self, step: &str) -> &Value {
        let line = self.line(step);
        let error = line.get("error");
        error.unwrap_or_else(|| panic!("{:?}: no error in {line}", self.library))
    }

    /// The three values of a step.
    pub(super) fn three(&self, step: &str) -> [&Value; 3] {
        let line = self.line(step);
        let values = line["value"].as_array().map(|values| values.iter());
        let values: Option<Vec<&Value>> = values.map(Iterator::collect);
        let three = values.and_then(|values| values.try_into().ok());
        three.unwrap_or_else(|| panic!("{:?}: not three values in {line}", self.library))
    }

    /// An error of a command: with the library's type for them, and these words.
    pub(super) fn check_error(&self, error: &Value, words: &[&str]) {
        let name = match self.library {
            Library::RedisPy => "ResponseError",
            Library::NodeRedis | Library::Ioredis => "SimpleError",
            Library::GoRedis => "proto.RedisError",
            Library::Jedis => "JedisDataException",
            Library::Lettuce => "RedisCommandExecutionException",
        };
        self.check_type_and_words(error, name, words);
    }

    /// The same of a connection that is refused.
    pub(super) fn check_refusal(&self, error: &Value, words: &[&str]) {
        let name = match self.library {
            Library::RedisPy => "AuthenticationError",
            Library::NodeRedis | Library::Ioredis => "SimpleError",
            Library::GoRedis => "proto.RedisError",
            Library::Jedis => "JedisAccessControlException",
            Library::Lettuce => "RedisConnectionException",
        };
        self.check_type_and_words(error, name, words);
    }

    fn check_type_and_words(&self, error: &Value, name: &str, words: &[&str]) {
        assert_eq!(error["type"], name, "{:?}: {error}", self.library);
        let text = error["text"].as_str().unwrap_or_default();
        for word in words {
            assert!(
                text.contains(word),
                "{:?}: no {word} in {error}",
                self.library
            );
        }
    }

    /// The protocol that the server reports. Libraries return its answer as a map, or as a list of
    /// names and values.
    pub(super) fn protocol(&self) -> &str {
        let line = self.line("hello");
        let answer = &line["value"];
        let in_list = || {
            let list = answer.as_array()?;
            let at = list.iter().position(|word| word == "proto")?;
            list.get(at + 1)
        };
        let protocol = answer.get("proto").or_else(in_list);
        let protocol = protocol.and_then(Value::as_str);
        protocol.unwrap_or_else(|| panic!("{:?}: no protocol in {line}", self.library))
    }

    /// All ids of a program that takes some.
    pub(super) fn ids(&self) -> Vec<u64> {
        let text = |id: &Value| id.as_str().unwrap().parse().unwrap();
        let lists = self.lines.iter().map(|line| line["value"].as_array());
        let list = |list: Option<&Vec<Value>>| -> Vec<u64> {
            let list = list.unwrap_or_else(|| panic!("no ids in {self:?}"));
            list.iter().map(text).collect()
        };
        lists.flat_map(list).collect()
    }

    fn line(&self, step: &str) -> &Value {
        let mut lines = self.lines.iter();
        let line = lines.find(|line| line["step"] == step);
        line.unwrap_or_else(|| panic!("no step {step} in {self:?}"))
    }
}
