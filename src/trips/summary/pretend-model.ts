import { createHash } from 'node:crypto';
import { ReadableStream } from 'node:stream/web';
import { Injectable } from '@nestjs/common';
import { Pause } from '../../time/pause.js';
import { type ChatRequest, LanguageModel } from './language-model.js';

/** Tokens are about four letters of English text. */
const TOKEN = /.{1,4}/gsu;
/** A vendor's time until the first token, and for each token. Real ones take some times longer. */
const FIRST_TOKEN_MS = 100;
const TOKEN_MS = 10;

const OPENINGS = ['You left in', 'A car picked you up in', 'Your driver met you in', 'The ride began in'];
const SIGHTS = [
  'a street that was still wet from the rain',
  'a corner where somebody sold flowers',
  'a line of people in front of a theatre',
  'a park with more dogs than benches',
  'a bridge that hummed under the wheels',
  'three taxis that did not stop for anybody',
  'a bakery that was about to open',
];
const ENDINGS = ['and you were there.', 'and the ride was over.', 'and the driver wished you a good day.'];

/**
 * Stands for a vendor's models: the same text and the same tokens for the same prompt, in every process. The longer the rides, the
 * longer the answer, which nobody knows before.
 */
@Injectable()
export class PretendModel extends LanguageModel {
  constructor(private readonly pause: Pause) {
    super();
  }

  async chat(request: ChatRequest, signal: AbortSignal): Promise<Response> {
    await this.pause.wait(FIRST_TOKEN_MS);
    signal.throwIfAborted();
    const events = ReadableStream.from(this.events(request)).pipeThrough(new TextEncoderStream());
    return new Response(events, { headers: { 'Content-Type': 'text/event-stream' } });
  }

  /** The text of a stream of events, piece by piece. It ends where its reader cancels. */
  private async *events({ model, max_tokens, messages }: ChatRequest): AsyncGenerator<string, void> {
    const answer = messages.filter(({ role }) => role === 'user').map(({ content }) => answerTo(content));
    const tokens = tokensOf(answer.join('\n'));
    const written = tokens.slice(0, max_tokens);
    for (const content of written) {
      await this.pause.wait(TOKEN_MS);
      yield event({ model, choices: [{ index: 0, delta: { content }, finish_reason: null }] });
    }
    const finish_reason = written.length < tokens.length ? 'length' : 'stop';
    yield event({ model, choices: [{ index: 0, delta: {}, finish_reason }] });
    const prompt_tokens = messages.reduce((sum, { content }) => sum + tokensOf(content).length, 0);
    const completion_tokens = written.length;
    const usage = { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens };
    yield event({ model, choices: [], usage });
    yield 'data: [DONE]\n\n';
  }
}

function event(data: object): string {
  return `data: ${JSON.stringify({ object: 'chat.completion.chunk', ...data })}\n\n`;
}

function answerTo(prompt: string): string {
  const digest = createHash('sha256').update(prompt).digest();
  let drawn = 0;
  const one = (texts: readonly string[]): string => texts[digest[drawn++ % digest.length]! % texts.length]!;
  const metres = Number(/(\d+) m\b/.exec(prompt)?.[1] ?? 0);
  const sights = Array.from({ length: 2 + Math.floor(metres / 400) }, () => `passed ${one(SIGHTS)}`);
  return `${one(OPENINGS)} the city, ${sights.join(', then ')}, ${one(ENDINGS)}`;
}

function tokensOf(text: string): readonly string[] {
  return text.match(TOKEN) ?? [];
}
