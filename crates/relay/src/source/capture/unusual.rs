//! A generator of captures for tests, in which every field can have an unusual value. It states
//! which packets can be sent, so that its files need no other reader to be judged. The live tests
//! of the command include it through a link, so it has no dependencies.

#![allow(dead_code)]

/// A packet: the frame to send, or the reason why it cannot be sent.
pub type Expected = Result<Vec<u8>, &'static str>;

/// A file and the packets that a reader finds in it.
pub struct UnusualCapture {
    pub bytes: Vec<u8>,
    pub packets: Vec<Expected>,
    /// Offset of the record at which the file is broken.
    pub broken_at: Option<usize>,
}

/// Generates file number `seed`.
pub fn unusual_capture(seed: u64) -> UnusualCapture {
    let mut file = File {
        // Neighbouring seeds start with unrelated bits.
        rng: Rng(seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15)),
        is_big: false,
        capture: UnusualCapture {
            bytes: Vec::new(),
            packets: Vec::new(),
            broken_at: None,
        },
    };
    match file.rng.one_in(2) {
        true => file.pcap(),
        false => file.pcapng(),
    }
    file.capture
}

/// A xorshift generator.
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    fn one_in(&mut self, number: usize) -> bool {
        self.below(number) == 0
    }

    fn of<T: Clone>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())].clone()
    }

    fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.next() as u8).collect()
    }
}

/// A packet as the file states it.
struct Record {
    data: Vec<u8>,
    original: u32,
    expected: Expected,
}

struct File {
    rng: Rng,
    is_big: bool,
    capture: UnusualCapture,
}

impl File {
    fn u16(&self, value: u16) -> [u8; 2] {
        match self.is_big {
            true => value.to_be_bytes(),
            false => value.to_le_bytes(),
        }
    }

    fn u32(&self, value: u32) -> [u8; 4] {
        match self.is_big {
            true => value.to_be_bytes(),
            false => value.to_le_bytes(),
        }
    }

    fn words(&self, values: &[u32]) -> Vec<u8> {
        values.iter().flat_map(|value| self.u32(*value)).collect()
    }

    /// A packet of `link`, with the FCS that its interface states.
    fn record(&mut self, link: u32, has_fcs: bool) -> Record {
        let rng = &mut self.rng;
        let length = match rng.below(40) {
            0 => 262_144,
            1 => 262_145 + rng.below(3),
            2 => 65_549,
            3 => rng.of(&[0, 1, 13, 14]),
            4..=7 => rng.of(&[1_514, 1_518, 1_519, 9_014]),
            _ => 14 + rng.below(200),
        };
        let frame = rng.bytes(length);
        let fcs_bytes = if has_fcs { 4 } else { 0 };
        let (mut data, original) = (frame.clone(), (length + fcs_bytes) as u32);
        let mut expected = Ok(frame);
        match rng.below(6) {
            0 if length > 0 => {
                data.truncate(rng.below(length));
                expected = Err("cut_in_capture");
            }
            // Bytes beyond the original length, or only a part of the FCS.
            1 => data.extend(rng.bytes(fcs_bytes + 17)),
            2 => data.extend(rng.bytes(fcs_bytes / 2)),
            _ => data.extend(rng.bytes(fcs_bytes)),
        }
        if length > 262_144 {
            expected = Err("longer_than_mtu");
        }
        if link != 1 {
            expected = Err("not_ethernet");
        }
        Record {
            data,
            original,
            expected,
        }
    }

    fn link(&mut self) -> u32 {
        match self.rng.one_in(5) {
            true => self.rng.of(&[0, 101, 105, 113, 127, 147, 276]),
            false => 1,
        }
    }

    fn snap_bytes(&mut self) -> u32 {
        let any = self.rng.next() as u32;
        self.rng.of(&[0, 1, 96, 65_535, 262_144, u32::MAX, any])
    }

