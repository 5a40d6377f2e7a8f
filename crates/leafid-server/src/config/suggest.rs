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

/// How many letters must be added, removed, replaced or swapped with their neighbour to turn one
/// text into the other (Damerau's distance, where no letter is touched twice).
fn distance(from: &str, to: &str) -> usize {
    let from: Vec<char> = from.chars().collect();
    let to: Vec<char> = to.chars().collect();
    let mut before = vec![0; to.len() + 1];
    let mut above: Vec<usize> = (0..=to.len()).collect();
    for i in 0..from.len() {
        let mut row = vec![i + 1; to.len() + 1];
        for j in 0..to.len() {
            let replaced = above[j] + usize::from(from[i] != to[j]);
            row[j + 1] = replaced.min(row[j] + 1).min(above[j + 1] + 1);
            let is_swapped = i > 0 && j > 0 && from[i] == to[j - 1] && from[i - 1] == to[j];
            if is_swapped {
                row[j + 1] = row[j + 1].min(before[j - 1] + 1);
            }
        }
        before = std::mem::replace(&mut above, row);
    }
    above[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        assert_eq!(distance("", ""), 0);
        assert_eq!(distance("htpt", "http"), 1);
        assert_eq!(distance("stor", "store"), 1);
        assert_eq!(distance("store", ""), 5);
        assert_eq!(distance("", "store"), 5);
        assert_eq!(distance("abcd", "dcba"), 3);
    }

    #[test]
    fn only_near_names_are_suggested() {
        let names = ["http", "store", "data-dir", "step"];
        assert_eq!(nearest("data_dir", names.into_iter()), Some("data-dir"));
        assert_eq!(nearest("htp", names.into_iter()), Some("http"));
        assert_eq!(nearest("stpe", names.into_iter()), Some("step"));
        assert_eq!(nearest("zookeeper", names.into_iter()), None);
    }
}
