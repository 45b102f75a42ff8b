import { RateLimitConfigError } from 'floodgate';
import { shown } from 'floodgate/internal';

/** Identities of a request by their kinds. */
export type TestIdentity = Readonly<Record<string, string>>;

type Headers = Readonly<Record<string, string | undefined>>;

/** The headers by which the application knows these identities. One that is undefined is an error. */
export type IdentityHeaders = (identity: TestIdentity) => Headers | Promise<Headers>;

/** The parts of an identity resolver that tell its header. */
interface HeaderIdentity {
  readonly kind: string;
  readonly header?: string;
}

/**
 * Headers for identities that the module's `identity` reads from headers.
 *
 * @param resolvers the module's `identity`
 * @throws {RateLimitConfigError} for a kind that no header brings
 */
export function headersFor(resolvers: readonly HeaderIdentity[]): IdentityHeaders {
  return (identity) => {
    const headers: Record<string, string> = {};
    for (const [kind, value] of Object.entries(identity)) {
      const header = resolvers.find((resolver) => resolver.kind === kind && resolver.header !== undefined)?.header;
      if (header === undefined) throw unknownKind(kind, resolvers);
      headers[header] = value;
    }
    return headers;
  };
}

/**
 * The headers of an identity.
 *
 * @throws {RateLimitConfigError} when one of them is no text
 */
export async function identityHeaders(as: IdentityHeaders, identity: TestIdentity): Promise<Record<string, string>> {
  const headers = await as(identity);
  for (const [name, value] of Object.entries(headers ?? {})) {
    if (typeof value === 'string') continue;
    const kinds = Object.keys(identity).join(', ');
    throw new RateLimitConfigError(
      'expectLimit, as',
      `must return texts, got ${shown(value)} as ${name} for an identity of ${kinds}`,
    );
  }
  return headers as Record<string, string>;
}

/** @throws {RateLimitConfigError} when it is no object of texts */
export function checkIdentity(identity: unknown): void {
  const isObject = typeof identity === 'object' && identity !== null && !Array.isArray(identity);
  const values = isObject ? Object.values(identity) : [];
  if (values.length > 0 && values.every((value) => typeof value === 'string' && value !== '')) return;
  throw new RateLimitConfigError(
    'expectLimit, as',
    `takes identities by kind such as { user: 'ada' }, got ${shown(identity)}`,
  );
}

function unknownKind(kind: string, resolvers: readonly HeaderIdentity[]): RateLimitConfigError {
  const known = resolvers.filter(({ header }) => header !== undefined).map((one) => `${one.kind} (${one.header})`);
  const others = known.length === 0 ? "the module's identity reads no headers" : `headers bring ${known.join(', ')}`;
  return new RateLimitConfigError(
    'expectLimit, as',
    `no header brings an identity of kind ${shown(kind)} (${others}). Say how your application knows it: ` +
      `expectLimit(app, { as: ({ ${/^\w+$/.test(kind) ? kind : `'${kind}': value`} }) => ({ authorization: ... }) })`,
  );
}
