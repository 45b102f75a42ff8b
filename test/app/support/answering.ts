// A process that answers calls, and can start another one like itself.
import { openSync } from 'node:fs';
import { url } from 'node:inspector';
import { answerCalls } from '../../../demo/processes/answer-calls.js';
import { Child } from '../../../demo/processes/child.js';

export type AnsweringProcedures = {
  readonly inspector: () => string | undefined;
  /** Ends without an answer. */
  readonly end: () => Promise<void>;
  readonly hang: () => Promise<never>;
  /** Starts a process when no file descriptor is left. @returns what that throws */
  readonly startWithoutFiles: () => Promise<string>;
};

answerCalls({
  inspector: () => url(),
  end: async () => process.exit(3),
  hang: () => new Promise<never>(() => undefined),
  startWithoutFiles: async () => {
    const script = new URL(import.meta.url);
    try {
      for (;;) openSync('/dev/null', 'r');
    } catch {
      return Child.start({ name: 'The other', script }).then(
        () => 'it starts',
        (error: Error) => error.message,
      );
    }
  },
} satisfies AnsweringProcedures);