    fn pcap(&mut self) {
        self.is_big = self.rng.one_in(2);
        let (magic, header_words) =
            self.rng
                .of(&[(0xa1b2_c3d4, 0), (0xa1b2_3c4d, 0), (0xa1b2_cd34, 2)]);
        let minor = self.rng.of(&[4, 4, 4, 3, 2]);
        let link = self.link();
        // An FCS length of a bit that is not set, 0, in 16-bit words and in bytes; reserved bits.
        let upper = self.rng.of(&[0, 0, 0x4000, 0x0400, 0x2400, 0x4400, 0x0bff]);
        let has_fcs = matches!(upper, 0x2400 | 0x4400);
        let snap_bytes = self.snap_bytes();
        let (zone, accuracy) = (self.rng.next() as u32, self.rng.next() as u32);
        let mut head = self.words(&[magic]);
        head.extend([self.u16(2), self.u16(minor)].concat());
        head.extend(self.words(&[zone, accuracy, snap_bytes, upper << 16 | link]));
        self.capture.bytes = head;
        for _ in 0..self.rng.below(20) {
            let record = self.record(link, has_fcs);
            let captured = record.data.len() as u32;
            let mut lengths = [captured, record.original];
            // Version 2.3 exists with both orders; the smaller one is the captured length.
            if minor == 3 && captured > record.original {
                continue;
            }
            if minor < 3 {
                lengths.reverse();
            }
            let times = [self.rng.next() as u32, self.rng.next() as u32];
            let head = self.words(&[times[0], times[1], lengths[0], lengths[1]]);
            self.capture.bytes.extend(head);
            self.capture.bytes.extend(vec![0; 4 * header_words]);
            self.capture.bytes.extend(record.data);
            self.capture.packets.push(record.expected);
        }
        self.pcap_tail(16 + 4 * header_words);
    }

    fn pcap_tail(&mut self, header_bytes: usize) {
        let at = self.capture.bytes.len();
        let length = 1 + self.rng.below(3_000) as u32;
        let mut record = self.words(&[1, 2, length, length]);
        record.resize(header_bytes + length as usize, 7);
        match self.rng.below(6) {
            0 => record.truncate(1 + self.rng.below(record.len() - 1)),
            1 => {
                // A corrupt length.
                record[8..16].fill(0xff);
            }
            _ => return,
        }
        self.capture.bytes.extend(record);
        self.capture.broken_at = Some(at);
    }

    fn block(&mut self, kind: u32, mut body: Vec<u8>) {
        body.resize(body.len().next_multiple_of(4), 0);
        let length = 12 + body.len() as u32;
        let block = [self.words(&[kind, length]), body, self.u32(length).to_vec()];
        self.capture.bytes.extend(block.concat());
    }

    fn option(&self, code: u16, value: &[u8]) -> Vec<u8> {
        let length = value.len() as u16;
        let mut option = [self.u16(code), self.u16(length)].concat();
        option.extend(value);
        option.resize(option.len().next_multiple_of(4), 0);
        option
    }

    /// Options that end properly, without an end, or with a malformed one.
    fn end_of_options(&mut self, options: &mut Vec<u8>) {
        let end = match self.rng.below(4) {
            0 => Vec::new(),
            // Longer than the block.
            1 => [self.u16(2_988), self.u16(60_000)].concat(),
            _ => self.option(0, &[]),
        };
        options.extend(end);
    }

    fn section(&mut self) {
        self.is_big = self.rng.one_in(2);
        let length = self.rng.of(&[[0xff; 8], [0; 8], [1; 8]]);
        let minor = self.rng.of(&[0, 2]);
        let mut body = self.words(&[0x1a2b_3c4d]);
        body.extend([self.u16(1), self.u16(minor)].concat());
        body.extend(length);
        if self.rng.one_in(2) {
            body.extend(self.option(4, b"generator"));
            self.end_of_options(&mut body);
        }
        self.block(0x0a0d_0d0a, body);
    }

    /// Adds an interface. Returns its link type, FCS and maximum captured length.
    fn interface(&mut self) -> (Option<u32>, bool, u32) {
        if self.rng.one_in(20) {
            self.block(1, vec![1, 0, 0, 0]);
            return (None, false, 0);
        }
        let (link, snap_bytes) = (self.link(), self.snap_bytes());
        let mut body = [self.u16(link as u16), self.u16(0)].concat();
        body.extend(self.u32(snap_bytes));
        let mut has_fcs = false;
        if self.rng.one_in(2) {
            let resolution = self.rng.of(&[0, 3, 6, 9, 10, 127, 0x80, 0x9e, 0xff]);
            body.extend(self.option(9, &[resolution]));
            let offset = self.rng.bytes(8);
            body.extend(self.option(14, &offset));
            let option = self.rng.of(&[self.option(9, &[]), self.option(2, b"name")]);
            body.extend(option);
        }
        if self.rng.one_in(3) {
            let fcs = self.rng.of(&[0, 2, 4, 32]);
            has_fcs = fcs > 0;
            body.extend(self.option(13, &[fcs]));
        }
        self.end_of_options(&mut body);
        self.block(1, body);
        (Some(link), has_fcs, snap_bytes)
    }

    fn pcapng(&mut self) {
        for _ in 0..1 + self.rng.below(3) {
            self.section();
            let mut interfaces = Vec::new();
            for _ in 0..self.rng.below(4) {
                let interface = self.interface();
                interfaces.push(interface);
            }
            for _ in 0..self.rng.below(12) {
                self.content(&interfaces);
            }
        }
        self.pcapng_tail();
    }

