//! Fuzz input as decisions: any bytes mean something, so any input replays.

/// Reads decisions off a fuzzer's bytes; zeros when they are used up.
#[derive(Clone, Debug)]
pub struct Input<'d> {
    data: &'d [u8],
}

impl<'d> Input<'d> {
    /// Decisions from these bytes.
    pub fn new(data: &'d [u8]) -> Self {
        Input { data }
    }

    /// Whether all decisions were taken.
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// What was not read yet.
    pub fn rest(&self) -> &'d [u8] {
        self.data
    }

    /// At most `length` bytes as they are.
    pub fn take(&mut self, length: usize) -> &'d [u8] {
        let (taken, rest) = self.data.split_at(length.min(self.data.len()));
        self.data = rest;
        taken
    }

    /// A byte.
    pub fn byte(&mut self) -> u8 {
        self.take(1).first().copied().unwrap_or(0)
    }

    /// A 16-bit number.
    pub fn word(&mut self) -> u16 {
        u16::from_le_bytes([self.byte(), self.byte()])
    }

    /// A 64-bit number.
    pub fn long(&mut self) -> u64 {
        let mut bytes = [0; 8];
        let taken = self.take(8);
        bytes[..taken.len()].copy_from_slice(taken);
        u64::from_le_bytes(bytes)
    }

    /// A number below `end` (0 where `end` is 0).
    pub fn below(&mut self, end: usize) -> usize {
        let number = if end <= 256 { usize::from(self.byte()) } else { usize::from(self.word()) };
        number % end.max(1)
    }

    /// True in one of `n` cases.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) + 1 == n
    }

    /// One of these.
    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}

/// A seeded source of fuzz inputs for ordinary tests (splitmix64).
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mix = self.0;
        mix = (mix ^ (mix >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mix = (mix ^ (mix >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mix ^ (mix >> 31)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        (self.number() % end.max(1) as u64) as usize
    }

    /// That many bytes.
    pub fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.number() as u8).collect()
    }
}
