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
  if (answer instanceof Response) return observedResponse(answer, usage, once) as T;
  if (answer instanceof ReadableStream)
    return observedBody(answer as ReadableStream<Uint8Array>, eventsOf(usage), once) as T;
  if (isIterable(answer)) return observedIterable(answer, usage, once) as T;
  usage.read(answer);
  once(true);
  return answer;
}

type Once = (ended: boolean) => void;

/** Reads the text of an answer piece by piece. */
interface TextReader {
  feed(text: string): void;
  /** After the last piece. */
  end(): void;
}

function observedResponse(response: Response, usage: UsageReader, once: Once): Response {
  const { body, headers, status, statusText, url } = response;
  if (body === null) {
    once(true);
    return response;
  }
  const isStream = headers.get('content-type')?.startsWith('text/event-stream') === true;
  const watched = observedBody(body, isStream ? eventsOf(usage) : wholeOf(usage), once);
  return Object.defineProperty(new Response(watched, { headers, status, statusText }), 'url', { value: url });
}

function observedBody(body: ReadableStream<Uint8Array>, text: TextReader, once: Once): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (!done) {
            text.feed(decoder.decode(value, { stream: true }));
            controller.enqueue(value);
            return;
          }
          text.end();
          once(true);
          controller.close();
        } catch (error) {
          once(false);
          controller.error(error);
        }
      },
      cancel(reason) {
        once(false);
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 }, // nothing is read ahead of the caller
  );
}

/** An iterable of events, or of the bytes of a stream of events. Its other members stay. */
function observedIterable<T extends AsyncIterable<unknown>>(iterable: T, usage: UsageReader, once: Once): T {
  const iterate = async function* (): AsyncGenerator<unknown, void> {
    const text = eventsOf(usage);
    const decoder = new TextDecoder();
    let ended = false;
    try {
      for await (const event of iterable) {
        if (typeof event === 'string') text.feed(event);
        else if (event instanceof Uint8Array) text.feed(decoder.decode(event, { stream: true }));
        else usage.read(event);
        yield event;
      }
      text.end();
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

/** Reads server-sent events. One that is no JSON, such as `[DONE]`, says nothing. */
function eventsOf(usage: UsageReader): TextReader {
  const parser: EventSourceParser = createParser({ onEvent: ({ data }) => usage.read(parsed(data)) });
  return { feed: (text) => parser.feed(text), end: () => parser.reset({ consume: true }) };
}

/** Reads one text of JSON. */
function wholeOf(usage: UsageReader): TextReader {
  let text = '';
  return { feed: (more) => void (text += more), end: () => usage.read(parsed(text)) };
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
