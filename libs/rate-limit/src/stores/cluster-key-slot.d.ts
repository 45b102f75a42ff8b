declare module 'cluster-key-slot' {
  /** The slot of a key, 0 to 16,383: CRC16 of what stands in its first braces, or of all of it. */
  export default function calculateSlot(key: string): number;
}
