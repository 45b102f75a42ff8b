/**
 * Bytes of UTF-8 that a token is taken for where nobody says how many there were. English has about 4, code and other languages
 * about 3: an estimate errs on the side of more.
 */
const BYTES_PER_TOKEN = 3;
/** What a picture, a sound or a file is taken for, whose bytes say nothing: 1,500 tokens. */
const BYTES_OF_FILE = 1_500 * BYTES_PER_TOKEN;
/** Members that name things, and are no text of the conversation. */
const NAMES: ReadonlySet<string> = new Set(['id', 'model', 'object', 'role', 'status', 'type']);
/** A file in the text of a request: a data URL or base64, of some length. */
const FILE = /^data:|^[\w+/-]+={0,2}$/;
const SHORTEST_FILE = 1_000;

export function tokensOf(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}

/** The bytes of all texts of a value. */
export function textBytes(value: unknown): number {
  if (typeof value === 'string') {
    return value.length >= SHORTEST_FILE && FILE.test(value) ? BYTES_OF_FILE : Buffer.byteLength(value);
  }
  if (typeof value !== 'object' || value === null) return 0;
  let bytes = 0;
  for (const name of Object.keys(value)) {
    if (!NAMES.has(name)) bytes += textBytes((value as Readonly<Record<string, unknown>>)[name]);
  }
  return bytes;
}

/** A number of tokens; undefined for anything else. */
export function whole(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : undefined;
}
