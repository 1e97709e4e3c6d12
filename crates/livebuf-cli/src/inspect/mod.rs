//! `livebuf inspect`: a document's bytes, each with its meaning in FORMAT's words.
//!
//! The validator finds the regions. `fields` splits a region into fields. This file puts them
//! in order and prints them.

mod fields;

pub(crate) use fields::column_name;

use crate::args::Inspect;
use crate::failure::{Failure, Outcome, counted, grouped, name};
use crate::look::find;
use crate::sink::{Out, colours};
use crate::source::Source;
use anstyle::{AnsiColor, Color, Style};
use comfy_table::{ContentArrangement, Table};
use fields::{Fields, Member, joined};
use livebuf::layout::HEADER_SIZE;
use livebuf::{Checked, Doc, Kind, Region, RegionKind, Value};
use std::fmt::Write;
use std::path::Path;

/// Bytes in a line.
const WIDTH: u64 = 8;
/// Columns of a terminal before the meaning of bytes, and columns for the meaning.
const MARGIN: usize = 37;
const ROOM: u16 = 80 - MARGIN as u16;
/// Longest run of bytes that is printed whole where it has no structure.
const WHOLE: u64 = 64 << 10;

pub(crate) fn inspect(args: &Inspect) -> Outcome {
    let source = Source::open(&args.file)?;
    let doc = source.doc(&args.file)?;
    let mut printer = Printer::new(doc.as_bytes());
    let damage = match args.pointer.as_deref() {
        None => printer.document(doc)?,
        Some(pointer) => {
            let Some(value) = find(&args.file, doc, pointer)? else {
                let name = name(&args.file);
                return Err(Failure::No(format!("{name}: {pointer} is not there")));
            };
            printer.value(&args.file, doc, pointer, value)?
        }
    };
    printer.out.finish()?;
    match damage {
        Some(error) => Err(Failure::document(&args.file, error)),
        None => Ok(()),
    }
}

/// Name and colour of a kind of region.
fn called(kind: RegionKind) -> (&'static str, AnsiColor) {
    match kind {
        RegionKind::Header => ("header", AnsiColor::Magenta),
        RegionKind::Aux => ("aux", AnsiColor::BrightMagenta),
        RegionKind::Free => ("free", AnsiColor::BrightBlack),
        RegionKind::Shape => ("shape", AnsiColor::Yellow),
        RegionKind::Record => ("record", AnsiColor::Cyan),
        RegionKind::Forward => ("forward", AnsiColor::BrightBlue),
        RegionKind::Map => ("map", AnsiColor::Blue),
        RegionKind::Keys => ("map keys", AnsiColor::BrightCyan),
        RegionKind::Node => ("index node", AnsiColor::BrightYellow),
        RegionKind::Hash => ("hash block", AnsiColor::BrightYellow),
        RegionKind::Array => ("array", AnsiColor::BrightRed),
        RegionKind::Data => ("array data", AnsiColor::Red),
        RegionKind::Table => ("table", AnsiColor::BrightWhite),
        RegionKind::List => ("list", AnsiColor::White),
        RegionKind::Bitmap => ("bitmaps", AnsiColor::White),
        RegionKind::Text => ("text", AnsiColor::Green),
        RegionKind::SharedText => ("shared text", AnsiColor::BrightGreen),
        _ => ("region", AnsiColor::White),
    }
}

/// Splits text into lines that fit beside the bytes.
fn wrapped(text: &str) -> Vec<String> {
    if text.len() <= usize::from(ROOM) {
        return vec![text.to_owned()];
    }
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING).add_row([text]);
    table.set_content_arrangement(ContentArrangement::Dynamic).set_width(ROOM);
    if let Some(column) = table.column_mut(0) {
        column.set_padding((0, 0));
    }
    table.lines().map(|line| line.trim_end().to_owned()).collect()
}

struct Printer<'a> {
    bytes: &'a [u8],
    out: Out,
    colours: bool,
    fields: Fields<'a>,
}

