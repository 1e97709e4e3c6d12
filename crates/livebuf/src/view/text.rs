//! Columns of text: dictionaries, runs, and searching them.

use super::{Column, Mode};
use crate::block::column::Elements;
use crate::block::column_type::ColumnType;
use crate::block::list::List;
use crate::error::{Error, ErrorKind, Result};
use crate::format::bytes::slice;
use crate::format::cell::{Needle, inline_span, span_bytes};
use crate::format::layout::*;

/// The codes of a dictionary column, and the texts that they stand for: [`Column::dictionary`].
///
/// Two codes may stand for equal texts, and some for texts that no row has.
///
/// ```
/// use livebuf::{Codes, Encoder};
/// let mut encoder = Encoder::new();
/// encoder.begin_array()?;
/// for lap in 0..100 {
///     encoder.str(if lap % 10 == 0 { "yellow flag" } else { "green flag" })?;
/// }
/// encoder.end_array()?;
/// let document = encoder.finish()?;
/// let dictionary = document.valid()?.root().as_array().unwrap().as_column().dictionary().unwrap();
/// assert_eq!(dictionary.texts().strs().flatten().collect::<Vec<_>>(), ["yellow flag", "green flag"]);
/// let Codes::U8(codes) = dictionary.codes() else { panic!("two texts") };
/// assert_eq!(codes[..3], [0, 1, 1]);
/// # Ok::<(), livebuf::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Dictionary<'a, M> {
    texts: Column<'a, M>,
    codes: Codes<'a>,
}

impl<'a, M: Mode> Dictionary<'a, M> {
    /// The texts: the row of each is its code.
    pub fn texts(&self) -> Column<'a, M> {
        self.texts
    }

    /// The code of each row; 0 where a row has no text.
    pub fn codes(&self) -> Codes<'a> {
        self.codes
    }
}

impl<M: Mode> Dictionary<'_, M> {
    /// The code of a text, if it has one; `None` where it has several.
    fn only_code(&self, text: &str) -> Result<Option<Option<u16>>> {
        let Column { bytes, elements: texts, .. } = self.texts;
        let (needle, mut only) = (Needle::new(text.as_bytes()), None);
        for code in 0..texts.count.min(1 << 16) {
            if needle.is_at(bytes, texts.data as u64 + 8 * code as u64)?
                && only.replace(code as u16).is_some()
            {
                return Ok(None);
            }
        }
        Ok(Some(only))
    }
}

impl<M: Mode> core::fmt::Debug for Dictionary<'_, M> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Dictionary({} texts)", self.texts.len())
    }
}

/// Codes as the document stores them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codes<'a> {
    /// Of at most 256 texts.
    U8(&'a [u8]),
    /// Of at most 65,536 texts.
    U16(&'a [u16]),
}

impl Codes<'_> {
    /// The first row from `start` on with a code.
    fn position(&self, start: usize, code: u16) -> Option<usize> {
        let found = match self {
            Codes::U8(codes) => codes.get(start..)?.iter().position(|&at| u16::from(at) == code),
            Codes::U16(codes) => codes.get(start..)?.iter().position(|&at| at == code),
        };
        found.map(|at| start + at)
    }

    /// How many rows have each code.
    #[cfg(feature = "alloc")]
    fn counts(&self) -> alloc::vec::Vec<u64> {
        let mut counts = alloc::vec![0; 1 << 8];
        match self {
            Codes::U8(codes) => codes.iter().for_each(|&code| counts[code as usize] += 1),
            Codes::U16(codes) => {
                counts.resize(1 << 16, 0);
                codes.iter().for_each(|&code| counts[code as usize] += 1);
            }
        }
        counts
    }
}

/// The texts of a column that lie behind each other, and where each begins, or the one length that
/// all have: [`Column::run`].
#[derive(Clone, Copy)]
pub struct Run<'a> {
    bytes: &'a [u8],
    offsets: Offsets<'a>,
}

impl<'a> Run<'a> {
    /// The texts of the whole column, also where this column is a slice of it. Those of the slice
    /// alone where all have [one length](Offsets::Each).
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Where each row's text begins in [`bytes`](Self::bytes), and where the last one ends: one
    /// number more than rows. A row without a text has an empty one, or zeros where all have one
    /// length.
    pub fn offsets(&self) -> Offsets<'a> {
        self.offsets
    }
}

impl core::fmt::Debug for Run<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Run({} bytes)", self.bytes.len())
    }
}

