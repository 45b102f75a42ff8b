import { setTimeout as delay } from 'node:timers/promises';
import type { Answer, Pod } from './pod.js';

/**
 * Sends a number of requests each millisecond, without waiting for answers. Every other request is of a client that sends only
 * this one. The latency counts from the instant at which a request was due: a client waits for a late process, too.
 */
export async function arrivals(pod: Pod, perMs: number, forMs: number): Promise<Answer[]> {
  const answers: Promise<Answer>[] = [];
  const since = performance.now();
  for (let now = 0; now < forMs; now = performance.now() - since) {
    for (let due = answers.length / perMs; due <= now; due = answers.length / perMs) {
      const late = performance.now() - since - due;
      const answer = answers.length % 2 === 0 ? pod.timed() : pod.timedOnce();
      answers.push(answer.then(({ decision, ms }) => ({ decision, ms: ms + late })));
    }
    await delay(1);
  }
  return Promise.all(answers);
}

export const timesOf = (answers: readonly Answer[]): number[] => answers.map(({ ms }) => ms);
