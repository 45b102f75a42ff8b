/** The bodies that can be sent again, by the tag of their class: an `instanceof` fails across realms, such as frames. */
const REPEATABLE = new Set(['Blob', 'File', 'FormData', 'URLSearchParams', 'ArrayBuffer', 'SharedArrayBuffer']);

export type FetchInput = Parameters<typeof fetch>[0];
export type FetchInit = Parameters<typeof fetch>[1];

/** A request that can be sent several times, if its body can. */
export interface Replay {
  readonly repeatable: boolean;
  /** The arguments of `fetch` for one more attempt. */
  next(isLast: boolean): [FetchInput, FetchInit];
  /** Frees what further attempts would have needed. */
  end(): void;
}

/** By its shape: the Request of another realm, or of a package with a `fetch` of its own, is one as well. */
export function isRequest(input: FetchInput): input is Request {
  return typeof input === 'object' && 'url' in input && 'clone' in input;
}

/** Prepares a call of `fetch`. A stream is sent once; the body of a Request is copied for each further attempt. */
export function replayOf(input: FetchInput, init: FetchInit): Replay {
  const given = init?.body ?? undefined;
  if (given !== undefined || !isRequest(input) || input.body === null) {
    return { repeatable: isRepeatable(given), next: () => [input, init], end: () => undefined };
  }
  return {
    repeatable: true,
    next: (isLast) => [isLast ? input : input.clone(), init],
    // Uses up the body, as fetch itself does.
    end: () => {
      if (!input.bodyUsed) input.body?.cancel().catch(() => undefined);
    },
  };
}

function isRepeatable(body: unknown): boolean {
  if (body === undefined || typeof body === 'string' || ArrayBuffer.isView(body)) return true;
  return REPEATABLE.has(Object.prototype.toString.call(body).slice(8, -1));
}
