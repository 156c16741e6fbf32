//! The arithmetic of `Fn::Cidr`.

use std::net::Ipv4Addr;

/// Divides a block of addresses into blocks of `bits` bits and returns the first `count`.
///
/// Source: CloudFormation template reference, `Fn::Cidr`: 1 to 256 blocks; the bits are the inverse of the mask.
pub(super) fn blocks(
    address: Ipv4Addr,
    mask: u32,
    count: u32,
    bits: u32,
) -> Result<Vec<String>, &'static str> {
    if !(1..=256).contains(&count) {
        return Err("takes 1 to 256 blocks");
    }
    let (Some(host_bits), 1..=32) = (32_u32.checked_sub(mask), bits) else {
        return Err("takes a mask of at most 32 bits, and blocks of 1 to 32 bits");
    };
    let start = u64::from(address.to_bits());
    let first = start
        .checked_shr(host_bits)
        .unwrap_or_default()
        .checked_shl(host_bits)
        .unwrap_or_default();
    let size = 1_u64.checked_shl(bits).unwrap_or_default();
    let room = 1_u64.checked_shl(host_bits).unwrap_or_default();
    let last = size.saturating_mul(u64::from(count));
    if last > room {
        return Err("takes a block that has room for all that are asked of it");
    }
    let new_mask = 32_u32.saturating_sub(bits);
    let addresses =
        (0..u64::from(count)).map(|index| first.saturating_add(size.saturating_mul(index)));
    Ok(addresses
        .map(|address| {
            let address = Ipv4Addr::from_bits(u32::try_from(address).unwrap_or(u32::MAX));
            format!("{address}/{new_mask}")
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documented_blocks_come_out() {
        let address = Ipv4Addr::new(192, 168, 0, 0);
        assert_eq!(
            blocks(address, 24, 6, 5).unwrap(),
            [
                "192.168.0.0/27",
                "192.168.0.32/27",
                "192.168.0.64/27",
                "192.168.0.96/27",
                "192.168.0.128/27",
                "192.168.0.160/27"
            ]
        );
        assert_eq!(
            blocks(Ipv4Addr::new(10, 0, 3, 7), 16, 2, 8).unwrap(),
            ["10.0.0.0/24", "10.0.1.0/24"]
        );
        assert_eq!(
            blocks(Ipv4Addr::BROADCAST, 0, 1, 32).unwrap(),
            ["0.0.0.0/0"]
        );
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let address = Ipv4Addr::new(192, 168, 0, 0);
        for (mask, count, bits) in [
            (24, 9, 5),
            (33, 1, 1),
            (24, 0, 5),
            (24, 257, 1),
            (24, 1, 33),
            (24, 1, 0),
        ] {
            assert!(
                blocks(address, mask, count, bits).is_err(),
                "{mask} {count} {bits}"
            );
        }
    }
}
