//! The name that was probably meant.

/// The nearest of `names` to a wrong one, if any is near: at most a third of its letters differ.
pub(crate) fn nearest<'a>(wrong: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let far = wrong.chars().count().max(3) / 3;
    names
        .map(|name| (distance(wrong, name), name))
        .filter(|(distance, _)| *distance <= far)
        .min()
        .map(|(_, name)| name)
}

/// How many letters must be added, removed or replaced to turn one text into the other
/// (Levenshtein's distance).
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, from_char) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to_char) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(from_char != *to_char);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        assert_eq!(distance("", ""), 0);
        assert_eq!(distance("htpt", "http"), 2);
        assert_eq!(distance("stor", "store"), 1);
        assert_eq!(distance("store", ""), 5);
    }

    #[test]
    fn only_near_names_are_suggested() {
        let names = ["http", "store", "data-dir", "step"];
        assert_eq!(nearest("data_dir", names.into_iter()), Some("data-dir"));
        assert_eq!(nearest("htp", names.into_iter()), Some("http"));
        assert_eq!(nearest("zookeeper", names.into_iter()), None);
    }
}
