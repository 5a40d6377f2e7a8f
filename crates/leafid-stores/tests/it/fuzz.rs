//! Store URLs over their corpus in `fuzz/corpus` and mutations of it: nothing panics, no password is
//! shown, and what is shown names the same store.

use leafid_fuzz::fuzz;
use leafid_stores::StoreUrl;

/// The passwords of the corpus.
const SECRETS: [&str; 2] = [":secret@", ":p%40ss@"];

/// Whether it stands where a URL has its password. Elsewhere, as in the name of a database that a
/// mutation made of another URL, it is none.
fn is_password(shown: &str, secret: &str) -> bool {
    let Some((_, place)) = shown.split_once("://") else {
        return false;
    };
    let user = place.find(secret).map(|at| &place[..at]);
    user.is_some_and(|user| !user.contains(['/', '@', ':', '?']))
}

#[test]
fn store_urls() {
    fuzz("store-urls", |data| {
        let text = str::from_utf8(data).unwrap_or_default();
        match text.parse::<StoreUrl>() {
            Ok(url) => {
                let shown = url.to_string();
                for secret in SECRETS {
                    assert!(
                        url.file().is_some() || !is_password(&shown, secret),
                        "{shown}"
                    );
                }
                // Some schemes need options that are not shown.
                if let Ok(again) = shown.parse::<StoreUrl>() {
                    assert_eq!(again.to_string(), shown, "{text:?}");
                }
                true
            }
            Err(error) => {
                assert!(!error.to_string().is_empty());
                false
            }
        }
    });
}
