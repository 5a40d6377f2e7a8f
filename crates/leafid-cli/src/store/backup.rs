//! `leafid store backup`: copies an embedded store while servers use it.

use std::path::PathBuf;

use serde_json::json;

use crate::failure::Outcome;
use crate::flags::StoreFlags;
use crate::{output, source};

/// Copy a store that is a SQLite file, while servers use it.
///
/// The copy is one file, complete and durable, that only its owner can read. Bring it back with
/// `leafid store restore`, never by hand: it does not know the ids issued after it was made.
#[derive(clap::Args)]
pub(crate) struct Backup {
    /// The new file.
    file: PathBuf,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    flags: StoreFlags,
}

impl Backup {
    pub(super) fn run(self) -> Outcome {
        let config = self.flags.load_store()?.config;
        let url = source::url(&config)?;
        let options = config.store_options();
        let copying = leafid_stores::backup(&url, &self.file, &options);
        let tags = source::runtime()?.block_on(copying)?;
        let file = self.file.display();
        if self.json {
            let place = source::place(&config);
            return output::json(
                &json!({ "store": place, "file": file.to_string(), "tags": tags }),
            );
        }
        output::line(&format!(
            "copied {} with {tags} tags to {file}",
            source::place(&config)
        ))
    }
}
