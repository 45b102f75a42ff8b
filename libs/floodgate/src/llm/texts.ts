/**
 * Bytes of UTF-8 that a token is taken for where the answer does not count them. English has about 4, code and other languages
 * about 3: an estimate errs on the side of more.
 */
const BYTES_PER_TOKEN = 3;
/** What a picture, a sound or a file is taken for, whose bytes say nothing: 1,500 tokens. */
const BYTES_OF_FILE = 1_500 * BYTES_PER_TOKEN;
/** Members that name things, and are no text of the conversation; longer ones may be. */
const NAMES: ReadonlySet<string> = new Set(['id', 'model', 'object', 'role', 'status', 'type']);
const LONGEST_NAME = 100;
/** Members of an answer that the provider adds for itself. */
const SEALS: ReadonlySet<string> = new Set(['encrypted_content', 'signature']);
/** Members that hold or name a file. Any text may look like one: it is one only there. */
const FILES: ReadonlySet<string> = new Set([
  'b64_json',
  'data',
  'file_data',
  'file_id',
  'file_url',
  'image_url',
  'url',
]);
const FILE = /^(?:(?:data:[^,\s]*,)?[\w+/-]+={0,2}|https?:\S+)$/;

export function tokensOf(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}

/** The bytes of a prompt: its texts, the names of its members, such as those of a tool's schema, and a token for each number. */
export function promptBytes(request: object): number {
  return bytesOf(request, (name, value) => {
    if (value === undefined) return 0;
    const own = name === '' ? 0 : Buffer.byteLength(name);
    if (typeof value === 'number') return own + BYTES_PER_TOKEN;
    if (ArrayBuffer.isView(value)) return own + BYTES_OF_FILE;
    if (typeof value !== 'string') return own;
    if (FILES.has(name) && FILE.test(value)) return own + BYTES_OF_FILE;
    return own + (NAMES.has(name) && value.length <= LONGEST_NAME ? 0 : Buffer.byteLength(value));
  });
}

/** The bytes of the texts of an answer, or of a part of one. */
export function answerBytes(value: unknown): number {
  return bytesOf(value, (name, text) => {
    if (typeof text !== 'string' || NAMES.has(name) || SEALS.has(name)) return 0;
    return FILES.has(name) && FILE.test(text) ? BYTES_OF_FILE : Buffer.byteLength(text);
  });
}

/** The sum over a value and its members. A client may nest them deeper than the stack is. */
function bytesOf(value: unknown, ownBytes: (name: string, value: unknown) => number): number {
  const left: object[] = [];
  const seen = new Set<object>();
  let bytes = 0;
  const meet = (name: string, one: unknown): void => {
    bytes += ownBytes(name, one);
    if (typeof one !== 'object' || one === null || ArrayBuffer.isView(one) || seen.has(one)) return;
    seen.add(one);
    left.push(one);
  };
  meet('', value);
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    if (Array.isArray(next)) for (const item of next) meet('', item);
    else for (const name of Object.keys(next)) meet(name, (next as Readonly<Record<string, unknown>>)[name]);
  }
  return bytes;
}

/** A number of tokens; undefined for anything else. */
export function whole(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : undefined;
}
