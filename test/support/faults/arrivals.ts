import { setTimeout as delay } from 'node:timers/promises';
import { expect } from '@jest/globals';
import type { Answer, Pod } from './pod.js';

/** A busy machine may add it to a deadline. */
const LATE_MS = 500;

/** Sends requests, two in a millisecond, and does not wait for answers meanwhile. Every other one is of a client that sends only this one. */
export async function arrivals(pod: Pod, count: number): Promise<Answer[]> {
  const answers: Promise<Answer>[] = [];
  while (answers.length < count) {
    answers.push(pod.timed(), pod.timedOnce());
    await delay(1);
  }
  return Promise.all(answers);
}

export const timesOf = (answers: readonly Answer[]): number[] => answers.map(({ ms }) => ms);

/** Checks that each request was answered by the deadline, in time of an event loop that turns. */
export function expectInTime(answers: readonly Answer[], deadlineMs = 50): void {
  expect(answers.filter(({ ms }) => ms > deadlineMs + LATE_MS)).toEqual([]);
}

/** Checks that the process itself decided each request, by the deadline. */
export function expectLocal(answers: readonly Answer[], deadlineMs?: number): void {
  expect(answers.filter(({ decision }) => decision.decidedBy !== 'local')).toEqual([]);
  expectInTime(answers, deadlineMs);
}
