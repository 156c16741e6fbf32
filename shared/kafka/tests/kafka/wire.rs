//! Kafka's protocol as bytes: produce requests read, and records written that no client would write.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

/// What a produce request says of one batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Produced {
    pub(crate) acks: i16,
    pub(crate) producer_id: i64,
    pub(crate) base_sequence: i32,
    pub(crate) attributes: i16,
    pub(crate) records: i32,
    pub(crate) body: Vec<u8>,
}

/// The version of produce requests that is spoken here: the last one before lengths became varints.
pub(crate) const PRODUCE_VERSION: i16 = 7;

struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, length: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(length);
        self.0 = rest;
        taken
    }

    fn i16(&mut self) -> i16 {
        i16::from_be_bytes(self.take(2).try_into().unwrap())
    }

    fn i32(&mut self) -> i32 {
        i32::from_be_bytes(self.take(4).try_into().unwrap())
    }

    fn i64(&mut self) -> i64 {
        i64::from_be_bytes(self.take(8).try_into().unwrap())
    }

    fn string(&mut self) -> Option<&'a [u8]> {
        usize::try_from(self.i16())
            .ok()
            .map(|length| self.take(length))
    }
}

/// Reads the batches of a request, with its length before it; nothing when it is no produce request.
pub(crate) fn produced(frame: &[u8]) -> Vec<Produced> {
    let mut request = Bytes(frame);
    request.take(4);
    if request.i16() != 0 {
        return Vec::new();
    }
    assert_eq!(request.i16(), PRODUCE_VERSION);
    let _correlation = request.i32();
    let _client = request.string();
    let _transaction = request.string();
    let acks = request.i16();
    let _timeout = request.i32();
    let mut batches = Vec::new();
    for _ in 0..request.i32() {
        let _topic = request.string();
        for _ in 0..request.i32() {
            let _partition = request.i32();
            let length = usize::try_from(request.i32()).unwrap();
            let mut batch = Bytes(request.take(length));
            // Base offset, length, leader epoch, magic and checksum.
            batch.take(8 + 4 + 4 + 1 + 4);
            let attributes = batch.i16();
            // Last offset delta, first and largest timestamp.
            batch.take(4 + 8 + 8);
            let producer_id = batch.i64();
            let _epoch = batch.i16();
            batches.push(Produced {
                acks,
                producer_id,
                base_sequence: batch.i32(),
                attributes,
                records: batch.i32(),
                body: batch.0.to_vec(),
            });
        }
    }
    batches
}

/// A record of any bytes.
pub(crate) struct RawRecord<'a> {
    pub(crate) key: &'a [u8],
    pub(crate) value: &'a [u8],
    pub(crate) headers: &'a [(&'a [u8], &'a [u8])],
    pub(crate) attributes: i16,
}

/// Marks a record that only tells of the end of a transaction.
pub(crate) const MARKER: RawRecord<'_> = RawRecord {
    // Version 0, type 1: committed.
    key: &[0, 0, 0, 1],
    value: &[0, 0, 0, 0, 0, 0],
    headers: &[],
    // Transactional, and a control record.
    attributes: 0b11_0000,
};

/// Writes one record to partition 0 of a topic.
pub(crate) fn write(broker: &str, topic: &str, record: &RawRecord<'_>) {
    let batch = batch(record);
    let text = |text: &str| {
        [
            &i16::try_from(text.len()).unwrap().to_be_bytes(),
            text.as_bytes(),
        ]
        .concat()
    };
    let length = |bytes: &[u8]| i32::try_from(bytes.len()).unwrap().to_be_bytes();
    let request = [
        [0_i16.to_be_bytes(), PRODUCE_VERSION.to_be_bytes()].concat(),
        7_i32.to_be_bytes().to_vec(),
        text("test"),
        // No transaction, acknowledged by all, 5 s, one topic.
        (-1_i16).to_be_bytes().to_vec(),
        (-1_i16).to_be_bytes().to_vec(),
        5_000_i32.to_be_bytes().to_vec(),
        1_i32.to_be_bytes().to_vec(),
        text(topic),
        // One partition, number 0.
        1_i32.to_be_bytes().to_vec(),
        0_i32.to_be_bytes().to_vec(),
        length(&batch).to_vec(),
        batch,
    ]
    .concat();
    let mut stream = TcpStream::connect(broker).unwrap();
    stream.write_all(&length(&request)).unwrap();
    stream.write_all(&request).unwrap();
    let mut answer = vec![0; 4 + 4 + 4 + 2 + topic.len() + 4 + 4 + 2];
    stream.read_exact(&mut answer).unwrap();
    assert!(
        answer.ends_with(&[0, 0]),
        "the broker refuses it: {answer:?}"
    );
}

fn batch(record: &RawRecord<'_>) -> Vec<u8> {
    let headers: Vec<u8> = record
        .headers
        .iter()
        .flat_map(|(name, value)| {
            [
                varint(name.len()),
                name.to_vec(),
                varint(value.len()),
                value.to_vec(),
            ]
        })
        .flatten()
        .collect();
    let record_body = [
        // Attributes, and no distance in time and offset from the first record.
        vec![0, 0, 0],
        varint(record.key.len()),
        record.key.to_vec(),
        varint(record.value.len()),
        record.value.to_vec(),
        varint(record.headers.len()),
        headers,
    ]
    .concat();
    let time = 1_700_000_000_000_i64.to_be_bytes();
    let checked = [
        record.attributes.to_be_bytes().as_slice(),
        &0_i32.to_be_bytes(),
        &time,
        &time,
        &(-1_i64).to_be_bytes(),
        &(-1_i16).to_be_bytes(),
        &(-1_i32).to_be_bytes(),
        &1_i32.to_be_bytes(),
        &varint(record_body.len()),
        &record_body,
    ]
    .concat();
    [
        0_i64.to_be_bytes().as_slice(),
        &i32::try_from(checked.len() + 9).unwrap().to_be_bytes(),
        &(-1_i32).to_be_bytes(),
        &[2],
        &crc32c(&checked).to_be_bytes(),
        &checked,
    ]
    .concat()
}

/// Writes a length as Kafka does: zigzag, seven bits at a time.
fn varint(length: usize) -> Vec<u8> {
    let mut left = length * 2;
    let mut bytes = Vec::new();
    while left >= 0x80 {
        bytes.push(u8::try_from(left % 0x80).unwrap() | 0x80);
        left /= 0x80;
    }
    bytes.push(u8::try_from(left).unwrap());
    bytes
}

fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ if crc & 1 == 1 { 0x82F6_3B78 } else { 0 }
        })
    })
}
