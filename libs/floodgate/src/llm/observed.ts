import { createParser, type EventSourceParser } from 'eventsource-parser';
import { UsageReader } from './usage.js';

/** Called once: with what the answer says, and whether it came to its end. */
export type AnswerEnd = (usage: UsageReader, ended: boolean) => void;

/**
 * Watches an answer, and returns the same for the caller to read: a `Response` of `fetch`, a stream of bytes, an iterable of events as
 * the packages of providers return it, or a parsed answer. What is never read, nor cancelled, never ends.
 */
export function observed<T>(answer: T, end: AnswerEnd): T {
  const usage = new UsageReader();
  let hasEnded = false;
  const once = (ended: boolean): void => {
    if (!hasEnded) end(usage, ended);
    hasEnded = true;
  };
  if (isResponse(answer)) return observedResponse(answer, usage, once) as T;
  if (answer instanceof ReadableStream) return observedBody(answer, eventsOf(usage), once) as T;
  if (isIterable(answer)) return observedIterable(answer, usage, once) as T;
  usage.read(answer);
  once(true);
  return answer;
}

type Once = (ended: boolean) => void;

/** Whether a value is the answer of a `fetch`: that of Node, or of a package such as undici, whose class is its own. */
export function isResponse(answer: unknown): answer is Response {
  if (Object.prototype.toString.call(answer) !== '[object Response]') return false;
  const { body } = answer as Partial<Response>;
  return body === null || typeof body?.getReader === 'function';
}

/** Reads an answer piece by piece: texts, bytes of them, or events. */
interface PieceReader {
  feed(piece: unknown): void;
  /** After the last piece. */
  end(isCut: boolean): void;
}

function observedResponse(response: Response, usage: UsageReader, once: Once): Response {
  const { body, headers, status, statusText, url } = response;
  if (body === null) {
    once(true);
    return response;
  }
  const isStream = /^text\/event-stream/i.test(headers.get('content-type') ?? '');
  const watched = observedBody(body, isStream ? eventsOf(usage) : wholeOf(usage), once);
  return Object.defineProperty(new Response(watched, { headers, status, statusText }), 'url', { value: url });
}

function observedBody<T>(body: ReadableStream<T>, pieces: PieceReader, once: Once): ReadableStream<T> {
  const reader = body.getReader();
  const end = (isCut: boolean): void => {
    pieces.end(isCut);
    once(!isCut);
  };
  return new ReadableStream<T>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (!done) {
            pieces.feed(value);
            controller.enqueue(value);
            return;
          }
          end(false);
          controller.close();
        } catch (error) {
          end(true);
          controller.error(error);
        }
      },
      cancel(reason) {
        end(true);
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 }, // nothing is read ahead of the caller
  );
}

/** An iterable of events, or of the bytes of a stream of events. Its other members stay. */
function observedIterable<T extends AsyncIterable<unknown>>(iterable: T, usage: UsageReader, once: Once): T {
  const iterate = async function* (): AsyncGenerator<unknown, void> {
    const pieces = eventsOf(usage);
    let ended = false;
    try {
      for await (const event of iterable) {
        pieces.feed(event);
        yield event;
      }
      pieces.end(false);
      ended = true;
    } finally {
      once(ended);
    }
  };
  return new Proxy(iterable, {
    get(target, name) {
      if (name === Symbol.asyncIterator) return iterate;
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === 'function' ? member.bind(target) : member;
    },
  });
}

/** Reads server-sent events, and objects that were parsed from them. One that is no JSON, such as `[DONE]`, says nothing. */
function eventsOf(usage: UsageReader): PieceReader {
  const parser: EventSourceParser = createParser({ onEvent: ({ data }) => usage.read(parsed(data)) });
  const text = decoded();
  return {
    feed(piece) {
      if (typeof piece === 'string' || piece instanceof Uint8Array) parser.feed(text(piece));
      else usage.read(piece);
    },
    end: () => parser.feed('\n\n'), // a last event may not have its own
  };
}

/** Reads one text of JSON. */
function wholeOf(usage: UsageReader): PieceReader {
  let all = '';
  const text = decoded();
  return {
    feed: (piece) => void (all += text(piece as Uint8Array)),
    end(isCut) {
      const answer = isCut ? undefined : parsed(all);
      if (answer === undefined) usage.readTorn(all);
      else usage.read(answer);
    },
  };
}

/** Decodes texts whose characters may be split between pieces. */
function decoded(): (piece: string | Uint8Array) => string {
  const decoder = new TextDecoder();
  return (piece) => (typeof piece === 'string' ? piece : decoder.decode(piece, { stream: true }));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function isIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}