/// Where texts begin, as the document stores it.
///
/// ```
/// use livebuf::{Offsets, json};
/// let doc = json!([
///     "2026-01-01", "2026-01-02", "2026-01-03", "2026-01-04", "2026-01-05", "2026-01-06",
///     "2026-01-07", "2026-01-08", "2026-01-09",
/// ]);
/// let run = doc.valid()?.root().as_array().unwrap().as_column().run().unwrap();
/// assert_eq!(run.offsets(), Offsets::Each(10));
/// assert_eq!(&run.bytes()[10..20], b"2026-01-02");
/// # Ok::<(), livebuf::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offsets<'a> {
    /// Of at most 255 bytes.
    U8(&'a [u8]),
    /// Of at most 65,535 bytes.
    U16(&'a [u16]),
    /// Of more.
    U32(&'a [u32]),
    /// There are none: each text has so many bytes, so that of row r begins at r times as many.
    Each(usize),
}

impl<'a, M: Mode> Column<'a, M> {
    /// The codes and the texts of a dictionary column; `None` for other columns, and as
    /// [`slots`](Self::slots) where the codes cannot be borrowed.
    ///
    /// ```
    /// use livebuf::{Codes, json};
    /// let doc = json!(["sun", "rain", "sun", "sun", "sun", "rain", "rain", "sun"]);
    /// let column = doc.valid()?.root().as_array().unwrap().as_column();
    /// let skies = column.dictionary().unwrap();
    /// assert_eq!(skies.texts().strs().flatten().collect::<Vec<_>>(), ["sun", "rain"]);
    /// assert_eq!(skies.codes(), Codes::U8(&[0, 1, 0, 0, 0, 1, 1, 0]));
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn dictionary(&self) -> M::Out<Dictionary<'a, M>> {
        M::out(self.coded())
    }

    fn coded(&self) -> Result<Option<Dictionary<'a, M>>> {
        if !self.elements.column.is_dictionary() {
            return Ok(None);
        }
        let Some(elements) = self.elements.entries(self.bytes)? else { return Ok(None) };
        let codes = match self.elements.column {
            ColumnType::DictionaryU8 => self.stored().map(Codes::U8),
            _ => self.stored().map(Codes::U16),
        };
        let texts = Column { elements, ..*self };
        Ok(codes.map(|codes| Dictionary { texts, codes }))
    }

    /// The texts that lie behind each other, and where each begins. `None` for other columns, and
    /// as [`slots`](Self::slots) where the offsets cannot be borrowed.
    ///
    /// ```
    /// use livebuf::{Offsets, json};
    /// let doc = json!([
    ///     "Ada", "Bo", "Cy", null, "Dora", "Eve", "Fay", "Gus", "Hal", "Ian", "Jo", "Kim", "Liz",
    ///     "Mo", "Ned", "Oz",
    /// ]);
    /// let column = doc.valid()?.root().as_array().unwrap().as_column();
    /// let run = column.run().unwrap();
    /// assert!(run.bytes().starts_with(b"AdaBoCyDora"));
    /// let Offsets::U8(offsets) = run.offsets() else { panic!("41 bytes") };
    /// assert_eq!((offsets.len(), &offsets[..6]), (17, &[0, 3, 5, 7, 7, 11][..]));
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    pub fn run(&self) -> M::Out<Run<'a>> {
        M::out(self.find_run())
    }

    fn find_run(&self) -> Result<Option<Run<'a>>> {
        let Some((list, bytes)) = self.run_parts()? else { return Ok(None) };
        if let Some(length) = list.length {
            let length = length as usize;
            let (first, count) = (self.elements.first as usize, self.len());
            let texts = first.checked_mul(length).zip((first + count).checked_mul(length));
            let bytes = texts.and_then(|(start, end)| bytes.get(start..end));
            let bytes = bytes.ok_or(Error::new(ErrorKind::BadCount, list.offset.into()))?;
            return Ok(Some(Run { bytes, offsets: Offsets::Each(length) }));
        }
        let column = self.offsets_of(list)?;
        if column.len() != self.len() + 1 {
            return Err(Error::new(ErrorKind::BadCount, column.elements.offset.into()));
        }
        let offsets = match column.elements.column {
            ColumnType::U8 => column.stored().map(Offsets::U8),
            ColumnType::U16 => column.stored().map(Offsets::U16),
            _ => column.stored().map(Offsets::U32),
        };
        Ok(offsets.map(|offsets| Run { bytes, offsets }))
    }

    /// How many rows have each text, in the order in which texts are met: by rows, or by the codes
    /// of a dictionary. Other values are not counted. Linear in the rows; of a dictionary column
    /// only the codes are read.
    ///
    /// # Errors
    /// Of a document that was not validated: what is damaged.
    ///
    /// ```
    /// let doc = livebuf::json!(["open", "closed", null, "open"]);
    /// let column = doc.valid()?.root().as_array().unwrap().as_column();
    /// assert_eq!(column.counts(), [("open", 2), ("closed", 1)]);
    /// # Ok::<(), livebuf::Error>(())
    /// ```
    #[cfg(feature = "alloc")]
    pub fn counts(&self) -> M::Item<alloc::vec::Vec<(&'a str, u64)>> {
        M::whole(self.count_texts(), alloc::vec::Vec::new())
    }

    #[cfg(feature = "alloc")]
    fn count_texts(&self) -> Result<alloc::vec::Vec<(&'a str, u64)>> {
        let (mut counts, mut places) = (alloc::vec::Vec::new(), hashbrown::HashMap::new());
        let mut add = |text: &'a str, count: u64| {
            let place = *places.entry(text).or_insert(counts.len());
            match counts.get_mut(place) {
                Some((_, before)) => *before += count,
                None => counts.push((text, count)),
            }
        };
        let text = |raw| M::result(super::Value::new(self.mode, self.bytes, raw).as_str());
        match self.coded()? {
            Some(dictionary) => {
                // Slots without a text have the code 0.
                let mut without = self.count_gaps()?;
                for (code, count) in (0..).zip(dictionary.codes.counts()) {
                    let count = count.saturating_sub(core::mem::take(&mut without));
                    if count > 0
                        && let Some(text) = text(dictionary.texts.raw(code)?)?
                    {
                        add(text, count);
                    }
                }
            }
            None => {
                for row in 0..self.elements.count {
                    if let Some(text) = text(self.raw(row)?)? {
                        add(text, 1);
                    }
                }
            }
        }
        Ok(counts)
    }

    /// How many rows are without a value by the column's own bitmap.
    #[cfg(feature = "alloc")]
    fn count_gaps(&self) -> Result<u64> {
        if self.elements.gaps == GAPS_NONE {
            return Ok(0);
        }
        let damaged = || Error::new(ErrorKind::BadCount, self.elements.offset.into());
        let (bits, first) = self.validity().ok_or_else(damaged)?;
        let is_gap = |row: &usize| bits.get(row / 8).is_none_or(|byte| byte >> (row % 8) & 1 == 0);
        Ok((first..first + self.len()).filter(is_gap).count() as u64)
    }

    pub(super) fn find_text(&self, text: &str) -> Result<Option<usize>> {
        if let Some(dictionary) = self.coded()?
            && let Some(code) = dictionary.only_code(text)?
        {
            let Some(code) = code else { return Ok(None) };
            return self.first_present(|start| dictionary.codes.position(start, code));
        }
        if let Some((list, run)) = self.run_parts()? {
            return match list.length {
                Some(length) => self.find_by_length(run, length as usize, text.as_bytes()),
                None => self.find_in_run((run, self.offsets_of(list)?), text.as_bytes()),
            };
        }
        let cell = if text.len() <= MAX_INLINE { inline_span(text.as_bytes()) } else { 0 };
        for row in 0..self.elements.count {
            let raw = self.raw(row)?;
            if raw.tag != TAG_STRING || cell != 0 && raw.cell != cell {
                continue;
            }
            let long = (raw.cell >> 32) as u32 & MAX_SPAN;
            if cell != 0
                || long as usize == text.len()
                    && span_bytes(self.bytes, raw.cell, raw.position as u64)? == text.as_bytes()
            {
                return Ok(Some(row as usize));
            }
        }
        Ok(None)
    }

    /// The list of a run, and the bytes of its texts; `None` for other columns.
    fn run_parts(&self) -> Result<Option<(List, &'a [u8])>> {
        if !self.elements.column.is_run() {
            return Ok(None);
        }
        let list = List::load(self.bytes, self.elements.data)?;
        let run = list.child(self.bytes)?;
        let bytes = slice(self.bytes, run.data.into(), run.count.into())?;
        Ok(Some((list, bytes)))
    }

    /// The first row that has this text in a run of texts of one length.
    fn find_by_length(&self, run: &[u8], length: usize, text: &[u8]) -> Result<Option<usize>> {
        let from = (self.elements.first as usize).saturating_mul(length);
        if text.len() != length || from > run.len() {
            return Ok(None);
        }
        let texts = run[from..].chunks_exact(length).take(self.len());
        self.first_present(|start| {
            let at = texts.clone().skip(start).position(|found| found == text)?;
            Some(start + at)
        })
    }

    /// The first row whose text in a run this is. Only texts of its length are looked at.
    fn find_in_run(&self, (run, offsets): (&[u8], Self), text: &[u8]) -> Result<Option<usize>> {
        let Elements { first, count, .. } = offsets.elements;
        let (mut row, mut begin, mut found) = (0, None, Ok(None));
        offsets.elements.each_offset(self.bytes, first..first + count, |end| {
            let Some(begin) = begin.replace(end) else { return true };
            row += 1;
            if end.wrapping_sub(begin) as usize != text.len()
                || run.get(begin as usize..end as usize) != Some(text)
            {
                return true;
            }
            match self.present(row - 1, 1) {
                Ok(0) => return true,
                Ok(_) => found = Ok(Some(row - 1)),
                Err(error) => found = Err(error),
            }
            false
        })?;
        found
    }
}
