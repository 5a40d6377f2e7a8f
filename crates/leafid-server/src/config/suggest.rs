//! What to write instead of an unknown name: the one that was probably meant.

use strsim::osa_distance;

/// The nearest of `names` to a wrong one, if any is near: at most a third of its letters differ.
pub(crate) fn nearest<'a>(wrong: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let far = wrong.chars().count().max(3) / 3;
    let distances = names.map(|name| (osa_distance(wrong, name), name));
    let near = distances.filter(|(distance, _)| *distance <= far);
    near.min().map(|(_, name)| name)
}

/// What to do about an unknown name: use the one that was probably meant, else `otherwise`.
pub(super) fn suggestion<'a>(
    wrong: &str,
    names: impl Iterator<Item = &'a str>,
    otherwise: impl FnOnce() -> String,
) -> String {
    nearest(wrong, names).map_or_else(otherwise, |meant| format!("did you mean {meant}?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_near_names_are_suggested() {
        let names = ["http", "store", "data-dir", "step"];
        assert_eq!(nearest("data_dir", names.into_iter()), Some("data-dir"));
        assert_eq!(nearest("htp", names.into_iter()), Some("http"));
        assert_eq!(nearest("htpt", names.into_iter()), Some("http"));
        assert_eq!(nearest("stpe", names.into_iter()), Some("step"));
        assert_eq!(nearest("zookeeper", names.into_iter()), None);
    }
}
