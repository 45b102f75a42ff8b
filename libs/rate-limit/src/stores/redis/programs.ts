import { hash } from 'node:crypto';
import type { AlgorithmName } from '../../algorithms/algorithm.js';
import { LEAN_PROGRAMS, PROGRAM as TEXT } from './program.generated.js';

/** A Lua program. */
export interface Program {
  readonly text: string;
  /** By which Redis knows it. */
  readonly sha1: string;
}

/** A program's call. */
export interface ScriptCall {
  readonly program: Program;
  /** How many of `args` are keys. */
  readonly keys: number;
  readonly args: readonly string[];
}

/** lua/program.lua, which decides any batch. */
export const PROGRAM: Program = programOf(TEXT);

/** The programs of lua/lean.lua for an algorithm, which decide one row of one charge. */
export interface LeanPrograms {
  /** Decides one request of cost 1 by Redis's clock. */
  readonly one: Program;
  readonly any: Program;
}

const leanPrograms = new Map<AlgorithmName, LeanPrograms>();

export function leanProgramsOf(algorithm: AlgorithmName): LeanPrograms {
  let programs = leanPrograms.get(algorithm);
  if (programs === undefined) {
    const { one, any } = LEAN_PROGRAMS[algorithm];
    leanPrograms.set(algorithm, (programs = { one: programOf(one), any: programOf(any) }));
  }
  return programs;
}

function programOf(text: string): Program {
  return { text, sha1: hash('sha1', text) };
}
