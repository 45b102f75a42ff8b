import { afterEach, describe, expect, it } from '@jest/globals';
import { CallWaitError, createLimiter, type RateLimiter } from 'floodgate';
import { limitModel } from 'floodgate/llm';
import { fetch as undiciFetch } from 'undici';
import { until } from '../support/faults/until.js';
import { events, ModelServer, type Script } from './support/model-server.js';

const ALL = 1_000_000;
const USER = { kind: 'user', value: 'ada' };
const POLICIES = {
  requests: { algorithm: 'fixed-window', limit: 20, window: '300d' },
  tokens: { algorithm: 'fixed-window', limit: ALL, window: '300d' },
  day: { algorithm: 'fixed-window', limit: ALL, window: '300d', by: 'global' },
} as const;
/** 12 bytes of texts, 34 of names, and a number: 17 tokens, where nobody says more. */
const BODY = { model: 'pretend', max_tokens: 100, messages: [{ role: 'user', content: ['one', 'two', 'six', 'ten'] }] };
const PROMPT = 17;

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

async function limiterWith(policies: Parameters<typeof createLimiter>[0] = {}): Promise<RateLimiter> {
  const limiter = await createLimiter({ policies: POLICIES, ...policies });
  closing.push(() => limiter.close());
  return limiter;
}

async function modelWith(...scripts: Script[]): Promise<ModelServer> {
  const model = await ModelServer.start();
  closing.push(() => model[Symbol.asyncDispose]());
  return model.plays(...scripts);
}

const chat = limitModelOf('tokens');
function limitModelOf(...tokens: string[]): (limiter: RateLimiter) => ReturnType<typeof limitModel> {
  return (limiter) => limitModel(limiter, { requests: 'requests', tokens });
}

async function used(limiter: RateLimiter, policy = 'tokens'): Promise<number> {
  const { policies } = await limiter.peek(policy, USER);
  return policies[0]!.limit - policies[0]!.remaining;
}

async function usedAtLast(limiter: RateLimiter, tokens: number): Promise<number> {
  await until(`${tokens} tokens are charged`, 5_000, async () => (await used(limiter)) === tokens).catch(
    () => undefined,
  );
  return used(limiter);
}

const text = (content: string): object => ({ choices: [{ index: 0, delta: { content } }] });
const ANTHROPIC = [
  { type: 'message_start', message: { usage: { input_tokens: 10, cache_read_input_tokens: 5, output_tokens: 1 } } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'x'.repeat(30) } },
];

interface Answered extends Script {
  readonly title: string;
  readonly tokens: number;
}

