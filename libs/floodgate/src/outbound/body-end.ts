import { finished } from 'node:stream';

/** Resolves the ends of bodies that were garbage-collected unread. Holds no body. Not every runtime has it. */
const collected =
  typeof FinalizationRegistry === 'undefined'
    ? undefined
    : new FinalizationRegistry<() => void>((resolve) => resolve());

/**
 * Resolves when a body is read, cancelled, broken or garbage-collected. Undefined for what is no stream.
 *
 * @param body a stream of Node or of the web, or anything else that an answer can have for its data
 */
export function bodyEnd(body: unknown): Promise<void> | undefined {
  if (!isStream(body)) return undefined;
  return new Promise((resolve) => {
    try {
      // `finished` neither reads nor locks the stream.
      finished(body, () => resolve());
      // The last resort. What `fetch` of Node has made ends sooner: Node cancels the body of a response that it collects.
      collected?.register(body, resolve);
    } catch {
      resolve(); // a stream that is not Node's
    }
  });
}

function isStream(body: unknown): body is NodeJS.ReadableStream {
  return typeof body === 'object' && body !== null && ('pipe' in body || 'getReader' in body);
}
