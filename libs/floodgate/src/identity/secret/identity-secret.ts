import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  type KeyObject,
  randomBytes,
} from 'node:crypto';
import { ownText } from '../../util/flat-text.js';
import { LruMap } from '../../util/lru-map.js';

/** Digests to keep: one takes 4 µs to make, and 0.1 µs to find. They take some 3 MB at most. */
const MAX_KEPT = 10_000;
/** How a tag begins that names a kind. A guard of the application may make others. */
const KIND = /^[a-z0-9-]{1,16}:/;
const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const PROOF_BYTES = 16;

/** The keys that a secret gives, one for each use. */
interface Derived {
  readonly digests: KeyObject;
  readonly texts: KeyObject;
}

/**
 * Keeps identities out of a store: its keys contain their digests, and its values are encrypted where they name them. Who has the secret
 * finds them again.
 *
 * Sources: HMAC-SHA-256 (RFC 2104), of which keys have 132 bits; AES-256-GCM (NIST SP 800-38D).
 */
export class IdentitySecret {
  private readonly secrets: readonly [Derived, ...Derived[]];
  private readonly kept = new LruMap<string>(MAX_KEPT);

  /**
   * @param given the secret, or the current one and previous ones
   * @param text how keys begin
   */
  constructor(
    given: string | readonly [current: string, ...previous: string[]],
    readonly text: string,
  ) {
    const [current, ...previous] = typeof given === 'string' ? [given] : given;
    this.secrets = [derived(current), ...previous.map(derived)];
  }

  digestOf(tag: string): string {
    const kept = this.kept.get(tag);
    if (kept !== undefined) return kept;
    const digest = digestBy(this.secrets[0], tag);
    this.kept.set(ownText(tag), digest);
    return digest;
  }

  /** The digests of a text under each secret, the current one first. */
  digestsOf(text: string): readonly string[] {
    return this.secrets.map((secret) => digestBy(secret, text));
  }

  /** Encrypts a text. Each time the result is another one. */
  encrypt(text: string): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.secrets[0].texts, nonce);
    return Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]).toString('base64');
  }

  /**
   * Decrypts what a process with one of the secrets has encrypted. A text from before there was a secret stays as it is, and so does one of
   * another secret, in which its readers find nothing.
   */
  decrypt(text: string): string {
    if (isBare(text)) return text;
    const bytes = Buffer.from(text, 'base64');
    if (bytes.length < NONCE_BYTES + PROOF_BYTES) return text;
    for (const { texts } of this.secrets) {
      try {
        const decipher = createDecipheriv(CIPHER, texts, bytes.subarray(0, NONCE_BYTES));
        decipher.setAuthTag(bytes.subarray(-PROOF_BYTES));
        const read = decipher.update(bytes.subarray(NONCE_BYTES, -PROOF_BYTES));
        return Buffer.concat([read, decipher.final()]).toString();
      } catch {
        // It is of another secret.
      }
    }
    return text;
  }
}

/** Whether a text is from before there was a secret. Encrypted ones are base64. */
export function isBare(text: string): boolean {
  return /[^\w+/=]/.test(text);
}

function derived(secret: string): Derived {
  const keyFor = (use: string): KeyObject => createSecretKey(createHmac('sha256', secret).update(use).digest());
  return { digests: keyFor('floodgate: digests'), texts: keyFor('floodgate: texts') };
}

/** 132 bits behind the kind, and a `#`, as in the tags of long identities. */
function digestBy({ digests }: Derived, tag: string): string {
  const [kind = ''] = KIND.exec(tag) ?? [];
  return `${kind}#${createHmac('sha256', digests).update(tag).digest('base64url').slice(0, 22)}`;
}