/** Answers that are read to their end, and what they cost. */
const ANSWERS: readonly Answered[] = [
  {
    title: 'a chat as JSON',
    type: 'application/json; charset=utf-8',
    pieces: [
      JSON.stringify({
        choices: [{ message: { content: 'hi' } }],
        usage: { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 },
      }),
    ],
    tokens: 12,
  },
  {
    title: 'a response as JSON, whose total has more than its parts',
    type: 'application/json',
    pieces: [
      JSON.stringify({
        object: 'response',
        output: [],
        usage: { input_tokens: 7, output_tokens: 5, total_tokens: 14 },
      }),
    ],
    tokens: 14,
  },
  {
    title: 'embeddings',
    type: 'application/json',
    pieces: [JSON.stringify({ data: [{ embedding: [0.1, 0.2] }], usage: { prompt_tokens: 9, total_tokens: 9 } })],
    tokens: 9,
  },
  {
    title: 'a message as JSON, with a cache',
    type: 'application/json',
    pieces: [
      JSON.stringify({
        type: 'message',
        content: [{ type: 'text', text: 'hi' }],
        usage: { input_tokens: 3, cache_creation_input_tokens: 20, cache_read_input_tokens: 100, output_tokens: 2 },
      }),
    ],
    tokens: 125,
  },
  {
    title: 'a stream of a chat whose last event has the usage',
    pieces: [
      ...events(text('hello'), text(' world'), {
        choices: [],
        usage: { prompt_tokens: 6, completion_tokens: 2, total_tokens: 8 },
      }),
      'data: [DONE]\n\n',
    ],
    tokens: 8,
  },
  {
    title: 'a stream of a chat without usage',
    pieces: [...events(text('abc'), text('def'), text('g')), 'data: [DONE]\n\n'],
    tokens: PROMPT + 3,
  },
  {
    title: 'a stream whose first events say 0',
    pieces: events({ ...text('abcdef'), usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 } }),
    tokens: 2,
  },
  {
    title: 'a stream of a response',
    pieces: events(
      { type: 'response.created', response: { usage: null } },
      { type: 'response.output_text.delta', delta: 'hello' },
      {
        type: 'response.completed',
        response: { output: [{ content: 'hello' }], usage: { input_tokens: 6, output_tokens: 30, total_tokens: 36 } },
      },
    ),
    tokens: 36,
  },
  {
    title: 'a stream of a message',
    pieces: events(
      ...ANTHROPIC,
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 12 } },
      { type: 'message_stop' },
    ),
    tokens: 27,
  },
  {
    title: 'a stream whose numbers shrink',
    pieces: events(
      ...ANTHROPIC,
      { type: 'message_delta', usage: { input_tokens: 10, output_tokens: 12 } },
      { type: 'message_delta', usage: { output_tokens: 0 } },
    ),
    tokens: 27,
  },
  {
    title: 'a message that has its usage beside it',
    type: 'application/json',
    pieces: [JSON.stringify({ message: { content: 'hi' }, usage: { input_tokens: 3, output_tokens: 4 } })],
    tokens: 7,
  },
  { title: 'a stream of a message that ends without its last event', pieces: events(...ANTHROPIC), tokens: 25 },
  {
    title: 'a stream whose characters are split between its pieces',
    pieces: [
      Buffer.from(`data: ${JSON.stringify(text('ééé'))}\n\n`).subarray(0, 48),
      Buffer.from(`data: ${JSON.stringify(text('ééé'))}\n\n`).subarray(48),
    ],
    tokens: PROMPT + 2,
  },
  ...['\n', '\r\n', '\r'].map((end) => ({
    title: `a stream whose lines end with ${JSON.stringify(end)}, byte by byte, and whose last event has no end`,
    pieces: Array.from(
      Buffer.from(
        events(text('ééé'), { choices: [], usage: { prompt_tokens: 6, completion_tokens: 2 } })
          .join('')
          .trimEnd()
          .replaceAll('\n', end),
      ),
      (byte) => Buffer.of(byte),
    ),
    tokens: 8,
  })),
  {
    title: 'a stream of what is no event',
    pieces: [': ping\n\n', 'data: {"choices":\n\n', 'garbage\n', ...events(text('abc'))],
    tokens: PROMPT + 1,
  },
  {
    title: 'an answer that says nothing keeps the estimate',
    type: 'application/json',
    pieces: ['{'],
    tokens: PROMPT + 100,
  },
  {
    title: 'numbers that are none',
    type: 'application/json',
    pieces: [JSON.stringify({ usage: { prompt_tokens: -1, completion_tokens: 1e99 } })],
    tokens: PROMPT + 100,
  },
  {
    title: 'an answer with an error status costs no token',
    status: 429,
    type: 'application/json',
    pieces: ['{"error":{"message":"slow down"}}'],
    tokens: 0,
  },
];

describe('an answer that is read to its end costs what it says', () => {
  it.each(ANSWERS)('$title', async ({ tokens, ...script }) => {
    const limiter = await limiterWith();
    const model = await modelWith(script);
    const call = await chat(limiter)(USER, BODY, () =>
      fetch(model.url, { method: 'POST', body: JSON.stringify(BODY) }),
    );
    if (!call.allowed) throw new Error('rejected');
    expect(await used(limiter)).toBe(script.status === 429 ? 0 : PROMPT + 100);
    const whole = Buffer.from(await call.answer.arrayBuffer());
    expect(whole).toEqual(Buffer.concat(script.pieces.map((piece) => Buffer.from(piece))));
    expect({ status: call.answer.status, url: call.answer.url }).toEqual({
      status: script.status ?? 200,
      url: model.url,
    });
    expect(await usedAtLast(limiter, tokens)).toBe(tokens);
    expect(await used(limiter, 'requests')).toBe(1);
  });

  it.each(ANSWERS.filter(({ type, status }) => type !== undefined && status === undefined))(
    '$title, parsed',
    async ({ pieces, tokens }) => {
      const limiter = await limiterWith();
      const parsed = (): unknown => {
        try {
          return JSON.parse(String(pieces[0]));
        } catch {
          return undefined;
        }
      };
      await chat(limiter)(USER, BODY, parsed);
      expect(await usedAtLast(limiter, tokens)).toBe(tokens);
    },
  );
});

