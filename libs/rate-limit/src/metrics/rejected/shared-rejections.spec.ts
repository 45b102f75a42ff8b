import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { ProcessReport, ReportBoard } from '../../stores/report-board.js';
import { RejectedIdentities } from './rejected-identities.js';
import { SharedRejections } from './shared-rejections.js';

class Board implements ReportBoard {
  readonly reports = new Map<string, string>();
  failure: Error | undefined;
  puts = 0;

  async put({ id, text }: ProcessReport): Promise<boolean> {
    this.puts++;
    if (this.failure !== undefined) throw this.failure;
    this.reports.set(id, text);
    return true;
  }

  async all(): Promise<readonly ProcessReport[]> {
    if (this.failure !== undefined) throw this.failure;
    return Array.from(this.reports, ([id, text]) => ({ id, text }));
  }
}

function pod(board: ReportBoard | undefined, id: string) {
  const warn = jest.fn<(message: string) => void>();
  const rejected = new RejectedIdentities();
  return { rejected, shared: new SharedRejections(rejected, board, { warn }, id), warn };
}

function reject({ rejected }: ReturnType<typeof pod>, identity: string, times: number): void {
  for (let i = 0; i < times; i++) rejected.count(identity, 'rides');
}

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

describe('SharedRejections', () => {
  it('adds up the processes, and counts its own only once', async () => {
    const board = new Board();
    const [one, other] = [pod(board, 'one'), pod(board, 'other')];
    reject(one, 'user:ada', 5);
    reject(other, 'user:ada', 7);
    reject(other, 'user:bob', 9);
    await one.shared.share();
    await other.shared.share();
    reject(one, 'user:ada', 1); // not reported yet
    expect(await one.shared.fleet()).toEqual({
      processes: 2,
      isComplete: true,
      identities: [
        { identity: 'user:ada', policy: 'rides', atLeast: 13, atMost: 13 },
        { identity: 'user:bob', policy: 'rides', atLeast: 9, atMost: 9 },
      ],
      othersAtMost: 0,
    });
    expect((await other.shared.fleet()).identities[0]).toMatchObject({ identity: 'user:ada', atLeast: 12 });
  });

  it('writes nothing while there is nothing to report, and reports once that nothing is left', async () => {
    const board = new Board();
    const one = pod(board, 'one');
    await one.shared.share();
    expect(board.puts).toBe(0);
    reject(one, 'user:ada', 1);
    await one.shared.share();
    jest.advanceTimersByTime(3_600_000);
    for (let i = 0; i < 3; i++) await one.shared.share();
    expect(board.puts).toBe(2);
    expect(JSON.parse(board.reports.get('one')!)).toMatchObject({ identities: [] });
  });

  it('answers with its own counts while the board fails, and says so once', async () => {
    const board = new Board();
    const one = pod(board, 'one');
    reject(one, 'user:ada', 2);
    board.failure = new Error('unavailable');
    for (let i = 0; i < 3; i++) {
      await one.shared.share();
      expect(await one.shared.fleet()).toMatchObject({ processes: 1, isComplete: false, identities: [{ atLeast: 2 }] });
    }
    expect(one.warn.mock.calls).toEqual([[expect.stringContaining('are not added up: unavailable')]]);
    board.failure = undefined;
    await one.shared.share();
    board.failure = new Error('unavailable');
    await one.shared.share();
    expect(one.warn).toHaveBeenCalledTimes(2);
  });

  it('leaves out reports that it cannot read', async () => {
    const board = new Board();
    const one = pod(board, 'one');
    const wrong = [
      '',
      'null',
      '[]',
      '{}',
      '{"othersAtMost":-1,"identities":[]}',
      '{"othersAtMost":0,"identities":[null]}',
      '{"othersAtMost":0,"identities":[{"identity":"user:ada","policy":"rides","atLeast":"9","atMost":9}]}',
      JSON.stringify({
        othersAtMost: 0,
        identities: Array.from({ length: 1000 }, () => ({ identity: 'a', policy: 'b', atLeast: 1, atMost: 1 })),
      }),
    ];
    wrong.forEach((text, i) => board.reports.set(`wrong-${i}`, text));
    expect(await one.shared.fleet()).toMatchObject({ processes: 1, isComplete: true, identities: [] });
  });

  it('answers alone without a board', async () => {
    const one = pod(undefined, 'one');
    reject(one, 'user:ada', 1);
    await one.shared.share();
    expect(await one.shared.fleet()).toMatchObject({ processes: 1, isComplete: true, identities: [{ atLeast: 1 }] });
  });
});