impl<'a> Printer<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        let colours = colours();
        Printer { bytes, out: Out::new(), colours, fields: Fields::new(bytes) }
    }

    /// Prints all bytes in order. In a damaged document it prints what was reached before the
    /// first damage, and the rest as not reached. Returns the damage.
    fn document(&mut self, doc: Doc<'_, Checked>) -> Outcome<Option<livebuf::Error>> {
        let mut regions = Vec::new();
        let damage = doc.regions(|region| regions.push(region)).err();
        self.regions(regions, true, damage.is_some())?;
        Ok(damage)
    }

    /// Prints the bytes of one value: its cell, and its blocks with everything below them.
    fn value(
        &mut self,
        path: &Path,
        doc: Doc<'_, Checked>,
        pointer: &str,
        value: Value<'_>,
    ) -> Outcome<Option<livebuf::Error>> {
        let mut regions = Vec::new();
        let mut damage = value.regions(|region| regions.push(region)).err();
        let Some((parent, token)) = pointer.rsplit_once('/') else {
            self.region(&Region {
                offset: 0,
                length: HEADER_SIZE.into(),
                kind: RegionKind::Header,
            })?;
            self.regions(regions, false, false)?;
            return Ok(damage);
        };
        if let Some(parent) = find(path, doc, parent)? {
            // The walk visits a container's own blocks before those of its children.
            let mut own = Vec::new();
            let holds = [RegionKind::Record, RegionKind::Data];
            let walked = parent.regions(|region| {
                if !own.iter().any(|own: &Region| holds.contains(&own.kind)) {
                    own.push(region);
                }
            });
            damage = damage.or(walked.err());
            own.iter().for_each(|region| self.fields.learn(region));
            let mut member = match parent.kind() {
                Kind::Array => token.parse().ok().map(Member::Index),
                _ => Some(Member::Key(token.replace("~1", "/").replace("~0", "~"))),
            };
            if let Some(keys) = own.iter().find(|region| region.kind == RegionKind::Keys) {
                self.cell(keys, member.clone())?;
                // The value has the place of its key, in cells. Rows have no place of their own.
                let number = self.fields.of(keys).iter().position(|field| field.member == member);
                let is_table = own.iter().any(|region| region.kind == RegionKind::Table);
                member = number.filter(|_| !is_table).map(|number| Member::Index(number as u64));
            }
            if let Some(region) = own.last() {
                self.cell(region, member)?;
            }
        }
        self.regions(regions, false, false)?;
        Ok(damage)
    }

    /// Prints the part of a container's block that holds one member.
    fn cell(&mut self, region: &Region, member: Option<Member>) -> Outcome {
        let (name, colour) = called(region.kind);
        let mut fields = self.fields.of(region);
        fields.retain(|field| field.member.is_some() && field.member == member);
        let Some(first) = fields.first() else { return Ok(()) };
        let length: u64 = fields.iter().map(|field| field.length).sum();
        self.title(&format!("in its {name}"), colour, first.offset, length)?;
        fields
            .iter()
            .try_for_each(|field| self.line(field.offset, field.length, &field.meaning, colour))
    }

    fn regions(&mut self, mut regions: Vec<Region>, gaps: bool, damaged: bool) -> Outcome {
        // Headers of arrays and maps say what their data is.
        regions.iter().for_each(|region| self.fields.learn(region));
        regions.sort_by_key(|region| (region.offset, region.length, region.kind));
        regions.dedup();
        let unknown = if damaged { "not reached" } else { "garbage" };
        let mut at = 0;
        for region in &regions {
            if gaps && at < region.offset {
                self.gap(unknown, at, region.offset - at)?;
            }
            self.region(region)?;
            at = at.max(region.offset + region.length);
        }
        let end = self.bytes.len() as u64;
        if gaps && at < end {
            self.gap(unknown, at, end - at)?;
        }
        Ok(())
    }

    fn gap(&mut self, what: &str, offset: u64, length: u64) -> Outcome {
        // Up to seven zeros are the padding before the next block.
        if length < 8 && self.is_zero(offset, length) {
            return self.line(offset, length, "padding", AnsiColor::BrightBlack);
        }
        self.title(what, AnsiColor::BrightBlack, offset, length)?;
        self.plain(offset, length, AnsiColor::BrightBlack)
    }

    fn region(&mut self, region: &Region) -> Outcome {
        let text = self.fields.text_of(region);
        // The bytes of a run are array data to the core.
        let (name, colour) = match (region.kind, text) {
            (RegionKind::Data, Some(_)) => called(RegionKind::Text),
            (kind, _) => called(kind),
        };
        self.title(name, colour, region.offset, region.length)?;
        let mut at = region.offset;
        let end = at + region.length;
        match text {
            Some(text) => {
                self.plain(at, text, colour)?;
                at += text;
            }
            None => {
                for field in joined(self.fields.of(region), WIDTH) {
                    self.line(field.offset, field.length, &field.meaning, colour)?;
                    at = field.offset + field.length;
                }
            }
        }
        let rest = end.saturating_sub(at);
        match self.is_zero(at, rest) {
            true => self.line(at, rest, "unused", colour),
            false => self.plain(at, rest, colour),
        }
    }

    fn slice(&self, offset: u64, length: u64) -> &'a [u8] {
        let end = (offset + length).min(self.bytes.len() as u64);
        self.bytes.get(offset as usize..end as usize).unwrap_or(&[])
    }

    fn is_zero(&self, offset: u64, length: u64) -> bool {
        self.slice(offset, length).iter().all(|&byte| byte == 0)
    }

    fn style(&self, colour: AnsiColor) -> Style {
        match self.colours {
            true => Style::new().fg_color(Some(Color::Ansi(colour))),
            false => Style::new(),
        }
    }

    fn title(&mut self, name: &str, colour: AnsiColor, offset: u64, length: u64) -> Outcome {
        let style = self.style(colour);
        let style = if self.colours { style.bold() } else { style };
        let text = format!("{style}{name}{style:#}, {} from {offset}", counted(length, "byte"));
        self.out.line(&text)
    }

    /// Prints bytes, with their meaning beside their first line.
    fn line(&mut self, offset: u64, length: u64, meaning: &str, colour: AnsiColor) -> Outcome {
        if length == 0 {
            return Ok(());
        }
        let style = self.style(colour);
        if length > 2 * WIDTH && self.is_zero(offset, length) {
            let text = format!("{} of zeros", counted(length, "byte"));
            return self.out.line(&format!("{offset:>10}  {style}{text:<24}{style:#} {meaning}"));
        }
        let mut meaning = wrapped(meaning).into_iter();
        for at in (offset..offset + length).step_by(WIDTH as usize) {
            let mut hex = String::new();
            for byte in self.slice(at, WIDTH.min(offset + length - at)) {
                let _ = write!(hex, "{byte:02x} ");
            }
            let meaning = meaning.next().unwrap_or_default();
            let text = format!("{at:>10}  {style}{hex:<24}{style:#} {meaning}");
            self.out.line(text.trim_end())?;
        }
        meaning.try_for_each(|more| self.out.line(&format!("{:MARGIN$}{more}", "")))
    }

    /// Prints bytes without structure, with their letters.
    fn plain(&mut self, offset: u64, length: u64, colour: AnsiColor) -> Outcome {
        if length > 2 * WIDTH && self.is_zero(offset, length) {
            return self.line(offset, length, "", colour);
        }
        let shown = length.min(WHOLE);
        for at in (offset..offset + shown).step_by(WIDTH as usize) {
            let length = WIDTH.min(offset + shown - at);
            let letters: String = self
                .slice(at, length)
                .iter()
                .map(|&byte| match byte {
                    b' '..=b'~' => byte as char,
                    _ => '·',
                })
                .collect();
            self.line(at, length, &letters, colour)?;
        }
        if shown < length {
            self.out.line(&format!("{:>10}  and {} more", "…", grouped(length - shown)))?;
        }
        Ok(())
    }
}