describe('an answer that ends early costs its prompt, and what was produced', () => {
  const early = [...events(...ANTHROPIC)];
  const cost = 15 + 10;

  it('whose reader cancels', async () => {
    const limiter = await limiterWith();
    const model = await modelWith({ pieces: early, end: 'open' });
    const call = await chat(limiter)(USER, BODY, () => fetch(model.url));
    if (!call.allowed) throw new Error('rejected');
    const reader = call.answer.body!.getReader();
    let read = '';
    while (!read.includes('xxx"}')) read += String(Buffer.from((await reader.read()).value ?? []));
    await reader.cancel();
    expect(await usedAtLast(limiter, cost)).toBe(cost);
  });

  it.each(['cut', 'abort'] as const)('whose connection ends by %s', async (way) => {
    const limiter = await limiterWith();
    const model = await modelWith({ pieces: early, end: way === 'cut' ? 'cut' : 'open' });
    const leaving = new AbortController();
    const call = await chat(limiter)(USER, BODY, () => fetch(model.url, { signal: leaving.signal }));
    if (!call.allowed) throw new Error('rejected');
    const reader = call.answer.body!.getReader();
    const all = async (): Promise<void> => {
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        if (way === 'abort' && Buffer.from(part.value).toString().includes('xxx"}')) leaving.abort();
      }
    };
    await expect(all()).rejects.toThrow(way === 'cut' ? 'terminated' : 'aborted');
    expect(await usedAtLast(limiter, cost)).toBe(cost);
  });

  it('whose iteration stops, as the package of a provider streams it', async () => {
    const limiter = await limiterWith();
    const parsed = Object.assign(
      (async function* () {
        yield* ANTHROPIC;
        yield { type: 'content_block_delta', delta: { text: 'never read' } };
      })(),
      { controller: 'stays' },
    );
    const call = await chat(limiter)(USER, BODY, () => parsed);
    if (!call.allowed) throw new Error('rejected');
    expect(call.answer.controller).toBe('stays');
    let count = 0;
    for await (const _ of call.answer) if (++count === 2) break;
    expect(await usedAtLast(limiter, cost)).toBe(cost);
  });

  it.each(['JSON', 'no JSON'])('as one text, %s: its estimate, or what came of it if that is more', async (what) => {
    for (const [length, tokens] of [
      [30, PROMPT + 100],
      [3_000, PROMPT + 1_000],
    ] as const) {
      const limiter = await limiterWith();
      const answer = (what === 'JSON' ? '{' : '<').padEnd(length, 'x');
      const model = await modelWith({
        type: 'application/json',
        pieces: [answer],
        ...(what === 'JSON' && { end: 'open' }),
      });
      const call = await chat(limiter)(USER, BODY, () => fetch(model.url));
      if (!call.allowed) throw new Error('rejected');
      const reader = call.answer.body!.getReader();
      for (let read = 0; read < length;) read += (await reader.read()).value!.length;
      if (what === 'JSON') await reader.cancel();
      else await reader.read();
      expect(await usedAtLast(limiter, tokens)).toBe(tokens);
    }
  });

  it('whose model thinks where nobody sees it: as much as it has lately thought, at most max_tokens', async () => {
    for (const [max_tokens, tokens] of [
      [undefined, 8 + 1 + 500],
      [100, 12 + 100],
    ] as const) {
      const limiter = await limiterWith();
      const model = limitModel(limiter, { tokens: 'tokens' });
      const body = { model: 'thinks', max_tokens, messages: [{ content: 'abc' }] };
      const usage = { prompt_tokens: 0, completion_tokens: 501 };
      await model(USER, body, () => ({ choices: [{ message: { content: 'abc' } }], usage }));
      for (let i = 0; i < 50; i++)
        await model(USER, body, () => ({ ...text('abc'), usage: { ...usage, completion_tokens: 1 } }));
      const before = await used(limiter);
      const call = await model(USER, body, () => ReadableStream.from([text('abc'), text('never read')]));
      if (!call.allowed) throw new Error('rejected');
      for await (const _ of call.answer) break;
      expect((await usedAtLast(limiter, before + tokens)) - before).toBe(tokens);
    }
  });
});

