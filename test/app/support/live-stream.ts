import type { LiveEvents } from '../../../demo/control-room/live.js';

export type LiveEvent = { [T in keyof LiveEvents]: { type: T; data: LiveEvents[T]; atMs: number } }[keyof LiveEvents];

/** Receives the control room's events like a browser. */
export class LiveStream implements AsyncDisposable {
  readonly events: LiveEvent[] = [];
  /** Resolves when the server ends the stream. */
  readonly end: Promise<void>;
  private readonly abort: AbortController;

  private constructor(response: Response, abort: AbortController) {
    this.abort = abort;
    this.end = this.read(response.body!);
  }

  static async open(url: string): Promise<LiveStream> {
    const abort = new AbortController();
    const response = await fetch(`${url}/control-room/events`, { signal: abort.signal });
    if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`);
    return new LiveStream(response, abort);
  }

  get ticks(): LiveEvents['tick'][] {
    return this.events.flatMap((event) => (event.type === 'tick' ? [event.data] : []));
  }

  get room(): LiveEvents['room'] | undefined {
    return this.events.flatMap((event) => (event.type === 'room' ? [event.data] : []))[0];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.abort.abort();
    await this.end;
  }

  private async read(body: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    let text = '';
    try {
      for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) {
        text += decoder.decode(chunk, { stream: true });
        const blocks = text.split('\n\n');
        text = blocks.pop()!;
        for (const block of blocks) this.note(block);
      }
    } catch (error) {
      if (!this.abort.signal.aborted) throw error;
    }
  }

  private note(block: string): void {
    const field = (name: string): string | undefined => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1];
    const [type, data] = [field('event'), field('data')];
    if (type === undefined || data === undefined) return;
    this.events.push({ type, data: JSON.parse(data), atMs: performance.now() } as LiveEvent);
  }
}
