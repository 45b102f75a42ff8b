import { SingleBar } from 'cli-progress';
import type { CrowdSnapshot } from '../../riders/index.js';

const FORMAT = '{bar} {value}/{total} s  waiting {waiting}, served {served}, refused {refused}, failed {failed}';

/** A progress bar on stderr, if stderr is a terminal. The results go to stdout. */
export class Progress implements Disposable {
  private readonly bar = new SingleBar({ format: FORMAT, stream: process.stderr, barsize: 20, clearOnComplete: true });

  constructor(seconds: number) {
    this.bar.start(seconds, 0, { waiting: 0, served: 0, refused: 0, failed: 0 });
  }

  show({ seconds, waiting, allowed, rejected, failed }: CrowdSnapshot): void {
    this.bar.update(Math.floor(seconds), { waiting, served: allowed, refused: rejected, failed });
  }

  [Symbol.dispose](): void {
    this.bar.stop();
  }
}