const aborted = (reason: unknown) => (): Promise<Response> => {
  const leaving = new AbortController();
  const answer = fetch('http://127.0.0.1:9999', { signal: leaving.signal });
  leaving.abort(reason);
  return answer;
};
const failing = (error: object) => (): Promise<Response> => Promise.reject(Object.assign(new Error('failed'), error));

describe('a call that fails before its answer', () => {
  it.each<[string, () => Promise<unknown>, boolean]>([
    ['is aborted', aborted(undefined), true],
    ['is aborted, for a reason that is an error', aborted(new Error('the client has left')), true],
    ['is aborted, for a reason that is a text', aborted('the client has left'), true],
    ['times out', failing({ name: 'TimeoutError' }), true],
    ['times out, in the words of axios', failing({ name: 'AxiosError', code: 'ECONNABORTED' }), true],
    ['times out, in the words of undici', failing({ cause: { code: 'UND_ERR_HEADERS_TIMEOUT' } }), true],
    ['breaks its connection', failing({ cause: { code: 'ECONNRESET' } }), true],
    ['meets a gateway that timed out', failing({ status: 504 }), true],
    ['meets a gateway that timed out, as a response', async () => new Response('', { status: 504 }), true],
    ['is refused', failing({ status: 429 }), false],
    ['is refused, in the words of axios', failing({ response: { status: 500 } }), false],
    ['is refused, in the cause', failing({ cause: { statusCode: 400 } }), false],
    ['gets no turn', () => Promise.reject(new CallWaitError('a vendor', 1, 1)), false],
    ['reaches nobody', () => fetch('http://127.0.0.1:9998'), false],
  ])('and %s', async (_, send, pays) => {
    for (const [stream, cost] of [
      [undefined, PROMPT + 100],
      [true, PROMPT + 2],
    ] as const) {
      const limiter = await limiterWith();
      await Promise.allSettled([chat(limiter)(USER, { ...BODY, ...(stream && { stream }) }, send)]);
      expect(await used(limiter)).toBe(pays ? cost : 0);
      expect(await used(limiter, 'requests')).toBe(1);
    }
  });
});

it('the answer of another fetch, a stream of texts and one of events are read as those of Node', async () => {
  const usage = { prompt_tokens: 5, completion_tokens: 6 };
  const [event] = events({ usage });
  const model = await modelWith({ pieces: [event!] });
  for (const send of [
    () => undiciFetch(model.url) as unknown as Promise<Response>,
    () => ReadableStream.from([event]),
    () => ReadableStream.from([{ usage }]),
    () => new Response(event, { headers: { 'Content-Type': 'Text/Event-Stream' } }),
  ]) {
    const limiter = await limiterWith();
    const call = await chat(limiter)<ReadableStream | Response>(USER, BODY, send);
    if (!call.allowed) throw new Error('rejected');
    for await (const _ of call.answer instanceof Response ? call.answer.body! : call.answer);
    expect(await usedAtLast(limiter, 11)).toBe(11);
  }
});

