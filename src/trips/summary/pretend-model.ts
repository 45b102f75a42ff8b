import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Pause } from '../../time/pause.js';
import { type Completion, LanguageModel } from './language-model.js';

/** Tokens are about four letters of English text. */
const LETTERS_PER_TOKEN = 4;
/** A vendor's time until the first token, and for each token. A tenth of what real ones take. */
const FIRST_TOKEN_MS = 20;
const TOKEN_MS = 1;

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
 * Stands for a vendor's model: the same text and the same tokens for the same prompt, in every process. The longer the ride, the
 * longer the answer, which nobody knows before.
 */
@Injectable()
export class PretendModel extends LanguageModel {
  constructor(private readonly pause: Pause) {
    super();
  }

  async complete(prompt: string): Promise<Completion> {
    const text = answerTo(prompt);
    const [prompt_tokens, completion_tokens] = [tokensOf(prompt), tokensOf(text)];
    await this.pause.wait(FIRST_TOKEN_MS + TOKEN_MS * completion_tokens);
    return {
      text,
      usage: { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens },
    };
  }
}

function answerTo(prompt: string): string {
  const digest = createHash('sha256').update(prompt).digest();
  let drawn = 0;
  const one = (texts: readonly string[]): string => texts[digest[drawn++ % digest.length]! % texts.length]!;
  const metres = Number(/(\d+) m\b/.exec(prompt)?.[1] ?? 0);
  const sights = Array.from({ length: 2 + Math.floor(metres / 400) }, () => `passed ${one(SIGHTS)}`);
  return `${one(OPENINGS)} the city, ${sights.join(', then ')}, ${one(ENDINGS)}`;
}

function tokensOf(text: string): number {
  return Math.ceil(text.length / LETTERS_PER_TOKEN);
}
