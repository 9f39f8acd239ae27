//! Views of the operands of attention: spans of packed rows, heads as adjacent columns.

use crate::team::Parts;

/// Rows of one sequence in a packed matrix: `start .. start + len`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The first row.
    pub start: usize,
    /// Number of rows; it may be 0.
    pub len: usize,
}

/// Columns of a row-major matrix: heads are adjacent from column `first`, each `width` wide; rows
/// are `stride` apart. The queries of a fused (n, 3c) projection are
/// `Heads { data, stride: 3 * c, first: 0, width: d }`.
#[derive(Clone, Copy)]
pub struct Heads<'a> {
    /// The whole matrix.
    pub data: &'a [f32],
    /// Distance between rows.
    pub stride: usize,
    /// Column of the first head.
    pub first: usize,
    /// Columns of one head: d.
    pub width: usize,
}

impl<'a> Heads<'a> {
    /// A whole matrix (n, h·d).
    pub fn new(data: &'a [f32], heads: usize, width: usize) -> Self {
        Self { data, stride: heads * width, first: 0, width }
    }

    /// The rows of one sequence and one head.
    #[inline(always)]
    pub(super) fn rows(&self, span: Span, head: usize) -> Rows<'a> {
        // An empty sequence may start past the end.
        let from = if span.len == 0 {
            0
        } else {
            span.start * self.stride + self.first + head * self.width
        };
        let len = if span.len == 0 { 0 } else { (span.len - 1) * self.stride + self.width };
        let (stride, width) = (self.stride, self.width);
        Rows { data: &self.data[from..][..len], stride, width, numbers: None }
    }

    /// Rows of one head with these numbers. Those that follow each other, as the rows of a source
    /// often do, need none, and can be read in place.
    #[inline(always)]
    pub(super) fn numbered(&self, numbers: &'a [u32], head: usize) -> Rows<'a> {
        if let [first, rest @ ..] = numbers
            && rest.iter().zip(first + 1..).all(|(number, next)| *number == next)
        {
            return self.rows(Span { start: *first as usize, len: numbers.len() }, head);
        }
        let from = if numbers.is_empty() { 0 } else { self.first + head * self.width };
        let (stride, width) = (self.stride, self.width);
        Rows { data: &self.data[from..], stride, width, numbers: Some(numbers) }
    }
}

/// Like [`Heads`], mutable.
pub struct HeadsMut<'a> {
    parts: Parts<'a>,
    stride: usize,
    first: usize,
    /// The columns `first..end` belong to this view alone.
    end: usize,
    width: usize,
}

impl<'a> HeadsMut<'a> {
    /// Heads of `width` columns from column `first` of rows that are `stride` apart.
    ///
    /// # Panics
    /// If `first` is outside the row.
    #[track_caller]
    pub fn new(data: &'a mut [f32], stride: usize, first: usize, width: usize) -> Self {
        let [view] = Self::split(data, stride, [(first, width)]);
        view
    }

    /// Several views of one matrix, for the gradient of a fused projection: (first column, width of
    /// a head) of each, from left to right. A view ends where the next one starts, so they share no
    /// element.
    ///
    /// ```
    /// # use limpid_tensor::kernels::attention::HeadsMut;
    /// let (n, h, d) = (5, 2, 8);
    /// let c = h * d;
    /// let mut dqkv = vec![0.0; n * 3 * c];
    /// let [dq, dk, dv] = HeadsMut::split(&mut dqkv, 3 * c, [(0, d), (c, d), (2 * c, d)]);
    /// ```
    ///
    /// # Panics
    /// If the columns do not ascend, or begin outside the row.
    #[track_caller]
    pub fn split<const N: usize>(
        data: &'a mut [f32],
        stride: usize,
        columns: [(usize, usize); N],
    ) -> [Self; N] {
        let parts = Parts::new(data);
        std::array::from_fn(|i| {
            let (first, width) = columns[i];
            let end = columns.get(i + 1).map_or(stride, |next| next.0);
            assert!(
                first <= end && end <= stride,
                "heads: columns {first}..{end} of view {i} are not inside rows of {stride}, \
                 in ascending order"
            );
            Self { parts, stride, first, end, width }
        })
    }

    /// The columns of one head in one row.
    ///
    /// # Safety
    /// No other reference to the same row and head may be in use, on any thread.
    #[inline(always)]
    #[allow(clippy::mut_from_ref)]
    pub(super) unsafe fn row(&self, row: usize, head: usize) -> &mut [f32] {
        // SAFETY: `check` made sure that the heads are inside the columns of this view alone; the
        // rest is the caller's contract.
        unsafe { self.parts.part(row * self.stride + self.first + head * self.width, self.width) }
    }

    #[track_caller]
    pub(super) fn check(&self, name: &str, heads: usize, width: usize, spans: &[Span]) {
        check(
            name,
            self.parts.len(),
            self.stride,
            self.first..self.end,
            (heads, self.width),
            spans,
        );
        assert!(
            self.width == width,
            "attention: {name} has heads of width {}, its operand {width}",
            self.width
        );
        // Spans in ascending order cannot overlap: two tasks never write the same row.
        let ascending = spans.windows(2).all(|pair| pair[0].start + pair[0].len <= pair[1].start);
        assert!(
            ascending,
            "attention: the sequences of {name} overlap or do not ascend: {spans:?}"
        );
    }
}

impl Heads<'_> {
    /// Whether rows with these numbers exist.
    #[track_caller]
    pub(super) fn check_numbered(&self, name: &str, heads: usize, numbers: &[u32]) {
        let end = numbers.iter().max().map_or(0, |number| *number as usize + 1);
        self.check(name, heads, &[Span { start: 0, len: end }]);
    }

    #[track_caller]
    pub(super) fn check(&self, name: &str, heads: usize, spans: &[Span]) {
        check(
            name,
            self.data.len(),
            self.stride,
            self.first..self.stride,
            (heads, self.width),
            spans,
        );
    }
}

#[track_caller]
fn check(
    name: &str,
    len: usize,
    stride: usize,
    columns: std::ops::Range<usize>,
    (heads, width): (usize, usize),
    spans: &[Span],
) {
    let end = columns.start + heads * width;
    assert!(
        end <= columns.end,
        "attention: {heads} heads of width {width} do not fit columns {columns:?} of {name}"
    );
    let rows = spans
        .iter()
        .filter(|span| span.len > 0)
        .map(|span| span.start + span.len)
        .max()
        .unwrap_or(0);
    assert!(
        rows == 0 || (rows - 1) * stride + end <= len,
        "attention: the sequences end at row {rows}, {name} has {len} elements in rows of {stride}"
    );
}

/// The rows of one sequence and one head: row i is `data[i·stride..][..width]`, or that of number
/// `numbers[i]`.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    pub data: &'a [f32],
    pub stride: usize,
    pub width: usize,
    pub numbers: Option<&'a [u32]>,
}

impl<'a> Rows<'a> {
    #[inline(always)]
    pub fn row(&self, i: usize) -> &'a [f32] {
        let at = self.numbers.map_or(i, |numbers| numbers[i] as usize);
        &self.data[at * self.stride..][..self.width]
    }

    /// The rows from row `i` on, which may be the end.
    #[inline(always)]
    pub fn from(&self, i: usize) -> Rows<'a> {
        match self.numbers {
            Some(numbers) => Rows { numbers: Some(&numbers[i.min(numbers.len())..]), ..*self },
            None => Rows { data: &self.data[(i * self.stride).min(self.data.len())..], ..*self },
        }
    }
}
