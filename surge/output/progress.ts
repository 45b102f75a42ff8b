import { SingleBar } from 'cli-progress';
import type { CrowdSnapshot } from '../../src/riders/index.js';

const FORMAT =
  '{title} {bar} {value}/{total} s  in the app: {inApp}, waiting: {waiting}  allowed: {allowed}, rejected: {rejected}, failed: {failed}';

/** A progress bar on stderr, if stderr is a terminal. The results go to stdout. */
export class Progress implements Disposable {
  private readonly bar = new SingleBar({ format: FORMAT, stream: process.stderr, barsize: 20, clearOnComplete: true });

  constructor(title: string, seconds: number) {
    this.bar.start(seconds, 0, { title, inApp: 0, waiting: 0, allowed: 0, rejected: 0, failed: 0 });
  }

  show({ seconds, ...counts }: CrowdSnapshot): void {
    this.bar.update(Math.floor(seconds), counts);
  }

  [Symbol.dispose](): void {
    this.bar.stop();
  }
}