    fn content(&mut self, interfaces: &[(Option<u32>, bool, u32)]) {
        match self.rng.below(10) {
            0 => {
                let kind = self.rng.next() as u32 | 0x8000_0000;
                let kind = self.rng.of(&[4, 5, 0xbad, 0x4000_0bad, kind]);
                let length = self.rng.below(300);
                let body = self.rng.bytes(length);
                self.block(kind, body);
            }
            1 if self.rng.one_in(10) => self.block(10, vec![b'k'; (1 << 20) + 100]),
            1 => {
                // Shorter than the header of a packet.
                let kind = self.rng.of(&[2, 3, 6]);
                let length = if kind == 3 { 0 } else { 16 };
                self.block(kind, vec![0; length]);
                self.capture.packets.push(Err("malformed"));
            }
            2 | 3 => self.simple_packet(interfaces.first()),
            _ => self.packet(interfaces),
        }
    }

    fn simple_packet(&mut self, interface: Option<&(Option<u32>, bool, u32)>) {
        let Some(&(Some(link), has_fcs, snap_bytes)) = interface else {
            self.block(3, vec![0; 64]);
            return self.capture.packets.push(Err("unknown_interface"));
        };
        let record = self.record(link, has_fcs);
        // The captured length follows from the others: such a block cannot be cut elsewhere.
        let mut data = record.data;
        data.resize(record.original as usize, 9);
        let fcs_bytes = if has_fcs { 4 } else { 0 };
        let frame = data[..data.len() - fcs_bytes].to_vec();
        if snap_bytes > 0 {
            data.truncate(snap_bytes as usize);
        }
        let expected = match () {
            () if link != 1 => Err("not_ethernet"),
            () if frame.len() > 262_144 => Err("longer_than_mtu"),
            () if data.len() < frame.len() => Err("cut_in_capture"),
            () => Ok(frame),
        };
        let body = [self.u32(record.original).to_vec(), data].concat();
        self.block(3, body);
        self.capture.packets.push(expected);
    }

    fn packet(&mut self, interfaces: &[(Option<u32>, bool, u32)]) {
        let number = self.rng.below(interfaces.len() + 1);
        let interface = interfaces.get(number).copied();
        let (link, mut has_fcs, _) = interface.unwrap_or_default();
        let flags = self.rng.of(&[None, None, Some(0), Some(4 << 5)]);
        has_fcs |= flags == Some(4 << 5);
        let record = self.record(link.unwrap_or(1), has_fcs);
        let captured = record.data.len() as u32;
        let is_obsolete = self.rng.one_in(3);
        let mut body = match is_obsolete {
            true => [self.u16(number as u16), self.u16(0xffff)].concat(),
            false => self.u32(number as u32).to_vec(),
        };
        let ticks = [self.rng.next() as u32, self.rng.next() as u32];
        let is_malformed = self.rng.one_in(15) && captured < 200_000;
        let stated = captured + if is_malformed { 4_000 } else { 0 };
        body.extend(self.words(&[ticks[0], ticks[1], stated, record.original]));
        body.extend(&record.data);
        if !is_malformed {
            body.resize(body.len().next_multiple_of(4), 0);
            if let Some(flags) = flags {
                let flags = self.u32(flags);
                body.extend(self.option(2, &flags));
                self.end_of_options(&mut body);
            }
        }
        self.block(if is_obsolete { 2 } else { 6 }, body);
        self.capture.packets.push(match link {
            None => Err("unknown_interface"),
            Some(_) if is_malformed => Err("malformed"),
            Some(_) => record.expected,
        });
    }

    fn pcapng_tail(&mut self) {
        let at = self.capture.bytes.len();
        let kind = self.rng.of(&[2, 6, 4, 10]);
        self.block(kind, vec![0; 64]);
        let length = self.capture.bytes.len() - at;
        match self.rng.below(12) {
            0 => {
                let cut = 1 + self.rng.below(length - 1);
                self.capture.bytes.truncate(at + cut);
            }
            1 => self.capture.bytes[at + 4..at + 8].fill(0),
            2 => {
                let unaligned = self.u32(length as u32 + 2);
                self.capture.bytes[at + 4..at + 8].copy_from_slice(&unaligned);
            }
            3 => {
                let end = self.capture.bytes.len();
                self.capture.bytes[end - 4..].fill(0x11);
            }
            4 => self.capture.bytes[at + 4..at + 8].fill(0xf0),
            _ => return self.capture.bytes.truncate(at),
        }
        self.capture.broken_at = Some(at);
    }
}