describe('an estimate', () => {
  const answers = (output: number) => (): object => ({ usage: { prompt_tokens: 1, completion_tokens: output } });
  /** What a call has reserved while its model answers. */
  async function reserved(limiter: RateLimiter, model: ReturnType<typeof limitModel>, body: object): Promise<number> {
    const before = await used(limiter);
    let during = 0;
    await model(USER, body, async () => {
      during = await used(limiter);
      return { usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 } };
    });
    return during - before;
  }

  it('is the prompt, and at most max_tokens for each choice, until answers of the model have shown what they use', async () => {
    const limiter = await limiterWith();
    const model = limitModel(limiter, { tokens: 'tokens' });
    expect(await reserved(limiter, model, { ...BODY, n: 2 })).toBe(PROMPT + 1 + 200);
    expect(await reserved(limiter, model, { input: 'abc', max_output_tokens: 7 })).toBe(10 + 7);
    expect(await reserved(limiter, model, { ...BODY, model: 'other', max_tokens: undefined })).toBe(12 + 1_000);
    for (const output of [30, 50, ...Array<number>(100).fill(1)])
      await model(USER, { ...BODY, model: 'third' }, answers(output));
    expect(await reserved(limiter, model, { ...BODY, model: 'third' })).toBe(PROMPT + 50);
    expect(await reserved(limiter, model, { ...BODY, model: 'third', max_tokens: 10 })).toBe(PROMPT + 10);
  });

  it('takes a picture for a number of tokens, not for its bytes', async () => {
    const limiter = await limiterWith();
    const picture = { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(900_000)}` } };
    const body = { max_tokens: 0, messages: [{ role: 'user', content: [picture] }] };
    expect(await reserved(limiter, chat(limiter), body)).toBe(1_516);
    const elsewhere = {
      input: [{ type: 'input_image', image_url: 'https://example.com/a.png' }, { file_id: 'file-1' }],
    };
    expect(await reserved(limiter, chat(limiter), { max_tokens: 0, ...elsewhere })).toBe(3_013);
  });

  const nested = JSON.parse(`{"input":${'['.repeat(50_000)}"abc"${']'.repeat(50_000)}}`) as object;
  it.each<[string, object, number]>([
    ['tokens in the place of text', { prompt: Array(3_000).fill(17) }, 3_000],
    ['text that begins as a file does', { input: `data: ${'far '.repeat(3_000)}` }, 4_000],
    ['text without spaces', { input: 'x'.repeat(9_000) }, 3_000],
    ['text where a name stands', { messages: [{ role: 'x'.repeat(9_000) }] }, 3_000],
    ['names that are text', { tools: [{ ['x'.repeat(9_000)]: {} }] }, 3_000],
    ['no answer', { input: 'abc', n: 0, max_tokens: 3_000 }, 3_000],
    ['a bound beside the real one', { input: 'abc', max_tokens: 3_000, max_output_tokens: 1 }, 3_000],
    ['texts that are nested too deep for a stack', { ...nested, max_tokens: 3_000 }, 3_000],
  ])('is not smaller for %s', async (_, body, tokens) => {
    const limiter = await limiterWith();
    const cost = await reserved(limiter, chat(limiter), { max_tokens: 0, ...body });
    expect(cost).toBeGreaterThanOrEqual(tokens);
    expect(cost).toBeLessThan(tokens + 30);
  });

  it('that no limit can hold is a rejection, and numbers of an answer that are as large end in the overdraft', async () => {
    const limiter = await limiterWith();
    const most = Number.MAX_SAFE_INTEGER;
    const call = await chat(limiter)(USER, { ...BODY, max_tokens: most, n: most }, () => null);
    expect(call).toMatchObject({ allowed: false, decision: { retryAfterMs: null } });
    await chat(limiter)(USER, BODY, () => ({ usage: { prompt_tokens: most, completion_tokens: most } }));
    expect(await usedAtLast(limiter, ALL)).toBe(ALL);
  });
});

it('requests and tokens are charged in one step, and a rejection calls no model and charges nothing', async () => {
  const limiter = await limiterWith({
    policies: { ...POLICIES, tokens: { algorithm: 'fixed-window', limit: 150, window: '300d' } },
  });
  const model = await modelWith();
  const ask = limitModelOf('tokens', 'day')(limiter);
  const busy = ask(USER, BODY, () => new Promise(() => {}));
  const second = await ask(USER, BODY, () => fetch(model.url));
  expect(second).toMatchObject({
    allowed: false,
    decision: { policies: [{ policy: 'requests' }, { policy: 'tokens', allowed: false }, {}] },
  });
  expect([await used(limiter, 'requests'), await used(limiter), await used(limiter, 'day')]).toEqual([
    1,
    PROMPT + 100,
    PROMPT + 100,
  ]);
  expect(model.calls).toBe(0);
  void busy;
});

it('a function chooses the budgets by model', async () => {
  const limiter = await limiterWith();
  const ask = limitModel(limiter, (request) => ({
    tokens: ['tokens', (request as typeof BODY).model === 'pretend' ? 'day' : 'requests'],
  }));
  await ask(USER, BODY, () => ({ usage: { prompt_tokens: 1, completion_tokens: 1 } }));
  expect([await used(limiter), await used(limiter, 'day'), await used(limiter, 'requests')]).toEqual([2, 2, 0]);
});

it('policies that are wrong are an error that says what would be right', async () => {
  const limiter = await limiterWith();
  expect(() => limitModel(limiter, 'tokens' as never)).toThrow(
    "limitModel: takes { requests, tokens }, each a policy or several, got 'tokens'",
  );
  await expect(limitModel(limiter, { tokens: 'token' })(USER, BODY, () => null)).rejects.toThrow(
    "Did you mean 'tokens'?",
  );
});
