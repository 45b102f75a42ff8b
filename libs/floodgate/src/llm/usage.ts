import type { Estimate } from './estimate.js';
import { answerBytes, tokensOf, whole } from './texts.js';

type Members = Readonly<Record<string, unknown>>;

/**
 * Reads what a model has used from its answer: a whole one, or the events of a stream one by one. It knows the shapes of
 * OpenAI-compatible chats, completions, responses and embeddings, and of Anthropic-style messages.
 *
 * Sources: https://platform.openai.com/docs/api-reference/chat/object, https://platform.openai.com/docs/api-reference/responses/object,
 * https://docs.anthropic.com/en/api/messages-streaming
 */
export class UsageReader {
  /** Tokens of the prompt, those of a cache included, as far as the answer has said it. */
  private input: number | undefined;
  /** Tokens that were produced, those of its reasoning included. */
  private output: number | undefined;
  /** The bytes of the texts that were produced so far. */
  private bytes = 0;
  /** Whether the answer was one text that could not be read to its end. */
  private isTorn = false;

  /** What the answer says that was produced; undefined: nothing yet. */
  get produced(): number | undefined {
    return this.output;
  }

  /** Produced tokens that the texts do not show. */
  get hidden(): number {
    return Math.max(0, (this.output ?? 0) - tokensOf(this.bytes));
  }

  /** All tokens that the answer has said so far; undefined: none. */
  get said(): number | undefined {
    return this.input === undefined ? undefined : this.input + (this.output ?? 0);
  }

  /** @param event a whole answer, or one event of a stream, parsed */
  read(event: unknown): void {
    if (!isObject(event)) return;
    // Anthropic's first event, and those of OpenAI's responses, have the answer in them.
    for (const answer of [event, event.message, event.response]) {
      if (isObject(answer)) this.readUsage(answer.usage, event.type !== 'message_start');
    }
    this.bytes += producedBy(event);
  }

  /** @param text of an answer of one piece, which was cut or is no JSON. Its model has produced all of it, and says so at its end */
  readTorn(text: string): void {
    this.isTorn = true;
    this.bytes += answerBytes(text);
  }

  /** The tokens that a call has used. Where the answer says nothing of them, they are taken from the length of its texts. */
  total({ input, all, hidden, most }: Estimate, hasEnded: boolean): number {
    const { bytes, isTorn } = this;
    const shown = tokensOf(bytes);
    const texts = Math.max(shown, Math.min(shown + hidden, most));
    if (isTorn) return Math.max(all, input + texts);
    // Some servers begin a stream with numbers that are 0.
    const output = this.output === 0 && bytes > 0 ? undefined : this.output;
    if (hasEnded && output === undefined && bytes === 0) return this.input ?? all;
    const produced = hasEnded && output !== undefined ? output : Math.max(output ?? 0, texts);
    return (this.input ?? input) + produced;
  }

  /**
   * The numbers of a stream grow: the largest ones count.
   *
   * @param saysOutput false for Anthropic's first event, whose output is a token that is yet to come
   */
  private readUsage(usage: unknown, saysOutput: boolean): void {
    if (!isObject(usage)) return;
    const read = whole(usage.prompt_tokens) ?? whole(usage.input_tokens);
    // Anthropic counts what a cache held apart.
    const cached = (whole(usage.cache_creation_input_tokens) ?? 0) + (whole(usage.cache_read_input_tokens) ?? 0);
    if (read !== undefined) this.input = Math.max(this.input ?? 0, read + cached);
    const written = whole(usage.completion_tokens) ?? whole(usage.output_tokens);
    if (written !== undefined && saysOutput) this.output = Math.max(this.output ?? 0, written);
    // Embeddings have no output, and some servers count more in the total than in its parts.
    const total = whole(usage.total_tokens);
    if (total !== undefined && this.input !== undefined) this.output = Math.max(this.output ?? 0, total - this.input);
  }
}

/** The bytes of the texts that an event adds to the answer. */
function producedBy(event: Members): number {
  if (event.delta !== undefined) return answerBytes(event.delta);
  if (!Array.isArray(event.choices)) return isObject(event.response) ? 0 : answerBytes(event.content ?? event.output);
  return event.choices.reduce<number>((sum, choice) => {
    if (!isObject(choice)) return sum;
    return sum + answerBytes(choice.delta ?? choice.message ?? choice.text);
  }, 0);
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null;
}
