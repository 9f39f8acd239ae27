//! What was computed and may be asked for again, the least recently used dropped first.

use std::sync::Arc;

/// Values by id, bounded in number and bytes.
pub struct Cache<T> {
    /// The most recently used last.
    entries: Vec<(String, usize, Arc<T>)>,
    count: usize,
    bytes: usize,
}

impl<T> Cache<T> {
    /// An empty one.
    pub fn new(count: usize, bytes: usize) -> Self {
        Self { entries: Vec::new(), count, bytes }
    }

    /// A value, which was used now.
    pub fn get(&mut self, id: &str) -> Option<Arc<T>> {
        let at = self.entries.iter().position(|(own, ..)| own == id)?;
        let entry = self.entries.remove(at);
        let value = entry.2.clone();
        self.entries.push(entry);
        Some(value)
    }

    /// Keeps a value of so many bytes; others are dropped if they are too many with it.
    pub fn insert(&mut self, id: String, bytes: usize, value: Arc<T>) {
        self.entries.retain(|(own, ..)| *own != id);
        self.entries.push((id, bytes, value));
        let total = |entries: &[(String, usize, Arc<T>)]| -> usize {
            entries.iter().map(|entry| entry.1).sum()
        };
        while self.entries.len() > 1
            && (self.entries.len() > self.count || total(&self.entries) > self.bytes)
        {
            self.entries.remove(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_goes_first_and_the_newest_stays() {
        let mut cache = Cache::new(2, 100);
        cache.insert("a".into(), 10, Arc::new(1));
        cache.insert("b".into(), 10, Arc::new(2));
        assert_eq!(cache.get("a").as_deref(), Some(&1));
        cache.insert("c".into(), 10, Arc::new(3));
        assert!(cache.get("b").is_none() && cache.get("a").is_some());
        cache.insert("d".into(), 500, Arc::new(4));
        assert_eq!((cache.entries.len(), cache.get("d").as_deref()), (1, Some(&4)));
    }
}
