import { describe, expect, it } from '@jest/globals';
import { SendQueue } from './send-queue.js';

const OPTIONS = { running: 2, waiting: 3, perPeer: 4, timeoutMs: 60_000 };

interface Job {
  readonly result: Promise<unknown>;
  readonly abandon: () => void;
  begun: boolean;
  finish: () => void;
}

function begin(queue: SendQueue, peer: string): Job {
  const client = new AbortController();
  const job: Job = {
    begun: false,
    finish: () => undefined,
    abandon: () => client.abort(),
    result: queue
      .run(peer, client.signal, (signal) => {
        job.begun = true;
        return new Promise((resolve, reject) => {
          job.finish = () => resolve('done');
          signal.addEventListener('abort', () => reject(signal.reason as Error));
        });
      })
      .catch((error: unknown) => error),
  };
  return job;
}

/** Lets all pending promises settle. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('SendQueue', () => {
  it('limits running and waiting sends, and rejects the others', async () => {
    const queue = new SendQueue(OPTIONS);
    const jobs = Array.from({ length: 6 }, (_, i) => begin(queue, `10.0.0.${i}`));
    expect(await jobs[5]!.result).toMatchObject({ status: 503, retryAfter: 1 });
    expect(jobs.map(({ begun }) => begun)).toEqual([true, true, false, false, false, false]);
    jobs[1]!.finish();
    expect(await jobs[1]!.result).toBe('done');
    await settled();
    expect(jobs.map(({ begun }) => begun)).toEqual([true, true, true, false, false, false]);
    const next = begin(queue, 'next');
    for (const job of [...jobs.slice(0, 5), next]) {
      job.finish();
      expect(await job.result).toBe('done');
      await settled();
    }
  });

  it('limits the sends of one peer, and keeps places for others', async () => {
    const queue = new SendQueue(OPTIONS);
    const own = Array.from({ length: 5 }, () => begin(queue, 'one'));
    expect(await own[4]!.result).toMatchObject({ status: 429, retryAfter: 1 });
    const other = begin(queue, 'other');
    for (const job of [...own.slice(0, 4), other]) {
      await settled();
      job.finish();
      expect(await job.result).toBe('done');
    }
    await settled();
    const again = begin(queue, 'one');
    await settled();
    expect(again.begun).toBe(true);
  });

  it('stops abandoned sends, running or waiting, and gives their places to the next', async () => {
    const queue = new SendQueue(OPTIONS);
    const jobs = Array.from({ length: 5 }, (_, i) => begin(queue, `10.0.0.${i}`));
    jobs[2]!.abandon();
    expect(await jobs[2]!.result).toMatchObject({ name: 'AbortError' });
    jobs[0]!.abandon();
    expect(await jobs[0]!.result).toMatchObject({ name: 'AbortError' });
    await settled();
    expect(jobs.map(({ begun }) => begun)).toEqual([true, true, false, true, false]);
  });

  it('stops a send that takes too long', async () => {
    const queue = new SendQueue({ ...OPTIONS, timeoutMs: 20 });
    expect(await begin(queue, 'one').result).toMatchObject({
      status: 503,
      message: 'the send took longer than 0.02 s and was stopped; try again later',
    });
  });
});
