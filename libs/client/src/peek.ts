import type { ClientTime } from './time.js';
import { type BodyWait, readBody } from '../../floodgate/src/util/responses/read-response.js';

/** The body of a rejection is a few hundred bytes. */
const MAX_BYTES = 16_384;
/** Milliseconds for which the body of a rejection is awaited. */
const MAX_MS = 1000;

/**
 * What the JSON body of a response says of the wait; undefined when it does not say. Reads a copy: the response stays unread.
 */
export async function peekBody(response: Response, time: ClientTime): Promise<BodyWait | undefined> {
  if (response.body === null || response.bodyUsed) return undefined;
  if (!/^[^;]*[/+]json\b/i.test(response.headers.get('content-type') ?? '')) return undefined;
  if (Number(response.headers.get('content-length') ?? 0) > MAX_BYTES) return undefined;
  const reader = response.clone().body!.getReader();
  // Cancelling ends a read that waits. The promise of it settles only when the response itself is read: nobody awaits it.
  const giveUp = (): void => void reader.cancel().catch(() => undefined);
  const cancelTimer = time.setTimer(giveUp, MAX_MS);
  try {
    const decoder = new TextDecoder();
    let text = '';
    for (let bytes = 0; ;) {
      const { done, value } = await reader.read();
      if (done) break;
      bytes += value.byteLength;
      if (bytes > MAX_BYTES) {
        giveUp();
        return undefined;
      }
      text += decoder.decode(value, { stream: true });
    }
    return readBody(JSON.parse(text));
  } catch {
    return undefined; // no JSON, or the connection broke: the caller meets that error
  } finally {
    cancelTimer();
  }
}
