declare module 'cluster-key-slot' {
  /** The slot of a key, 0 to 16,383: CRC16 of the text in its first braces, or of the whole key. */
  export default function calculateSlot(key: string): number;
}
