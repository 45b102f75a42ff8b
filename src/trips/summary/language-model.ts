/** What a model is asked, in the shape that OpenAI and many others take: https://platform.openai.com/docs/api-reference/chat/create. */
export interface ChatRequest {
  readonly model: string;
  readonly max_tokens: number;
  readonly stream: true;
  readonly stream_options: { readonly include_usage: true };
  readonly messages: readonly { readonly role: 'system' | 'user'; readonly content: string }[];
}

/** The model cannot answer now. Nothing is billed then. */
export class ModelUnavailableError extends Error {}

/** A vendor of language models, which answer slowly and are paid for by the token. */
export abstract class LanguageModel {
  /**
   * @param signal aborted when nobody waits for the answer
   * @returns what `fetch` would: server-sent events, whose last ones say `usage`, or a status of 400 or more
   * @throws the signal's reason
   */
  abstract chat(request: ChatRequest, signal: AbortSignal): Promise<Response>;
}
