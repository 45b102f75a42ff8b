/** The number of a Cluster's hash slots. */
export const SLOTS = 16_384;

/** CRC-16/XMODEM of each byte. */
const TABLE = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8;
  for (let bit = 0; bit < 8; bit++) crc = (crc << 1) ^ (crc & 0x8000 ? 0x1021 : 0);
  return crc;
});

/**
 * The hash slot of a key, 0 to 16,383: CRC16 of the text in its first braces, or of the whole key.
 *
 * @see https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/#hash-tags
 */
export function slotOf(key: string): number {
  const open = key.indexOf('{');
  const close = open < 0 ? -1 : key.indexOf('}', open + 1);
  const hasTag = close > open + 1;
  const end = hasTag ? close : key.length;
  let crc = 0;
  for (let i = hasTag ? open + 1 : 0; i < end; i++) {
    const code = key.charCodeAt(i);
    // Redis counts bytes. Only keys of an application's own making have others than ASCII.
    if (code > 127) return slotOfBytes(Buffer.from(hasTag ? key.slice(open + 1, close) : key));
    crc = ((crc << 8) & 0xffff) ^ TABLE[(crc >> 8) ^ code]!;
  }
  return crc & (SLOTS - 1);
}

function slotOfBytes(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) crc = ((crc << 8) & 0xffff) ^ TABLE[(crc >> 8) ^ byte]!;
  return crc & (SLOTS - 1);
}
