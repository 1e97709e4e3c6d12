//! A simulated disk for tests. It tells what programs see from what is on the disk.
//!
//! Every step on a file is counted: each byte that is written, a length that is set, a sync. A
//! test can stop or fail any step. Then it asks what a power cut would leave: any part of what
//! was not synced.

use std::io;

/// Deterministic numbers (xorshift).
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    /// The next number.
    #[expect(clippy::should_implement_trait, reason = "it never ends")]
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below a limit.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// One of two.
    pub fn flip(&mut self) -> bool {
        self.below(2) == 0
    }
}

/// What goes wrong, and when. One of these may serve several files.
#[derive(Clone, Copy, Debug)]
pub struct Faults {
    /// Steps until the process is stopped: everything fails from then on.
    pub left: u64,
    /// Steps until one of them fails.
    pub until_error: Option<u64>,
    /// No file can get longer than this.
    pub most: u64,
    /// Whether a write may take fewer bytes than it was given, as systems may.
    pub short: bool,
    /// Decides what a failed sync forgets, and how short a write is. Not 0.
    pub random: u64,
}

impl Faults {
    /// Nothing goes wrong.
    pub const NONE: Faults =
        Faults { left: u64::MAX, until_error: None, most: u64::MAX, short: false, random: 0x5EED };

    /// Counts steps. Answers how many of them are done, and why not all.
    pub fn steps(&mut self, count: u64) -> (u64, io::Result<()>) {
        let error = self.until_error.filter(|&left| left < count.min(self.left));
        let done = error.unwrap_or(count.min(self.left));
        self.left -= done;
        self.until_error = match error {
            Some(_) => None,
            None => self.until_error.map(|left| left - done),
        };
        let result = match (error, done == count) {
            (Some(_), _) => Err(io::Error::other("an error of the device")),
            (None, false) => Err(io::Error::other("the process was stopped")),
            (None, true) => Ok(()),
        };
        (done, result)
    }

    /// Whether the process was stopped.
    pub fn stopped(&self) -> bool {
        self.left == 0
    }
}

/// A step on a file that a crash may undo as long as it was not synced.
#[derive(Clone, Debug)]
enum Step {
    Write(u64, Vec<u8>),
    SetLength(u64),
}

impl Step {
    fn on(&self, bytes: &mut Vec<u8>) {
        match self {
            Step::Write(offset, new) => {
                let start = *offset as usize;
                bytes.resize(bytes.len().max(start + new.len()), 0);
                bytes[start..start + new.len()].copy_from_slice(new);
            }
            Step::SetLength(length) => bytes.resize(*length as usize, 0),
        }
    }
}

/// A file: what programs see, what is on the disk, and what lies between.
#[derive(Clone, Debug, Default)]
pub struct Image {
    /// What programs see.
    pub seen: Vec<u8>,
    durable: Vec<u8>,
    pending: Vec<Step>,
}

impl Image {
    /// A file that is on the disk.
    pub fn new(bytes: &[u8]) -> Image {
        Image { seen: bytes.to_vec(), durable: bytes.to_vec(), pending: Vec::new() }
    }

    fn step(&mut self, step: Step) {
        step.on(&mut self.seen);
        self.pending.push(step);
    }

    /// Reads what there is from an offset on. Answers how many bytes.
    pub fn read_at(&self, bytes: &mut [u8], offset: u64) -> usize {
        let start = self.seen.len().min(offset as usize);
        let count = bytes.len().min(self.seen.len() - start);
        bytes[..count].copy_from_slice(&self.seen[start..start + count]);
        count
    }

    /// Writes bytes, or the first of them. Answers how many; an error may follow some that were
    /// written, which are those of a write before it.
    pub fn write_at(
        &mut self,
        faults: &mut Faults,
        bytes: &[u8],
        offset: u64,
    ) -> io::Result<usize> {
        let mut room = faults.most.saturating_sub(offset).min(bytes.len() as u64);
        if room == 0 && !bytes.is_empty() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        if faults.short && room > 1 {
            let mut random = Random(faults.random);
            room = 1 + random.below(room);
            faults.random = random.next();
        }
        let (done, result) = faults.steps(room);
        if done > 0 {
            self.step(Step::Write(offset, bytes[..done as usize].to_vec()));
        }
        result.map(|()| done as usize)
    }

    /// Makes the file shorter, or longer by zeros.
    ///
    /// # Errors
    /// Those of the faults.
    pub fn set_length(&mut self, faults: &mut Faults, length: u64) -> io::Result<()> {
        faults.steps(1).1?;
        if length > faults.most {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.step(Step::SetLength(length));
        Ok(())
    }

    /// Puts what is pending on the disk. A sync that fails forgets parts of it, as Linux does.
    ///
    /// # Errors
    /// Those of the faults.
    pub fn sync(&mut self, faults: &mut Faults) -> io::Result<()> {
        let stopped = faults.stopped();
        let result = faults.steps(1).1;
        if !stopped {
            let mut random = Random(faults.random);
            for step in std::mem::take(&mut self.pending) {
                if result.is_ok() || random.flip() {
                    step.on(&mut self.durable);
                }
            }
            faults.random = random.next();
        }
        result
    }

    /// The file after a power cut: any of the pending steps happened, writes in part.
    pub fn crashed(&self, random: &mut Random) -> Vec<u8> {
        let mut bytes = self.durable.clone();
        for step in &self.pending {
            match step {
                Step::Write(offset, new) => {
                    // Pieces of a few bytes: harsher than sectors.
                    for (at, piece) in new.chunks(5).enumerate() {
                        if random.flip() {
                            let offset = offset + 5 * at as u64;
                            Step::Write(offset, piece.to_vec()).on(&mut bytes);
                        }
                    }
                }
                length if random.flip() => length.on(&mut bytes),
                _ => {}
            }
        }
        bytes
    }
}

/// One file, and what goes wrong with it.
#[derive(Clone, Debug)]
pub struct Disk {
    /// The file.
    pub file: Image,
    /// What goes wrong.
    pub faults: Faults,
}

impl Disk {
    /// A file that is on the disk; nothing goes wrong.
    pub fn new(bytes: &[u8]) -> Disk {
        Disk { file: Image::new(bytes), faults: Faults::NONE }
    }

    /// The same file with other faults.
    #[must_use]
    pub fn with(&self, faults: Faults) -> Disk {
        Disk { file: self.file.clone(), faults }
    }

    /// The same file, on which the process is stopped after some steps.
    #[must_use]
    pub fn stopped_after(&self, steps: u64) -> Disk {
        self.with(Faults { left: steps, ..self.faults })
    }

    /// The file that the next process finds: the system lives on.
    #[must_use]
    pub fn killed(&self) -> Disk {
        self.with(Faults { left: u64::MAX, until_error: None, ..self.faults })
    }

    /// The file after a power cut.
    #[must_use]
    pub fn crashed(&self, random: &mut Random) -> Disk {
        Disk::new(&self.file.crashed(random))
    }
}
